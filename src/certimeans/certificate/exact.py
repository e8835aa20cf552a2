"""The data in exact arithmetic, so that no offset and no scale of the points costs a digit.

Floats are integers times powers of two. With all points on one power and all weights on another, sums, products and
differences of them are sums, products and differences of Python's integers. Rounding begins where these are divided,
and Python's division of integers returns the float nearest to the quotient.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import CertificateError

Integers = NDArray[Any]  # of Python integers: numpy calls them objects


class SuperPoints(NamedTuple):
    """Groups of points as integers, counted in powers of two.

    With N the total weight and T the total scatter ::

        weights[i] = w_i,   vectors[i] = N p_i,   squares[i] = N^2 w_i T,

    So a_i = p_i / sqrt(w_i T), whose products are the matrix -C, is vectors[i] / sqrt(squares[i]).
    """

    weights: Integers
    vectors: Integers
    squares: Integers


class ExactData:
    """Points and weights as integers.

    Attributes
    ----------
    total_weight, scatter
        N and T of the format, exactly.
    weight_unit
        The power of two in which integer weights are counted.
    """

    def __init__(self, points: FloatArray, weights: FloatArray) -> None:
        x, x_exponent = as_integers(points)
        self._weights, w_exponent = as_integers(weights)
        self.weight_unit = Fraction(2) ** w_exponent
        self._cost_unit = Fraction(2) ** (w_exponent + 2 * x_exponent)
        self._weighted = self._weights[:, None] * x
        self._squares = int((self._weighted * x).sum())  # sum of w |x|^2
        self._n = int(self._weights.sum())
        self._sum = self._weighted.sum(axis=0)
        self._n_times_scatter = self._n * self._squares - int((self._sum * self._sum).sum())
        self.total_weight = self._n * self.weight_unit
        self.scatter = Fraction(self._n_times_scatter, self._n) * self._cost_unit

    def cost(self, labels: IntArray, k: int) -> Fraction:
        """Return the cost of a clustering whose clusters 0..k-1 all have points: sum w |x|^2 - sum |S_c|^2 / W_c."""
        weights, sums = self._group_sums(labels, k)
        parts = (sums * sums).sum(axis=1)
        saved = sum((Fraction(int(part), int(w)) for part, w in zip(parts, weights, strict=True)), Fraction(0))
        return (self._squares - saved) * self._cost_unit

    def super_points(self, groups: IntArray, size: int) -> SuperPoints:
        """Sum up groups 0..size-1, all of which have points."""
        weights, sums = self._group_sums(groups, size)
        vectors = self._n * sums - weights[:, None] * self._sum
        return SuperPoints(weights, vectors, self._n * self._n_times_scatter * weights)

    def heaviest_cluster(self, points: SuperPoints, k: int) -> Fraction:
        """Return the largest weight that one of k clusters can have: all but the k - 1 lightest super-points."""
        lightest: list[int] = sorted(points.weights.tolist())[: k - 1]
        return (self._n - sum(lightest)) * self.weight_unit

    def shares(self, points: SuperPoints) -> FloatArray:
        """Return w_i / N, each correctly rounded."""
        return (points.weights / self._n).astype(np.float64)

    def _group_sums(self, groups: IntArray, size: int) -> tuple[Integers, Integers]:
        order = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[order], np.arange(size))
        return np.add.reduceat(self._weights[order], starts), np.add.reduceat(self._weighted[order], starts, axis=0)


def rounded_down(value: Fraction) -> float:
    """Return the largest float that is not above ``value``."""
    nearest = _as_float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def rounded_up(value: Fraction) -> float:
    """Return the smallest float that is not below ``value``."""
    return 0.0 - rounded_down(-value)  # not -0.0


def _as_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise CertificateError("the numbers of this instance are too large for double precision") from None


def as_integers(values: FloatArray) -> tuple[Integers, int]:
    """Return integers m and an exponent e with values = m 2^e."""
    mantissas, exponents = np.frexp(values)
    integers = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
    lowest = int(exponents[values != 0].min(initial=2000))
    integers = integers << np.where(values != 0, exponents - lowest, 0).astype(object)
    all_bits = abs(int(np.bitwise_or.reduce(integers, axis=None)))
    spare = max((all_bits & -all_bits).bit_length() - 1, 0)  # zeros at the end of all of them
    return integers >> spare, lowest - 53 + spare
