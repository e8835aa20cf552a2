"""When to stop: statistics in, a reason out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

from certimeans.errors import ArgumentError
from certimeans.status import SolveStatus, relative_gap

_LONGEST = 1e12
"""Seconds: more than the clock of any machine will count."""


@dataclass(frozen=True)
class Limits:
    """What the user allows.

    Attributes
    ----------
    gap
        Proven relative gap at which a clustering counts as optimal.
    seconds
        Time limit; ``None`` for none.
    nodes
        Limit on evaluated nodes; ``None`` for none.
    """

    gap: float = 1e-4
    seconds: float | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        if not _is_real(self.gap) or not 0 <= self.gap < 1:
            raise ArgumentError("gap", f"must be a number from 0 to below 1; got {_shown(self.gap)}")
        if self.seconds is not None and not (_is_real(self.seconds) and self.seconds > 0):
            raise ArgumentError(
                "time_limit", f"must be a positive number of seconds, or None; got {_shown(self.seconds)}"
            )
        if self.seconds is not None and self.seconds > _LONGEST and self.seconds != math.inf:
            raise ArgumentError(
                "time_limit", f"is too long to be kept; leave it out for no limit, or take {_LONGEST:g}"
            )
        is_count = isinstance(self.nodes, Integral) and not isinstance(self.nodes, bool)
        if self.nodes is not None and not (is_count and self.nodes >= 1):
            raise ArgumentError("max_nodes", f"must be a positive integer, or None; got {_shown(self.nodes)}")


@dataclass(frozen=True)
class Progress:
    """Where the search stands; the costs are in the user's units.

    ``phase`` is "presolve", "heuristics" (no clustering yet), "root", "search" or "parts"; ``message`` is what the user
    should know at once, such as what presolve did, or a cluster without workers, and usually empty; ``source`` says
    where the incumbent comes from; ``next_save`` is in how many seconds the search is saved next, if it is, together
    with the first news after that (parts are saved one by one as they are done). For a problem that is bounded by
    parts: how many there are now, how many of them are done, the relative gap if the others lose as much as these,
    and about how many seconds the others take.
    """

    seconds: float
    incumbent_cost: float
    lower_bound: float
    nodes_done: int
    nodes_open: int
    nodes_running: int
    cuts: int
    phase: str = ""
    message: str = ""
    parts: int = 0
    parts_done: int = 0
    expected_gap: float | None = None
    seconds_left: float | None = None
    source: str = ""
    next_save: float | None = None

    @property
    def gap(self) -> float:
        """Proven relative gap."""
        return relative_gap(self.incumbent_cost, self.lower_bound)


def reason_to_stop(limits: Limits, progress: Progress, *, interrupted: bool, time_is_up: bool) -> SolveStatus | None:
    """Say why the search must end now, or ``None`` if it may go on."""
    if progress.gap <= limits.gap:
        return SolveStatus.OPTIMAL
    if interrupted:
        return SolveStatus.INTERRUPTED
    if time_is_up:
        return SolveStatus.TIME_LIMIT
    if limits.nodes is not None and progress.nodes_done >= limits.nodes:
        return SolveStatus.NODE_LIMIT
    return None


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _shown(value: object) -> str:
    """Quote a value that may have thousands of digits, which Python may refuse to write."""
    try:
        text = repr(value)
    except ValueError:
        return "a huge number"
    return text if len(text) <= 80 else f"{text[:77]}..."
