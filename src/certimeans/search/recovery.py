"""What to do with tasks that were lost because their worker died."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

MAX_FAILURES = 3.0
"""A node is given up when that many workers died while they evaluated it alone."""

_FAILURE_ELSEWHERE = 0.1
"""What a loss counts that was not the node's fault: such nodes are tried again, but not without end."""


class LostNodes(NamedTuple):
    """Which of the lost nodes are evaluated again, and which are given up."""

    requeue: list[int]
    give_up: list[int]


class Recovery:
    """Counts failures by node, and says which nodes may run beside others.

    When several nodes are lost at once, any of them may have caused it: they become suspects, which are evaluated one
    at a time from then on. A failure counts fully only for a node that was lost alone.
    """

    def __init__(self) -> None:
        self._failures: dict[int, float] = {}
        self._suspects: set[int] = set()

    def requeue_lost(self, lost: Sequence[int], *, may_be_the_cause: bool = True) -> LostNodes:
        """Decide about nodes that were lost together.

        Parameters
        ----------
        may_be_the_cause
            Whether evaluating them may have ended the worker, rather than something else.
        """
        if len(lost) > 1 and may_be_the_cause:
            self._suspects.update(lost)
        counts_as = _FAILURE_ELSEWHERE if not may_be_the_cause else float(len(lost) == 1)
        verdict = LostNodes([], [])
        for number in lost:
            self._failures[number] = self._failures.get(number, 0.0) + counts_as
            (verdict.requeue if self._failures[number] < MAX_FAILURES else verdict.give_up).append(number)
        return verdict

    def must_wait(self, number: int, running: Iterable[int]) -> bool:
        """Whether a node must not start now: it is a suspect and others run, or a suspect runs."""
        others = set(running)
        return bool(others) and (number in self._suspects or not others.isdisjoint(self._suspects))
