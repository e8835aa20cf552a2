"""Executors that the user brings: any that speaks ``concurrent.futures.Executor``, and Dask clusters."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from typing import Any

from certimeans.blas import one_blas_thread
from certimeans.deadline import Deadline
from certimeans.errors import InputError
from certimeans.presolve.reduce import Presolved
from certimeans.search.background import in_background, result_before
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
        from distributed import KilledWorker  # noqa: PLC0415  # an extra

        self._client = client
        self._deadline = deadline
        self._problem = presolved
        self._may_send = executor is None
        self._n_threads = 0
        self.failures = (*LOST, KilledWorker, CancelledError)
        self.failures_elsewhere = (CancelledError,)  # the problem was lost with a worker that held it
        super().__init__(presolved, executor or client.get_executor(pure=False), 1)
        self._look()

    def deliver(self) -> None:
        """Look, now and then, whether there are workers."""
        if time.monotonic() - self._looked >= _SECONDS_BETWEEN_LOOKS:
            self._look()

    def _look(self) -> None:
        """Count the cluster's threads, and say so if there are none."""
        try:
            threads = result_before(in_background(self._client.nthreads), self._deadline.within(_SECONDS_BETWEEN_LOOKS))
            self._n_threads = sum(threads.values())
        except Exception:  # noqa: BLE001  # Dask has no one error for a scheduler that does not answer
            self._n_threads = 0
        self._looked = time.monotonic()
        self.capacity = max(1, self._n_threads)
        if self._n_threads:
            self.message = ""
        elif not self.message:
            address = self._client.scheduler.address
            self.message = (
                f"the Dask cluster at {address} has no workers; start one with: dask worker {address} --nthreads 1"
            )
            _LOGGER.warning("%s", self.message)

    def _send_to_all(self) -> None:
        """Send the problem to every worker, so that it need not travel with each task."""
        client, problem = self._client, self._problem
        self._may_send = False
        try:  # without a time limit of its own, this waits for minutes for a worker that dies on receiving it
            scatter = in_background(client.scatter, problem, broadcast=True, hash=False)
            self._presolved = result_before(scatter, self._deadline.within(_SECONDS_TO_SEND))
        except Exception:  # noqa: BLE001  # Dask has no one error for that
            self._presolved = problem

    def renew(self) -> bool:
        """Let the problem travel with each task from now on: what was sent may be lost with a worker that held it."""
        self._presolved, self._may_send = self._problem, False
        return False

    def submit(self, task: Task) -> Future[Outcome]:
        """Hand a task to the cluster, which may have grown or shrunk."""
        self._look()
        if self._may_send and self._n_threads:
            self._send_to_all()
        return super().submit(task)


def dask_workers(presolved: Presolved, executor: Any, deadline: Deadline) -> DaskWorkers | None:
    """Return workers for a Dask client or its executor; ``None`` if it is neither.

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
        return DaskWorkers(presolved, executor, deadline)
    if not isinstance(executor, ClientExecutor):
        return None
    try:
        client = Client.current()
    except ValueError:
        raise InputError("executor: Dask has no current client; pass the client itself, executor=client") from None
    return DaskWorkers(presolved, client, deadline, executor)


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
