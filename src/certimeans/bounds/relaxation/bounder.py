"""The relaxation as a bounder: from super-points to a proven bound and the step that proves it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.protocol import Answer, Bound, Question, RoundStatistics, Start, nothing_proven
from certimeans.bounds.relaxation.admm import Iterate
from certimeans.bounds.relaxation.clustering_start import start_from_clustering
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings, bound_by_cutting_planes
from certimeans.bounds.relaxation.inherit import inherit
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.proof import cuts_of, dual_of, pack, size_multipliers_of
from certimeans.bounds.relaxation.safe_bound import SafeBound
from certimeans.presolve.contract import SuperPoints
from certimeans.proof.steps import RelaxationStep

LARGEST_SIZE = 10_000
"""The certificate's format allows no more super-points."""

_BYTES_PER_ENTRY = 100
"""Memory of a relaxation, divided by the square of its size: about twelve matrices of doubles at the same time."""


@dataclass(frozen=True, eq=False)
class WarmStart(Start):
    """What a bound leaves to the children of its problem.

    Attributes
    ----------
    group_of
        The super-point of each original point.
    weights
        The super-points' weights.
    iterate
        The multipliers that prove the bound, and the primal matrix that goes with them.
    """

    group_of: IntArray
    weights: FloatArray
    iterate: Iterate

    @classmethod
    def from_step(cls, points: SuperPoints, step: RelaxationStep) -> WarmStart:
        """Rebuild from a stored step on these super-points what a child starts from; the primal starts afresh.

        Raises
        ------
        ValueError
            If the step does not belong to these super-points.
        """
        relaxation = Relaxation.from_super_points(points)
        iterate = Iterate(
            Iterate.cold(relaxation).primal,
            dual_of(step, relaxation),
            cuts_of(step, points.size),
            size_multipliers=size_multipliers_of(step, relaxation),
        )
        return cls(points.group_of, points.weights, iterate)


class RelaxationBounder:
    """Bounds problems of some thousand super-points by cutting planes."""

    def __init__(self, settings: CuttingPlaneSettings | None = None) -> None:
        self.settings = settings or CuttingPlaneSettings()

    def bytes_needed(self, points: SuperPoints) -> int:
        """Estimate the memory: it grows with the square of the size."""
        return _BYTES_PER_ENTRY * points.size**2

    def bound(self, question: Question) -> Answer:
        """Solve, bound, separate, and repeat.

        Raises
        ------
        ValueError
            If there are more super-points than a certificate has room for: nobody could check the bound.
        """
        points, scale = question.points, question.points.scale
        if points.size > LARGEST_SIZE:
            raise ValueError(f"a certificate has room for {LARGEST_SIZE:,} super-points, not for {points.size:,}")
        relaxation = Relaxation.from_super_points(points)
        best = nothing_proven(points)

        def as_bound(proven: SafeBound, iterate: Iterate) -> Bound:
            value = scale.to_user(proven.safe_lower_bound)
            if not value > scale.nothing_proven:
                return nothing_proven(points)
            anchors = () if relaxation.size_rows is None else relaxation.size_rows.anchors
            return Bound(value, pack(points, iterate.cuts, proven, anchors), len(iterate.cuts))

        def on_round(_: RoundStatistics, proven: SafeBound, iterate: Iterate) -> None:
            nonlocal best
            if scale.to_user(proven.safe_lower_bound) > best.value:
                best = as_bound(proven, iterate)
                question.on_bound(best)

        outcome = bound_by_cutting_planes(
            relaxation,
            lambda: scale.target(question.target()),
            start=_start(question, relaxation, self.settings.admm.penalty),
            settings=self.settings,
            seed=question.seed,
            deadline=question.deadline,
            on_round=on_round,
            n_threads=question.n_threads,
        )
        if scale.to_user(outcome.proven.safe_lower_bound) > best.value:  # not yet told
            best = as_bound(outcome.proven, outcome.best)
        return Answer(
            best,
            outcome.reason,
            outcome.matrix,
            WarmStart(points.group_of, points.weights, outcome.best),
            outcome.rounds,
        )


def _start(question: Question, relaxation: Relaxation, penalty: float) -> Iterate | None:
    """Carry what a parent left over to these super-points, or start from a clustering if there is one."""
    parent = question.start
    if not isinstance(parent, WarmStart):
        return None if question.labels is None else start_from_clustering(relaxation, question.labels, penalty)
    first_point = np.unique(parent.group_of, return_index=True)[1]
    return inherit(parent.iterate, parent.weights, relaxation, question.points.group_of[first_point])
