"""Cuts as sparse rows of the relaxation: the form in which the solver and the bound use them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.bounds.relaxation.cuts.pool import Coefficients, Cuts, Members, right_sides
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.compilation import compiled_without_allocation

ROOT_HALF = float(np.sqrt(0.5))


@dataclass(frozen=True, eq=False)
class CutRows:
    """Rows <B_c, Y> <= r_c, each scaled to unit norm.

    Only the upper triangle is stored, with off-diagonal coefficients multiplied by sqrt(2), so that products and norms
    of the stored numbers are those of the symmetric matrices. Entries on cannot-links are left out: Y is 0 there.

    Attributes
    ----------
    start, position, coefficient
        Row c has ``coefficient[q]`` at the flat index ``position[q]`` for q in ``start[c]:start[c + 1]``.
    norms
        What each row was divided by: the multiplier of a row divided by it is the multiplier of its cut.
    right_sides
        The r_c, zero or negative.
    """

    size: int
    start: IntArray
    position: NDArray[np.int32]
    coefficient: FloatArray
    norms: FloatArray
    right_sides: FloatArray

    @classmethod
    def build(cls, cuts: Cuts, relaxation: Relaxation) -> CutRows:
        """State cuts in terms of Y."""
        supports = (cuts.members >= 0).sum(axis=1)
        capacity = int((supports * (supports + 1) // 2).sum())
        start = np.zeros(len(supports) + 1, dtype=np.int64)
        position, coefficient = np.empty(capacity, dtype=np.int32), np.empty(capacity)
        norms = np.ones(len(supports))
        filled = _fill_rows(
            cuts.members,
            cuts.coefficients,
            relaxation.root_weights,
            relaxation.forbidden,
            start,
            position,
            coefficient,
            norms,
        )
        position, coefficient = position[:filled], coefficient[:filled]
        sides = -right_sides(cuts, relaxation.n_clusters, relaxation.max_cluster_weight) / norms
        return cls(relaxation.size, start, position, coefficient, norms, sides)

    def followed_by(self, others: CutRows) -> CutRows:
        """Put two lists of rows together."""
        return CutRows(
            self.size,
            np.concatenate([self.start, self.start[-1] + others.start[1:]]),
            np.concatenate([self.position, others.position]),
            np.concatenate([self.coefficient, others.coefficient]),
            np.concatenate([self.norms, others.norms]),
            np.concatenate([self.right_sides, others.right_sides]),
        )

    def weighted_sum(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray, int]:
        """Return the matrix sum of mu_c B_c, the same sum of absolute values, and the largest number of terms."""
        total, sizes = np.zeros((self.size, self.size)), np.zeros((self.size, self.size))
        terms = np.zeros((self.size, self.size), dtype=np.int32)
        _add_rows(self.start, self.position, self.coefficient, multipliers, total, sizes, terms)
        return total, sizes, int(terms.max(initial=0))


@compiled_without_allocation
def _fill_rows(
    members: Members,
    coefficients: Coefficients,
    root_weights: FloatArray,
    forbidden: BoolArray,
    start: IntArray,
    position: NDArray[np.int32],
    coefficient: FloatArray,
    norms: FloatArray,
) -> int:
    """Fill in the last four arrays; return how many coefficients there are."""
    count, width = members.shape
    size = len(root_weights)
    filled = 0
    for c in range(count):
        first = filled
        largest = 0.0
        for a in range(width):
            i = members[c, a]
            if i < 0:
                break
            entry = float(coefficients[c, a])
            if entry * entry != entry:
                position[filled] = i * size + i
                coefficient[filled] = -(entry * entry - entry) / (root_weights[i] * root_weights[i])
                largest = max(largest, abs(coefficient[filled]))
                filled += 1
            for b in range(a + 1, width):
                j = members[c, b]
                if j < 0:
                    break
                if not forbidden[i, j]:
                    position[filled] = i * size + j
                    coefficient[filled] = (
                        -np.sqrt(2.0) * entry * coefficients[c, b] / (root_weights[i] * root_weights[j])
                    )
                    largest = max(largest, abs(coefficient[filled]))
                    filled += 1
        if largest > 0.0:
            square = 0.0  # of the coefficients over the largest: the squares of tiny weights' would overflow
            for q in range(first, filled):
                square += (coefficient[q] / largest) ** 2
            norms[c] = largest * np.sqrt(square)
            for q in range(first, filled):
                coefficient[q] /= norms[c]
        start[c + 1] = filled
    return filled


@compiled_without_allocation
def _add_rows(
    start: IntArray,
    position: NDArray[np.int32],
    coefficient: FloatArray,
    multipliers: FloatArray,
    total: FloatArray,
    sizes: FloatArray,
    terms: NDArray[np.int32],
) -> None:
    # Not the fast mode: the error bound of this sum belongs to a proof.
    size = len(total)
    for c in range(len(multipliers)):
        if multipliers[c] == 0.0:
            continue
        for q in range(start[c], start[c + 1]):
            i, j = position[q] // size, position[q] % size
            term = multipliers[c] * coefficient[q]
            if i != j:
                term *= ROOT_HALF
            total[i, j] += term
            sizes[i, j] += abs(term)
            terms[i, j] += 1
    for i in range(size):
        for j in range(i, size):
            total[j, i] = total[i, j]
            sizes[j, i] = sizes[i, j]
