"""Limits on sizes as rows of the solver, beside the cuts: they come and go, and keep their multipliers."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.sizes import SizeBox

_MOST_NEW_SETS = 10
_LEAST_VIOLATION = 1e-5


class SolverRows(Protocol):
    """Rows of unit norm that follow those of the cuts, with their multipliers."""

    rows: CutRows
    multipliers: FloatArray

    def renew(self, multipliers: FloatArray, diagonal: FloatArray) -> None:
        """Keep the rows that have a multiplier, and add some that the diagonal of Y violates."""

    def as_table(self, multipliers: FloatArray) -> FloatArray | None:
        """Return what a proof needs to know of the multipliers."""


class RowsOfSets:
    """The diagonal has no more on a set than the sizes allow. Proofs need none of this: see ``SizeBox.least``."""

    def __init__(self, box: SizeBox, size: int) -> None:
        self._box = box
        self._size = size
        self._sets: list[IntArray] = []
        self._set([], np.empty(0))

    def renew(self, multipliers: FloatArray, diagonal: FloatArray) -> None:
        """Keep sets that have a multiplier, and add those that are violated most."""
        if not self._box.has_unequal_sizes:
            return
        kept = [members for members, mu in zip(self._sets, multipliers, strict=True) if mu > 0]
        own = multipliers[multipliers > 0]
        known = {members.tobytes() for members in kept}
        new = self._box.violated_sets(diagonal, _LEAST_VIOLATION, _MOST_NEW_SETS)
        new = [members for members in new if members.tobytes() not in known and len(members) < self._size]
        self._set(kept + new, np.concatenate([own, np.zeros(len(new))]))

    def as_table(self, multipliers: FloatArray) -> None:
        """Return nothing."""

    def _set(self, sets: list[IntArray], multipliers: FloatArray) -> None:
        self._sets, self.multipliers = sets, multipliers
        shares = np.array([self._box.shares[members].sum() for members in sets])
        self.rows = _rows_of_sets(sets, self._box.most_of_diagonal(shares), self._size)


class RowsOfLimits:
    """The inequalities of :class:`~.sizes.SizeRows`: all upper ones, then all lower ones if there is a lower limit."""

    def __init__(self, relaxation: Relaxation, multipliers: FloatArray | None) -> None:
        sizes = relaxation.size_rows
        assert sizes is not None  # noqa: S101  # the caller looks
        self._size = relaxation.size
        matrices = [(sizes.of_most, 1.0), (sizes.of_least, -1.0)][: 2 if sizes.has_least else 1]
        parts = []
        for matrix, sign in matrices:
            full = np.where(relaxation.forbidden, 0.0, sign * matrix)
            full[np.diag_indices(self._size)] -= sign
            parts.append(full)
        sides = sizes.right_sides.T.ravel()[: len(parts) * self._size]
        self.rows = _rows_of_matrix(np.vstack(parts), sides, self._size)
        self.multipliers = np.zeros(len(self.rows.norms))
        if multipliers is not None:
            self.multipliers = multipliers.T.ravel()[: len(self.multipliers)] * self.rows.norms

    def renew(self, multipliers: FloatArray, diagonal: FloatArray) -> None:  # noqa: ARG002
        """Keep all of them."""
        self.multipliers = multipliers.copy()

    def as_table(self, multipliers: FloatArray) -> FloatArray:
        """Return the multipliers of (1), two for each super-point."""
        table = np.zeros((2, self._size))
        table.ravel()[: len(multipliers)] = multipliers / self.rows.norms
        return np.ascontiguousarray(table.T)


class RowsOfBoth:
    """The inequalities of decided sizes, then those of sets."""

    def __init__(self, limits: RowsOfLimits, sets: RowsOfSets) -> None:
        self._limits, self._sets = limits, sets
        self._join()

    def renew(self, multipliers: FloatArray, diagonal: FloatArray) -> None:
        """Keep all of the former, and see to the latter."""
        count = len(self._limits.multipliers)
        self._limits.renew(multipliers[:count], diagonal)
        self._sets.renew(multipliers[count:], diagonal)
        self._join()

    def as_table(self, multipliers: FloatArray) -> FloatArray:
        """Return the multipliers of the former, two for each super-point."""
        return self._limits.as_table(multipliers[: len(self._limits.multipliers)])

    def _join(self) -> None:
        self.rows = self._limits.rows.followed_by(self._sets.rows)
        self.multipliers = np.concatenate([self._limits.multipliers, self._sets.multipliers])


def make_size_rows(relaxation: Relaxation, multipliers: FloatArray | None) -> SolverRows | None:
    """Return the rows that belong to the limits of a problem; ``None`` if it has none."""
    if relaxation.box is None:
        return None if relaxation.size_rows is None else RowsOfLimits(relaxation, multipliers)
    sets = RowsOfSets(relaxation.box, relaxation.size)
    return sets if relaxation.size_rows is None else RowsOfBoth(RowsOfLimits(relaxation, multipliers), sets)


def _rows_of_sets(sets: list[IntArray], most: FloatArray, size: int) -> CutRows:
    """State that the diagonal has at most so much on each of some sets, as rows of unit norm."""
    lengths = np.array([len(members) for members in sets], dtype=np.int64)
    members = np.concatenate([np.empty(0, dtype=np.int64), *sets])
    norms = np.sqrt(lengths.astype(np.float64))
    return CutRows(
        size,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        (members * size + members).astype(np.int32),
        np.repeat(1.0 / norms, lengths),
        norms,
        most / norms,
    )


def _rows_of_matrix(coefficients: FloatArray, right_sides: FloatArray, size: int) -> CutRows:
    """Make rows of inequalities sum_j c_ij Y_ij <= r_i, row i about row i of Y modulo the size."""
    row, j = np.nonzero(coefficients)
    i = row % size
    position = np.minimum(i, j) * size + np.maximum(i, j)
    scaled = np.where(i == j, 1.0, np.sqrt(0.5)) * coefficients[row, j]  # <B, Y> has c_ij / 2 twice
    count = len(coefficients)
    norms = np.sqrt(np.bincount(row, scaled**2, minlength=count))
    norms[~((norms > 0) & np.isfinite(norms))] = 1.0
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count))]).astype(np.int64)
    return CutRows(size, start, position.astype(np.int32), scaled / norms[row], norms, right_sides / norms)
