"""Executors that the user brings: any that speaks ``concurrent.futures.Executor``, and Dask clusters."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from typing import Any

from certimeans.blas import one_blas_thread
from certimeans.deadline import Deadline
from certimeans.errors import InputError
from certimeans.presolve.reduce import Presolved
from certimeans.search.background import in_background, result_before
from certimeans.search.dask_executor import DaskExecutor, is_closed
from certimeans.search.node import NodeReport, Outcome, Task
from certimeans.search.workers import LOST, perform
from certimeans.warmup import prepare

_LOGGER = logging.getLogger("certimeans")
_SECONDS_TO_SEND = 30.0
_SECONDS_BETWEEN_LOOKS = 1.0


class ForeignWorkers:
    """Any ``concurrent.futures.Executor`` that the user brings; the problem travels with each task.

    Running nodes neither report nor hear of better clusterings: each task brings the news of its own start.
    """

    failures = LOST
    failures_elsewhere: tuple[type[BaseException], ...] = ()
    message = ""

    def __init__(self, presolved: Presolved, executor: Executor, capacity: int) -> None:
        self.capacity = capacity
        self._presolved: Any = presolved
        self._executor = executor

    def listen(self, hear: Callable[[NodeReport], None]) -> None:
        """Do nothing."""

    def deliver(self) -> None:
        """Do nothing."""

    def publish(self, incumbent_cost: float) -> None:
        """Do nothing."""

    def submit(self, task: Task) -> Future[Outcome]:
        """Hand a task to the executor."""
        return self._executor.submit(_perform_elsewhere, self._presolved, task)

    def renew(self) -> bool:
        """Do nothing: the executor is the user's."""
        return False

    def close(self) -> None:
        """Leave the executor open: the user made it."""


class ClusterWatch:
    """Knows how many threads a Dask cluster has, and says so at once if there are none.

    Attributes
    ----------
    n_threads
        Of all workers together, when it was last looked.
    message
        What the user should know about the cluster now; usually empty.
    """

    def __init__(self, client: Any, deadline: Deadline) -> None:
        self._client = client
        self._address = client.scheduler.address if client.scheduler is not None else "an unknown address"
        self._deadline = deadline
        self._looked = -math.inf
        self.n_threads = 0
        self.message = ""

    def look_now_and_then(self) -> None:
        """Look if the last look was a while ago."""
        if time.monotonic() - self._looked >= _SECONDS_BETWEEN_LOOKS:
            self.look()

    def look(self) -> None:
        """Count the cluster's threads, and say so if there are none."""
        try:
            threads = result_before(in_background(self._client.nthreads), self._deadline.within(_SECONDS_BETWEEN_LOOKS))
            self.n_threads = sum(threads.values())
        except Exception:  # noqa: BLE001  # Dask has no one error for a scheduler that does not answer
            self.n_threads = 0
        self._looked = time.monotonic()
        if self.n_threads:
            self.message = ""
        else:
            self._warn(
                f"the connection to the Dask cluster at {self._address} is lost"
                if is_closed(self._client)
                else f"the Dask cluster at {self._address} has no workers; "
                f"start one with: dask worker {self._address} --nthreads 1"
            )

    def _warn(self, message: str) -> None:
        if message != self.message:
            self.message = message
            _LOGGER.warning("%s", message)


def dask_failures() -> tuple[type[BaseException], ...]:
    """Return the exceptions of a future that mean: the worker failed, and the task may be tried again."""
    from distributed import KilledWorker  # noqa: PLC0415  # an extra

    return (*LOST, KilledWorker, CancelledError)


def send_to_all(client: Any, data: object, deadline: Deadline) -> Any | None:
    """Send something to every worker of a Dask cluster; return what stands for it in tasks, or ``None`` if it failed.

    Workers that come later fetch it from the others.
    """
    try:  # without a time limit of its own, this waits for minutes for a worker that dies on receiving it
        scatter = in_background(client.scatter, data, broadcast=True, hash=False)
        return result_before(scatter, deadline.within(_SECONDS_TO_SEND))
    except Exception:  # noqa: BLE001  # Dask has no one error for that
        return None


class DaskWorkers(ForeignWorkers):
    """A Dask cluster: the problem is sent to every worker once, as long as none dies; Dask replaces dead ones.

    Dask itself runs a task again whose worker died, a few times; what it gives up comes back as ``KilledWorker``. It
    keeps tasks while there are no workers, without a word: that is said here, as soon as it is seen.

    Parameters
    ----------
    client
        The cluster.
    executor
        Where tasks are handed in, if the user brought Dask's executor rather than the client; the problem travels with
        each task then, since only the executor knows which client it belongs to.
    """

    def __init__(self, presolved: Presolved, client: Any, deadline: Deadline, executor: Executor | None = None) -> None:
        self._client = client
        self._deadline = deadline
        self._problem = presolved
        self._may_send = executor is None
        self._watch = ClusterWatch(client, deadline)
        self.failures = dask_failures()
        self.failures_elsewhere = (CancelledError,)  # the problem was lost with a worker that held it
        super().__init__(presolved, executor or DaskExecutor(client), 1)
        self._watch.look()
        self._note()

    def deliver(self) -> None:
        """Look, now and then, whether there are workers."""
        self._watch.look_now_and_then()
        self._note()

    def _note(self) -> None:
        self.capacity = max(1, self._watch.n_threads)
        self.message = self._watch.message

    def _send_to_all(self) -> None:
        """Send the problem to every worker, so that it need not travel with each task."""
        self._may_send = False
        there = send_to_all(self._client, self._problem, self._deadline)
        self._presolved = self._problem if there is None else there

    def renew(self) -> bool:
        """Let the problem travel with each task from now on: what was sent may be lost with a worker that held it."""
        self._presolved, self._may_send = self._problem, False
        return False

    def submit(self, task: Task) -> Future[Outcome]:
        """Hand a task to the cluster, which may have grown or shrunk."""
        self._watch.look()
        self._note()
        if self._may_send and self._watch.n_threads:
            self._send_to_all()
        return super().submit(task)


def dask_workers(presolved: Presolved, executor: Any, deadline: Deadline) -> DaskWorkers | None:
    """Return workers for a Dask client or its executor; ``None`` if it is neither.

    Raises
    ------
    InputError
        If it is an executor, and Dask knows of no current client to ask about the cluster.
    """
    client = dask_client(executor)
    if client is None:
        return None
    return DaskWorkers(presolved, client, deadline, None if client is executor else executor)


def dask_client(executor: Any) -> Any | None:
    """Return the client behind a Dask client or its executor; ``None`` if it is neither.

    Raises
    ------
    InputError
        If it is an executor, and Dask knows of no current client to ask about the cluster.
    """
    if not type(executor).__module__.startswith("distributed."):
        return None
    from distributed import Client  # noqa: PLC0415  # it is installed, or there were no such object
    from distributed.cfexecutor import ClientExecutor  # noqa: PLC0415

    if isinstance(executor, Client):
        return executor
    if not isinstance(executor, ClientExecutor):
        return None
    try:
        return Client.current()
    except ValueError:
        raise InputError("executor: Dask has no current client; pass the client itself, executor=client") from None


def connect(address: str) -> Any:
    """Connect to a Dask scheduler; what listens there is trusted with running code."""
    try:
        from distributed import Client  # noqa: PLC0415  # an extra
    except ImportError:
        raise InputError("a Dask cluster needs the extra 'dask': pip install 'certimeans[dask]'") from None
    try:
        client: Any = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address!r} ({error})") from None
    return client


def _perform_elsewhere(presolved: Presolved, task: Task) -> Outcome:
    prepare(presolved.instance)  # a worker compiles once, before the task's clock starts
    with one_blas_thread():
        return perform(presolved, task)
