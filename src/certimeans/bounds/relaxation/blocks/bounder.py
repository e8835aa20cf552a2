"""The relaxation with blocks as a bounder: from super-points to a proven bound and the step that proves it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.protocol import Answer, Bound, Question, RoundStatistics, Start, StopReason, nothing_proven
from certimeans.bounds.relaxation.blocks.inherit import inherit_blocks
from certimeans.bounds.relaxation.blocks.model import BlockCuts, SizeBlocks
from certimeans.bounds.relaxation.blocks.proof import pack, unpack
from certimeans.bounds.relaxation.blocks.safe_bound import BlockBound, no_bound
from certimeans.bounds.relaxation.blocks.sharing import Map, shared
from certimeans.bounds.relaxation.blocks.shifted import violated_shifted_cuts
from certimeans.bounds.relaxation.blocks.solver import BlockAdmm, BlockIterate
from certimeans.bounds.relaxation.cuts.separation import Separator
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneLoop, CuttingPlaneSettings
from certimeans.heuristics.limited.rounding import round_sizes
from certimeans.presolve.contract import SuperPoints
from certimeans.proof.steps import BlockStep

_BYTES_PER_ENTRY = 120
"""Memory of a relaxation, divided by the square of its size and the number of blocks."""

_LINK_VIOLATION = 0.01
_MOST_LINKS = 3000
"""In each round and block, those that are violated most, and by at least so much."""

_LONGER_FIRST_ROUND, _LONGER_ROUNDS = 2.0, 1.5
"""How many times as long as for one matrix rounds are: new cuts of all blocks throw the bound back further."""

_MOST_SHIFTED = 3000
_ROUNDS_WITHOUT_POINT_0 = 3
"""Cuts with the point 0: at most so many in each round and block, and none in the first rounds, since they take longer
to find and easy problems need none."""


_NEARLY_DECIDED, _LONGER = 0.04, 4.0
"""Mean of 1 - sum_g x_i^2 below which the loop goes on, and for how many times the iterations that it has had."""


@dataclass(frozen=True, eq=False)
class BlockStart(Start):
    """What a bound leaves to the children of its problem: super-points, their weights, and where to go on."""

    group_of: IntArray
    weights: FloatArray
    iterate: BlockIterate

    @classmethod
    def from_step(cls, points: SuperPoints, step: BlockStep) -> BlockStart:
        """Rebuild from a stored step on these super-points what a child starts from; the primal starts afresh.

        Raises
        ------
        ValueError
            If the step does not belong to these super-points.
        """
        blocks, cuts, slack = unpack(step, points)
        return cls(
            points.group_of, points.weights, BlockIterate.from_multipliers(blocks, cuts, step.row_multiplier, slack)
        )


class BlockBounder:
    """Bounds problems with prescribed unequal sizes by cutting planes."""

    def __init__(self, settings: CuttingPlaneSettings | None = None) -> None:
        given = settings or CuttingPlaneSettings()
        self.settings = replace(
            given,
            first_iterations=round(_LONGER_FIRST_ROUND * given.first_iterations),
            iterations=round(_LONGER_ROUNDS * given.iterations),
            bound_every=round(_LONGER_ROUNDS * given.bound_every),
        )

    def bytes_needed(self, points: SuperPoints) -> int:
        """Estimate the memory."""
        n_blocks = 1 if points.limits is None else len(points.limits.choices)
        return _BYTES_PER_ENTRY * points.size**2 * n_blocks

    def bound(self, question: Question) -> Answer:
        """Solve, bound, separate, and repeat."""
        points, scale = question.points, question.points.scale
        blocks = SizeBlocks.from_super_points(points)
        best = nothing_proven(points)

        def as_bound(proven: BlockBound) -> Bound:
            value = scale.to_user(proven.safe_lower_bound)
            if not value > scale.nothing_proven:
                return nothing_proven(points)
            return Bound(value, pack(points, proven), len(proven.cuts))

        def on_round(_: RoundStatistics, proven: BlockBound) -> None:
            nonlocal best
            if scale.to_user(proven.safe_lower_bound) > best.value:
                best = as_bound(proven)
                question.on_bound(best)

        with shared(min(question.n_threads, blocks.n_blocks)) as share:
            start = _start(question, blocks)
            loop = _BlockLoop(blocks, lambda: scale.target(question.target()), start, self.settings, question, share)
            reason = loop.run(lambda statistics, proven, _: on_round(statistics, proven))  # type: ignore[arg-type]
        if scale.to_user(loop.best_proven.safe_lower_bound) > best.value:  # not yet told
            best = as_bound(loop.best_proven)
        return Answer(
            best,
            reason,
            loop.solver.spectral_matrix(),
            BlockStart(points.group_of, points.weights, loop.best),
            tuple(loop.rounds),
            loop.solver.shared().diagonal(axis1=1, axis2=2),
        )


def _start(question: Question, blocks: SizeBlocks) -> BlockIterate:
    parent = question.start
    if not isinstance(parent, BlockStart):
        return BlockIterate.from_clustering(blocks, question.labels)
    first_point = np.unique(parent.group_of, return_index=True)[1]
    return inherit_blocks(parent.iterate, parent.weights, blocks, question.points.group_of[first_point])


class _BlockLoop(CuttingPlaneLoop):
    """The cutting-plane loop on blocks."""

    solver: BlockAdmm  # type: ignore[assignment]
    best: BlockIterate  # type: ignore[assignment]
    best_proven: BlockBound  # type: ignore[assignment]

    def __init__(
        self,
        blocks: SizeBlocks,
        pruning_value: Callable[[], float],
        start: BlockIterate,
        settings: CuttingPlaneSettings,
        question: Question,
        share: Map = map,
    ) -> None:
        self.separators = [
            Separator(settings.separation, question.seed + g, question.n_threads, start.threshold)
            for g in range(blocks.n_blocks)
        ]
        self._seed = question.seed
        self._first_with_point_0 = self._first_stalled = 10**9  # iterations
        self._points, self._tell = question.points, question.on_labels
        super().__init__(
            BlockAdmm(blocks, start, settings.admm, question.seed, share),  # type: ignore[arg-type]
            start,  # type: ignore[arg-type]
            no_bound(blocks),  # type: ignore[arg-type]
            pruning_value,
            settings,
            self.separators[0],
            question.deadline,
        )

    def _go_on_while_rising(self, done: int) -> StopReason | None:
        """Go on until new cuts, which throw the bound back, have made up for that; then as for one matrix."""
        while done < self.settings.max_iterations:
            if self.current_bounds[-1] >= self.curve[-1][1]:
                break
            if reason := self._iterate(self._bound_every):
                return reason
            done += self._bound_every
        return super()._go_on_while_rising(done)

    def _give_up(self) -> StopReason | None:
        """Decide as for one matrix, but not before cuts with the point 0 have had half of all iterations.

        Nor if nearly nothing is undecided: then the relaxation is on its way to a better clustering, which will be
        told when it arrives, and which the bound will reach.
        """
        reason = super()._give_up()
        if reason is not StopReason.STALLED:
            return reason
        done = self.solver.iterations
        self._first_stalled = min(self._first_stalled, done)
        is_early = not self._is_warm and done < 2 * self._first_with_point_0
        shares = np.clip(self.solver.shared().diagonal(axis1=1, axis2=2), 0.0, 1.0)
        is_nearly_decided = 1.0 - float((shares**2).sum(axis=0).mean()) < _NEARLY_DECIDED
        return None if is_early or (is_nearly_decided and done < _LONGER * self._first_stalled) else reason

    def _separate(self) -> None:
        began = time.perf_counter()
        blocks, kept = self.solver.relaxation, self.solver.current_cuts().purged()
        shared = self.solver.shared()
        assert self._points.limits is not None  # noqa: S101  # there are blocks
        self._tell(round_sizes(self._points.limits, shared.diagonal(axis1=1, axis2=2), shared))
        cuts = []
        for g, separator in enumerate(self.separators):
            scaled = np.outer(blocks.roots, blocks.roots) * shared[g]  # so that violations are those of X
            found = separator.find(scaled, blocks.block(g), self.deadline, 1.0)
            if self._is_warm or len(self.rounds) >= _ROUNDS_WITHOUT_POINT_0:
                self._first_with_point_0 = min(self._first_with_point_0, self.solver.iterations)
                seed = self._seed + len(self.rounds) * blocks.n_blocks + g
                more = violated_shifted_cuts(shared[g], blocks.counts[g], separator.threshold, _MOST_SHIFTED, seed)
                found = found.extended(more)
            both = kept.cuts[g].extended(found)
            if len(both) - len(kept.cuts[g]) < self.settings.few_new_cuts * len(kept.cuts[g]):
                separator.lower_threshold()
            cuts.append(both)
        extended = BlockCuts(tuple(cuts), kept.links.extended(_violated_links(blocks, shared)))
        self.new_cuts = len(extended) - len(kept)
        self.solver.replace_cuts(extended)
        self.separation_seconds += time.perf_counter() - began


def _violated_links(blocks: SizeBlocks, shared: FloatArray) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    found = [np.empty((0, 3), dtype=np.int32)]
    together = shared.sum(axis=0)
    for g, count in enumerate(blocks.counts):
        if count > 1:
            continue
        own = shared[g].diagonal()
        excess = np.triu(np.add.outer(own, own) - 2.0 * shared[g] + together - 1.0, 1)
        excess[blocks.relaxation.forbidden] = np.minimum(excess[blocks.relaxation.forbidden], 1.0)
        i, j = np.nonzero(excess > _LINK_VIOLATION)
        worst = np.argsort(-excess[i, j], kind="stable")[:_MOST_LINKS]
        found.append(np.column_stack([np.full(len(worst), g), i[worst], j[worst]]).astype(np.int32))
    return np.vstack(found)
