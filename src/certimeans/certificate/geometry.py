"""Points or a Gram matrix: exact costs, and the matrix S of super-points in floats with a bound on its error.

With a(i) the super-point of point i, w_a its weight, N the weight of all, u_a = sqrt(w_a / N) and
q_i = w_i / sqrt(w_a(i) N), what a bound needs is the matrix ::

    A_aj = sum over i in a of q_i y_ij f_j,   y_ij = (x_ij - c_j) / 2^e_j,  f_j = 2^e_j sqrt(N / (v_j U))   for points,
    S_ab / (sqrt(w_a w_b) U) = (A A')_ab,  or
    S_ab / (sqrt(w_a w_b) U) = f sum over i in a, j in b of q_i q_j K'_ij / 2^e,           f = 2^e N / U    for Gram,

where 2^e is about the largest |x - c| (|K|), so that nothing overflows. The centre need not be the mean. For a Gram
matrix, K'_ij = K_ij - z_i - z_j with any vector z: since sum_C sum_{i,j in C} w_i w_j (z_i + z_j) / w(C) =
2 sum_i w_i z_i for every clustering, its cost is sum_i w_i (K_ii - 2 z_i) - <S'/sqrt(ww'), Y>, exactly. For points,
sum_i w_i |x_i - c|^2 is in the place of sum_i w_i K'_ii, and it is T0 plus N times the squared distance of c from the
mean: T0, which is smaller, may be used for it in a lower bound.

**Errors** (eps = 2^-53, eta = 2^-1074, g(m) = m eps / (1 - m eps)). Shares w_a / N and w_i / w_a are quotients of
integers, correctly rounded. u_a has a relative error of at most 4 eps (if it is above 2^-1000), q_i of 6 eps, plus eta.
c_j is the float nearest to the mean plus another one that is near to what is left; a float of y_ij has the error
2 eps (|y_ij| + |second part of c_j|) + 2 eta, f_j one of 3 eps relative. With m the points of the largest super-point,
the sum has g(m + 20) times the sum of q_i (|y_ij| + ..) f_j, plus 4 m eta f_j. A float of K'_ij has the error
2 eps (|K_ij| + |z_i| + |z_j|) + 2 eta.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from certimeans._typing import FloatArray, IntArray
from certimeans.certificate.exact import (
    Integers,
    as_integers,
    group_sums,
    lowest_bit,
    power,
    quadratic_form,
    root,
    sum_of_quotients,
    sum_of_squares,
)  # fmt: skip

EPS = 2.0**-53
TINY = 1e-150  # in units of U: far below what matters, far above any underflow that is not accounted for
UNDERFLOW = 2.0**-1074
_HUGE = 2.0**1000


def factor(operations: float) -> float:
    """Return g(m), a bound on the relative error of m operations in a row."""
    return operations * EPS / (1 - operations * EPS)


class SuperPoints(NamedTuple):
    """Groups 0..size-1 of points: exact weights in units of ``weight_unit``, u_a, q_i, and the largest group's size."""

    groups: IntArray
    size: int
    weights: Integers
    weight_unit: Fraction
    direction: FloatArray
    coefficients: FloatArray
    largest: int


class Embedding(NamedTuple):
    """The rows A_a; bounds on their lengths; and on the error of any entry, relative to that length, and absolute."""

    rows: FloatArray
    lengths: FloatArray
    relative: float
    absolute: float


class Between(NamedTuple):
    """S_ab / (sqrt(w_a w_b) U), a bound on the error of each entry, and what the cost is without it, exactly."""

    matrix: FloatArray
    error: FloatArray
    constant: Fraction


class Geometry(Protocol):
    """What the checker needs to know of the data."""

    weights: FloatArray
    is_zero: bool  # every clustering costs 0
    floor: float  # no clustering costs less
    typical_cost: Fraction  # a unit for numbers of the right size

    def cost(self, labels: IntArray, k: int) -> Fraction:
        """Return the exact cost of a clustering."""

    def allowance(self) -> Fraction:
        """Return by how much a claimed cost may exceed the exact one, beside a part of it."""

    def super_points(self, groups: IntArray, size: int) -> SuperPoints:
        """Return the weights of groups."""

    def between(self, points: SuperPoints, unit: Fraction) -> Between:
        """Return the matrix of super-points."""


class _Weighted:
    """Weights as integers."""

    def __init__(self, weights: FloatArray) -> None:
        self.weights = weights
        self._integers, exponent = as_integers(weights)
        self._unit = power(exponent)
        self._total = int(self._integers.sum())
        self.total_weight = self._total * self._unit

    def super_points(self, groups: IntArray, size: int) -> SuperPoints:
        """Return the weights of the groups 0..size-1, all of which have points."""
        weights, _ = group_sums(np.ones(len(groups)), self.weights, groups, size)
        shares = (weights / self._total).astype(np.float64)
        direction = np.sqrt(shares)
        for a in np.flatnonzero(shares < 1e-290):  # roundings are not relative there
            direction[a] = root(Fraction(weights[a], self._total))
        ratios = (self._integers / weights[groups]).astype(np.float64)
        largest = int(np.bincount(groups).max())
        return SuperPoints(groups, size, weights, self._unit, direction, direction[groups] * ratios, largest)


class PointData(_Weighted):
    """Points with squared distances sum_j (x_j - y_j)^2 / v_j.

    Everything is exact, in integers: feature j counts in its own power of two, and a sum over features is
    ``scale`` sum_j ``numerator[j]`` (..)_j / ``denominator[j]``.
    """

    floor = 0.0

    def __init__(self, points: FloatArray, weights: FloatArray, *, standardize: bool) -> None:
        n = len(points)
        if standardize:
            points = points[:, (points != points[0]).any(axis=0)]  # a variance of 0 is that of a constant
        self._standardize = standardize
        self._measure(points, weights)
        lowest = min(self.exponents, default=0)
        self.numerators = np.array([1 if standardize else 4 ** (e - lowest) for e in self.exponents], dtype=object)
        self.denominators = np.ones(points.shape[1], dtype=object)
        self.scale = self._unit * (n * n if standardize else power(2 * lowest))
        if standardize:
            totals, squares = self.sums, self._squares
            if (weights != 1).any():
                one, everything = np.ones(n), np.zeros(n, dtype=np.int64)
                totals = np.array([group_sums(column, one, everything, 1)[0][0] for column in points.T], dtype=object)
                squares = np.array([sum_of_squares(column, one)[0] for column in points.T], dtype=object)
            self.denominators = n * squares - totals * totals  # n^2 v_j
        self._finish()

    def part(self, members: IntArray, weights: FloatArray) -> PointData:
        """Return some of the points with other weights; features count as in the whole."""
        part = object.__new__(PointData)
        part._standardize = self._standardize
        part._measure(self.points[members], weights)
        if not self._standardize:
            lowest = min(part.exponents, default=0)
            part.numerators = np.array([4 ** (e - lowest) for e in part.exponents], dtype=object)
            part.denominators = np.ones(len(part.exponents), dtype=object)
            part.scale = part._unit * power(2 * lowest)
        else:  # the variances are those of the whole, in its powers of two; a column of zeros has none of its own
            own = zip(part.exponents, self.exponents, part._squares, strict=True)
            part.numerators = np.array([4 ** (e - f) if square else 1 for e, f, square in own], dtype=object)
            part.denominators = self.denominators
            part.scale = part._unit * len(self.points) ** 2
        part._finish()
        return part

    def _measure(self, points: FloatArray, weights: FloatArray) -> None:
        """Add up the points, feature by feature."""
        _Weighted.__init__(self, weights)
        everything = np.zeros(len(points), dtype=np.int64)
        self.points = points
        self.exponents = [lowest_bit(column) for column in points.T]
        self.sums = np.array([group_sums(column, weights, everything, 1)[0][0] for column in points.T], dtype=object)
        self._squares = np.array([sum_of_squares(column, weights)[0] for column in points.T], dtype=object)

    def _finish(self) -> None:
        self.scatter = self._summed(self._total * self._squares - self.sums * self.sums) / self._total
        self.is_zero = self.scatter == 0
        self.typical_cost = power(self.scatter.numerator.bit_length() - self.scatter.denominator.bit_length())

    def cost(self, labels: IntArray, k: int) -> Fraction:
        """Return the exact cost of a clustering whose clusters 0..k-1 all have points."""
        weights, sums = self.group_totals(labels, k)
        numerators, denominator = sum_of_quotients(sums * sums * self.numerators, self.denominators)
        saved = sum((Fraction(a, w) for a, w in zip(numerators.tolist(), weights.tolist(), strict=True)), Fraction(0))
        return self._summed(self._squares) - self.scale * saved / denominator

    def allowance(self) -> Fraction:
        """Return 0."""
        return Fraction(0)

    def group_totals(self, groups: IntArray, size: int) -> tuple[Integers, Integers]:
        """Return sum w and sum w x over each group, as integers in their units."""
        weights, _ = group_sums(np.ones(len(groups)), self.weights, groups, size)
        columns = [group_sums(column, self.weights, groups, size)[0] for column in self.points.T]
        return weights, np.array(columns, dtype=object).reshape(-1, size).T

    def scale_of(self, feature: int) -> Fraction:
        """Return what the square of an integer in this feature counts for in squared distances."""
        return self.scale / self._unit * Fraction(self.numerators[feature], self.denominators[feature])

    def embedding(self, points: SuperPoints, unit: Fraction) -> Embedding:
        """Return the rows A_a."""
        d = self.points.shape[1]
        rows = np.empty((points.size, d))
        squares = np.zeros(points.size)
        factors = np.empty(d)
        for j, column in enumerate(self.points.T):
            mean = Fraction(self.sums[j], self._total) * power(self.exponents[j])
            shift = -100 if np.abs(column).max() > _HUGE else 0  # so that differences do not overflow
            centre = float(mean)
            rest = math.ldexp(float(mean - Fraction(centre)), shift)
            y = (np.ldexp(column, shift) - math.ldexp(centre, shift)) - rest
            exponent = int(np.frexp(np.abs(y).max())[1])
            y = np.ldexp(y, -exponent)
            squared = power(2 * (exponent - shift - self.exponents[j])) * self.scale_of(j)
            factors[j] = root(squared * self.total_weight / unit)
            products = points.coefficients * y
            rows[:, j] = factors[j] * np.bincount(points.groups, products, minlength=points.size)
            sizes = np.abs(products) + points.coefficients * abs(math.ldexp(rest, -exponent))
            squares += (factors[j] * np.bincount(points.groups, sizes, minlength=points.size)) ** 2
        absolute = 8 * UNDERFLOW * points.largest * float(factors.sum()) + TINY
        return Embedding(rows, np.sqrt(squares), factor(points.largest + 20), absolute)

    def between(self, points: SuperPoints, unit: Fraction) -> Between:
        """Return A A', for products of floats with d + 1 more roundings (Cauchy-Schwarz bounds the sums of terms)."""
        embedding = self.embedding(points, unit)
        lengths = embedding.lengths
        relative = 2 * embedding.relative + factor(self.points.shape[1] + 4)
        error = relative * np.outer(lengths, lengths)
        error += embedding.absolute * (lengths[:, None] + lengths + embedding.absolute) + TINY
        return Between(embedding.rows @ embedding.rows.T, error, self.scatter)

    def _summed(self, values: Integers) -> Fraction:
        numerator, denominator = sum_of_quotients(values * self.numerators, self.denominators)
        return Fraction(int(numerator), denominator) * self.scale


class GramData(_Weighted):
    """A symmetric matrix K of inner products, which need not be positive semidefinite."""

    floor = -math.inf
    is_zero = False

    def __init__(self, gram: FloatArray, weights: FloatArray) -> None:
        super().__init__(weights)
        self.gram = gram
        self._exponent = int(np.frexp(np.abs(gram).max())[1])
        self.typical_cost = power(self._exponent) * self.total_weight

    @cached_property
    def diagonal(self) -> Fraction:
        """The sum of w_i K_ii."""
        return self._sum(self.gram.diagonal())

    def cost(self, labels: IntArray, k: int) -> Fraction:
        """Return the exact cost of a clustering whose clusters 0..k-1 all have points."""
        cost = self.diagonal
        for cluster in range(k):
            members = np.flatnonzero(labels == cluster)
            weight = int(self._integers[members].sum()) * self._unit
            cost -= quadratic_form(self.gram[np.ix_(members, members)], self.weights[members]) / weight
        return cost

    def allowance(self) -> Fraction:
        """Return a part of the sum of w_i |K_ii|: costs are differences of larger numbers."""
        return self._sum(np.abs(self.gram.diagonal())) / 10**12

    def between(self, points: SuperPoints, unit: Fraction) -> Between:
        """Return the sums of K' over pairs of groups; every entry has twice the roundings of a group, and some more."""
        exponent = self._exponent
        gram = np.ldexp(self.gram, -exponent)
        shares = (self._integers / self._total).astype(np.float64)
        centre = np.ldexp(gram @ shares - 0.5 * float(shares @ gram @ shares), exponent)  # any floats will do
        if not np.isfinite(centre).all():
            centre = np.zeros(len(gram))
        z = np.ldexp(centre, -exponent)
        try:
            scale = float(power(exponent) * self.total_weight / unit)
        except OverflowError:
            scale = math.inf
        n = len(gram)
        sums = csr_array((points.coefficients, (points.groups, np.arange(n))), shape=(points.size, n))
        matrix = scale * (sums @ (sums @ ((gram - z[:, None]) - z)).T)
        size = scale * (sums @ (sums @ (np.abs(gram) + np.abs(z)[:, None] + np.abs(z))).T)
        error = factor(2 * points.largest + 40) * size + 32 * UNDERFLOW * points.largest**2 * scale + TINY
        return Between(matrix, error, self.diagonal - 2 * self._sum(centre))

    def _sum(self, values: FloatArray) -> Fraction:
        sums, exponent = group_sums(values, self.weights, np.zeros(len(values), dtype=np.int64), 1)
        return int(sums[0]) * power(exponent)
