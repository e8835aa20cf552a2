"""An executor for a Dask cluster, whose futures end whatever is lost there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from typing import Any, ParamSpec, TypeVar

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class DaskExecutor(Executor):
    """Hands calls to a Dask cluster, each as a task of its own.

    Dask's own executor (``client.get_executor()``) has futures that never end if a worker dies with a result before it
    was fetched, and with the only copy of what it was computed from. Here such a future raises ``CancelledError``.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(
        self, function: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Let the cluster call a function; the client's futures among the arguments stand for what is there already."""
        there = self._client.submit(function, *args, pure=False, **kwargs)
        here: Future[Result] = Future()
        here.add_done_callback(lambda _: there.cancel() if here.cancelled() else None)
        self._client.loop.add_callback(_pass_on, self._client, there, here)
        return here


async def _pass_on(client: Any, there: Any, here: Future[Any]) -> None:
    """Wait in the client's loop until a task of the cluster ends, and end a future of this process in the same way."""
    result: Any = None
    error: BaseException | None = None
    try:
        result = await client.gather(there, asynchronous=True)
    except (asyncio.CancelledError, CancelledError) as lost:
        error = CancelledError(*lost.args)
    except BaseException as raised:  # noqa: BLE001  # it is raised where the result is awaited
        error = raised
    if not here.set_running_or_notify_cancel():
        return
    if error is None:
        here.set_result(result)
    else:
        here.set_exception(error)
