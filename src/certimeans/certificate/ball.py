"""The same bounds in ball arithmetic: every number is an interval that holds the exact one (python-flint, Arb).

Nothing here needs an error analysis: G, u and all that follows are computed from exact integers with balls, and the
library keeps them large enough. Only guesses come from floating point, taken as the exact numbers that they are: t, f_i
and q_i as in ``bound.py``, and a matrix X. With G' = G - u h' - h u' we have <G', R> = <G, R>, since R u = 0 for the
exact u, which the balls hold. M = G' - t I + sum f_i q_i q_i' + d I is positive definite if |X M X' - I|_F < 1: then
X M X' is positive definite, hence X regular, hence M positive definite. X is the inverse of M's Cholesky factor, more
or less. A Gram matrix is not centred: as geometry.py says, a bound needs no centre.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from certimeans._typing import BoolArray, FloatArray
from certimeans.certificate.bound import clique_term, least_of_slack, slack_matrix
from certimeans.certificate.exact import Integers, as_integers, power, rounded_down
from certimeans.certificate.geometry import Geometry, GramData, PointData, SuperPoints
from certimeans.certificate.multipliers import Multipliers
from certimeans.certificate.size_bounds import SizeTerms
from certimeans.errors import InputError

_PRECISION = 128  # bits
_SHIFTS = (1.0, 30.0, 1e3, 1e6)


def require_flint() -> None:
    """Complain if the library of balls is not installed."""
    try:
        import flint  # noqa: F401, PLC0415
    except ImportError:
        raise InputError("ball arithmetic needs python-flint: pip install 'certimeans[verify]'") from None


def relaxation_in_balls(
    data: Geometry, proof: Multipliers, forbidden: BoolArray, k: int, sizes: SizeTerms | None = None
) -> float:
    """Return a number that no clustering of the state costs less than; minus infinity if there is none in sight."""
    import flint  # noqa: PLC0415

    with flint.ctx.workprec(_PRECISION), np.errstate(all="ignore"):
        points = data.super_points(proof.groups, proof.size)
        matrix, constant = _between(data, points, proof.unit)
        matrix = -matrix
        if proof.slack.size:
            matrix -= _rest(points, proof, forbidden)
        if sizes is not None and proof.size_multipliers is not None:
            matrix += _rows_of_sizes(points, proof.size_multipliers, sizes)
        total = int(points.weights.sum())
        direction = flint.arb_mat(points.size, 1, [_ball(Fraction(w, total)).sqrt() for w in points.weights.tolist()])
        share = _lower(_spectral_minimum(matrix, direction, k))
    if share is None:
        return -math.inf
    more = clique_term(points, proof, k, sizes) + least_of_slack(proof, forbidden, sizes)
    if sizes is not None and proof.size_multipliers is not None:
        more -= sizes.right_side(proof.size_multipliers)
    return rounded_down(constant + proof.unit * (share + more))


def covariance_in_balls(data: Geometry, points: SuperPoints, k: int) -> float:
    """Return the covariance bound of a partition into groups; minus infinity if there is none in sight."""
    import flint  # noqa: PLC0415

    unit = data.typical_cost
    if not isinstance(data, PointData) or points.size <= data.points.shape[1]:
        nothing = Multipliers.none(points.groups, points.size, unit)
        return relaxation_in_balls(data, nothing, np.zeros((0, 0), dtype=np.bool_), k)
    rank = min(k - 1, data.points.shape[1])
    with flint.ctx.workprec(_PRECISION), np.errstate(all="ignore"):
        rows = _embedding(data, points, unit)
        matrix = -(rows.transpose() * rows)
        share = _lower(_lowest_eigenvalues(matrix, rank)) if rank else Fraction(0)
    return -math.inf if share is None else rounded_down(data.scatter + unit * share)


def _between(data: Geometry, points: SuperPoints, unit: Fraction) -> tuple[Any, Fraction]:
    """Return S_ab / (sqrt(w_a w_b) U), and what the cost is without it."""
    from flint import arb, arb_mat  # noqa: PLC0415

    if isinstance(data, PointData):
        rows = _embedding(data, points, unit)
        return rows * rows.transpose(), data.scatter
    assert isinstance(data, GramData)  # noqa: S101
    n = len(data.gram)
    roots = [1 / _ball(w * points.weight_unit).sqrt() for w in points.weights.tolist()]
    sums = arb_mat(points.size, n)
    for i, a in enumerate(points.groups.tolist()):
        sums[a, i] = arb(float(data.weights[i])) * roots[a]
    gram = arb_mat(n, n, [arb(entry) for entry in data.gram.ravel().tolist()])
    return (sums * gram * sums.transpose()) / _ball(unit), data.diagonal


def _embedding(data: PointData, points: SuperPoints, unit: Fraction) -> Any:
    """Return the rows p_a / sqrt(w_a U), features divided by sqrt(v_j)."""
    from flint import arb, arb_mat  # noqa: PLC0415

    _, sums = data.group_totals(points.groups, points.size)
    total = int(points.weights.sum())
    centred = total * sums - points.weights[:, None] * data.sums  # N p_a
    # An integer in feature j counts for sqrt(scale_of(j)) times the unit of weights.
    columns = [_ball(data.scale_of(j) * points.weight_unit / unit).sqrt() / total for j in range(sums.shape[1])]
    lengths = [1 / arb(int(w)).sqrt() for w in points.weights.tolist()]
    entries = [arb(int(x)) * columns[j] * lengths[a] for a, row in enumerate(centred) for j, x in enumerate(row)]
    return arb_mat(points.size, sums.shape[1], entries)


def _rest(points: SuperPoints, proof: Multipliers, forbidden: BoolArray) -> Any:
    """Return V - sum mu B."""
    from flint import arb, arb_mat  # noqa: PLC0415

    sums, exponent = _sum_of_cuts(proof)
    sums[forbidden] = 0
    unit = _ball(power(exponent))
    slack = slack_matrix(proof)
    roots = [1 / _ball(w * points.weight_unit / proof.weight_unit).sqrt() for w in points.weights.tolist()]
    rest = arb_mat(proof.size, proof.size)
    for i in range(proof.size):
        for j in range(i, proof.size):
            entry = arb(float(slack[i, j]))
            if sums[i, j]:
                entry += arb(int(sums[i, j])) * unit * roots[i] * roots[j]
            rest[i, j] = rest[j, i] = entry
    return rest


def _rows_of_sizes(points: SuperPoints, multipliers: FloatArray, sizes: SizeTerms) -> Any:
    """Return the weighted sum of the rows that limit sizes."""
    from flint import arb, arb_mat  # noqa: PLC0415

    if sizes.anchors:
        return _rows_of_anchors(points.size, multipliers, sizes)
    size, least = points.size, sizes.least_of_rows()
    roots = [arb(int(w)).sqrt() for w in points.weights.tolist()]
    most = [_ball(Fraction(amount, sizes.most or 1)) for amount in sizes.amounts]
    of_least = [_ball(Fraction(amount, least)) if least else arb(0) for amount in sizes.amounts]
    upper, lower = ([arb(float(mu)) for mu in column] for column in multipliers.T)
    if not least:  # there is no second inequality then
        lower = [arb(0)] * size
    half = arb_mat(size, size)
    for a in range(size):
        for b in range(size):
            half[a, b] = (upper[a] * most[b] - lower[a] * of_least[b]) * roots[a] / roots[b] / 2
    total = half + half.transpose()
    for a in range(size):
        total[a, a] += lower[a] - upper[a]
    return total


def _rows_of_anchors(size: int, multipliers: FloatArray, sizes: SizeTerms) -> Any:
    """Return the weighted sum of the rows that follow from decided sizes."""
    from flint import arb, arb_mat  # noqa: PLC0415

    columns = [[arb(float(mu)) for mu in column] for column in multipliers.T]
    half = arb_mat(size, size)
    for column, sign, factors in zip(columns, (-1, 1), sizes.coefficients(), strict=True):
        for a, factor in factors:
            for j in range(size):
                root = _ball(Fraction(sizes.amounts[j], sizes.amounts[a])).sqrt()
                half[j, a] += sign * _ball(factor) * root * column[j] / 2
    total = half + half.transpose()
    for j in range(size):
        total[j, j] += columns[1][j] - columns[0][j]
    return total


def _sum_of_cuts(proof: Multipliers) -> tuple[Integers, int]:
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
    from flint import arb  # noqa: PLC0415

    image = matrix * direction
    value = (direction.transpose() * image)[0, 0]
    if k == 1:
        return value
    half = image - direction * ((value + arb(_norm(matrix))) / 2)
    outer = direction * half.transpose()
    return value + _lowest_eigenvalues(matrix - outer - outer.transpose(), k - 1)


def _lowest_eigenvalues(matrix: Any, count: int) -> Any:
    """Return a ball below <matrix, R> for all 0 <= R <= I with trace ``count``."""
    from flint import arb, arb_mat  # noqa: PLC0415

    size = matrix.nrows()
    middle = _midpoints(matrix)
    try:
        values, vectors = eigh(middle, subset_by_index=(0, count - 1))
    except (LinAlgError, ValueError):
        return arb(-math.inf)
    level = float(values.max())
    factors = level - values
    guess = middle + (vectors * factors) @ vectors.T - level * np.eye(size)
    spectrum = arb_mat(vectors.tolist())
    diagonal = arb_mat(count, count)
    for i, factor in enumerate(factors.tolist()):
        diagonal[i, i] = factor
    scaled = spectrum * diagonal
    lifted = matrix + scaled * spectrum.transpose()
    lift = (scaled.transpose() * spectrum).trace()  # sum of f_i |q_i|^2
    scale = 2.0**-52 * size * (float(np.trace(np.abs(guess))) + float(np.linalg.norm(middle))) + 1e-150
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
            return count * (arb(level) - arb(shift)) - lift
    return arb(-math.inf)


def _ball(value: Fraction | int) -> Any:
    from flint import arb, fmpq  # noqa: PLC0415

    return arb(fmpq(Fraction(value).numerator, Fraction(value).denominator))


def _midpoints(matrix: Any) -> FloatArray:
    return np.array([float(entry) for entry in matrix.entries()]).reshape(matrix.nrows(), matrix.ncols())


def _norm(matrix: Any) -> float:
    return float(np.linalg.norm(_midpoints(matrix)))


def _lower(ball: Any) -> Fraction | None:
    """Return a number that is below the whole ball, exactly; ``None`` if there is none."""
    if not ball.is_finite():
        return None
    mantissa, exponent = ball.lower().man_exp()
    return int(mantissa) * power(int(exponent))
