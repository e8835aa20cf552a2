"""A bound that costs next to nothing: the scatter less the k - 1 largest eigenvalues of the covariance matrix.

It is the relaxation without its entrywise conditions and cuts. In the notation of
:mod:`certimeans.bounds.relaxation.model`, the cost of a clustering is scatter - <A A', Y> with the rows
a_i = p_i / sqrt(w_i), and Y = u u' + R, where R u = 0, 0 <= R <= I and trace R = k - 1. Hence ::

    cost  >=  scatter - |A'u|^2 - (sum of the k - 1 largest eigenvalues of A'A - (A'u)(A'u)'),

a matrix of the size of the dimension: a million points take a fraction of a second. Where there are fewer super-points
than dimensions, or only a Gram matrix, the same is computed from A A'.
"""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray
from certimeans.bounds.eigenvalues import lowest_eigenvalue_sum
from certimeans.bounds.protocol import Answer, Bound, Question, StopReason, nothing_proven
from certimeans.presolve.contract import SuperPoints
from certimeans.problem.rounding import ROOM_FOR_CHECKERS, UNIT_ROUNDOFF, rounding_factor
from certimeans.proof.steps import CovarianceStep

LARGEST_SIZE = 3_000
"""Larger matrices are left to other bounders: their eigenvalues take many seconds."""

_ROWS_AT_ONCE = 4_096


class CovarianceBounder:
    """Bounds problems of any number of points in milliseconds."""

    def bytes_needed(self, points: SuperPoints) -> int:
        """Estimate the memory: a few matrices of the smaller of size and dimension."""
        return 8 * 6 * _order(points) ** 2 + 8 * _ROWS_AT_ONCE * _order(points)

    def bound(self, question: Question) -> Answer:
        """Prove the bound; whatever the target, it cannot be improved."""
        points = question.points
        bound = nothing_proven(points)
        if _order(points) <= LARGEST_SIZE:
            value = points.scale.to_user(covariance_bound(points))
            if value > bound.value:
                bound = Bound(value, CovarianceStep())
                question.on_bound(bound)
        reached = bound.value >= question.target()
        return Answer(bound, StopReason.REACHED if reached else StopReason.STALLED)


def covariance_bound(points: SuperPoints) -> float:
    """Return the bound in working units; minus infinity if no proof was found."""
    scatter, rank = points.scatter, points.n_clusters - 1
    matrix, along, norm, error = _centred_covariance(points)
    value = scatter - along
    # The float of u is off by a few roundings, and by those of sums of weights; that moves A'u by that many times |A|.
    direction_error = 4 * UNIT_ROUNDOFF
    if not points.scale.weights_are_exact:
        direction_error += rounding_factor(len(points.group_of) + 4)
    error += 4 * direction_error * norm
    error += 8 * UNIT_ROUNDOFF * (abs(scatter) + abs(along)) + points.objective_error()
    if rank >= 1:
        largest = min(rank, len(matrix))
        lowest, spectral_error = lowest_eigenvalue_sum(-matrix, largest, error)
        value += lowest
        error += spectral_error + 4 * UNIT_ROUNDOFF * abs(value)
    return value - ROOM_FOR_CHECKERS * error


def _order(points: SuperPoints) -> int:
    """Return the size of the matrix to decompose."""
    return points.size if points.vectors is None else min(points.size, points.vectors.shape[1])


def _centred_covariance(points: SuperPoints) -> tuple[FloatArray, float, float, float]:
    """Return the matrix whose largest eigenvalues count, u'AA'u, a bound on the norm of AA', and one on the error."""
    roots = np.sqrt(points.weights)
    direction = roots / np.sqrt(points.weights.sum())
    if points.vectors is None or points.size <= points.vectors.shape[1]:
        products = points.gram / np.outer(roots, roots)
        products = 0.5 * (products + products.T)
        image = products @ direction
        along = float(direction @ image)
        # (I - uu') M (I - uu'): what belongs to u becomes the eigenvalue 0, which can only lower a sum of largest ones
        # if these are negative; R u = 0 excludes it, so it is moved down to minus the norm.
        norm = float(np.linalg.norm(products))
        half = image - 0.5 * (along - norm) * direction
        matrix = products - np.outer(direction, half) - np.outer(half, direction)
        error = rounding_factor(2 * points.size + 32) * (norm + 2 * float(np.linalg.norm(half)))
        return 0.5 * (matrix + matrix.T), along, norm, error
    dimension = points.vectors.shape[1]
    matrix, mean = np.zeros((dimension, dimension)), np.zeros(dimension)
    for first in range(0, points.size, _ROWS_AT_ONCE):
        here = slice(first, first + _ROWS_AT_ONCE)
        rows = points.vectors[here] / roots[here, None]
        matrix += rows.T @ rows
        mean += rows.T @ direction[here]
    along = float(mean @ mean)
    terms = min(points.size, _ROWS_AT_ONCE) + points.size // _ROWS_AT_ONCE + 32
    # Entry by entry the error is relative to sums of |a_ij| |a_ih|, whose norm is at most the sum of all squares.
    norm = float(matrix.trace())
    error = rounding_factor(terms) * (norm + 4 * along) * 2
    matrix -= np.outer(mean, mean)
    return 0.5 * (matrix + matrix.T), along, norm, error
