"""Where nodes are evaluated: in this process, in local processes, or wherever a given executor runs.

Each offers the same: ``submit`` a task and get a future, ``capacity`` tasks at once, and ``renew`` after a breakdown.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import Protocol

from threadpoolctl import threadpool_limits

from certimeans.deadline import Deadline
from certimeans.problem.instance import Instance
from certimeans.search.evaluate import evaluate
from certimeans.search.node import NodeOutcome, NodeTask


class Workers(Protocol):
    """What the coordinator needs of an executor."""

    capacity: int

    def submit(self, task: NodeTask) -> Future[NodeOutcome]:
        """Start to evaluate a task."""

    def renew(self) -> None:
        """Replace workers that broke down."""

    def close(self) -> None:
        """Release everything, without waiting for running tasks."""


class SerialWorkers:
    """Evaluates each task at once, in this process; the deadline ends it early."""

    capacity = 1

    def __init__(self, instance: Instance, deadline: Deadline) -> None:
        self._instance = instance
        self._deadline = deadline

    def submit(self, task: NodeTask) -> Future[NodeOutcome]:
        """Evaluate a task; the future is done when this returns."""
        future: Future[NodeOutcome] = Future()
        with threadpool_limits(limits=1, user_api="blas"):
            future.set_result(evaluate(self._instance, task, self._deadline))
        return future

    def renew(self) -> None:
        """Do nothing: this process cannot break down and go on."""

    def close(self) -> None:
        """Do nothing."""


class ProcessWorkers:
    """A pool of local processes, each with its own copy of the instance and one BLAS thread."""

    def __init__(self, instance: Instance, n_processes: int) -> None:
        self.capacity = n_processes
        self._instance = instance
        self._pool = self._start()

    def _start(self) -> Executor:
        # loky's processes need no `if __name__ == "__main__"` in the user's script, and notice when one is killed.
        from joblib.externals.loky import ProcessPoolExecutor  # noqa: PLC0415

        pool: Executor = ProcessPoolExecutor(self.capacity, initializer=_prepare_worker, initargs=(self._instance,))
        return pool

    def submit(self, task: NodeTask) -> Future[NodeOutcome]:
        """Queue a task for the next free process."""
        return self._pool.submit(_evaluate_in_worker, task)

    def renew(self) -> None:
        """Start a new pool."""
        self.close()
        self._pool = self._start()

    def close(self) -> None:
        """Kill the processes."""
        self._pool.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]  # loky's own argument


class ForeignWorkers:
    """Any ``concurrent.futures.Executor`` that the user brings; the instance travels with each task."""

    def __init__(self, instance: Instance, executor: Executor, capacity: int) -> None:
        self.capacity = capacity
        self._instance = instance
        self._executor = executor

    def submit(self, task: NodeTask) -> Future[NodeOutcome]:
        """Hand a task to the executor."""
        return self._executor.submit(_evaluate_elsewhere, self._instance, task)

    def renew(self) -> None:
        """Do nothing: the executor is the user's."""

    def close(self) -> None:
        """Leave the executor open: the user made it."""


_INSTANCE: Instance | None = None


def _prepare_worker(instance: Instance) -> None:
    """Keep the instance in the worker and leave Ctrl-C to the coordinator."""
    import signal  # noqa: PLC0415

    global _INSTANCE  # noqa: PLW0603  # one instance a worker, sent once
    _INSTANCE = instance
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(limits=1, user_api="blas")


def _evaluate_in_worker(task: NodeTask) -> NodeOutcome:
    assert _INSTANCE is not None  # noqa: S101  # set by the initializer
    return evaluate(_INSTANCE, task)


def _evaluate_elsewhere(instance: Instance, task: NodeTask) -> NodeOutcome:
    with threadpool_limits(limits=1, user_api="blas"):
        return evaluate(instance, task)
