r"""The problem in numbers that neither cancel, overflow nor underflow: what all numerical work starts from.

**Points.** Moved to a reference near their middle, divided by each feature's standard deviation if the instance asks
for that, by a power of two and finally by a number such that the total scatter is 1. Features that are constant are
left out: they cost exactly nothing. Weights far from 1 are divided by a power of two, which changes no
digit.

Every coordinate then carries a relative rounding error. The square root of a clustering's cost is a seminorm of the
points, so it changes by at most the norm of these errors, whatever the clustering: a bound for the scaled points, less
that norm, is a bound for the user's own.

**A Gram matrix.** For any numbers h_i, K_ij - h_i - h_j gives every clustering the same cost as K_ij. The h that centre
the matrix are subtracted and the result is divided likewise. An error E of the entries changes the cost of a clustering
by at most sum_i w_i \|E_ii\| + k \|D^{1/2} E D^{1/2}\|_F, since its matrix is a projector of trace k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from certimeans._typing import BoolArray, FloatArray
from certimeans.errors import InputError
from certimeans.problem.cost import exponent_of
from certimeans.problem.rounding import UNIT_ROUNDOFF, rounded_down, rounding_factor
from certimeans.problem.sizes import lowest_bit

LARGEST_COORDINATE = 2.0**1000
"""Differences of larger coordinates might overflow."""

SMALLEST_WEIGHT_RATIO = 2.0**-1000
"""Weights that differ by more cannot be handled in one sum of doubles."""

_TINY = 1e-140  # far above what underflows here, far below a rounding error of what does not
_ORDINARY_EXPONENT, _ORDINARY_WEIGHT = 64, 2.0**-900  # ordinary weights are left as they are
_SAMPLE = 10_000  # points are enough for a median
_FAR = 2.0**20  # times the median distance from the median: then the mean is no place to compute from


@dataclass(frozen=True)
class CostScale:
    """What leads from working units back to the user's, and how exact the working numbers are.

    Attributes
    ----------
    scatter
        Cost of a single cluster at the origin, sum of w_i |x_i|^2: about 1, or 0 if all points are equal.
    factor, exponent
        A cost in the user's units is ``factor * 2**exponent`` times one in working units.
    weight_exponent
        A weight of the user is ``2**weight_exponent`` times the working one.
    weights_are_exact
        Whether sums of the weights are exact in floating point.
    root_error
        How far the square root of a clustering's cost may be from the exact one.
    error
        How far the cost itself may be off besides.
    is_gram
        Whether the problem was given as a Gram matrix. Its costs may be negative.
    gram_norm
        For a Gram matrix, Frobenius norm of its entries in the scaling D^{1/2} K D^{1/2}.
    """

    scatter: float = 1.0
    factor: float = 1.0
    exponent: int = 0
    weight_exponent: int = 0
    weights_are_exact: bool = True
    root_error: float = 0.0
    error: float = 0.0
    is_gram: bool = False
    gram_norm: float = 0.0

    @property
    def unit(self) -> float:
        """The cost unit as a float, correctly rounded."""
        return float(self._exact_unit)

    @property
    def weight_unit(self) -> float:
        """The weight unit."""
        return float(Fraction(2) ** self.weight_exponent)

    @property
    def nothing_proven(self) -> float:
        """What is known without any proof, in either units: no cost is negative, unless it comes from a Gram matrix."""
        return -math.inf if self.is_gram else 0.0

    def to_user(self, bound: float) -> float:
        """Turn a proven bound in working units into one in the user's units, rounded down."""
        if math.isinf(bound) and bound > 0:
            return bound
        if not bound > self.nothing_proven or (self.scatter == 0 and not self.is_gram):
            return self.nothing_proven
        if not self.is_gram:
            bound = max(0.0, math.sqrt(bound) - self.root_error) ** 2
        bound -= self.error
        bound -= 16 * UNIT_ROUNDOFF * abs(bound)  # for the roundings above
        return max(self.nothing_proven, rounded_down(Fraction(bound) * self._exact_unit))

    def target(self, cost: float) -> float:
        """Return what a bound in working units must reach to prove ``cost`` in the user's units."""
        if math.isinf(cost) or (self.scatter == 0 and not self.is_gram):
            return math.inf
        wanted = float(Fraction(cost) / self._exact_unit)
        if not self.is_gram:
            wanted = (math.sqrt(max(wanted, 0.0)) + 2 * self.root_error) ** 2
        return wanted + 2 * self.error + 64 * UNIT_ROUNDOFF * abs(wanted)

    def provable(self, cost: float) -> float:
        """Return the largest bound that rounding could leave of an exact one for a clustering of this cost."""
        return self.to_user(float(Fraction(cost) / self._exact_unit)) if math.isfinite(cost) else cost

    @property
    def _exact_unit(self) -> Fraction:
        return Fraction(self.factor) * Fraction(2) ** self.exponent


class ScaledData(NamedTuple):
    """An instance in working numbers.

    Attributes
    ----------
    weights
        The largest is between 2**-64 and 2**64.
    vectors
        One row per point; ``None`` for a Gram matrix.
    gram
        The centred Gram matrix; ``None`` for points.
    """

    weights: FloatArray
    vectors: FloatArray | None
    gram: FloatArray | None
    scale: CostScale


def scale_points(
    points: FloatArray, weights: FloatArray, deviations: FloatArray | None, deviation_error: float = 0.0
) -> ScaledData:
    """Bring points into working numbers.

    Parameters
    ----------
    deviations
        What to divide each feature by; ``None`` for nothing.
    deviation_error
        A bound on the relative error of each of them.

    Raises
    ------
    InputError
        If the coordinates are too large for double precision.
    """
    scaled_weights, weight_exponent = _scaled_weights(weights)
    varies = points.max(axis=0) != points.min(axis=0)
    if not varies.any():
        nothing = CostScale(scatter=0.0, weight_exponent=weight_exponent)
        return ScaledData(scaled_weights, np.zeros((len(points), 1)), None, nothing)
    kept = points[:, varies]
    if np.abs(kept).max() > LARGEST_COORDINATE:
        raise InputError(
            f"points have coordinates up to {np.abs(kept).max():.3g}, too large for double precision; "
            "divide the points by a constant"
        )
    moved = kept - _reference(kept, scaled_weights)
    entry_error, exponent = 4 * UNIT_ROUNDOFF, 0
    if deviations is not None:
        fractions, exponents = np.frexp(deviations[varies])
        # Some of the points may lie close together, by the deviations of all: nothing may underflow.
        exponent = int((np.frexp(np.abs(moved).max(axis=0))[1] - exponents).max())
        moved = np.ldexp(moved, -exponents - exponent) / fractions
        entry_error += 2 * deviation_error
    else:
        exponent = exponent_of(moved)
        moved = np.ldexp(moved, -exponent)
    size = math.sqrt(float(scaled_weights @ (moved * moved).sum(axis=1)))
    vectors = np.ascontiguousarray(moved / size)
    scale = CostScale(
        scatter=float(scaled_weights @ (vectors * vectors).sum(axis=1)),
        factor=size * size,
        exponent=2 * exponent + weight_exponent,
        weight_exponent=weight_exponent,
        weights_are_exact=sums_are_exact(weights),
        root_error=entry_error * 1.01 + _TINY,
    )
    return ScaledData(scaled_weights, vectors, None, scale)


def scale_gram(gram: FloatArray, weights: FloatArray, n_clusters: int) -> ScaledData:
    """Bring a symmetric Gram matrix into working numbers: centred and scaled."""
    scaled_weights, weight_exponent = _scaled_weights(weights)
    exponent = exponent_of(gram)
    entries = np.ldexp(gram, -exponent)
    total = float(scaled_weights.sum())
    shift = entries @ scaled_weights / total
    shift -= 0.5 * float(scaled_weights @ shift) / total
    centred = entries - shift[:, None] - shift[None, :]
    centred = 0.5 * (centred + centred.T)
    sizes = np.abs(entries) + np.abs(shift)[:, None] + np.abs(shift)[None, :]
    roots = np.sqrt(scaled_weights)
    outer = np.outer(roots, roots)
    size = float(scaled_weights @ np.abs(centred.diagonal())) or float(np.linalg.norm(centred * outer)) or 1.0
    # Eight roundings would do; a checker that sums over super-points in plain floats has to be able to follow.
    off_diagonal = n_clusters * float(np.linalg.norm(sizes * outer))
    error = (96 + 4 * len(weights)) * UNIT_ROUNDOFF * (float(scaled_weights @ sizes.diagonal()) + off_diagonal)
    centred = np.ascontiguousarray(centred / size)
    scale = CostScale(
        scatter=float(scaled_weights @ centred.diagonal()),
        factor=size,
        exponent=exponent + weight_exponent,
        weight_exponent=weight_exponent,
        weights_are_exact=sums_are_exact(weights),
        error=1.01 * error / size + _TINY,
        is_gram=True,
        gram_norm=float(np.linalg.norm(centred * outer)) * (1 + rounding_factor(len(weights) ** 2)),
    )
    return ScaledData(scaled_weights, None, centred, scale)


def sums_are_exact(weights: FloatArray) -> bool:
    """Whether all sums of these weights are floats: they are multiples of one power of two, and not too many of it."""
    lowest = lowest_bit(weights) or 0
    highest = float(np.ldexp(weights, -exponent_of(weights)).sum())
    return math.log2(max(highest, 1.0)) + exponent_of(weights) - lowest < 52


def _scaled_weights(weights: FloatArray) -> tuple[FloatArray, int]:
    """Divide weights by a power of two if the largest is far from 1."""
    exponent = exponent_of(weights)
    if abs(exponent) <= _ORDINARY_EXPONENT and weights.min() >= _ORDINARY_WEIGHT:
        return weights, 0
    return np.ldexp(weights, -exponent), exponent


def farthest_entry(points: FloatArray) -> tuple[int, int] | None:
    """Return row and column of a number that lies absurdly far from the others in its column, if there is one."""
    middle, spread, farthest = _spread(points)
    ratios = np.where(farthest > _FAR * spread, farthest, 0.0)
    column = int(ratios.argmax())
    if ratios[column] == 0.0:
        return None
    return int(np.abs(points[:, column] - middle[column]).argmax()), column


def _spread(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return, for each feature, about the median, the median distance from it, and the largest one."""
    some = points[:: max(1, len(points) // _SAMPLE)]
    middle = _median(some)
    spread = _median(np.abs(some - middle))
    return middle, spread, np.maximum(points.max(axis=0) - middle, middle - points.min(axis=0))


def _median(rows: FloatArray) -> FloatArray:
    """Return the median of each column; numpy's own imports masked arrays, which takes longer than all of this."""
    high, low = len(rows) // 2, (len(rows) - 1) // 2
    ordered = np.partition(rows, [low, high], axis=0)
    middle: FloatArray = ordered[high] if low == high else (ordered[low] + ordered[high]) / 2
    return middle


def _reference(points: FloatArray, weights: FloatArray) -> FloatArray:
    """Choose a point to measure from: the mean, or per feature the median where outliers drag the mean far away.

    Any point is right. Differences to it are rounded, so most of them should be small: one row at 1e20 must not cost
    the others their digits.
    """
    middle, spread, farthest = _spread(points)
    is_far: BoolArray = farthest > _FAR * spread
    mean = middle + (weights @ (points - middle)) / weights.sum()
    reference: FloatArray = np.where(is_far | ~np.isfinite(mean), middle, mean)
    return reference
