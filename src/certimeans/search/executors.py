"""Where nodes are evaluated: in this process, in local processes, on a Dask cluster, or wherever an executor runs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from certimeans.deadline import Deadline
from certimeans.errors import InputError
from certimeans.presolve.reduce import Presolved
from certimeans.search.evaluate import Surroundings, evaluate
from certimeans.search.node import NodeOutcome, NodeReport, NodeTask
from certimeans.search.sharing import Blackboard, BlackboardReader
from certimeans.warmup import prepare

_SECONDS_TO_SEND = 30


class Workers(Protocol):
    """What the coordinator needs of an executor.

    Attributes
    ----------
    capacity
        How many tasks may be outstanding, so that the order of the others stays the coordinator's.
    deaths
        Exceptions of a future that mean: the worker died, not the task is wrong.
    accidents
        Those among them for which the task itself is not to blame.
    """

    capacity: int
    deaths: tuple[type[BaseException], ...]
    accidents: tuple[type[BaseException], ...]

    def listen(self, hear: Callable[[NodeReport], None]) -> None:
        """Say who wants to hear what running nodes report, where they can."""

    def deliver(self) -> None:
        """Pass on, in this thread, what was reported meanwhile."""

    def publish(self, incumbent_cost: float) -> None:
        """Tell running nodes about a better clustering, where that is possible."""

    def submit(self, task: NodeTask) -> Future[NodeOutcome]:
        """Start to evaluate a task."""

    def renew(self) -> bool:
        """Replace workers that died; say whether all outstanding tasks are lost with them."""

    def close(self) -> None:
        """Release everything, without waiting for running tasks."""


class SerialWorkers:
    """Evaluates each task at once, in this process; the deadline ends it early."""

    capacity = 1
    deaths: tuple[type[BaseException], ...] = (BrokenExecutor,)
    accidents: tuple[type[BaseException], ...] = ()

    def __init__(self, presolved: Presolved, deadline: Deadline) -> None:
        self._presolved = presolved
        self._surroundings = Surroundings(deadline)

    def listen(self, hear: Callable[[NodeReport], None]) -> None:
        """Let nodes report directly."""
        self._surroundings = Surroundings(self._surroundings.deadline, report=hear)

    def deliver(self) -> None:
        """Do nothing: reports were heard at once."""

    def publish(self, incumbent_cost: float) -> None:
        """Do nothing: the only one that runs knows what it found."""

    def submit(self, task: NodeTask) -> Future[NodeOutcome]:
        """Evaluate a task; the future is done when this returns."""
        future: Future[NodeOutcome] = Future()
        future.set_result(evaluate(self._presolved, task, self._surroundings))
        return future

    def renew(self) -> bool:
        """Do nothing: this process cannot die and go on."""
        return False

    def close(self) -> None:
        """Do nothing."""


class ProcessWorkers:
    """A pool of local processes, each of which reads the problem once and has one BLAS thread.

    Processes take a second or two to start, and most problems are solved by then: the root, and the search beside it,
    run at once in threads of this process, whose compiled code lets them run side by side. The pool is started for the
    root's children.
    """

    deaths: tuple[type[BaseException], ...] = (BrokenExecutor,)
    accidents: tuple[type[BaseException], ...] = ()

    def __init__(self, presolved: Presolved, n_processes: int, deadline: Deadline) -> None:
        self.capacity = n_processes
        self._presolved = presolved
        self._deadline = deadline
        self._board = Blackboard(presolved)
        self._reports: SimpleQueue[NodeReport] = SimpleQueue()
        self._hear: Callable[[NodeReport], None] | None = None
        self._surroundings = Surroundings(deadline, self._board.cost, self._reports.put)
        self._threads = ThreadPoolExecutor(2)
        self._pool: Executor | None = None

    def listen(self, hear: Callable[[NodeReport], None]) -> None:
        """Keep reports of the root until they are delivered; processes do not report."""
        self._hear = hear

    def deliver(self) -> None:
        """Pass on the reports."""
        while self._hear is not None:
            try:
                self._hear(self._reports.get_nowait())
            except Empty:
                return

    def publish(self, incumbent_cost: float) -> None:
        """Let all processes see the cost."""
        self._board.set_cost(incumbent_cost)

    def _start(self) -> Executor:
        # loky's processes need no `if __name__ == "__main__"` in the user's script, and notice when one is killed.
        from joblib.externals.loky import ProcessPoolExecutor  # noqa: PLC0415

        self._board.write_problem()
        pool: Executor = ProcessPoolExecutor(self.capacity, initializer=_prepare_worker, initargs=(self._board.folder,))
        return pool

    def submit(self, task: NodeTask) -> Future[NodeOutcome]:
        """Queue a task for the next free process."""
        if task.number <= 0:
            return self._threads.submit(evaluate, self._presolved, task, self._surroundings)
        if self._pool is None:
            self._pool = self._start()
        return self._pool.submit(_evaluate_in_worker, task)

    def renew(self) -> bool:
        """Make room for a new pool: the death of one process breaks the whole old one."""
        self._kill_pool()
        return True

    def close(self) -> None:
        """Kill the processes and stop the threads."""
        self._deadline.request_stop()
        self._threads.shutdown(wait=True)
        self._kill_pool()
        self._board.close()

    def _kill_pool(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]  # loky's own argument
            self._pool = None


class ForeignWorkers:
    """Any ``concurrent.futures.Executor`` that the user brings; the problem travels with each task.

    Running nodes neither report nor hear of better clusterings: each task brings the news of its own start.
    """

    deaths: tuple[type[BaseException], ...] = (BrokenExecutor,)
    accidents: tuple[type[BaseException], ...] = ()

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

    def submit(self, task: NodeTask) -> Future[NodeOutcome]:
        """Hand a task to the executor."""
        return self._executor.submit(_evaluate_elsewhere, self._presolved, task)

    def renew(self) -> bool:
        """Do nothing: the executor is the user's."""
        return False

    def close(self) -> None:
        """Leave the executor open: the user made it."""


class DaskWorkers(ForeignWorkers):
    """A Dask cluster: the problem is sent to every worker once, as long as none dies; Dask replaces dead ones.

    Dask itself runs a task again whose worker died, a few times; what it gives up comes back as ``KilledWorker``.
    """

    def __init__(self, presolved: Presolved, client: Any) -> None:
        from distributed import KilledWorker  # noqa: PLC0415  # an extra

        self._client = client
        self.deaths = (BrokenExecutor, KilledWorker, CancelledError)
        self.accidents = (CancelledError,)  # the problem was lost with a worker that held it
        super().__init__(presolved, client.get_executor(pure=False), self._n_threads())
        self._original = presolved
        self._send_to_all()

    def _send_to_all(self) -> None:
        """Send the problem to every worker, so that it need not travel with each task."""
        client, problem = self._client, self._original
        try:  # without a time limit of its own, this waits for minutes for a worker that dies on receiving it
            self._presolved = client.sync(
                lambda: client.scatter(problem, broadcast=True, hash=False, asynchronous=True),
                callback_timeout=_SECONDS_TO_SEND,
            )
        except Exception:  # noqa: BLE001  # Dask has no one error for that
            self._presolved = problem

    def renew(self) -> bool:
        """Let the problem travel with each task from now on: what was sent may be lost with a worker that held it."""
        self._presolved = self._original
        return False

    def submit(self, task: NodeTask) -> Future[NodeOutcome]:
        """Hand a task to the cluster, which may have grown or shrunk."""
        self.capacity = self._n_threads()
        return super().submit(task)

    def _n_threads(self) -> int:
        threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))


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


_PRESOLVED: Presolved | None = None
_SURROUNDINGS = Surroundings()


def _prepare_worker(folder: Path) -> None:
    """Read the problem once and leave Ctrl-C to the coordinator."""
    import signal  # noqa: PLC0415

    global _PRESOLVED, _SURROUNDINGS  # noqa: PLW0603  # one problem a worker, read once
    board = BlackboardReader(folder)
    _PRESOLVED = board.presolved
    _SURROUNDINGS = Surroundings(incumbent_cost=board.cost)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(limits=1, user_api="blas")


def _evaluate_in_worker(task: NodeTask) -> NodeOutcome:
    assert _PRESOLVED is not None  # noqa: S101  # set by the initializer
    return evaluate(_PRESOLVED, task, _SURROUNDINGS)


def _evaluate_elsewhere(presolved: Presolved, task: NodeTask) -> NodeOutcome:
    prepare(presolved.instance)  # once on each machine; where it was done before, this takes no time
    with threadpool_limits(limits=1, user_api="blas"):
        return evaluate(presolved, task)
