"""An executor for a Dask cluster, whose futures end if results, workers or the connection are lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any, ParamSpec, TypeVar

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

_LOST = "the connection to the Dask cluster is lost"


def is_closed(client: Any) -> bool:
    """Whether a client has no connection to its scheduler and does not look for one any more."""
    return client.status in ("closing", "closed")


class DaskExecutor(Executor):
    """Hands calls to a Dask cluster, each as a task of its own.

    Dask's own executor (``client.get_executor()``) has futures that never end if something is lost while their result
    is fetched: the connection, or a worker with the only copies of the result and of what it was computed from. Here
    such a future raises ``CancelledError``, and so do all others when the connection is lost: they may be tried again.
    With a client that is closed, they raise ``BrokenExecutor``.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(
        self, function: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Let the cluster call a function; the client's futures among the arguments stand for what is there already.

        Raises
        ------
        BrokenExecutor
            If the client is closed.
        """
        try:
            there = self._client.submit(function, *args, pure=False, **kwargs)
        except Exception as error:
            if is_closed(self._client):
                raise BrokenExecutor(_LOST) from error
            raise
        here: Future[Result] = Future()
        here.add_done_callback(lambda ended: there.cancel() if ended.cancelled() else None)  # refers to nothing fetched
        self._client.loop.add_callback(_pass_on, self._client, there, here)
        return here


async def _pass_on(client: Any, there: Any, here: Future[Any]) -> None:
    """Wait in the client's loop until a task of the cluster ends, and end a future of this process in the same way."""
    result: Any = None
    error: BaseException | None = None
    try:
        result = await _fetch(client, there)
    except (asyncio.CancelledError, CancelledError) as lost:
        error = CancelledError(*lost.args)
    except BaseException as raised:  # noqa: BLE001  # it is raised where the result is awaited
        is_of_the_task = there.status == "error" or isinstance(raised, BrokenExecutor)
        error = raised if is_of_the_task else CancelledError(*raised.args)  # a connection that broke meanwhile
    if not here.set_running_or_notify_cancel():
        return
    if error is None:
        here.set_result(result)
    else:
        here.set_exception(error)


async def _fetch(client: Any, there: Any) -> Any:
    """Return a task's result.

    Raises
    ------
    BrokenExecutor
        If the client is closed: it has told the futures that it knew when it was closed, but not this one.
    """
    if is_closed(client):
        raise BrokenExecutor(_LOST)
    return await client.gather(there, asynchronous=True)
