"""Bound one part: what a worker does with it. The bound is proven at the part's own scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from certimeans._typing import IntArray
from certimeans.bounds.covariance import CovarianceBounder
from certimeans.bounds.parts.matching import Template, start_from
from certimeans.bounds.parts.problem import Part, cost_of
from certimeans.bounds.protocol import Answer, Bound, Question, StopReason
from certimeans.bounds.relaxation.bounder import RelaxationBounder, WarmStart
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.proof import prove_again
from certimeans.deadline import Deadline
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.contract import SuperPoints
from certimeans.proof.steps import BoundStep, CovarianceStep, RelaxationStep

_SLACK_BITS = 11
"""Bits of the slack that are kept: its rounding hardly changes a bound, and fewer bits make smaller certificates."""

_POOR = 0.7
"""A relaxation that proves less than this share of its aim is compared with the bound that costs nothing."""

_ASKED_EARLY = 2
"""When the target is asked for so often, a part's own clustering is looked for."""


@dataclass(frozen=True)
class Effort:
    """How far to bound a part.

    Attributes
    ----------
    gap
        How far the bound of a part may stay below the cost of the part's own best clustering, as a share of what the
        whole's clustering costs there. All parts have the same: what one of them loses by a clustering of its own, no
        effort brings back.
    searches
        Descents of the local search for the part's own clustering.
    follows_clustering
        Whether the labels of parts come from a clustering of the whole, and not from nowhere.
    iterations
        If time is short: so many iterations without cuts, from the clustering, and one bound after them, however good.
    """

    gap: float
    searches: int
    follows_clustering: bool = True
    iterations: int | None = None
    cutting_planes: CuttingPlaneSettings = field(default_factory=CuttingPlaneSettings)


@dataclass(frozen=True, eq=False)
class PartBound:
    """What is known about a part.

    Attributes
    ----------
    value
        Proven lower bound, in the user's units; 0 without a step.
    step
        What proves it.
    cost
        About the cost of the whole's clustering in this part, or of the part's own if there is none of the whole.
    reason
        Why the relaxation ended.
    rounds, n_cuts
        Cutting-plane rounds, and cuts at the end.
    start
        What other parts may start from; ``None`` without a relaxation.
    own_cost
        Of the part's own clustering; infinite if it was not looked for.
    """

    value: float
    step: BoundStep | None
    cost: float
    reason: StopReason
    rounds: int = 0
    n_cuts: int = 0
    start: WarmStart | None = None
    own_cost: float = np.inf


def bound_part(
    part: Part,
    effort: Effort,
    *,
    template: Template | None = None,
    start: WarmStart | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> PartBound:
    """Bound a part from below as far as it is worth; a part that nothing can be said about has the bound 0.

    Parameters
    ----------
    template, start
        Another part, or an earlier bound of this one, to start from.
    """
    deadline = deadline or Deadline()
    points = part.super_points
    cost = cost_of(points, part.labels)
    if part.size < part.n_clusters or points.scatter == 0:
        return PartBound(0.0, None, cost, StopReason.REACHED)
    aim = _Aim(part, points, cost, effort, seed, deadline)
    is_late = deadline.passed()
    # A part with a template needed the relaxation, and so will this one; if time is short, so did pilots.
    if is_late or (template is None and start is None and effort.iterations is None):
        cheap = _cheap_bound(points)
        if cheap.value >= aim.value or is_late:
            reason = StopReason.REACHED if cheap.value >= aim.value else StopReason.DEADLINE
            return PartBound(cheap.value, cheap.step, aim.cost, reason)
    if start is None and template is not None:
        start = start_from(template, part)
    answer = _relax(part, points, aim, effort, start, seed, deadline)
    bound = answer.bound
    if bound.value < _POOR * aim.value:
        cheap = _cheap_bound(points)
        bound = max(bound, cheap, key=lambda bound: bound.value)
    return PartBound(
        bound.value,
        bound.step,
        aim.cost,
        answer.reason,
        len(answer.rounds),
        bound.n_cuts,
        answer.start if isinstance(answer.start, WarmStart) else None,
        aim.own_cost,
    )


def own_clustering(part: Part, effort: Effort, seed: int, deadline: Deadline) -> tuple[IntArray, float]:
    """Return a part's own clustering, and how much cheaper that is than the whole's in it, relatively."""
    points = part.super_points
    cost = cost_of(points, part.labels)
    if part.size < part.n_clusters or points.scatter == 0 or cost == 0:
        return part.labels, 0.0
    own = _own_labels(part, points, effort, seed, deadline)
    return own, max(0.0, 1 - cost_of(points, own) / cost)


def prove_part_again(part: Part, step: BoundStep) -> float:
    """Prove the bound of a stored step again, in the user's units.

    Raises
    ------
    ValueError
        If the step does not belong to the part.
    """
    points = part.super_points
    if part.size < part.n_clusters or points.scatter == 0:
        return 0.0
    if isinstance(step, CovarianceStep):
        return _cheap_bound(points).value
    if not isinstance(step, RelaxationStep) or not np.array_equal(step.group_of, part.group_of):
        raise ValueError("multipliers of another part")
    if (step.unit, step.weight_unit) != (points.scale.unit, points.scale.weight_unit):
        raise ValueError("multipliers of another part")
    return points.scale.to_user(prove_again(step, Relaxation.from_super_points(points)).safe_lower_bound)


def _cheap_bound(points: SuperPoints) -> Bound:
    return CovarianceBounder().bound(Question(points, lambda: np.inf)).bound


def _own_labels(part: Part, points: SuperPoints, effort: Effort, seed: int, deadline: Deadline) -> IntArray:
    """Look for a clustering of the part that is better than the whole's: no bound can be above its cost."""
    settings = SearchSettings(n_searches=effort.searches, islands=1, most_dense_searches=1)
    start = part.labels if len(np.unique(part.labels)) == part.n_clusters else None
    found = search_clustering(points, start=start, seed=seed, deadline=deadline, settings=settings)
    return part.labels if found is None else found


class _Aim:
    """What a part's bound is meant to reach. The part's own clustering, which limits it, is looked for when it matters.

    Attributes
    ----------
    value
        The bound that is good enough, as far as is known now.
    cost
        See :class:`PartBound`.
    own_cost
        Of the part's own clustering; infinite until it is looked for.
    """

    def __init__(
        self, part: Part, points: SuperPoints, cost: float, effort: Effort, seed: int, deadline: Deadline
    ) -> None:
        self.cost = cost
        self.own_cost = np.inf
        self.value = cost * (1 - effort.gap)
        self._look_for_own: Callable[[], float] = lambda: cost_of(
            points, _own_labels(part, points, effort, seed, deadline)
        )
        self._effort = effort
        self._times_asked = 0
        if not effort.follows_clustering:
            self._look()

    def now(self) -> float:
        """Return the bound to reach; a part that a few iterations did not finish is looked at more closely."""
        self._times_asked += 1
        if self._times_asked == _ASKED_EARLY:
            self._look()
        return self.value

    def _look(self) -> None:
        self._times_asked = max(self._times_asked, _ASKED_EARLY)
        effort = self._effort
        self.own_cost = min(self.cost, self._look_for_own())
        if not effort.follows_clustering:
            self.cost = self.own_cost
        self.value = self.own_cost - effort.gap * self.cost


def _relax(
    part: Part,
    points: SuperPoints,
    aim: _Aim,
    effort: Effort,
    start: WarmStart | None,
    seed: int,
    deadline: Deadline,
) -> Answer:
    settings = replace(effort.cutting_planes, bounds_start=False, slack_bits=_SLACK_BITS)
    if (count := effort.iterations) is not None:
        settings = replace(settings, first_iterations=count, bound_every=count, large_size=part.size + 1)
        # A smaller penalty proves more after few iterations, and less after many.
        admm = replace(settings.admm, penalty=settings.admm.warm_penalty)
        settings = replace(settings, admm=admm, max_rounds=1, use_cuts=False)
    labels = part.labels if effort.follows_clustering else None
    return RelaxationBounder(settings).bound(Question(points, aim.now, deadline, seed, start, labels))
