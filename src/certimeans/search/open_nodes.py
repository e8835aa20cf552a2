"""The queue of nodes that wait to be evaluated: the least bound first, the older of two equals first."""

from __future__ import annotations

import heapq
import math

from certimeans.search.node import NodeTask


class OpenNodes:
    """A priority queue of tasks."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, NodeTask]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, task: NodeTask) -> None:
        """Add a task."""
        heapq.heappush(self._heap, (task.lower_bound, task.number, task))

    def pop(self) -> NodeTask:
        """Remove and return the first task."""
        return heapq.heappop(self._heap)[2]

    @property
    def first(self) -> NodeTask | None:
        """The task that is next, if any."""
        return self._heap[0][2] if self._heap else None

    @property
    def lower_bound(self) -> float:
        """The least bound of all tasks; infinite if there are none."""
        return self._heap[0][0] if self._heap else math.inf
