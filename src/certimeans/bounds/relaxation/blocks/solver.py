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

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.lapack import dsyevr
from certimeans.bounds.relaxation.admm import AdmmSettings
from certimeans.bounds.relaxation.blocks.model import BlockCuts, Links, SizeBlocks
from certimeans.bounds.relaxation.blocks.rows import BlockRows, Scales
from certimeans.bounds.relaxation.blocks.safe_bound import BlockBound, block_bound, no_bound
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.polyhedral import _subtract_cuts
from certimeans.bounds.relaxation.polyhedral_box import _apply_rows
from certimeans.bounds.relaxation.safe_bound import ALL_BITS
from certimeans.bounds.relaxation.spectral import Single, SpectralProjector
from certimeans.compilation import compiled_fast_without_allocation

_LIFT = 0.3  # c: of 0.1, 0.3 and 1 the best
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
            own = blocks_sum(blocks, g, cuts, (table[g], total)) - slack[g]
            own[diagonal] -= blocks.sizes[g] * rows / blocks.roots
            dual[g, 1:, 1:] = own / lifting.square[g]
            dual[g, 0, 1:] = rows * np.sqrt(blocks.sizes[g]) / (2.0 * _LIFT * lifting.square[g])
        costs = slack.diagonal(axis1=1, axis2=2) * blocks.roots**2 / blocks.sizes[:, None]
        least = np.where(blocks.is_open, costs, np.inf).min(axis=0)
        least = np.where(np.isfinite(least), least, 0.0)
        sums = np.concatenate([np.maximum(-least, 0.0), np.maximum(least, 0.0)])
        return cls(start.primal, dual, cuts, sums, AdmmSettings().warm_penalty)


@dataclass(frozen=True, eq=False)
class Lifting:
    """The constants of the lifted blocks: P_00, P_0i / x_i, P_ii / x_i and P_ij / Y_ij = f^2; the unit vectors q."""

    corner: FloatArray
    column: FloatArray
    own: FloatArray
    square: FloatArray
    directions: FloatArray

    @classmethod
    def of(cls, blocks: SizeBlocks) -> Lifting:
        """Lift blocks."""
        counts, sizes, roots = np.array(blocks.counts, dtype=np.float64), blocks.sizes, blocks.roots
        square = 1.0 / (1.0 + counts * _LIFT**2)
        directions = np.column_stack([np.sqrt(sizes) / _LIFT, np.broadcast_to(-roots, (len(sizes), len(roots)))])
        return cls(
            square * counts * _LIFT**2,
            np.outer(square * _LIFT / np.sqrt(sizes), roots),
            np.outer(square / sizes, roots**2),
            square,
            directions / np.linalg.norm(directions, axis=1)[:, None],
        )


class BlockAdmm:
    """The solver's state, as :class:`certimeans.bounds.relaxation.admm.Admm` has it for one matrix."""

    def __init__(self, blocks: SizeBlocks, start: BlockIterate, settings: AdmmSettings, seed: int = 0) -> None:
        self.relaxation = blocks
        self.settings = settings
        self.primal, self.dual = start.primal.copy(), start.dual.copy()
        self._lifting = Lifting.of(blocks)
        lifting, size = self._lifting, blocks.size
        self._metric = np.sqrt(lifting.own**2 + 2.0 * lifting.column**2)  # of the one variable x_i
        self._scales = Scales(np.sqrt(2.0) * lifting.square[:, None, None] * blocks.most, self._metric)
        upper = np.where(blocks.closed, 0.0, self._scales.pairs)
        upper[:, np.arange(size), np.arange(size)] = np.where(blocks.is_open, self._metric, 0.0)
        self._upper = upper.ravel()
        self._lower = np.zeros(self._upper.shape)
        self._target = np.zeros(self._upper.shape)
        self._objective = np.zeros((blocks.n_blocks, size + 1, size + 1))
        self._objective[:, 1:, 1:] = blocks.relaxation.objective / lifting.square[:, None, None]
        self._projectors = [
            SpectralProjector(direction, count * square * (1 + _LIFT**2), seed + g, settings.spectral)
            for g, (direction, count, square) in enumerate(
                zip(lifting.directions, blocks.counts, lifting.square, strict=True)
            )
        ]
        self._spectral: list[Single] = [np.zeros((size + 1, size + 1), dtype=np.float32)] * blocks.n_blocks
        self._sums = start.sums
        self._set_cuts(start.cuts)
        self.iterations = 0
        self.penalty = start.penalty or settings.penalty
        self._differences = [np.inf] * blocks.n_blocks
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
        for g, projector in enumerate(self._projectors):
            slope = (self._objective[g], self.dual[g])
            tolerance = self.settings.inexactness * self._differences[g]
            self._spectral[g] = projector.project(self.primal[g], slope, 1.0 / self.penalty, tolerance)
        between = time.perf_counter()
        self._update_polyhedral_and_dual()
        self.iterations += 1
        if self.iterations % self.settings.balance_every == 0:
            ratio = self.primal_residual / max(self.settings.balance * self.dual_residual, _TINY)
            largest = self.settings.largest_balancing
            self.penalty *= min(max(np.sqrt(ratio), 1 / largest), largest)
        self.spectral_seconds += between - began
        self.polyhedral_seconds += time.perf_counter() - between

    def _update_polyhedral_and_dual(self) -> None:
        lifting, rows, area = self._lifting, self._rows, self.relaxation.size**2
        relaxed = self.settings.over_relaxation
        for g, spectral in enumerate(self._spectral):
            target = self._target[g * area : (g + 1) * area]
            _fill_target(
                spectral,
                self.primal[g],
                self.dual[g],
                self.penalty,
                relaxed,
                lifting.own[g],
                lifting.column[g],
                self._metric[g],
                target,
            )
        shares = self.multipliers / self.penalty
        _subtract_cuts(self._target, rows.start, rows.position, rows.coefficient, shares)
        _apply_rows(
            self._target,
            self._lower,
            self._upper,
            rows.start,
            rows.position,
            rows.coefficient,
            rows.right_sides,
            self.multipliers,
            self.penalty,
            self.settings.sweeps,
            np.empty(len(self.multipliers), dtype=np.int64),
        )
        squares = np.zeros(3)
        for g, spectral in enumerate(self._spectral):
            here = slice(g * area, (g + 1) * area)
            difference, *others = _write_back(
                spectral,
                self.primal[g],
                self.dual[g],
                self.penalty,
                relaxed,
                lifting.corner[g],
                lifting.own[g],
                lifting.column[g],
                self._metric[g],
                self._target[here],
                self._upper[here],
            )
            self._differences[g] = float(np.sqrt(difference))
            squares += others
        change, primal_norm, dual_norm = np.sqrt(squares)
        self.primal_residual = float(np.linalg.norm(self._differences)) / max(primal_norm, _TINY)
        self.dual_residual = self.penalty * change / max(dual_norm, _TINY)

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
        self._set_cuts(cuts)

    def _set_cuts(self, cuts: BlockCuts) -> None:
        self.cuts = cuts
        self._rows = BlockRows.build(self.relaxation, self._scales, cuts)
        sizes = self.relaxation.sizes
        own = [part.multipliers / size for part, size in zip(cuts.cuts, sizes, strict=True)]
        self.multipliers = np.concatenate([self._sums, *own, cuts.links.multipliers]) * self._rows.norms

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

    def safe_bound(self, slack_bits: int = ALL_BITS) -> BlockBound:
        """Prove a bound from the present multipliers."""
        if not np.isfinite(self.dual).all():
            return no_bound(self.relaxation)
        blocks, cuts = self.relaxation, self.current_cuts()
        size = blocks.size
        table = cuts.links.table(blocks.n_blocks, size)
        total = table.sum(axis=0)
        rows = np.empty((blocks.n_blocks, size))
        wish = np.empty((blocks.n_blocks, size, size))
        for g in range(blocks.n_blocks):
            rows[g], of_all, dual = self._in_terms_of_sizes(g)
            wish[g] = blocks_sum(blocks, g, cuts, (table[g], total)) - dual
            wish[g][np.diag_indices(size)] -= blocks.sizes[g] * (rows[g] / blocks.roots - of_all)
        return block_bound(blocks, cuts, rows, wish, slack_bits)

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
        count = blocks.counts[g]
        lowest, _, failed = dsyevr(compressed, il=count, iu=count, lower=1)
        corner = dual[0, 0] - (0.0 if failed else float(lowest[-1]))
        factor = _LIFT / np.sqrt(blocks.sizes[g])
        of_all = float(square * factor**2 * corner)
        rows = 2.0 * square * factor * dual[0, 1:] + of_all * blocks.roots
        return rows, of_all, square * dual[1:, 1:]


def blocks_sum(blocks: SizeBlocks, g: int, cuts: BlockCuts, links: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return sum_c mu_c B_c + L^g, nearly, as :mod:`.safe_bound` writes it."""
    rows = CutRows.build(cuts.cuts[g], blocks.block(g))
    total, _, _ = rows.weighted_sum(cuts.cuts[g].multipliers * rows.norms)
    of_links: FloatArray = 0.5 * blocks.sizes[g] * (links[1] - 2.0 * links[0]) / np.outer(blocks.roots, blocks.roots)
    of_links[np.diag_indices(blocks.size)] = blocks.sizes[g] * links[0].sum(axis=1) / blocks.roots**2
    return total + of_links


@compiled_fast_without_allocation
def _fill_target(  # noqa: PLR0913  # compiled code takes its state apart
    spectral: Single,
    primal: FloatArray,
    dual: FloatArray,
    penalty: float,
    over_relaxation: float,
    own: FloatArray,
    column: FloatArray,
    metric: FloatArray,
    target: FloatArray,
) -> None:
    """Write what is to be projected, in the solver's variables."""
    size = len(own)
    root = np.sqrt(2.0)
    rest = 1.0 - over_relaxation
    for i in range(size):
        for j in range(i + 1, size):
            entry = over_relaxation * spectral[i + 1, j + 1] + rest * primal[i + 1, j + 1]
            target[i * size + j] = root * (entry + dual[i + 1, j + 1] / penalty)
        above = over_relaxation * spectral[0, i + 1] + rest * primal[0, i + 1] + dual[0, i + 1] / penalty
        entry = over_relaxation * spectral[i + 1, i + 1] + rest * primal[i + 1, i + 1] + dual[i + 1, i + 1] / penalty
        target[i * size + i] = (own[i] * entry + 2.0 * column[i] * above) / metric[i]


@compiled_fast_without_allocation
def _write_back(  # noqa: PLR0913  # the same
    spectral: Single,
    primal: FloatArray,
    dual: FloatArray,
    penalty: float,
    over_relaxation: float,
    corner: float,
    own: FloatArray,
    column: FloatArray,
    metric: FloatArray,
    target: FloatArray,
    upper: FloatArray,
) -> tuple[float, float, float, float]:
    """Update X and L; return the squares of |Y - X|, of X's change, of X and of L."""
    size = len(own)
    half_root = np.sqrt(0.5)
    difference, change, primal_square, dual_square = 0.0, 0.0, 0.0, 0.0
    for i in range(size + 1):
        for j in range(i, size + 1):
            twice = 1.0 if i == j else 2.0
            if i == 0:
                entry = corner
                if j > 0:
                    p = (j - 1) * size + j - 1
                    entry = min(max(target[p], 0.0), upper[p]) * column[j - 1] / metric[j - 1]
            elif i == j:
                p = (i - 1) * size + i - 1
                entry = min(max(target[p], 0.0), upper[p]) * own[i - 1] / metric[i - 1]
            else:
                p = (i - 1) * size + j - 1
                entry = min(max(target[p], 0.0), upper[p]) * half_root
            found = spectral[i, j]
            relaxed = over_relaxation * found + (1 - over_relaxation) * primal[i, j]
            difference += twice * (found - entry) ** 2
            change += twice * (entry - primal[i, j]) ** 2
            dual[i, j] += penalty * (relaxed - entry)
            primal[i, j] = entry
            primal_square += twice * entry**2
            dual_square += twice * dual[i, j] ** 2
    return difference, change, primal_square, dual_square
