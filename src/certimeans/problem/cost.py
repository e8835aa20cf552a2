"""The cost of a clustering, proven: an interval that holds the exact one.

A float that was merely computed proves nothing: one row at 1e20 among ordinary points makes the cost of their
clusters vanish in rounding. Here every rounding error is accounted for, at the speed of a compiled loop.

**Points.** In a cluster with weights w_i, whose total is W, and for one feature with values x_i, any number c gives ::

    cost  =  sum_i w_i (x_i - c)^2  -  (sum_i w_i (x_i - c))^2 / W.

With c near the mean the second term is tiny, so nothing cancels. A difference x_i - c is computed with error-free
subtractions (Knuth's two-sum: the difference of two floats is a float plus an error that is a float) as a float t_i
with a bound h_i on its error; squares of |t_i| + h_i and of |t_i| - h_i are summed up with a compensated sum. The
numbers are first divided by powers of two, so that nothing overflows; what underflows is far below the absolute terms
that every error bound contains.

**A Gram matrix.** cost = sum_i w_i K_ii - sum over clusters of (sum of w_i w_j K_ij over its pairs) / W, where large
numbers may cancel. The sums are taken in twice the working precision.

Where the interval is not narrow, because magnitudes differ by hundreds of powers of ten, and for small tables, the same
formulas are evaluated exactly, in integers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.compilation import compiled
from certimeans.problem.rounding import UNIT_ROUNDOFF, rounded_down, rounded_up

_TINY = 2.0**-1060  # above everything that can underflow in one operation
_SMALL_TABLE = 1_000  # entries: about a millisecond in integers
_NARROW = 1e-9  # relative width up to which an interval is good enough
_LEAST_TOTAL = 2.0**-900  # sums below it may consist of what underflowed


class Interval(NamedTuple):
    """Two numbers between which the exact one lies."""

    low: float
    high: float


def exponent_of(values: FloatArray) -> int:
    """Return e with max |values| in [2**(e-1), 2**e); 0 for all zeros."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    return int(np.frexp(largest)[1])


class _Enclosed(NamedTuple):
    """Costs of features: ``low`` and ``high`` times 2**``exponents``, unless they are known exactly."""

    low: FloatArray
    high: FloatArray
    exponents: IntArray
    exact: dict[int, Fraction]


def cost_by_feature(
    points: FloatArray, weights: FloatArray, labels: IntArray, k: int
) -> list[tuple[Fraction, Fraction]]:
    """Enclose the cost of clusters 0..k-1, all of which have points, feature by feature.

    Returns
    -------
    list
        For each feature a number that is not above its cost and one that is not below; both 0 only if it is.
    """
    low, high, exponents, exact = _enclosed(points, weights, labels, k)
    intervals = []
    for j in range(points.shape[1]):
        if j in exact:
            intervals.append((exact[j], exact[j]))
        else:
            unit = Fraction(2) ** int(exponents[j])
            intervals.append((Fraction(float(low[j])) * unit, Fraction(float(high[j])) * unit))
    return intervals


def cost_of_points(points: FloatArray, weights: FloatArray, labels: IntArray, k: int) -> tuple[Fraction, Fraction]:
    """Enclose the same for all features together."""
    low, high, exponents, exact = _enclosed(points, weights, labels, k)
    rest = sum(exact.values(), Fraction(0))
    others = [j for j in range(points.shape[1]) if j not in exact]
    if not others:
        return rest, rest
    # Correctly rounded sums; what underflows when features are brought to one exponent is covered by the absolute term.
    exponent = int(exponents[others].max())
    shifts = (exponents[others] - exponent).astype(np.int32)  # older versions of NumPy know no others on Windows
    least = math.fsum(np.ldexp(low[others], shifts).tolist())
    most = math.fsum(np.ldexp(high[others], shifts).tolist())
    unit, tiny = Fraction(2) ** exponent, len(others) * _TINY
    least = max(0.0, least * (1 - 4 * UNIT_ROUNDOFF) - tiny)
    return rest + Fraction(least) * unit, rest + Fraction(most * (1 + 4 * UNIT_ROUNDOFF) + tiny) * unit


def _enclosed(points: FloatArray, weights: FloatArray, labels: IntArray, k: int) -> _Enclosed:
    n_features = points.shape[1]
    nothing = np.zeros(n_features)
    if points.size <= _SMALL_TABLE:
        exact = {j: _exact_cost_of_feature(points[:, j], weights, labels, k) for j in range(n_features)}
        return _Enclosed(nothing, nothing, np.zeros(n_features, dtype=np.int64), exact)
    weight_exponent = exponent_of(weights)
    scaled_weights = np.ldexp(weights, -weight_exponent)
    exponents = np.frexp(np.maximum(points.max(axis=0), -points.min(axis=0)))[1]
    low, high = _enclose_features(np.ldexp(points, -exponents), scaled_weights, labels, k)
    varies = _varies_inside_clusters(points, labels, k)
    exact = dict.fromkeys(np.flatnonzero(~varies).tolist(), Fraction(0))
    is_wide = varies & ((high < _LEAST_TOTAL) | (high - low > _NARROW * high))
    for j in np.flatnonzero(is_wide).tolist():
        exact[j] = _exact_cost_of_feature(points[:, j], weights, labels, k)
    return _Enclosed(low, high, weight_exponent + 2 * exponents.astype(np.int64), exact)


def cost_of_gram(gram: FloatArray, weights: FloatArray, labels: IntArray, k: int) -> tuple[Fraction, Fraction]:
    """Enclose the cost of clusters 0..k-1, all of which have points, for a symmetric Gram matrix."""
    exponent, weight_exponent = exponent_of(gram), exponent_of(weights)
    scaled, scaled_weights = np.ldexp(gram, -exponent), np.ldexp(weights, -weight_exponent)
    value, error = _enclose_gram(scaled, scaled_weights, labels, k)
    unit = Fraction(2) ** (weight_exponent + exponent)
    if error > _NARROW * abs(value):
        exact = _exact_cost_of_gram(gram, weights, labels, k)
        return exact, exact
    return (Fraction(value) - Fraction(error)) * unit, (Fraction(value) + Fraction(error)) * unit


def as_interval(low: Fraction, high: Fraction) -> Interval:
    """Round an interval outwards to floats."""
    return Interval(rounded_down(low), rounded_up(high))


def _exact_cost_of_feature(values: FloatArray, weights: FloatArray, labels: IntArray, k: int) -> Fraction:
    """Evaluate sum w x^2 - sum_c (sum w x)^2 / W_c exactly."""
    numbers, exponent = _as_integers(values)
    integer_weights, weight_exponent = _as_integers(weights)
    squares, sums, totals = 0, [0] * k, [0] * k
    for x, w, c in zip(numbers, integer_weights, labels.tolist(), strict=True):
        squares += w * x * x
        sums[c] += w * x
        totals[c] += w
    saved = sum((Fraction(s * s, w) for s, w in zip(sums, totals, strict=True)), Fraction(0))
    return (squares - saved) * Fraction(2) ** (weight_exponent + 2 * exponent)


def _as_integers(values: FloatArray) -> tuple[list[int], int]:
    """Return integers m and an exponent e with values = m 2^e."""
    mantissas, exponents = np.frexp(values)
    lowest = int(exponents[values != 0].min(initial=2000))
    shifts = np.where(values != 0, exponents - lowest, 0).tolist()
    integers = np.ldexp(mantissas, 53).astype(np.int64).tolist()
    return [m << shift for m, shift in zip(integers, shifts, strict=True)], lowest - 53


def _exact_cost_of_gram(gram: FloatArray, weights: FloatArray, labels: IntArray, k: int) -> Fraction:
    exact_weights = [Fraction(w) for w in weights.tolist()]
    cost = sum((w * Fraction(x) for w, x in zip(exact_weights, gram.diagonal().tolist(), strict=True)), Fraction(0))
    for c in range(k):
        members = np.flatnonzero(labels == c).tolist()
        inside = Fraction(0)
        for i in members:
            row = gram[i].tolist()
            inside += exact_weights[i] * sum((exact_weights[j] * Fraction(row[j]) for j in members), Fraction(0))
        cost -= inside / sum((exact_weights[i] for i in members), Fraction(0))
    return cost


@compiled
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """Return the float sum of two floats and its error, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@compiled
def _two_product(a: float, b: float) -> tuple[float, float]:
    """Return the float product of two floats and its error (Dekker); exact unless something underflows."""
    product = a * b
    split = 134217729.0 * a
    a_high = split - (split - a)
    a_low = a - a_high
    split = 134217729.0 * b
    b_high = split - (split - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def _first_members(labels: IntArray, k: int) -> IntArray:
    first = np.full(k, -1, dtype=np.int64)
    for i in range(len(labels)):
        if first[labels[i]] < 0:
            first[labels[i]] = i
    return first


@compiled
def _varies_inside_clusters(points: FloatArray, labels: IntArray, k: int) -> BoolArray:
    """Say for each feature whether two points of one cluster differ in it: whether it costs anything at all."""
    first = _first_members(labels, k)
    varies = np.zeros(points.shape[1], dtype=np.bool_)
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            if points[i, j] != points[first[labels[i]], j]:
                varies[j] = True
    return varies


@compiled
def _centres(
    points: FloatArray, weights: FloatArray, labels: IntArray, first: IntArray, total: FloatArray
) -> FloatArray:
    """Return the mean of each cluster relative to its first member, as two numbers to be added: layers 0 and 1.

    The mean of what the first one leaves corrects it: it has the rounding errors of n additions.
    """
    n, d = points.shape
    k = len(first)
    centre = np.zeros((2, k, d))
    for layer in range(2):
        for i in range(n):
            c = labels[i]
            for j in range(d):
                offset, rest = _two_sum(points[i, j], -points[first[c], j])
                centre[layer, c, j] += weights[i] * ((offset - (centre[0, c, j] if layer == 1 else 0.0)) + rest)
        for c in range(k):
            for j in range(d):
                centre[layer, c, j] /= total[c]
    return centre


@compiled
def _enclose_features(
    points: FloatArray, weights: FloatArray, labels: IntArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds on the cost of each feature.

    Coordinates and weights are at most 1 in size; small coordinates may have underflowed when they were scaled.
    """
    n, d = points.shape
    first = _first_members(labels, k)
    total = np.zeros(k)
    for i in range(n):
        total[labels[i]] += weights[i]
    centre = _centres(points, weights, labels, first, total)
    high, high_rest, low, low_rest = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    left, left_error = np.zeros((k, d)), np.zeros((k, d))
    for i in range(n):
        c, w = labels[i], weights[i]
        for j in range(d):
            offset, rest = _two_sum(points[i, j], -points[first[c], j])
            main, lost = _two_sum(offset, -centre[0, c, j])
            small = (lost + rest) - centre[1, c, j]
            t = main + small
            # Roundings: of lost + rest, of small and of t.
            error = 1.01 * UNIT_ROUNDOFF * (abs(t) + abs(lost) + abs(rest) + 2.0 * abs(small)) + _TINY
            most = abs(t) + error
            least = max(0.0, abs(t) - error)
            high[j], lost = _two_sum(high[j], w * most * most * (1.0 + 8.0 * UNIT_ROUNDOFF) + _TINY)
            high_rest[j] += lost
            low[j], lost = _two_sum(low[j], max(0.0, w * least * least * (1.0 - 8.0 * UNIT_ROUNDOFF) - _TINY))
            low_rest[j] += lost
            left[c, j] += w * t
            left_error[c, j] += w * error + UNIT_ROUNDOFF * (abs(left[c, j]) + abs(w * t)) + _TINY
    growth = 4.0 * UNIT_ROUNDOFF + 4.0 * n * n * UNIT_ROUNDOFF * UNIT_ROUNDOFF
    for j in range(d):
        high[j] = (high[j] + high_rest[j]) * (1.0 + growth) + n * _TINY
        low[j] = (low[j] + low_rest[j]) * (1.0 - growth) - n * _TINY
        for c in range(k):
            # sum_i w_i (x_i - c), which would be 0 if c were the mean; sums of n terms have n roundings.
            rest = (abs(left[c, j]) + left_error[c, j]) * (1.0 + 2.0 * n * UNIT_ROUNDOFF)
            low[j] -= rest * rest / total[c] * (1.0 + 2.0 * n * UNIT_ROUNDOFF + 8.0 * UNIT_ROUNDOFF) + _TINY
        low[j] = max(0.0, low[j])
    return low, high


@compiled
def _enclose_gram(gram: FloatArray, weights: FloatArray, labels: IntArray, k: int) -> tuple[float, float]:
    """Return the cost and a bound on its error; all entries are at most 1 in size."""
    n = len(weights)
    total, total_rest = np.zeros(k), np.zeros(k)
    value, value_rest, sizes, underflow = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        c = labels[i]
        total[c], lost = _two_sum(total[c], weights[i])
        total_rest[c] += lost
        product, rest = _two_product(weights[i], gram[i, i])
        value, lost = _two_sum(value, product)
        value_rest += lost + rest
        sizes += abs(product)
    inside, inside_rest, inside_sizes = np.zeros(k), np.zeros(k), np.zeros(k)
    for i in range(n):
        c = labels[i]
        for j in range(n):
            if labels[j] != c:
                continue
            pair, pair_rest = _two_product(weights[i], weights[j])
            product, rest = _two_product(pair, gram[i, j])
            inside[c], lost = _two_sum(inside[c], product)
            inside_rest[c] += lost + (rest + pair_rest * gram[i, j])
            inside_sizes[c] += abs(product)
    for c in range(k):
        # (a + b) / (t + r) = q + (a - q t + b - q r) / (t + r), where a - q t is computed without error.
        quotient = inside[c] / total[c]
        product, rest = _two_product(quotient, total[c])
        remainder = ((inside[c] - product) - rest) + (inside_rest[c] - quotient * total_rest[c])
        value, lost = _two_sum(value, -quotient)
        value_rest += lost - remainder / total[c]
        sizes += inside_sizes[c] / total[c]
        underflow += n * n * _TINY / total[c]
    # A sum of N terms loses at most u times their total size in each addition; these losses, together N u times that
    # size, are summed up with N roundings of their own: (N u)^2 times the size (Ogita, Rump and Oishi 2005, Sum2).
    terms = float(n) * n + 100.0
    error = 4.0 * (terms * UNIT_ROUNDOFF) ** 2 * sizes + 4.0 * UNIT_ROUNDOFF * abs(value + value_rest)
    return value + value_rest, error + 2.0 * terms * _TINY + underflow
