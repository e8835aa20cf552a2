"""Local processes that evaluate nodes."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from certimeans.deadline import Deadline
from certimeans.presolve.reduce import Presolved
from certimeans.search.background import in_background
from certimeans.search.evaluate import Surroundings
from certimeans.search.node import NodeReport, Outcome, SearchTask, Task
from certimeans.search.process_pool import StartingPool, make_process_pool
from certimeans.search.sharing import Blackboard, BlackboardReader
from certimeans.search.tree import ROOT
from certimeans.search.workers import LOST, Mailbox, perform

SECONDS_BEFORE_PROCESSES = 2.0
"""How long nodes of the tree are evaluated in threads before processes are started: about as long as these take to
start and to load what they need. With 0, processes evaluate every node but the root."""


class ProcessWorkers:
    """A pool of local processes, each of which reads the problem once and has one BLAS thread.

    Processes take a second or two of all cores to start, and most problems are solved by then. So work begins at once
    in threads of this process, whose compiled code lets them run side by side: the root, the search beside it, and the
    first nodes of the tree. When these have taken as long as processes take to start, those are started, and take over
    when they are there; so they cost at most twice what the best choice would have cost. If they cannot be started, the
    threads go on.
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
        self._root_surroundings = replace(self._surroundings, n_threads=n_processes)
        self._pool: StartingPool | None = None
        self._tree_began = math.inf  # on the clock of time.monotonic

    def listen(self, hear: Callable[[NodeReport], None]) -> None:
        """Keep reports of the root until they are delivered; processes do not report."""
        self._mail.listen(hear)

    def deliver(self) -> None:
        """Pass on the reports, and look after the processes."""
        self._mail.deliver()
        if self._pool is not None:
            self._pool.look()

    def publish(self, incumbent_cost: float) -> None:
        """Let all processes see the cost."""
        self._board.set_cost(incumbent_cost)

    def submit(self, task: Task) -> Future[Outcome]:
        """Queue a task for the next free process, or start it in a thread."""
        if isinstance(task, SearchTask):
            return in_background(perform, self._presolved, task, self._surroundings)
        if task.number == ROOT:
            return in_background(perform, self._presolved, task, self._root_surroundings)
        self._tree_began = min(self._tree_began, time.monotonic())
        pool = self._pool_if_ready()
        if pool is not None:
            return pool.submit(_perform_in_worker, task)
        return in_background(perform, self._presolved, task, self._surroundings)

    def _pool_if_ready(self) -> Executor | None:
        if self._pool is None and time.monotonic() - self._tree_began >= SECONDS_BEFORE_PROCESSES:
            self._pool = StartingPool(self.capacity, self._make_pool)
        pool = self._pool
        if pool is None or not (pool.is_ready or pool.has_failed or SECONDS_BEFORE_PROCESSES == 0.0):
            return None
        executor = pool.executor()
        self.message = pool.message
        return executor

    def _make_pool(self) -> Executor:
        self._board.write_problem()
        folder = self._board.folder
        return make_process_pool(self.capacity, _prepare_worker, (folder,), folder)

    def renew(self) -> bool:
        """Make room for a new pool: a process that ends breaks the whole old one."""
        if self._pool is not None and self._pool.has_failed:
            return False  # all others are in threads, which go on
        self._kill_pool()
        return True

    def close(self) -> None:
        """Kill the processes, and tell the threads to end at their next look."""
        self._deadline.request_stop()
        self._kill_pool()
        self._board.close()

    def _kill_pool(self) -> None:
        if self._pool is not None:
            self._pool.kill()
            self._pool = None


_PRESOLVED: Presolved | None = None
_SURROUNDINGS = Surroundings()


def _prepare_worker(folder: Path) -> None:
    """Read the problem once, and leave Ctrl-C to the coordinator."""
    global _PRESOLVED, _SURROUNDINGS  # noqa: PLW0603  # one problem per worker, read once
    board = BlackboardReader(folder)
    _PRESOLVED = board.presolved
    _SURROUNDINGS = Surroundings(incumbent_cost=board.cost)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(limits=1, user_api="blas")


def _perform_in_worker(task: Task) -> Outcome:
    assert _PRESOLVED is not None  # noqa: S101  # set by the initializer
    return perform(_PRESOLVED, task, _SURROUNDINGS)
