r"""What a cluster costs at least that holds super-points of two regions.

With weights w_a, means m_a and squared distances of the statement, a cluster that holds a and b costs at least
h_ab |m_a - m_b|^2 more than what is inside of them, where 1 / h_ab = 1 / w_a + 1 / w_b. This is a lower bound for the
least of these numbers over all a, b in different regions, in floats with all roundings accounted for.

Feature j is measured in 2^e_j, the power of two above its largest number, so that numbers are at most 1 and nothing
overflows. A mean is the float nearest to it and the float nearest to what is left, p_aj + r_aj; for a single point r_aj
is 0, and p_aj is off only by what underflows. Then, with eps = 2^-53 and eta = 2^-1074, the float D of (p_a - p_b) +
(r_a - r_b) has an error of at most

    2.1 eps |D|  (two additions)  +  3.1 eps (|r_a| + |r_b|)  (the r, and their difference)  +  4 eta,

of which the double is subtracted from \|D\|. With f_j = 2^e_j / sqrt(v_j U), where U is such that the largest f_j is
1, the root of the cost over U N (N the weight of all) is the product of root(h_ab / N) and the length of the vector of
the f_j \|D_j\|. Lengths are computed relative to the largest entry, so that no square over- or underflows; h_ab from
u_a = root(w_a / N) as u_a / root(1 + (u_a / u_b)^2) with u_a the smaller one. The relative error of f_j and u_a is at
most 4 eps; that of everything is bounded by g(2 d + 60). Numbers below 1e-290 may have lost digits and count as 0,
which only lowers the bound.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.certificate.exact import power, root
from certimeans.certificate.geometry import EPS, UNDERFLOW, PointData, factor

_SMALL = 1e-290  # smaller floats may have few digits
_ENTRIES = 2_000_000  # of an array with a number for each feature of each pair


class _Places(NamedTuple):
    """The means p + r of super-points, a row each, what a unit of each feature counts for, u_a, and U N."""

    near: FloatArray
    rest: FloatArray
    factors: FloatArray
    roots: FloatArray
    unit: Fraction


def least_join(data: PointData, groups: IntArray, size: int, region: IntArray) -> Fraction:
    """Return what joining super-points of two regions costs at least, beside what is inside of super-points.

    Parameters
    ----------
    groups, size
        The super-point of each point, and how many there are.
    region
        The region of each super-point; there are at least two.
    """
    places = _places(data, groups, size)
    d = len(places.factors)
    least = np.inf
    for number in range(int(region.max())):
        ours, others = np.flatnonzero(region == number), np.flatnonzero(region > number)
        rows = max(1, _ENTRIES // max(1, len(others) * d))
        for first in range(0, len(ours), rows):
            least = min(least, _least_of_block(places, ours[first : first + rows], others))
    return Fraction(least) ** 2 * places.unit


def _least_of_block(places: _Places, ours: IntArray, others: IntArray) -> float:
    """Return the least root of a cost over U N, for pairs of one of ours and one of the others."""
    near = places.near[ours][:, None, :] - places.near[others]
    rest = places.rest[ours][:, None, :] - places.rest[others]
    sizes = np.abs(places.rest)
    apart = np.abs(near + rest)
    apart -= 4.2 * EPS * apart + 6.2 * EPS * (sizes[ours][:, None, :] + sizes[others]) + 8 * UNDERFLOW
    lengths = np.maximum(apart, 0.0) * places.factors
    lengths[lengths < _SMALL] = 0.0
    top = lengths.max(axis=2, initial=0.0)
    lengths /= np.where(top > 0, top, 1.0)[:, :, None]
    total = top * np.sqrt((lengths * lengths).sum(axis=2))
    mine, theirs = places.roots[ours][:, None], places.roots[others]
    smaller, larger = np.minimum(mine, theirs), np.maximum(mine, theirs)
    products = total * (smaller / np.sqrt(1 + (smaller / np.where(larger > 0, larger, 1.0)) ** 2))
    products[products < _SMALL] = 0.0
    return float(products.min()) * (1 - factor(2 * len(places.factors) + 60))


def _places(data: PointData, groups: IntArray, size: int) -> _Places:
    exponents = [int(np.frexp(np.abs(column).max())[1]) for column in data.points.T]
    near, rest = _means(data, groups, size, exponents)
    squared = [power(2 * (e - data.exponents[j])) * data.scale_of(j) for j, e in enumerate(exponents)]
    unit = max(squared, default=Fraction(1))
    factors = np.array([root(value / unit) for value in squared])
    factors[factors < _SMALL] = 0.0
    roots = data.super_points(groups, size).direction.copy()
    roots[roots < _SMALL] = 0.0
    return _Places(near, rest, factors, roots, unit * data.total_weight)


def _means(data: PointData, groups: IntArray, size: int, exponents: list[int]) -> tuple[FloatArray, FloatArray]:
    """Return the float nearest to each coordinate of a mean, in powers of two, and that nearest to what is left."""
    near = np.empty((size, len(exponents)))
    near[groups] = np.ldexp(data.points, -np.array(exponents, dtype=np.int32))  # right for single points
    rest = np.zeros_like(near)
    several = np.flatnonzero(np.bincount(groups, minlength=size) > 1)
    if several.size:
        weights, sums = data.group_totals(groups, size)
        for j, exponent in enumerate(exponents):
            unit = power(data.exponents[j] - exponent)
            for a in several.tolist():
                mean = Fraction(int(sums[a, j]), int(weights[a])) * unit
                near[a, j] = float(mean)
                rest[a, j] = float(mean - Fraction(float(near[a, j])))
    return near, rest
