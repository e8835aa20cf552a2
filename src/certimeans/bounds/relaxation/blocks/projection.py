"""Projection onto the polyhedral set of all blocks, as :mod:`certimeans.bounds.relaxation.polyhedral` has it for one.

Blocks do not meet but in the rows of sums and links, so that several threads may share them; the order in which rows
move, and with it every number, is the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray, Single
from certimeans.bounds.relaxation.blocks.lifting import Lifting
from certimeans.bounds.relaxation.blocks.model import SizeBlocks
from certimeans.bounds.relaxation.blocks.rows import BlockRows, Scales
from certimeans.bounds.relaxation.blocks.sharing import Map
from certimeans.bounds.relaxation.polyhedral import _subtract_cuts
from certimeans.compilation import compiled_fast_without_allocation


class BlockProjector:
    """Projects onto boxes, sums, cuts and links."""

    def __init__(self, blocks: SizeBlocks, lifting: Lifting, sweeps: int, share: Map) -> None:
        size, count = blocks.size, blocks.n_blocks
        self._blocks = blocks
        self._lifting = lifting
        self._metric = np.sqrt(lifting.own**2 + 2.0 * lifting.column**2)  # of the one variable x_i
        self.weigh(np.ones(count))
        # Upper triangles, row by row. Between two updates: -V / (last penalty).
        self._target = np.zeros((count, size * size))
        self._penalty = 1.0
        self._sweeps = sweeps
        self._share = share
        self._active = np.empty(0, dtype=np.int64)

    def weigh(self, weights: FloatArray) -> None:
        """Measure distances in each block with a weight: its penalty is the square of that times the one of all."""
        blocks, places = self._blocks, np.arange(self._blocks.size)
        self.weights = weights
        pairs = np.sqrt(2.0) * (weights * self._lifting.square)[:, None, None] * blocks.most
        self.scales = Scales(pairs, weights[:, None] * self._metric)
        upper = np.where(blocks.closed, 0.0, pairs)
        upper[:, places, places] = np.where(blocks.is_open, self.scales.own, 0.0)
        self._upper = upper.reshape(blocks.n_blocks, blocks.size**2)

    def begin(self, dual: FloatArray, multipliers: FloatArray, rows: BlockRows) -> None:
        """Start from L and multipliers; needed again whenever these change otherwise than by updates."""
        lifting = self._lifting
        for g, target in enumerate(self._target):
            _fill_with_dual(dual[g], lifting.own[g], lifting.column[g], self._metric[g], target)
        self._target /= self.weights[:, None]
        _subtract_cuts(self._target.ravel(), rows.start, rows.position, rows.coefficient, multipliers)
        self._penalty = 1.0
        self._active = np.empty(len(multipliers), dtype=np.int64)

    def update(
        self,
        spectral: Sequence[Single],
        primal: FloatArray,
        dual: FloatArray,
        multipliers: FloatArray,
        rows: BlockRows,
        penalty: float,
        over_relaxation: float,
    ) -> FloatArray:
        """Update X, L and the multipliers in place.

        Returns
        -------
        FloatArray
            For each block the squares of |Y - X|, of X's change, of X and of L.
        """
        lifting, ratio = self._lifting, self._penalty / penalty
        blocks = range(len(spectral))

        def fill(g: int) -> None:
            constants = lifting.own[g], lifting.column[g], self._metric[g], self.weights[g]
            _fill_target(spectral[g], primal[g], over_relaxation, ratio, *constants, self._target[g])

        list(self._share(fill, blocks))
        self._penalty = penalty
        multipliers /= penalty
        self._apply_rows(multipliers, rows)
        multipliers *= penalty

        def write(g: int) -> tuple[float, float, float, float]:
            constants = lifting.corner[g], lifting.own[g], lifting.column[g], self._metric[g], self.weights[g]
            state = self._target[g], self._upper[g]
            return _write_back(spectral[g], primal[g], dual[g], penalty, over_relaxation, *constants, *state)

        return np.array(list(self._share(write, blocks)))

    def _apply_rows(self, multipliers: FloatArray, rows: BlockRows) -> None:
        """Move the multipliers: sums first, then the cuts of each block, then links."""
        target, upper = self._target.ravel(), self._upper.ravel()
        parts = [slice(*ends) for ends in zip(rows.parts[:-1], rows.parts[1:], strict=True)]
        left = [part.stop - part.start for part in parts]
        for part in parts:
            self._active[part] = np.arange(part.stop - part.start)

        def sweep(p: int) -> None:
            part = parts[p]
            start = rows.start[part.start : part.stop + 1]
            own = multipliers[part], rows.right_sides[part], self._active[part]
            left[p] = _sweep(target, upper, start, rows.position, rows.coefficient, *own, left[p])

        for _ in range(self._sweeps):
            sweep(0)
            list(self._share(sweep, range(1, len(parts) - 1)))
            sweep(len(parts) - 1)


@compiled_fast_without_allocation
def _fill_with_dual(
    dual: FloatArray, own: FloatArray, column: FloatArray, metric: FloatArray, target: FloatArray
) -> None:
    size = len(own)
    root = np.sqrt(2.0)
    for i in range(size):
        for j in range(i + 1, size):
            target[i * size + j] = root * dual[i + 1, j + 1]
        target[i * size + i] = (own[i] * dual[i + 1, i + 1] + 2.0 * column[i] * dual[0, i + 1]) / metric[i]


@compiled_fast_without_allocation
def _fill_target(  # noqa: PLR0913  # compiled code takes its state apart
    spectral: Single,
    primal: FloatArray,
    over_relaxation: float,
    ratio: float,
    own: FloatArray,
    column: FloatArray,
    metric: FloatArray,
    weight: float,
    target: FloatArray,
) -> None:
    """Turn -V / (last penalty) into Y - V / penalty; ``ratio`` is the last penalty divided by this one."""
    size = len(own)
    root = weight * np.sqrt(2.0)
    rest = 1.0 - over_relaxation
    for i in range(size):
        for j in range(i + 1, size):
            entry = over_relaxation * spectral[i + 1, j + 1] + rest * primal[i + 1, j + 1]
            target[i * size + j] = root * entry + ratio * target[i * size + j]
        above = over_relaxation * spectral[0, i + 1] + rest * primal[0, i + 1]
        entry = over_relaxation * spectral[i + 1, i + 1] + rest * primal[i + 1, i + 1]
        variable = weight * (own[i] * entry + 2.0 * column[i] * above) / metric[i]
        target[i * size + i] = variable + ratio * target[i * size + i]


@compiled_fast_without_allocation
def _sweep(  # noqa: PLR0913  # the same
    target: FloatArray,
    upper: FloatArray,
    start: IntArray,
    position: NDArray[np.int32],
    coefficient: FloatArray,
    multipliers: FloatArray,
    right_sides: FloatArray,
    active: IntArray,
    n_active: int,
) -> int:
    """Move the multipliers of active rows once; keep those that have one, and return how many."""
    still_active = 0
    for a in range(n_active):
        c = active[a]
        move = -right_sides[c]
        for q in range(start[c], start[c + 1]):
            p = position[q]
            move += coefficient[q] * min(max(target[p], 0.0), upper[p])
        move = max(move, -multipliers[c])
        if move != 0.0:
            multipliers[c] += move
            for q in range(start[c], start[c + 1]):
                target[position[q]] -= move * coefficient[q]
        if multipliers[c] > 0.0:  # later sweeps leave out the others
            active[still_active] = c
            still_active += 1
    return still_active


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
    weight: float,
    target: FloatArray,
    upper: FloatArray,
) -> tuple[float, float, float, float]:
    """Write X and L, and leave -V / penalty in ``target``; return squares as :meth:`BlockProjector.update` does."""
    size = len(own)
    half_root = np.sqrt(0.5) / weight
    penalty *= weight * weight
    rest = 1.0 - over_relaxation
    difference, change, primal_square, dual_square = 0.0, 0.0, 0.0, 0.0
    for i in range(size):
        for j in range(i + 1, size):
            p = i * size + j
            scaled = min(max(target[p], 0.0), upper[p])
            target[p] -= scaled
            entry = scaled * half_root
            found, before = spectral[i + 1, j + 1], primal[i + 1, j + 1]
            multiplier = dual[i + 1, j + 1] + penalty * (over_relaxation * found + rest * before - entry)
            primal[i + 1, j + 1] = entry
            dual[i + 1, j + 1] = multiplier
            difference += 2.0 * (found - entry) ** 2
            change += 2.0 * (entry - before) ** 2
            primal_square += 2.0 * entry**2
            dual_square += 2.0 * multiplier**2
    for i in range(-1, size):
        for is_above in (True, False):
            if i < 0 and is_above:
                continue
            row = 0 if is_above else i + 1
            entry = corner
            if i >= 0:
                p = i * size + i
                scaled = min(max(target[p], 0.0), upper[p])
                entry = scaled * (column[i] if is_above else own[i]) / (weight * metric[i])
                if not is_above:
                    target[p] -= scaled
            twice = 2.0 if is_above else 1.0
            found, before = spectral[row, i + 1], primal[row, i + 1]
            multiplier = dual[row, i + 1] + penalty * (over_relaxation * found + rest * before - entry)
            primal[row, i + 1] = entry
            dual[row, i + 1] = multiplier
            difference += twice * (found - entry) ** 2
            change += twice * (entry - before) ** 2
            primal_square += twice * entry**2
            dual_square += twice * multiplier**2
    return difference, change, primal_square, dual_square
