"""Centre and scale points so that squares neither cancel, overflow nor underflow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray


class ScaledPoints(NamedTuple):
    """Points moved to their weighted mean and divided by a power of two.

    Attributes
    ----------
    points
        ``(original - mean) / 2**exponent``; the largest absolute coordinate is about 1.
    exponent
        Squared distances of the original are ``4**exponent`` times those of ``points``.
    """

    points: FloatArray
    exponent: int

    def in_original_units(self, squared: float) -> float:
        """Convert a sum of squared distances; infinite if it is too large for a float."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(squared, 2 * self.exponent))


def centre_and_scale(points: FloatArray, weights: FloatArray) -> ScaledPoints:
    """Subtract the weighted mean and divide by a power of two.

    The data's own midpoint is subtracted before the mean is taken: far from the origin that first difference is
    exact or nearly so, and the mean of what remains is small, so no digit of the spread is lost.
    """
    # A power of two changes no digit; it comes first, so that no difference or square can overflow below.
    exponent = exponent_of(points)
    moved = np.ldexp(points, -exponent)
    moved = moved - (0.5 * moved.min(axis=0) + 0.5 * moved.max(axis=0))
    spread = exponent_of(moved)
    moved = np.ldexp(moved, -spread)
    moved = moved - (weights @ moved) / weights.sum()
    return ScaledPoints(np.ascontiguousarray(moved), exponent + spread)


def standardized(points: FloatArray) -> FloatArray:
    """Scale every feature to mean 0 and variance 1; a constant feature becomes 0."""
    moved = centre_and_scale(points, np.ones(len(points))).points
    deviations = np.sqrt((moved**2).mean(axis=0))
    scaled: FloatArray = moved / np.where(deviations > 0, deviations, 1.0)
    return scaled


def exponent_of(values: FloatArray) -> int:
    """Return e with max |values| in [2**(e-1), 2**e); 0 for all zeros."""
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])
