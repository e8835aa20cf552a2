"""What the coordinator needs of those who evaluate nodes, and what they all run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from queue import Empty, SimpleQueue
from typing import Protocol

from certimeans.deadline import Deadline
from certimeans.presolve.reduce import Presolved
from certimeans.search.background import LARGE_SIZE, in_background
from certimeans.search.evaluate import Surroundings, evaluate, search_only
from certimeans.search.node import NodeReport, Outcome, SearchTask, Task

LOST: tuple[type[BaseException], ...] = (BrokenExecutor, MemoryError)
"""Exceptions that mean: the worker could not finish, though the task is well-formed."""


class Workers(Protocol):
    """What the coordinator needs of an executor.

    Attributes
    ----------
    capacity
        How many tasks may be outstanding, so that the order of the others stays the coordinator's.
    failures
        Exceptions of a future that mean: the worker failed, and the task may be tried again.
    failures_elsewhere
        Those among them which the task itself cannot have caused.
    message
        What the user should know about the workers now; usually empty.
    """

    capacity: int
    failures: tuple[type[BaseException], ...]
    failures_elsewhere: tuple[type[BaseException], ...]
    message: str

    def listen(self, hear: Callable[[NodeReport], None]) -> None:
        """Say who wants to hear what running nodes report, where they can."""

    def deliver(self) -> None:
        """Pass on, in this thread, what was reported meanwhile, and look after the workers."""

    def publish(self, incumbent_cost: float) -> None:
        """Tell running nodes about a better clustering, where that is possible."""

    def submit(self, task: Task) -> Future[Outcome]:
        """Start to work on a task."""

    def renew(self) -> bool:
        """Replace workers that failed; say whether all outstanding tasks are lost with them."""

    def close(self) -> None:
        """Release everything, without waiting for running tasks."""


def perform(presolved: Presolved, task: Task, surroundings: Surroundings | None = None) -> Outcome:
    """Do what a task asks for."""
    if isinstance(task, SearchTask):
        return search_only(presolved, task, surroundings)
    return evaluate(presolved, task, surroundings)


class Mailbox:
    """Reports from other threads, until the coordinator's thread delivers them."""

    def __init__(self) -> None:
        self._reports: SimpleQueue[NodeReport] = SimpleQueue()
        self._hear: Callable[[NodeReport], None] | None = None
        self.put = self._reports.put

    def listen(self, hear: Callable[[NodeReport], None]) -> None:
        """Say who wants to hear the reports."""
        self._hear = hear

    def deliver(self) -> None:
        """Pass them on."""
        while self._hear is not None:
            try:
                self._hear(self._reports.get_nowait())
            except Empty:
                return


class SerialWorkers:
    """Evaluates one task at a time, in this process.

    Small problems are evaluated right here. One step of a large one may outlast a deadline by far: it is evaluated in a
    thread that is left behind then; what it has reported counts.
    """

    capacity = 1
    failures = LOST
    failures_elsewhere: tuple[type[BaseException], ...] = ()
    message = ""

    def __init__(self, presolved: Presolved, deadline: Deadline) -> None:
        self._presolved = presolved
        self._deadline = deadline
        self._mail = Mailbox()
        self._is_large = presolved.super_points.size >= LARGE_SIZE
        self._surroundings = Surroundings(deadline, report=self._mail.put)

    def listen(self, hear: Callable[[NodeReport], None]) -> None:
        """Let nodes report: directly if they are evaluated in this thread."""
        self._mail.listen(hear)
        if not self._is_large:
            self._surroundings = Surroundings(self._deadline, report=hear)

    def deliver(self) -> None:
        """Pass on the reports."""
        self._mail.deliver()

    def publish(self, incumbent_cost: float) -> None:
        """Do nothing: the only one that runs knows what it found."""

    def submit(self, task: Task) -> Future[Outcome]:
        """Evaluate a task; the future of a small one is done when this returns."""
        if self._is_large:
            return in_background(perform, self._presolved, task, self._surroundings)
        future: Future[Outcome] = Future()
        try:
            future.set_result(perform(self._presolved, task, self._surroundings))
        except LOST as error:
            future.set_exception(error)
        return future

    def renew(self) -> bool:
        """Do nothing: this process cannot die and go on."""
        return False

    def close(self) -> None:
        """Tell a thread that was left behind to end at its next look."""
        self._deadline.request_stop()
