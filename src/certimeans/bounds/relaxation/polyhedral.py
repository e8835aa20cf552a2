"""Projection onto the polyhedral set: entries clipped at zero, cannot-links at zero, cuts by dual coordinate ascent.

Hildreth's method visits the cuts one after the other and moves each multiplier to where its cut holds with equality,
or to zero. Multipliers are kept from one iteration of the solver to the next, so two sweeps per iteration are enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.spectral import Single
from certimeans.compilation import compiled_fast_without_allocation


class PolyhedralProjector:
    """Projects onto the entrywise conditions and the cuts."""

    def __init__(self, direction: FloatArray, forbidden: BoolArray, sweeps: int) -> None:
        size = len(direction)
        self.direction = direction
        self.forbidden = forbidden
        self.sweeps = sweeps
        self._target = np.empty(size * size)  # flat upper triangle, off-diagonal entries times sqrt(2)

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
        _fill_target(spectral, self.direction, primal, dual, penalty, over_relaxation, self._target)
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
        return _write_back(
            spectral, self.direction, primal, dual, self.forbidden, penalty, over_relaxation, self._target
        )


@compiled_fast_without_allocation
def _fill_target(
    spectral: Single,
    direction: FloatArray,
    primal: FloatArray,
    dual: FloatArray,
    penalty: float,
    over_relaxation: float,
    target: FloatArray,
) -> None:
    size = len(direction)
    root = np.sqrt(2.0)
    for i in range(size):
        for j in range(i, size):
            entry = spectral[i, j] + direction[i] * direction[j]
            target[i * size + j] = root * (
                over_relaxation * entry + (1 - over_relaxation) * primal[i, j] + dual[i, j] / penalty
            )
        target[i * size + i] /= root


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
        if multipliers[c] != 0.0:
            for q in range(start[c], start[c + 1]):
                target[position[q]] -= multipliers[c] * coefficient[q]
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
def _write_back(
    spectral: Single,
    direction: FloatArray,
    primal: FloatArray,
    dual: FloatArray,
    forbidden: BoolArray,
    penalty: float,
    over_relaxation: float,
    target: FloatArray,
) -> tuple[float, float, float, float]:
    size = len(direction)
    half_root = np.sqrt(0.5)
    difference, change, primal_square, dual_square = 0.0, 0.0, 0.0, 0.0
    for i in range(size):
        for j in range(i, size):
            twice = 1.0 if i == j else 2.0
            entry = target[i * size + j]
            entry = 0.0 if forbidden[i, j] or entry < 0.0 else (entry if i == j else entry * half_root)
            spectral_entry = spectral[i, j] + direction[i] * direction[j]
            relaxed = over_relaxation * spectral_entry + (1 - over_relaxation) * primal[i, j]
            difference += twice * (spectral_entry - entry) ** 2
            change += twice * (entry - primal[i, j]) ** 2
            dual[i, j] += penalty * (relaxed - entry)
            primal[i, j] = entry
            primal_square += twice * entry**2
            dual_square += twice * dual[i, j] ** 2
    return np.sqrt(difference), np.sqrt(change), np.sqrt(primal_square), np.sqrt(dual_square)
