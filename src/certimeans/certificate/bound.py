"""From a node's multipliers to a proven lower bound, in floating point.

Notation as in docs/certificate.md; eps = 2^-53, and g(m) = m eps / (1 - m eps) bounds the relative error of m
operations in a row. Every allowance below is at least the error it stands for; at the end their sum is doubled, which
covers the rounding made in computing them.

**G.** Any float matrix G will do that satisfies G_ij <= (C + sum mu B - V)_ij wherever i and j may link, because
lowering G there only enlarges V, and where they may not link V is free. So the float of that expression, less a bound
on its error, entry by entry, *is* our G, exactly:

- C = -A A' with the rows a_i of ``exact.SuperPoints``. Each float of an entry of A has four roundings, a product of two
  rows d more: together g(d + 10) |a_i| |a_j| (Cauchy-Schwarz).
- A term mu b_i b_j has two roundings, and (b_i^2 - b_i) mu has one. The sum of m of them has the error
  g(m + 2) sum mu |b_i b_j|; dividing by sqrt(w_i w_j) = N u_i u_j costs fewer than ten further roundings.
- V is exact.

**u'Gu.** Each u_i has two roundings, so the float of u is within 2 eps of u, and u'Gu within (4 eps + g(2s + 4)) |G|_F.

**The spectral part.** Let R be as in the format: R u = 0, 0 <= R <= I, trace R = k - 1. Write v for the float of u. For
any vector h, G' = G - v h' - h v' has <G', R> = <G, R> - 2 h'Rv, and |Rv| = |R (v - u)| <= 2 eps. With
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

Underflow is far below the 1e-150 that is part of every allowance.
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
from certimeans.certificate.exact import ExactData, SuperPoints, rounded_down
from certimeans.certificate.read import Proof
from certimeans.errors import CertificateError

EPS = 2.0**-53
_TINY = 1e-150
_LARGEST = 1e100  # squares of larger numbers, and sums of them, could overflow
_SHIFTS = (1.0, 30.0, 1e3, 1e6)


def bound_in_floats(data: ExactData, proof: Proof, forbidden: BoolArray, k: int) -> float:
    """Return a number that no clustering of the node costs less than; minus infinity if there is none in sight."""
    if data.scatter == 0:
        return 0.0
    points = data.super_points(proof.groups, proof.size)
    direction = np.sqrt(data.shares(points))
    if not (direction.min() > _TINY and min(points.weights) * data.weight_unit > _TINY):
        return -math.inf  # weights so small that roundings are not relative any more
    slack = slack_matrix(proof)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        matrix = _admissible_matrix(data, points, direction, proof, forbidden, slack)
        if not np.abs(matrix).max() < _LARGEST:  # also if it is not a number
            return -math.inf
        matrix = np.minimum(matrix, matrix.T)  # symmetric, and admissible as both are
        spectral, error = _spectral_minimum(matrix, direction, k)
    multiplier = math.fsum(proof.multipliers[clique_cuts(proof, k)].tolist())  # correctly rounded
    rest = 1 + multiplier * rounded_down(2 / data.heaviest_cluster(points, k)) * (1 - 8 * EPS)
    share = rest + spectral
    share -= 2 * (error + 8 * EPS * (abs(rest) + abs(spectral)))
    return rounded_down(Fraction(share) * data.scatter) if math.isfinite(share) else -math.inf


def slack_matrix(proof: Proof) -> FloatArray:
    """Return V."""
    slack = np.zeros((proof.size, proof.size))
    slack[np.triu_indices(proof.size)] = proof.slack
    return slack + np.triu(slack, 1).T


def check_signs(proof: Proof, forbidden: BoolArray, where: str) -> None:
    """Require V_ij >= 0 unless i and j cannot link."""
    upper = np.triu_indices(proof.size)
    wrong = np.flatnonzero((proof.slack < 0) & ~forbidden[upper])
    if wrong.size:
        i, j = upper[0][wrong[0]], upper[1][wrong[0]]
        raise CertificateError(f"{where}: the slack of super-points {i} and {j}, which may link, is negative")


def clique_cuts(proof: Proof, k: int) -> BoolArray:
    """Say which cuts have r(b) > 0: no b_i negative, and their sum above k."""
    cut = np.repeat(np.arange(len(proof.multipliers)), np.diff(proof.start))
    total = np.zeros(len(proof.multipliers), dtype=np.int64)
    np.add.at(total, cut, proof.coefficients)
    total[cut[proof.coefficients < 0]] = 0
    return total > k


def _admissible_matrix(
    data: ExactData, points: SuperPoints, direction: FloatArray, proof: Proof, forbidden: BoolArray, slack: FloatArray
) -> FloatArray:
    """Return a matrix that is nowhere above C + sum mu B - V."""
    rows = _embedding(points)
    gram = rows @ rows.T
    lengths = np.sqrt((rows * rows).sum(axis=1))
    total, total_of_sizes, terms = _sum_of_cuts(proof)
    total[forbidden] = total_of_sizes[forbidden] = 0.0
    weights = rounded_down(data.total_weight) * direction[:, None] * direction
    total, total_of_sizes = total / weights, total_of_sizes / weights
    error = _factor(rows.shape[1] + 10) * np.outer(lengths, lengths)
    error += _factor(terms + 14) * total_of_sizes
    error += 4 * EPS * (np.abs(gram) + np.abs(total) + np.abs(slack)) + _TINY
    result: FloatArray = (-gram - total - slack) - 2 * error
    return result


def _embedding(points: SuperPoints) -> FloatArray:
    """Return A: its rows are p_i / sqrt(w_i T). Entries are divided by the largest in their row: no overflow."""
    largest = np.maximum(np.abs(points.vectors).max(axis=1), 1)
    shape = (points.vectors / largest[:, None]).astype(np.float64)
    size = np.sqrt((largest * largest / points.squares).astype(np.float64))
    rows: FloatArray = shape * size[:, None]
    return rows


def _sum_of_cuts(proof: Proof) -> tuple[FloatArray, FloatArray, int]:
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
    error = (4 * EPS + _factor(2 * size + 4)) * norm + _TINY
    if k == 1:
        return value, error
    half = image - 0.5 * (value + norm) * direction
    compressed = matrix - np.outer(direction, half) - np.outer(half, direction)
    error += 4 * EPS * _norm(half) + (k - 1) * 4 * EPS * (norm + 2 * _norm(half))
    try:
        values, vectors = eigh(compressed, subset_by_index=(0, k - 2))
    except (LinAlgError, ValueError):
        return -math.inf, 0.0
    level = float(values.max())
    factors = level - values
    lift = float(factors @ (vectors * vectors).sum(axis=0))
    lifted = compressed + (vectors * factors) @ vectors.T
    lifted[np.diag_indices(size)] -= level
    growth = _factor(2 * size + 16) / (1 - _factor(2 * size + 16))
    diagonal = np.abs(lifted.diagonal())
    for attempt in _SHIFTS:
        shift = attempt * (2 * growth * float(diagonal.sum()) + 16 * EPS * norm + _TINY)
        forming = _factor(k + 3) * lift
        forming += 4 * EPS * (_norm(compressed) + lift + math.sqrt(size) * (abs(level) + shift))
        shifted = lifted.copy()
        shifted[np.diag_indices(size)] += shift
        factor, failed = dpotrf(shifted, lower=1, clean=0)
        if failed == 0 and np.isfinite(factor).all():
            loss = shift + forming + growth * float(diagonal.sum() + size * shift)
            error += (k - 1) * loss + _factor(size + k + 4) * (k * abs(level) + lift)
            return value + (k - 1) * level - lift, error
    return -math.inf, 0.0


def _factor(operations: int) -> float:
    return operations * EPS / (1 - operations * EPS)


def _norm(values: FloatArray) -> float:
    return float(np.sqrt((values * values).sum()))
