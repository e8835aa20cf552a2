"""From a step of the proof to a proven lower bound, in floating point.

Notation as in docs/certificate.md; eps = 2^-53, and g(m) = m eps / (1 - m eps) bounds the relative error of m
operations in a row. Every allowance below is at least the error it stands for; at the end their sum is doubled, which
covers the rounding made in computing them. All floats here are in units of U and Q; the last steps, adding T0 and
multiplying by U, are rational, and the result is rounded down once.

**G.** Any float matrix G will do that satisfies G_ij <= (C + sum mu B - V)_ij wherever i and j may link, because
lowering G there only enlarges V, and where they may not link V is free. So the float of that expression, less a bound
on its error, entry by entry, *is* our G, exactly:

- C and a bound on its error come from ``geometry.py``.
- A term mu b_i b_j has two roundings, and (b_i^2 - b_i) mu has one; none underflows, for a float times an integer is a
  multiple of 2^-1074. The sum of m of them has the error g(m + 2) sum mu |b_i b_j|. Dividing by
  rho_i = u_i sqrt(N / Q) and by rho_j, each with fewer than ten roundings, costs g(24) more, and 2^-1074 / rho_j for an
  underflow in the first division.
- V is exact.

**u'Gu.** The float v of u is within 4 eps of u, and so v'Gv is within (8 eps + g(2s + 4)) |G|_F of u'Gu.

**The spectral part.** Let R be as in the format: R u = 0, 0 <= R <= I, trace R = k - 1. For any vector h,
G' = G - v h' - h v' has <G', R> = <G, R> - 2 h'Rv, and |Rv| = |R (v - u)| <= 4 eps. With
h = Gv - (v'Gv + |G|_F) v / 2, v is almost an eigenvector of G' with a high eigenvalue, so that the lowest ones are
those on the complement of u. For any t, f_i >= 0, q_i, and m such that G' - t I + sum f_i q_i q_i' + m I is positive
semidefinite ::

    <G', R>  >=  (k - 1) (t - m) - sum_i f_i |q_i|^2,

because <q q', R> <= |q|^2. We take the k - 1 lowest eigenpairs as LAPACK finds them, t the last eigenvalue, f_i the
distances to it: nothing is assumed of their accuracy. For m: if a floating-point Cholesky factorisation of
S = (float of the matrix) + d I runs to its end, the computed factor has LL' = S + E with |E| <= g / (1 - g) trace S,
g = g(s + 1) (Demmel 1989, Rump 2006: entry by entry E is at most g |L| |L'|, row i of L has a squared length of at most
S_ii / (1 - g), in whatever order sums are taken). BLAS that multiplies by reciprocals adds a rounding or two; we use
g(2s + 16). So m is d, plus that, plus the Frobenius norm of the error in S.

**The covariance bound** with fewer features than groups: M = A'A is a sum over groups, made in blocks. With l_a the
bounds on the lengths of the rows and e the relative error of ``Embedding``, the Frobenius norm of its error is at most
(2 e + g(block + number of blocks + 4)) sum l_a^2, and a little for underflow. Its p = min(k - 1, d) largest eigenvalues
are bounded as above, as the lowest of -M.

Underflow that is not mentioned is far below the 1e-150 (of U) that is part of every allowance, for all entries of G are
required to be below 1e100.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.linalg.lapack import dpotrf
from scipy.sparse import csr_array

from certimeans._typing import BoolArray, FloatArray
from certimeans.certificate.exact import as_integers, power, root, rounded_down
from certimeans.certificate.geometry import EPS, TINY, UNDERFLOW, Geometry, PointData, SuperPoints, factor
from certimeans.certificate.multipliers import Multipliers
from certimeans.certificate.size_bounds import SizeTerms

_LARGEST = 1e100  # squares of larger numbers, and sums of them, could overflow
_SMALLEST_ROOT = 2.0**-1000  # of u and rho: below, roundings would not be relative
_BLOCK = 512
_SHIFTS = (1.0, 30.0, 1e3, 1e6)


def relaxation_in_floats(
    data: Geometry, proof: Multipliers, forbidden: BoolArray, k: int, sizes: SizeTerms | None = None
) -> float:
    """Return a number that no clustering of the state costs less than; minus infinity if there is none in sight."""
    points = data.super_points(proof.groups, proof.size)
    if not points.direction.min() > _SMALLEST_ROOT:
        return -math.inf
    unit = proof.unit
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        between = data.between(points, unit)
        rest = _multiplied(points, proof, forbidden) if proof.slack.size else np.zeros_like(between.matrix)
        if sizes is not None and proof.size_multipliers is not None:
            rows, rows_error = sizes.rows(proof.size_multipliers, points.direction)
            rest = rest + rows - 2 * (rows_error + 2 * EPS * (np.abs(rest) + np.abs(rows)))
        error = between.error + 4 * EPS * (np.abs(between.matrix) + np.abs(rest))
        matrix = rest - between.matrix - 2 * error
        if not np.abs(matrix).max() < _LARGEST:  # also if it is not a number
            return -math.inf
        matrix = np.minimum(matrix, matrix.T)  # symmetric, and admissible as both are
        spectral, allowance = _spectral_minimum(matrix, points.direction, k)
    share = spectral - 2 * (allowance + 4 * EPS * abs(spectral))
    if not math.isfinite(share):
        return -math.inf
    constant = clique_term(points, proof, k, sizes) + least_of_slack(proof, forbidden, sizes)
    if sizes is not None and proof.size_multipliers is not None:
        constant -= sizes.right_side(proof.size_multipliers)
    return rounded_down(between.constant + unit * (constant + Fraction(share)))


def covariance_in_floats(data: Geometry, points: SuperPoints, k: int) -> float:
    """Return the covariance bound of a partition into groups; minus infinity if there is none in sight."""
    if not isinstance(data, PointData) or points.size <= data.points.shape[1]:
        nothing = Multipliers.none(points.groups, points.size, data.typical_cost)
        return relaxation_in_floats(data, nothing, np.zeros((0, 0), dtype=np.bool_), k)
    d = data.points.shape[1]
    rank = min(k - 1, d)
    unit = data.typical_cost
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        rows, lengths, relative, absolute = data.embedding(points, unit)
        covariance = np.zeros((d, d))
        for first in range(0, points.size, _BLOCK):
            block = rows[first : first + _BLOCK]
            covariance += block.T @ block
        if not np.abs(covariance).max(initial=0.0) < _LARGEST:
            return -math.inf
        covariance = np.maximum(covariance, covariance.T)
        squares = float((lengths * lengths).sum())
        forming = (2 * relative + factor(_BLOCK + points.size / _BLOCK + 4)) * squares
        forming += absolute * (2 * float(lengths.sum()) + points.size * absolute) + TINY
        value, error = _lowest_eigenvalues(-covariance, rank) if rank else (0.0, 0.0)
    share = value - 2 * (error + rank * forming)
    return rounded_down(data.scatter + unit * Fraction(share)) if math.isfinite(share) else -math.inf


def least_of_slack(proof: Multipliers, forbidden: BoolArray, sizes: SizeTerms | None) -> Fraction:
    """Return what <V, Y> is at least: 0, or what limits on sizes say."""
    if sizes is None or not sizes.is_proportional:
        return Fraction(0)
    profile = sizes.profile()
    if not profile:
        return Fraction(0)  # no clustering keeps the limits, and everything is true of none
    slack = slack_matrix(proof)
    return sizes.least_diagonal(slack.diagonal(), profile) + sizes.least_rest(slack, forbidden, profile)


def clique_term(points: SuperPoints, proof: Multipliers, k: int, sizes: SizeTerms | None = None) -> Fraction:
    """Return sum mu r(b), exactly; only clique cuts (no b_i negative, and their sum above k) have r(b) > 0."""
    cut = np.repeat(np.arange(len(proof.multipliers)), np.diff(proof.start))
    total = np.zeros(len(proof.multipliers), dtype=np.int64)
    np.add.at(total, cut, proof.coefficients)
    total[cut[proof.coefficients < 0]] = 0
    multipliers, exponent = as_integers(proof.multipliers[total > k])
    lightest: list[int] = sorted(points.weights.tolist())[: k - 1]
    everything = int(points.weights.sum())
    heaviest_cluster = (everything - sum(lightest)) * points.weight_unit
    if sizes is not None and sizes.is_proportional and sizes.most > 0:
        share = Fraction(sizes.most, sum(sizes.amounts))
        heaviest_cluster = min(heaviest_cluster, share * everything * points.weight_unit)
    return int(multipliers.sum()) * power(exponent) * 2 * proof.weight_unit / heaviest_cluster


def slack_matrix(proof: Multipliers) -> FloatArray:
    """Return V."""
    slack = np.zeros((proof.size, proof.size))
    slack[np.triu_indices(proof.size)] = proof.slack
    return slack + np.triu(slack, 1).T


def _multiplied(points: SuperPoints, proof: Multipliers, forbidden: BoolArray) -> FloatArray:
    """Return a matrix that is nowhere above sum mu B - V."""
    slack = slack_matrix(proof)
    total, sizes, terms = _sum_of_cuts(proof)
    total[forbidden] = sizes[forbidden] = 0.0
    weight = int(points.weights.sum()) * points.weight_unit
    roots = points.direction * root(weight / proof.weight_unit)
    if not roots.min() > _SMALLEST_ROOT:
        return np.full_like(total, -math.inf)
    underflow = np.where(sizes > 0, 2 * UNDERFLOW / roots, 0.0)
    total, sizes = total / roots[:, None] / roots, sizes / roots[:, None] / roots
    error = factor(terms + 32) * sizes + 4 * EPS * (np.abs(total) + np.abs(slack)) + TINY
    error += underflow
    result: FloatArray = (-total - slack) - 2 * error
    return result


def _sum_of_cuts(proof: Multipliers) -> tuple[FloatArray, FloatArray, int]:
    """Return -sum mu B before the division by weights, the same with absolute terms, and the most terms of an entry."""
    b = proof.coefficients.astype(np.float64)
    scaled = b * np.repeat(proof.multipliers, np.diff(proof.start))

    def sparse(values: FloatArray) -> Any:
        return csr_array((values, proof.members, proof.start), shape=(len(proof.multipliers), proof.size), copy=True)

    total: FloatArray = (sparse(b).T @ sparse(scaled)).toarray()
    sizes: FloatArray = (sparse(np.abs(b)).T @ sparse(np.abs(scaled))).toarray()
    # On the diagonal b_i^2 - b_i, which is not negative, stands in the place of b_i^2.
    diagonal = np.arange(proof.size)
    total[diagonal, diagonal] = np.bincount(
        proof.members, (b * b - b) * np.repeat(proof.multipliers, np.diff(proof.start)), minlength=proof.size
    )
    sizes[diagonal, diagonal] = total[diagonal, diagonal]
    return total, sizes, int(np.bincount(proof.members, minlength=1).max())


def _spectral_minimum(matrix: FloatArray, direction: FloatArray, k: int) -> tuple[float, float]:
    """Return u'Gu plus the sum of the k - 1 lowest eigenvalues of G on u's complement, and a bound on its error."""
    size = len(matrix)
    image = matrix @ direction
    value, norm = float(direction @ image), _norm(matrix)
    error = (8 * EPS + factor(2 * size + 4)) * norm + TINY
    if k == 1:
        return value, error
    half = image - 0.5 * (value + norm) * direction
    compressed = matrix - np.outer(direction, half) - np.outer(half, direction)
    error += 8 * EPS * _norm(half) + (k - 1) * 4 * EPS * (norm + 2 * _norm(half))
    lowest, further = _lowest_eigenvalues(compressed, k - 1)
    return value + lowest, error + further + 2 * EPS * (abs(value) + abs(lowest))


def _lowest_eigenvalues(matrix: FloatArray, count: int) -> tuple[float, float]:
    """Return the least <matrix, R> for 0 <= R <= I with trace ``count``, and a bound on how much less it may be."""
    size = len(matrix)
    try:
        values, vectors = eigh(matrix, subset_by_index=(0, count - 1))
    except (LinAlgError, ValueError):
        return -math.inf, 0.0
    level, norm = float(values.max()), _norm(matrix)
    factors = level - values
    lift = float(factors @ (vectors * vectors).sum(axis=0))
    lifted = matrix + (vectors * factors) @ vectors.T
    lifted[np.diag_indices(size)] -= level
    growth = factor(2 * size + 16) / (1 - factor(2 * size + 16))
    diagonal = np.abs(lifted.diagonal())
    for attempt in _SHIFTS:
        shift = attempt * (2 * growth * float(diagonal.sum()) + 16 * EPS * norm + TINY)
        forming = factor(count + 4) * lift
        forming += 4 * EPS * (norm + lift + math.sqrt(size) * (abs(level) + shift))
        shifted = lifted.copy()
        shifted[np.diag_indices(size)] += shift
        root_, failed = dpotrf(shifted, lower=1, clean=0)
        if failed == 0 and np.isfinite(root_).all():
            loss = shift + forming + growth * float(diagonal.sum() + size * shift)
            error = count * loss + factor(size + count + 5) * ((count + 1) * abs(level) + lift)
            return count * level - lift, error
    return -math.inf, 0.0


def _norm(values: FloatArray) -> float:
    return float(np.sqrt((values * values).sum()))
