r"""The alternating direction method for the blocks: spectral sets block by block, one polyhedral set for all.

**Lifted.** A cluster C of the share pi is the vector f (c, a_i / sqrt(pi) for i in C), where c is a constant and
f^2 = 1 / (1 + m c^2) for m clusters of that size. Let P be the sum of the squares z z' of these m vectors: the block.
All z are orthogonal to q = (sqrt(pi) / c, -a), since the shares in C add up to pi. So ::

    P q = 0,   0 <= P <= I,   trace P = m f^2 (1 + c^2),       P_00 = m f^2 c^2,
    P_0i = f^2 c a_i x_i / sqrt(pi),   P_ii = f^2 a_i^2 x_i / pi,   P_ij = f^2 Y_ij,

with equality of the largest eigenvalue and 1 where it belongs to the sum of the vectors. The first line is the spectral
set; the second, with sum_g x^g_i = 1 and all inequalities, the polyhedral one. There, x_i is *one* variable that stands
in three entries, so the equations (1) of :mod:`.model` take no rows.

**Multipliers.** The dual matrix D of a block stands for f^2 (D_ij + c (a_i D_0j + D_0i a_j) / sqrt(pi) + c^2 D_00 a_i
a_j / pi) in terms of Y: the multipliers of (1) are read off. The first line knows trace P, where Y alone knows its own;
the difference is a multiple of a'Ya, which (1) fixes: D_00 is shifted by the lowest eigenvalue of the lifted matrix.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from certimeans._typing import FloatArray, IntArray, Single
from certimeans.bounds.lapack import dsyevr
from certimeans.bounds.relaxation.admm import AdmmSettings
from certimeans.bounds.relaxation.blocks.lifting import LIFT, Lifting
from certimeans.bounds.relaxation.blocks.model import BlockCuts, Links, SizeBlocks
from certimeans.bounds.relaxation.blocks.projection import BlockProjector
from certimeans.bounds.relaxation.blocks.rows import BlockRows
from certimeans.bounds.relaxation.blocks.safe_bound import BlockBound, block_bound, no_bound, sums_of_block
from certimeans.bounds.relaxation.blocks.sharing import Map
from certimeans.bounds.relaxation.safe_bound import ALL_BITS
from certimeans.bounds.relaxation.spectral import SpectralProjector

_FIRST_PENALTY = 0.4
_UNSETTLED = 250
"""After so many iterations the penalty, which would go up and down for ever, moves by little."""
_SETTLED_BALANCING = 1.08
_TINY = 1e-30  # not for tuning: keeps a quotient finite


@dataclass(frozen=True, eq=False)
class BlockIterate:
    """What a solver can be started from.

    Attributes
    ----------
    primal, dual
        A lifted matrix for each block, of which the upper triangle counts.
    cuts
        With multipliers.
    sums
        Multipliers of sum_g x^g_i <= 1, then of >= 1.
    penalty, threshold
        Where these had got to, if that is known.
    """

    primal: FloatArray
    dual: FloatArray
    cuts: BlockCuts
    sums: FloatArray
    penalty: float | None = None
    threshold: float | None = None

    @classmethod
    def from_clustering(cls, blocks: SizeBlocks, labels: IntArray | None) -> BlockIterate:
        """Start from a clustering, or from nothing, without multipliers."""
        size, count = blocks.size, blocks.n_blocks
        lifted = Lifting.of(blocks)
        x = blocks.sizes[:, None] * np.array(blocks.counts)[:, None] * np.ones(size)
        pairs = np.multiply.outer(x[:, 0] * blocks.sizes, np.ones((size, size)))
        if labels is not None:
            x, pairs = np.zeros((count, size)), np.zeros((count, size, size))
            for cluster in np.unique(labels):
                members = (labels == cluster).astype(np.float64)
                g = int(np.argmin(np.abs(blocks.sizes - float(blocks.roots**2 @ members))))
                x[g] += members
                pairs[g] += np.outer(members, members)
        primal = np.zeros((count, size + 1, size + 1))
        primal[:, 0, 0] = lifted.corner
        primal[:, 0, 1:] = lifted.column * x
        primal[:, 1:, 1:] = lifted.square[:, None, None] * blocks.most * pairs
        diagonal = np.arange(1, size + 1)
        primal[:, diagonal, diagonal] = lifted.own * x
        return cls(primal, np.zeros_like(primal), BlockCuts.none(count), np.zeros(2 * size))

    @classmethod
    def from_multipliers(
        cls, blocks: SizeBlocks, cuts: BlockCuts, row_multipliers: FloatArray, slack: FloatArray
    ) -> BlockIterate:
        """Start from what proves a bound, with V in upper triangles; the primal starts afresh."""
        start = cls.from_clustering(blocks, None)
        lifting, diagonal = Lifting.of(blocks), np.diag_indices(blocks.size)
        table = cuts.links.table(blocks.n_blocks, blocks.size)
        total, dual = table.sum(axis=0), np.zeros_like(start.dual)
        for g, rows in enumerate(row_multipliers):
            own = sums_of_block(blocks, g, cuts, (table[g], total))[0] - slack[g]
            own[diagonal] -= blocks.sizes[g] * rows / blocks.roots
            dual[g, 1:, 1:] = own / lifting.square[g]
            dual[g, 0, 1:] = rows * np.sqrt(blocks.sizes[g]) / (2.0 * LIFT * lifting.square[g])
        costs = slack.diagonal(axis1=1, axis2=2) * blocks.roots**2 / blocks.sizes[:, None]
        least = np.where(blocks.is_open, costs, np.inf).min(axis=0)
        least = np.where(np.isfinite(least), least, 0.0)
        sums = np.concatenate([np.maximum(-least, 0.0), np.maximum(least, 0.0)])
        return cls(start.primal, dual, cuts, sums, AdmmSettings().warm_penalty)


class BlockAdmm:
    """The solver's state, as :class:`certimeans.bounds.relaxation.admm.Admm` has it for one matrix.

    Parameters
    ----------
    share
        Python's own ``map``, or that of a pool of threads, which then share the blocks; numbers stay the same.
    """

    def __init__(
        self, blocks: SizeBlocks, start: BlockIterate, settings: AdmmSettings, seed: int = 0, share: Map = map
    ) -> None:
        self.relaxation = blocks
        self.settings = settings
        self.primal, self.dual = start.primal.copy(), start.dual.copy()
        self._share = share
        self._lifting = lifting = Lifting.of(blocks)
        size = blocks.size
        self._projector = BlockProjector(blocks, lifting, settings.sweeps, share)
        self._objective = np.zeros((blocks.n_blocks, size + 1, size + 1))
        self._objective[:, 1:, 1:] = blocks.relaxation.objective / lifting.square[:, None, None]
        self._spectral_projectors = [
            SpectralProjector(direction, count * square * (1 + LIFT**2), seed + g, settings.spectral)
            for g, (direction, count, square) in enumerate(
                zip(lifting.directions, blocks.counts, lifting.square, strict=True)
            )
        ]
        self._spectral: list[Single] = [np.zeros((size + 1, size + 1), dtype=np.float32)] * blocks.n_blocks
        self._sums = start.sums
        self._set_cuts(start.cuts)
        self.iterations = 0
        self.penalty = start.penalty or _FIRST_PENALTY
        self._squares = np.zeros((blocks.n_blocks, 4))
        self._differences = np.full(blocks.n_blocks, np.inf)
        self.primal_residual = self.dual_residual = np.inf
        self.spectral_seconds = self.polyhedral_seconds = 0.0

    def iterate(self) -> None:
        """Run one iteration.

        Raises
        ------
        SpectralError
            If the iterates broke down.
        """
        began = time.perf_counter()
        self._spectral = list(self._share(self._project, range(self.relaxation.n_blocks)))
        between = time.perf_counter()
        squares = self._projector.update(
            self._spectral,
            self.primal,
            self.dual,
            self.multipliers,
            self._rows,
            self.penalty,
            self.settings.over_relaxation,
        )
        self._squares = squares
        self._differences = np.sqrt(squares[:, 0])
        difference, _, primal_norm, dual_norm = np.sqrt(squares.sum(axis=0)).tolist()
        self.primal_residual = difference / max(primal_norm, _TINY)
        change = float(np.sqrt((squares[:, 1] * self._projector.weights**4).sum()))
        self.dual_residual = self.penalty * change / max(dual_norm, _TINY)
        self.iterations += 1
        if self.iterations % self.settings.balance_every == 0:
            ratio = self.primal_residual / max(self.settings.balance * self.dual_residual, _TINY)
            largest = self.settings.largest_balancing if self.iterations <= _UNSETTLED else _SETTLED_BALANCING
            self.penalty *= min(max(np.sqrt(ratio), 1 / largest), largest)
        self.spectral_seconds += between - began
        self.polyhedral_seconds += time.perf_counter() - between

    def _project(self, g: int) -> Single:
        slope = (self._objective[g], self.dual[g])
        tolerance = self.settings.inexactness * float(self._differences[g])
        penalty = self.penalty * float(self._projector.weights[g]) ** 2
        return self._spectral_projectors[g].project(self.primal[g], slope, 1.0 / penalty, tolerance)

    def current_cuts(self) -> BlockCuts:
        """Return the cuts with their present multipliers."""
        own = self.multipliers / self._rows.norms
        place = 2 * self.relaxation.size
        cuts = []
        for g, part in enumerate(self.cuts.cuts):
            # Their inequalities are written for Y, which is X over the size but for the amounts.
            cuts.append(part.with_multipliers(own[place : place + len(part)] * self.relaxation.sizes[g]))
            place += len(part)
        return BlockCuts(tuple(cuts), Links(self.cuts.links.places, own[place:]))

    def replace_cuts(self, cuts: BlockCuts) -> None:
        """Go on with other cuts, with the multipliers they bring."""
        self._sums = self.multipliers[: 2 * self.relaxation.size] / self._rows.norms[: 2 * self.relaxation.size]
        self._weigh()
        self._set_cuts(cuts)

    def _weigh(self) -> None:
        """Let the penalty of each block move towards where its residuals are in the ratio that those of all have."""
        weights = self._projector.weights
        difference, change, primal, dual = np.sqrt(self._squares.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log(difference * dual / (primal * change * weights**2))
        if np.isfinite(ratios).all():
            most = np.log(self.settings.largest_balancing)
            factors = np.exp(np.clip(0.25 * (ratios - ratios.mean()), -most, most))
            self._projector.weigh(weights * factors)

    def _set_cuts(self, cuts: BlockCuts) -> None:
        self.cuts = cuts
        self._rows = BlockRows.build(self.relaxation, self._projector.scales, cuts)
        sizes = self.relaxation.sizes
        own = [part.multipliers / size for part, size in zip(cuts.cuts, sizes, strict=True)]
        self.multipliers = np.concatenate([self._sums, *own, cuts.links.multipliers]) * self._rows.norms
        self._projector.begin(self.dual, self.multipliers, self._rows)

    def shared(self) -> FloatArray:
        """Return X^g, as the spectral sets have it."""
        lifting = self._lifting
        matrices = np.stack([spectral[1:, 1:] for spectral in self._spectral]).astype(np.float64)
        return matrices / (lifting.square[:, None, None] * self.relaxation.most)

    def spectral_matrix(self) -> FloatArray:
        """Return Y, the sum of all blocks."""
        lifting = self._lifting
        parts = (part[1:, 1:] / scale for part, scale in zip(self._spectral, lifting.square, strict=True))
        return np.asarray(sum(parts), dtype=np.float64)

    def snapshot(self) -> BlockIterate:
        """Copy the present iterate."""
        count = 2 * self.relaxation.size
        sums = self.multipliers[:count] / self._rows.norms[:count]
        return BlockIterate(self.primal.copy(), self.dual.copy(), self.current_cuts(), sums, self.penalty)

    def safe_bound(self, slack_bits: int = ALL_BITS, *, may_estimate: bool = False) -> BlockBound:
        """Prove a bound from the present multipliers."""
        if not np.isfinite(self.dual).all():
            return no_bound(self.relaxation)
        blocks = self.relaxation
        parts = list(self._share(self._in_terms_of_sizes, range(blocks.n_blocks)))
        diagonal = np.diag_indices(blocks.size)

        def wish(g: int, summed: FloatArray) -> FloatArray:
            rows, of_all, dual = parts[g]
            slack = summed - dual
            slack[diagonal] -= blocks.sizes[g] * (rows / blocks.roots - of_all)
            return slack

        rows = np.stack([part[0] for part in parts])
        return block_bound(blocks, self.current_cuts(), rows, wish, slack_bits, self._share, may_estimate=may_estimate)

    def _in_terms_of_sizes(self, g: int) -> tuple[FloatArray, float, FloatArray]:
        """Return the multipliers of (1), what they have of a multiple of a, and the rest of the dual matrix, for Y.

        The sum of all (1), each times a_i, is a'Ya = pi trace Y: its last term is known, and belongs to no x_i.
        """
        blocks, square, direction = self.relaxation, self._lifting.square[g], self._lifting.directions[g]
        dual = np.triu(self.dual[g]) + np.triu(self.dual[g], 1).T
        lifted = dual + self._objective[g]
        image = lifted @ direction
        half = image - 0.5 * (float(direction @ image) + float(np.linalg.norm(lifted))) * direction
        compressed = lifted - np.outer(direction, half) - np.outer(half, direction)
        corner = dual[0, 0] - self._last_of_lowest(g, compressed)
        factor = LIFT / np.sqrt(blocks.sizes[g])
        of_all = float(square * factor**2 * corner)
        rows = 2.0 * square * factor * dual[0, 1:] + of_all * blocks.roots
        return rows, of_all, square * dual[1:, 1:]

    def _last_of_lowest(self, g: int, matrix: FloatArray) -> float:
        """Return the m-th lowest eigenvalue, nearly if the subspace that the spectral step follows knows it."""
        count = self.relaxation.counts[g]
        values = self._spectral_projectors[g].values_in_subspace(matrix)
        if values is not None and len(values) >= count:
            return float(values[count - 1])
        lowest, _, failed = dsyevr(matrix, il=count, iu=count, lower=1)
        return 0.0 if failed else float(lowest[-1])
