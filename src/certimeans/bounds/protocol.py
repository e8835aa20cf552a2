"""What the search asks of a lower bound: one question and one answer for all bounders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.presolve.contract import SuperPoints
from certimeans.proof.steps import BoundStep


class StopReason(Enum):
    """Why a bounder ended. Its bound is proven in every case."""

    REACHED = "the bound reached its target"
    ROUNDING = "only rounding errors keep the bound below its target"
    STALLED = "neither the bound nor the cuts made progress any more"
    DEADLINE = "the deadline passed or a stop was requested"
    ROUNDS = "the limit on rounds was reached"
    BROKE_DOWN = "the iterates were not finite any more"


@dataclass(frozen=True)
class RoundStatistics:
    """What one round did: counts, the best proven bound after it in working units, and where its time went."""

    iterations: int
    n_cuts: int
    new_cuts: int
    safe_lower_bound: float
    seconds: float
    spectral_seconds: float
    polyhedral_seconds: float
    separation_seconds: float
    bound_seconds: float


class Start(Protocol):
    """What one bound leaves to the next one on a similar problem; only the bounder that made it looks inside."""


@dataclass(frozen=True, eq=False)
class Bound:
    """A proven statement: no clustering costs less.

    Attributes
    ----------
    value
        In the user's units, rounded down.
    step
        What proves it; ``None`` if there is nothing to prove.
    n_cuts
        Cuts that were used.
    """

    value: float
    step: BoundStep | None
    n_cuts: int = 0


@dataclass(frozen=True, eq=False)
class Question:
    """A problem to bound, and how far.

    Attributes
    ----------
    points
        The problem.
    target
        Asked again and again for the value, in the user's units, at which to stop: others may find better clusterings
        meanwhile.
    deadline
        When to stop in any case.
    seed
        Equal seeds give equal answers.
    start
        What an earlier bound of this kind left.
    labels
        A good clustering of the super-points, if one is known: a start where nothing is left by an earlier bound.
    on_bound
        Told about each better bound as soon as it is proven.
    on_labels
        Told about clusterings of the super-points that the relaxation points to; they may break constraints.
    n_threads
        How many threads may work; the answer does not depend on it.
    """

    points: SuperPoints
    target: Callable[[], float]
    deadline: Deadline = field(default_factory=Deadline)
    seed: int = 0
    start: Start | None = None
    labels: IntArray | None = None
    on_bound: Callable[[Bound], None] = field(default=lambda _: None)
    on_labels: Callable[[IntArray], None] = field(default=lambda _: None)
    n_threads: int = 1


@dataclass(frozen=True, eq=False)
class Answer:
    """What a bounder found.

    Attributes
    ----------
    bound
        The best that was proven.
    reason
        Why it ended.
    matrix
        The relaxation's last matrix, in which branching and rounding see what is undecided; ``None`` if there is none.
    start
        What a child, or the same problem later, may start from.
    rounds
        What was done.
    sizes
        Where sizes are prescribed and the relaxation tells them apart: for each different size a row that says how much
        each super-point is in clusters of that size, between 0 and 1.
    """

    bound: Bound
    reason: StopReason
    matrix: FloatArray | None = None
    start: Start | None = None
    rounds: tuple[RoundStatistics, ...] = ()
    sizes: FloatArray | None = None


class Bounder(Protocol):
    """A way to prove lower bounds."""

    def bytes_needed(self, points: SuperPoints) -> int:
        """Estimate the memory that a bound of this problem takes."""

    def bound(self, question: Question) -> Answer:
        """Bound the cost of every clustering from below, as far as the target if possible."""


def nothing_proven(points: SuperPoints) -> Bound:
    """Return what is known without any proof."""
    return Bound(points.scale.nothing_proven, None)
