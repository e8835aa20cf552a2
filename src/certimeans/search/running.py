"""The tasks that are being worked on, and what they have reported so far."""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import Future

from certimeans.search.node import NodeReport, NodeTask, Outcome, Task


class RunningTasks:
    """Futures with their tasks, and the latest report of each node among them.

    A task is *starting* while it is handed to a worker: one that works in this thread evaluates it right there.
    """

    def __init__(self) -> None:
        self._tasks: dict[Future[Outcome], Task] = {}
        self._starting: Task | None = None
        self._reports: dict[int, NodeReport] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def futures(self) -> list[Future[Outcome]]:
        """All futures."""
        return list(self._tasks)

    def start(self, task: Task) -> None:
        """Note that a task is being handed to a worker."""
        self._starting = task

    def started(self, future: Future[Outcome]) -> None:
        """Note that it was."""
        if self._starting is not None:
            self._tasks[future] = self._starting
        self._starting = None

    def not_started(self) -> None:
        """Note that it could not be."""
        self._starting = None

    def finish(self, future: Future[Outcome]) -> Task:
        """Forget a future, and what its task reported."""
        task = self._tasks.pop(future)
        if isinstance(task, NodeTask):
            self._reports.pop(task.number, None)
        return task

    def lose_all(self) -> list[Task]:
        """Forget everything, and return the tasks."""
        tasks = list(self._tasks.values())
        self._tasks.clear()
        self._reports.clear()
        return tasks

    def hear(self, report: NodeReport) -> bool:
        """Keep the latest report of a node, if it is still running; say whether it is."""
        is_running = any(node.number == report.number for node in self.nodes())
        if is_running:
            self._reports[report.number] = report
        return is_running

    def nodes(self) -> list[NodeTask]:
        """Return the nodes that are running or starting."""
        return [task for task in self._all() if isinstance(task, NodeTask)]

    def reports(self) -> list[NodeReport]:
        """Return the latest reports that prove more than was known before."""
        return [report for report in self._reports.values() if report.steps]

    @property
    def lower_bound(self) -> float:
        """The least bound of the running nodes, proven before or reported since; infinite if there are none."""
        return min((self._bound(task) for task in self.nodes()), default=math.inf)

    def _bound(self, task: NodeTask) -> float:
        report = self._reports.get(task.number)
        return task.lower_bound if report is None or not report.steps else max(task.lower_bound, report.lower_bound)

    def _all(self) -> Iterable[Task]:
        yield from self._tasks.values()
        if self._starting is not None:
            yield self._starting
