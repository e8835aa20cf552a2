"""Bound one part: what a worker does with it. The bound is proven at the part's own scale."""

from __future__ import annotations

import time
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

_MANTISSA_BITS = 11
"""Bits of the slack that are kept: its rounding hardly changes a bound, and fewer bits make smaller certificates."""

_MOST_HIDDEN = 0.01
"""What a relaxation may stay below its part's own clustering, relatively, because that is far from the whole's."""


@dataclass(frozen=True)
class Effort:
    """How far to bound a part.

    Attributes
    ----------
    gap
        The relative distance to the cost of the whole clustering's share at which a part is good enough.
    relaxation_share
        The bound need not be closer to the part's own best clustering than this share of the distance from that to the
        whole clustering's share; see :class:`~certimeans.bounds.parts.settings.PartSettings`.
    searches
        Descents of the local search for the part's own clustering.
    follows_clustering
        Whether the labels of parts come from a clustering of the whole, and not from nowhere.
    """

    gap: float
    relaxation_share: float
    searches: int
    follows_clustering: bool = True
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
    cost, own_cost
        About the cost of the whole's clustering in this part, and of the best clustering of the part that was found.
    labels
        That best clustering, of the part's super-points.
    reason
        Why the relaxation ended.
    rounds, n_cuts
        Cutting-plane rounds, and cuts at the end.
    start
        What other parts may start from; ``None`` without a relaxation.
    """

    value: float
    step: BoundStep | None
    cost: float
    own_cost: float
    labels: IntArray
    reason: StopReason
    seconds: float
    rounds: int = 0
    n_cuts: int = 0
    start: WarmStart | None = None


def bound_part(
    part: Part, effort: Effort, *, template: Template | None = None, seed: int = 0, deadline: Deadline | None = None
) -> PartBound:
    """Bound a part from below as far as it is worth; a part that nothing can be said about has the bound 0."""
    began = time.perf_counter()
    deadline = deadline or Deadline()
    points = part.super_points
    cost = cost_of(points, part.labels)
    if part.size < part.n_clusters or points.scatter == 0:
        return PartBound(0.0, None, cost, 0.0, part.labels, StopReason.REACHED, time.perf_counter() - began)
    cheap = CovarianceBounder().bound(Question(points, lambda: np.inf)).bound
    labels = _own_clustering(part, points, effort, seed, deadline)
    own_cost = min(cost, cost_of(points, labels))
    cost = cost if effort.follows_clustering else own_cost
    target = _target(cost, own_cost, effort)
    if cheap.value >= target or deadline.passed():
        reason = StopReason.REACHED if cheap.value >= target else StopReason.DEADLINE
        return PartBound(cheap.value, cheap.step, cost, own_cost, labels, reason, time.perf_counter() - began)
    answer = _relax(part, points, target, effort, template, seed, deadline)
    bound = answer.bound
    if isinstance(bound.step, RelaxationStep):
        bound = _with_fewer_bits(points, bound, bound.step, target)
    if cheap.value >= bound.value:
        bound = cheap
    return PartBound(
        bound.value,
        bound.step,
        cost,
        own_cost,
        labels,
        answer.reason,
        time.perf_counter() - began,
        len(answer.rounds),
        bound.n_cuts,
        answer.start if isinstance(answer.start, WarmStart) else None,
    )


def own_loss(part: Part, effort: Effort, seed: int, deadline: Deadline) -> float:
    """Return how much cheaper the part's own clustering is than the whole's in it, relatively."""
    points = part.super_points
    cost = cost_of(points, part.labels)
    if part.size < part.n_clusters or points.scatter == 0 or cost == 0:
        return 0.0
    return max(0.0, 1 - cost_of(points, _own_clustering(part, points, effort, seed, deadline)) / cost)


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
        return CovarianceBounder().bound(Question(points, lambda: np.inf)).bound.value
    is_same = np.array_equal(step.group_of, part.group_of)
    if not is_same or (step.unit, step.weight_unit) != (points.scale.unit, points.scale.weight_unit):
        raise ValueError("multipliers of another part")
    return points.scale.to_user(prove_again(step, Relaxation.from_super_points(points)).safe_lower_bound)


def _own_clustering(part: Part, points: SuperPoints, effort: Effort, seed: int, deadline: Deadline) -> IntArray:
    """Look for a clustering of the part that is better than the whole's: no bound can be above its cost."""
    settings = SearchSettings(n_searches=effort.searches, islands=1, most_dense_searches=1)
    start = part.labels if len(np.unique(part.labels)) == part.n_clusters else None
    found = search_clustering(points, start=start, seed=seed, deadline=deadline, settings=settings)
    return part.labels if found is None else found


def _target(cost: float, own_cost: float, effort: Effort) -> float:
    wanted = cost * (1 - effort.gap)
    hidden = min(effort.relaxation_share * (cost - own_cost), _MOST_HIDDEN * own_cost)
    beyond_reach = own_cost - max(hidden, effort.relaxation_share * effort.gap * cost)
    return min(wanted, beyond_reach)


def _relax(
    part: Part,
    points: SuperPoints,
    target: float,
    effort: Effort,
    template: Template | None,
    seed: int,
    deadline: Deadline,
) -> Answer:
    start = None if template is None else start_from(template, part)
    question = Question(points, lambda: target, deadline, seed, start)
    return RelaxationBounder(effort.cutting_planes).bound(question)


def _with_fewer_bits(points: SuperPoints, bound: Bound, step: RelaxationStep, target: float) -> Bound:
    """Round the slack towards zero, which is legal, and prove the bound again; keep it as it is if that costs much."""
    mask = np.uint32((0xFFFFFFFF << (23 - _MANTISSA_BITS)) & 0xFFFFFFFF)
    short = replace(step, slack=(step.slack.view(np.uint32) & mask).view(np.float32))
    value = points.scale.to_user(prove_again(short, Relaxation.from_super_points(points)).safe_lower_bound)
    is_enough = value >= min(target, bound.value * (1 - 1e-7))
    return Bound(value, short, bound.n_cuts) if is_enough else bound
