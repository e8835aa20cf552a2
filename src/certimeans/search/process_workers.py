"""Local processes that evaluate nodes."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from concurrent.futures import Executor, Future, wait
from pathlib import Path

from threadpoolctl import threadpool_limits

from certimeans.deadline import Deadline
from certimeans.orphans import end_with_parent
from certimeans.presolve.reduce import Presolved
from certimeans.search.background import in_background
from certimeans.search.evaluate import Surroundings
from certimeans.search.node import NodeReport, Outcome, SearchTask, Task
from certimeans.search.sharing import Blackboard, BlackboardReader
from certimeans.search.tree import ROOT
from certimeans.search.workers import LOST, Mailbox, perform

_SECONDS_TO_KILL = 0.4


class ProcessWorkers:
    """A pool of local processes, each of which reads the problem once and has one BLAS thread.

    Processes take a second or two to start, and most problems are solved by then: the root, and the search beside it,
    run at once in threads of this process, whose compiled code lets them run side by side. The pool is started for the
    root's children.
    """

    failures = LOST
    failures_elsewhere: tuple[type[BaseException], ...] = ()
    message = ""

    def __init__(self, presolved: Presolved, n_processes: int, deadline: Deadline) -> None:
        self.capacity = n_processes
        self._presolved = presolved
        self._deadline = deadline
        self._board = Blackboard(presolved)
        self._mail = Mailbox()
        self._surroundings = Surroundings(deadline, self._board.cost, self._mail.put)
        self._pool: Executor | None = None

    def listen(self, hear: Callable[[NodeReport], None]) -> None:
        """Keep reports of the root until they are delivered; processes do not report."""
        self._mail.listen(hear)

    def deliver(self) -> None:
        """Pass on the reports."""
        self._mail.deliver()

    def publish(self, incumbent_cost: float) -> None:
        """Let all processes see the cost."""
        self._board.set_cost(incumbent_cost)

    def _start(self) -> Executor:
        # loky's processes need no `if __name__ == "__main__"` in the user's script, and notice when one is killed.
        from joblib.externals.loky import ProcessPoolExecutor  # noqa: PLC0415  # takes a while, and is rarely needed

        self._board.write_problem()
        pool: Executor = ProcessPoolExecutor(self.capacity, initializer=_prepare_worker, initargs=(self._board.folder,))
        return pool

    def submit(self, task: Task) -> Future[Outcome]:
        """Queue a task for the next free process, or start it in a thread."""
        if isinstance(task, SearchTask) or task.number == ROOT:
            return in_background(perform, self._presolved, task, self._surroundings)
        if self._pool is None:
            self._pool = self._start()
        return self._pool.submit(_perform_in_worker, task)

    def renew(self) -> bool:
        """Make room for a new pool: a process that ends breaks the whole old one."""
        self._kill_pool()
        return True

    def close(self) -> None:
        """Kill the processes, and tell the threads to end at their next look."""
        self._deadline.request_stop()
        self._kill_pool()
        self._board.close()

    def _kill_pool(self) -> None:
        """Kill the processes; loky's own cleaning up goes on in a thread if it takes longer."""
        if self._pool is not None:
            cleaning = in_background(self._pool.shutdown, wait=True, kill_workers=True)  # type: ignore[call-arg]
            self._pool = None
            wait([cleaning], timeout=_SECONDS_TO_KILL)


_PRESOLVED: Presolved | None = None
_SURROUNDINGS = Surroundings()


def _prepare_worker(folder: Path) -> None:
    """Read the problem once, leave Ctrl-C to the coordinator, and end if the coordinator is killed."""
    global _PRESOLVED, _SURROUNDINGS  # noqa: PLW0603  # one problem per worker, read once
    end_with_parent(lambda: shutil.rmtree(folder, ignore_errors=True))
    board = BlackboardReader(folder)
    _PRESOLVED = board.presolved
    _SURROUNDINGS = Surroundings(incumbent_cost=board.cost)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(limits=1, user_api="blas")


def _perform_in_worker(task: Task) -> Outcome:
    assert _PRESOLVED is not None  # noqa: S101  # set by the initializer
    return perform(_PRESOLVED, task, _SURROUNDINGS)
