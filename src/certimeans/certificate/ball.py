"""The same bound in ball arithmetic: every number is an interval that holds the exact one (python-flint, Arb).

Nothing here needs an error analysis: G, u and all that follows are computed from the exact integers of ``exact.py``
with balls, and the library keeps them large enough. Only guesses come from floating point, taken as the exact numbers
that they are: t, f_i and q_i as in ``bound.py``, and a matrix X. With G' = G - u h' - h u' we have <G', R> = <G, R>,
since R u = 0 for the exact u, which the balls hold. M = G' - t I + sum f_i q_i q_i' + d I is positive definite if
|X M X' - I|_F < 1: then X M X' is positive definite, hence X regular, hence M positive definite. X is the inverse of
M's Cholesky factor, more or less.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from certimeans._typing import BoolArray, FloatArray
from certimeans.certificate.bound import clique_cuts, slack_matrix
from certimeans.certificate.exact import ExactData, Integers, SuperPoints, as_integers
from certimeans.certificate.read import Proof
from certimeans.errors import InputError

_PRECISION = 128  # bits
_SHIFTS = (1.0, 30.0, 1e3, 1e6)


def require_flint() -> None:
    """Complain if the library of balls is not installed."""
    try:
        import flint  # noqa: F401, PLC0415
    except ImportError:
        raise InputError("ball arithmetic needs python-flint: pip install 'certimeans[verify]'") from None


def bound_in_balls(data: ExactData, proof: Proof, forbidden: BoolArray, k: int) -> float:
    """Return a number that no clustering of the node costs less than; minus infinity if there is none in sight."""
    import flint  # noqa: PLC0415

    if data.scatter == 0:
        return 0.0
    with flint.ctx.workprec(_PRECISION):
        points = data.super_points(proof.groups, proof.size)
        multiplier = sum(Fraction(value) for value in proof.multipliers[clique_cuts(proof, k)].tolist())
        share = 1 + _ball(multiplier * 2 / data.heaviest_cluster(points, k))
        share += _spectral_minimum(*_matrix_and_direction(data, points, proof, forbidden), k)
        return _lower(share * _ball(data.scatter))


def _matrix_and_direction(data: ExactData, points: SuperPoints, proof: Proof, forbidden: BoolArray) -> tuple[Any, Any]:
    """Return G and u."""
    from flint import arb, arb_mat  # noqa: PLC0415

    size, dimension = points.vectors.shape
    lengths = [1 / arb(int(square)).sqrt() for square in points.squares]
    entries = [arb(int(x)) * lengths[i] for i, row in enumerate(points.vectors) for x in row]
    rows = arb_mat(size, dimension, entries)
    weights = [_ball(w * data.weight_unit) for w in points.weights.tolist()]
    inverse_roots = [1 / weight.sqrt() for weight in weights]
    sums, exponent = _sum_of_cuts(proof)
    sums[forbidden] = 0
    unit = arb(2) ** exponent
    slack = slack_matrix(proof)
    rest = arb_mat(size, size)
    for i in range(size):
        for j in range(i, size):
            entry = arb(float(slack[i, j]))
            if sums[i, j]:
                entry += arb(int(sums[i, j])) * unit * inverse_roots[i] * inverse_roots[j]
            rest[i, j] = rest[j, i] = entry
    total = _ball(data.total_weight)
    direction = arb_mat(size, 1, [(weight / total).sqrt() for weight in weights])
    return -(rows * rows.transpose()) - rest, direction


def _sum_of_cuts(proof: Proof) -> tuple[Integers, int]:
    """Return -sum mu B without the division by weights, as integers times a power of two."""
    multipliers, exponent = as_integers(proof.multipliers)
    sums = np.zeros((proof.size, proof.size), dtype=object)
    for cut, multiplier in enumerate(multipliers):
        here = slice(proof.start[cut], proof.start[cut + 1])
        members, b = proof.members[here], proof.coefficients[here]
        sums[np.ix_(members, members)] += (np.outer(b, b) - np.diag(b)).astype(object) * multiplier
    return sums, exponent


def _spectral_minimum(matrix: Any, direction: Any, k: int) -> Any:
    """Return a ball below u'Gu plus the sum of the k - 1 lowest eigenvalues of G on the complement of u."""
    from flint import arb, arb_mat  # noqa: PLC0415

    size = matrix.nrows()
    image = matrix * direction
    value = (direction.transpose() * image)[0, 0]
    if k == 1:
        return value
    norm = float(np.linalg.norm(_midpoints(matrix)))
    half = image - direction * ((value + arb(norm)) / 2)
    outer = direction * half.transpose()
    compressed = matrix - outer - outer.transpose()
    middle = _midpoints(compressed)
    try:
        values, vectors = eigh(middle, subset_by_index=(0, k - 2))
    except (LinAlgError, ValueError):
        return arb(-math.inf)
    level = float(values.max())
    factors = level - values
    guess = middle + (vectors * factors) @ vectors.T - level * np.eye(size)
    spectrum = arb_mat(vectors.tolist())
    diagonal = arb_mat(k - 1, k - 1)
    for i, factor in enumerate(factors.tolist()):
        diagonal[i, i] = factor
    scaled = spectrum * diagonal
    lifted = compressed + scaled * spectrum.transpose()
    lift = (scaled.transpose() * spectrum).trace()  # sum of f_i |q_i|^2
    scale = 2.0**-52 * size * (float(np.trace(np.abs(guess))) + norm) + 1e-150
    identity = arb_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
    for attempt in _SHIFTS:
        shift = attempt * scale
        try:
            factor = cholesky(guess + shift * np.eye(size), lower=True)
            inverse = arb_mat(solve_triangular(factor, np.eye(size), lower=True).tolist())
        except (LinAlgError, ValueError):
            continue
        near_identity = inverse * (lifted + identity * (arb(shift) - arb(level))) * inverse.transpose()
        distance = sum((entry * entry for entry in (near_identity - identity).entries()), arb(0))
        if distance < 1:
            return value + (k - 1) * (arb(level) - arb(shift)) - lift
    return arb(-math.inf)


def _ball(value: Fraction | int) -> Any:
    from flint import arb, fmpq  # noqa: PLC0415

    return arb(fmpq(Fraction(value).numerator, Fraction(value).denominator))


def _midpoints(matrix: Any) -> FloatArray:
    return np.array([float(entry) for entry in matrix.entries()]).reshape(matrix.nrows(), matrix.ncols())


def _lower(ball: Any) -> float:
    """Return a float that is below the whole ball."""
    if not ball.is_finite():
        return -math.inf
    return math.nextafter(float(ball.lower()), -math.inf)
