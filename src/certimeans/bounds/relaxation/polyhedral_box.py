"""Projection onto the polyhedral set where entries have upper limits, too, and sizes have rows of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray, Single
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.polyhedral import PolyhedralProjector
from certimeans.bounds.relaxation.threads import Threads
from certimeans.compilation import compiled_fast_without_allocation


class BoxProjector(PolyhedralProjector):
    """Projects onto a box, the cuts and the rows of sizes; see :class:`PolyhedralProjector`."""

    def __init__(self, relaxation: Relaxation, sweeps: int, threads: Threads | None = None) -> None:
        super().__init__(relaxation.direction, relaxation.forbidden, sweeps, threads)
        size = relaxation.size
        lower, upper = np.zeros((size, size)), np.full((size, size), np.inf)
        if relaxation.box is not None:
            lower[np.diag_indices(size)] = relaxation.box.lower
            upper = np.maximum(relaxation.box.upper, lower)
        upper[relaxation.forbidden] = 0.0
        scale = np.where(np.eye(size, dtype=np.bool_), 1.0, np.sqrt(2.0))
        self._lower, self._upper = (lower * scale).ravel(), (upper * scale).ravel()

    def _apply_cuts(self, multipliers: FloatArray, rows: CutRows, penalty: float) -> None:
        _apply_rows(
            self._target,
            self._lower,
            self._upper,
            rows.start,
            rows.position,
            rows.coefficient,
            rows.right_sides,
            multipliers,
            penalty,
            self.sweeps,
            np.empty(len(multipliers), dtype=np.int64),
        )

    def _write_back(
        self,
        spectral: Single,
        primal: FloatArray,
        dual: FloatArray,
        penalty: float,
        over_relaxation: float,
        first_row: int,
        last_row: int,
    ) -> tuple[float, float, float, float]:
        return _write_back(
            spectral,
            self.direction,
            primal,
            dual,
            self._lower,
            self._upper,
            penalty,
            over_relaxation,
            self._target,
            first_row,
            last_row,
        )


@compiled_fast_without_allocation
def _apply_rows(  # noqa: PLR0913  # compiled code takes its state apart
    target: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    start: IntArray,
    position: NDArray[np.int32],
    coefficient: FloatArray,
    right_sides: FloatArray,
    multipliers: FloatArray,
    penalty: float,
    sweeps: int,
    active: IntArray,
) -> None:
    """Move the multipliers; ``active`` is room to work in."""
    count = len(multipliers)
    for c in range(count):
        active[c] = c
        multipliers[c] /= penalty
    n_active = count
    for _ in range(sweeps):
        still_active = 0
        for a in range(n_active):
            c = active[a]
            move = -right_sides[c]
            for q in range(start[c], start[c + 1]):
                p = position[q]
                move += coefficient[q] * min(max(target[p], lower[p]), upper[p])
            move = max(move, -multipliers[c])
            if move != 0.0:
                multipliers[c] += move
                for q in range(start[c], start[c + 1]):
                    target[position[q]] -= move * coefficient[q]
            if multipliers[c] > 0.0:  # later sweeps leave out the others
                active[still_active] = c
                still_active += 1
        n_active = still_active
    for c in range(count):
        multipliers[c] *= penalty


@compiled_fast_without_allocation
def _write_back(  # noqa: PLR0913  # the same
    spectral: Single,
    direction: FloatArray,
    primal: FloatArray,
    dual: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    penalty: float,
    over_relaxation: float,
    target: FloatArray,
    first_row: int,
    last_row: int,
) -> tuple[float, float, float, float]:
    """Do the same as the function of this name in :mod:`~certimeans.bounds.relaxation.polyhedral`, for a box."""
    size = len(direction)
    rest = 1 - over_relaxation
    difference, change, primal_square, dual_square = 0.0, 0.0, 0.0, 0.0
    for is_diagonal in (True, False):
        scale, twice = (1.0, 1.0) if is_diagonal else (np.sqrt(0.5), 2.0)
        for i in range(first_row, last_row):
            first, last = (i, i + 1) if is_diagonal else (i + 1, size)
            for j in range(first, last):
                p = i * size + j
                scaled = min(max(target[p], lower[p]), upper[p])
                target[p] -= scaled
                entry = scaled * scale
                spectral_entry = spectral[i, j] + direction[i] * direction[j]
                before = primal[i, j]
                multiplier = dual[i, j] + penalty * (over_relaxation * spectral_entry + rest * before - entry)
                primal[i, j] = entry
                dual[i, j] = multiplier
                difference += twice * (spectral_entry - entry) ** 2
                change += twice * (entry - before) ** 2
                primal_square += twice * entry**2
                dual_square += twice * multiplier**2
    return difference, change, primal_square, dual_square
