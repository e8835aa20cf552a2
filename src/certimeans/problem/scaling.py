r"""The problem in numbers that neither cancel, overflow nor underflow: what all numerical work starts from.

**Points.** Moved to a reference near their middle, divided by each feature's standard deviation if the instance asks
for that, by a power of two and at last by a number such that the total scatter is 1. Features that are constant are
left out: they cost exactly nothing. Weights are divided by a power of two, which changes no digit.

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

import numpy as np

from certimeans._typing import BoolArray, FloatArray
from certimeans.errors import InputError
from certimeans.problem.cost import exponent_of
from certimeans.problem.rounding import UNIT_ROUNDOFF, rounded_down, rounding_factor

LARGEST_COORDINATE = 2.0**1000
"""Differences of larger coordinates might overflow."""

SMALLEST_WEIGHT_RATIO = 2.0**-1000
"""Weights that differ by more cannot be handled in one sum of doubles."""

_TINY = 1e-140  # far above what underflows here, far below a rounding error of what does not
_FAR = 2.0**20  # times the median distance from the median: then the mean is no place to compute from


@dataclass(frozen=True, eq=False)
class ScaledData:
    """An instance in working numbers.

    Attributes
    ----------
    weights
        The largest is between 1/2 and 1.
    vectors
        One row per point; ``None`` for a Gram matrix.
    gram
        The centred Gram matrix; ``None`` for points.
    scatter
        Cost of a single cluster at the origin, sum of w_i |x_i|^2: about 1, or 0 if all points are equal.
    weights_are_exact
        Whether sums of the weights are exact in floating point.
    factor, exponent
        A cost in the user's units is ``factor * 2**exponent`` times one in working units.
    weight_exponent
        A weight of the user is ``2**weight_exponent`` times the one here.
    root_error
        How far the square root of a clustering's cost may be from the exact one.
    error
        How far the cost itself may be off besides.
    gram_norm
        For a Gram matrix, Frobenius norm of its absolute values in the scaling D^{1/2} K D^{1/2}.
    """

    weights: FloatArray
    vectors: FloatArray | None
    gram: FloatArray | None
    scatter: float
    weights_are_exact: bool
    factor: float
    exponent: int
    weight_exponent: int
    root_error: float
    error: float
    gram_norm: float = 0.0

    @property
    def unit(self) -> float:
        """The cost unit as a float, correctly rounded; 1 if all points are equal."""
        return float(Fraction(self.factor) * Fraction(2) ** self.exponent)

    @property
    def weight_unit(self) -> float:
        """The weight unit."""
        return float(Fraction(2) ** self.weight_exponent)

    def to_user(self, bound: float) -> float:
        """Turn a proven bound in working units into one in the user's units, rounded down."""
        if math.isinf(bound) or math.isnan(bound):
            return bound if bound > 0 else (0.0 if self.gram is None else -math.inf)
        if self.gram is None:
            if bound <= 0 or self.scatter == 0:
                return 0.0  # no cost is negative
            bound = max(0.0, math.sqrt(bound) - self.root_error) ** 2
        bound -= self.error
        bound -= 16 * UNIT_ROUNDOFF * abs(bound)  # for the roundings above
        return rounded_down(Fraction(bound) * Fraction(self.factor) * Fraction(2) ** self.exponent)

    def target(self, cost: float) -> float:
        """Return what a bound in working units must reach to prove ``cost`` in the user's units."""
        if math.isinf(cost) or (self.gram is None and self.scatter == 0):
            return math.inf
        wanted = float(Fraction(cost) / (Fraction(self.factor) * Fraction(2) ** self.exponent))
        if self.gram is None:
            wanted = (math.sqrt(max(wanted, 0.0)) + 2 * self.root_error) ** 2
        return wanted + 2 * self.error + 64 * UNIT_ROUNDOFF * abs(wanted)


def scale_points(points: FloatArray, weights: FloatArray, deviations: FloatArray | None) -> ScaledData:
    """Bring points into working numbers.

    Parameters
    ----------
    deviations
        What to divide each feature by, each with a relative error of at most 2**-40; ``None`` for nothing.

    Raises
    ------
    InputError
        If the coordinates are too large for double precision.
    """
    scaled_weights, weight_exponent = _scaled_weights(weights)
    varies = points.max(axis=0) != points.min(axis=0)
    if not varies.any():
        return ScaledData(
            scaled_weights, np.zeros((len(points), 1)), None, 0.0, True, 1.0, 0, weight_exponent, 0.0, 0.0
        )
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
        moved = np.ldexp(moved, -exponents) / fractions
        entry_error += 2.0**-40
    else:
        exponent = exponent_of(moved)
        moved = np.ldexp(moved, -exponent)
    scale = math.sqrt(float(scaled_weights @ (moved * moved).sum(axis=1)))
    vectors = np.ascontiguousarray(moved / scale)
    return ScaledData(
        weights=scaled_weights,
        vectors=vectors,
        gram=None,
        scatter=float(scaled_weights @ (vectors * vectors).sum(axis=1)),
        weights_are_exact=sums_are_exact(weights),
        factor=scale * scale,
        exponent=2 * exponent + weight_exponent,
        weight_exponent=weight_exponent,
        root_error=entry_error * 1.01 + _TINY,
        error=0.0,
    )


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
    diagonal = centred.diagonal()
    scale = float(scaled_weights @ np.abs(diagonal)) or float(np.linalg.norm(centred * np.outer(roots, roots))) or 1.0
    entry_error = 8 * UNIT_ROUNDOFF
    off_diagonal = n_clusters * float(np.linalg.norm(sizes * np.outer(roots, roots)))
    error = entry_error * (float(scaled_weights @ sizes.diagonal()) + off_diagonal)
    centred = np.ascontiguousarray(centred / scale)
    return ScaledData(
        weights=scaled_weights,
        vectors=None,
        gram=centred,
        scatter=float(scaled_weights @ centred.diagonal()),
        weights_are_exact=sums_are_exact(weights),
        factor=scale,
        exponent=exponent + weight_exponent,
        weight_exponent=weight_exponent,
        root_error=0.0,
        error=1.01 * error / scale + _TINY,
        gram_norm=float(np.linalg.norm(centred * np.outer(roots, roots))) * (1 + rounding_factor(len(weights) ** 2)),
    )


def sums_are_exact(weights: FloatArray) -> bool:
    """Whether all sums of these weights are floats: they are multiples of one power of two, and not too many of it."""
    mantissas, exponents = np.frexp(weights)
    integers = np.ldexp(mantissas, 53).astype(np.int64)
    trailing = np.frexp((integers & -integers).astype(np.float64))[1] - 1
    lowest = int((exponents - 53 + trailing).min())
    highest = float(np.ldexp(weights, -exponent_of(weights)).sum())
    return math.log2(max(highest, 1.0)) + exponent_of(weights) - lowest < 52


def _scaled_weights(weights: FloatArray) -> tuple[FloatArray, int]:
    exponent = exponent_of(weights)
    return np.ldexp(weights, -exponent), exponent


def _reference(points: FloatArray, weights: FloatArray) -> FloatArray:
    """Choose a point to measure from: the mean, or per feature the median where outliers drag the mean far away.

    Any point is right. Differences to it are rounded, so most of them should be small: one row at 1e20 must not cost
    the others their digits.
    """
    middle = np.median(points, axis=0)
    distance = np.abs(points - middle)
    is_far: BoolArray = distance.max(axis=0) > _FAR * np.median(distance, axis=0)
    mean = middle + (weights @ (points - middle)) / weights.sum()
    reference: FloatArray = np.where(is_far | ~np.isfinite(mean), middle, mean)
    return reference
