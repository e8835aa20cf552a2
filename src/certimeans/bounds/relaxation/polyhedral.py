"""Projection onto the polyhedral set: entries clipped at zero, cannot-links at zero, cuts by dual coordinate ascent.

Hildreth's method visits the cuts one after the other and moves each multiplier to where its cut holds with equality,
or to zero. Multipliers are kept from one iteration of the solver to the next, so two sweeps per iteration are enough.

The solver's multiplier is L = sum_c mu_c B_c - V. The sweeps start from T = Y + L / penalty less what the cuts have a
share in, that is from Y - V / penalty. So V is kept from one iteration to the next: divided by the penalty it is what
the projection exceeds its target by after the sweeps, and no further pass over the cuts is needed to find it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import BoolArray, FloatArray, IntArray, Single
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.threads import Threads
from certimeans.compilation import compiled_fast_without_allocation


class PolyhedralProjector:
    """Projects onto the entrywise conditions and the cuts."""

    def __init__(
        self, direction: FloatArray, forbidden: BoolArray, sweeps: int, threads: Threads | None = None
    ) -> None:
        size = len(direction)
        self._threads = threads or Threads()
        self._rows = self._threads.rows_of_triangle(size)
        self.direction = direction
        self.forbidden = forbidden
        self.sweeps = sweeps
        # A flat upper triangle, off-diagonal entries times sqrt(2). Between two updates: -V / (last penalty).
        self._target = np.zeros(size * size)
        self._penalty = 1.0

    def begin(self, dual: FloatArray, multipliers: FloatArray, rows: CutRows) -> None:
        """Start from L and the multipliers of cuts; needed again whenever these change otherwise than by updates."""
        _fill_with_dual(dual, self._target)
        _subtract_cuts(self._target, rows.start, rows.position, rows.coefficient, multipliers)
        self._penalty = 1.0

    def update(
        self,
        spectral: Single,
        primal: FloatArray,
        dual: FloatArray,
        multipliers: FloatArray,
        rows: CutRows,
        penalty: float,
        over_relaxation: float,
    ) -> tuple[float, float, float, float]:
        """Update X, L and the multipliers in place, as the solver's second and third step.

        With Y the relaxed spectral iterate, X becomes the projection of T = Y + L / penalty, and L becomes
        penalty * (T - X): by construction the weighted cuts less a matrix that is non-negative off the cannot-links.

        Returns
        -------
        tuple[float, float, float, float]
            Norms of Y - X, of the change of X, of X and of L.
        """
        matrices = (spectral, self.direction, primal)
        ratio = self._penalty / penalty
        self._threads.each(
            _fill_target, [(*matrices, over_relaxation, ratio, self._target, *some) for some in self._rows]
        )
        self._penalty = penalty
        self._apply_cuts(multipliers, rows, penalty)
        squares = self._threads.each(
            self._write_back, [(spectral, primal, dual, penalty, over_relaxation, *some) for some in self._rows]
        )
        difference, change, primal_norm, dual_norm = np.sqrt(np.sum(squares, axis=0)).tolist()
        return difference, change, primal_norm, dual_norm

    def _apply_cuts(self, multipliers: FloatArray, rows: CutRows, penalty: float) -> None:
        _apply_cuts(
            self._target,
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
            self.forbidden,
            penalty,
            over_relaxation,
            self._target,
            first_row,
            last_row,
        )


@compiled_fast_without_allocation
def _fill_with_dual(dual: FloatArray, target: FloatArray) -> None:
    size = len(dual)
    root = np.sqrt(2.0)
    for i in range(size):
        for j in range(i, size):
            target[i * size + j] = root * dual[i, j]
        target[i * size + i] /= root


@compiled_fast_without_allocation
def _subtract_cuts(
    target: FloatArray,
    start: IntArray,
    position: NDArray[np.int32],
    coefficient: FloatArray,
    multipliers: FloatArray,
) -> None:
    for c in range(len(multipliers)):
        if multipliers[c] != 0.0:
            for q in range(start[c], start[c + 1]):
                target[position[q]] -= multipliers[c] * coefficient[q]


@compiled_fast_without_allocation
def _fill_target(
    spectral: Single,
    direction: FloatArray,
    primal: FloatArray,
    over_relaxation: float,
    ratio: float,
    target: FloatArray,
    first_row: int,
    last_row: int,
) -> None:
    """Turn -V / (last penalty) into Y - V / penalty; ``ratio`` is the last penalty divided by this one."""
    size = len(direction)
    root = np.sqrt(2.0)
    for i in range(first_row, last_row):
        for j in range(i, size):
            entry = spectral[i, j] + direction[i] * direction[j]
            scale = 1.0 if i == j else root
            target[i * size + j] = (
                scale * (over_relaxation * entry + (1 - over_relaxation) * primal[i, j]) + ratio * target[i * size + j]
            )


@compiled_fast_without_allocation
def _apply_cuts(  # noqa: PLR0913  # compiled code takes its state apart
    target: FloatArray,
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
                entry = target[position[q]]
                if entry > 0.0:
                    move += coefficient[q] * entry
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
    forbidden: BoolArray,
    penalty: float,
    over_relaxation: float,
    target: FloatArray,
    first_row: int,
    last_row: int,
) -> tuple[float, float, float, float]:
    """Write rows of X and L, and leave -V / penalty in ``target``; return the squared norms of ``update``."""
    size = len(direction)
    rest = 1 - over_relaxation
    difference, change, primal_square, dual_square = 0.0, 0.0, 0.0, 0.0
    for is_diagonal in (True, False):
        scale, twice = (1.0, 1.0) if is_diagonal else (np.sqrt(0.5), 2.0)
        for i in range(first_row, last_row):
            first, last = (i, i + 1) if is_diagonal else (i + 1, size)
            for j in range(first, last):
                scaled = 0.0 if forbidden[i, j] else max(target[i * size + j], 0.0)
                target[i * size + j] -= scaled
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
