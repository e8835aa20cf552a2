"""Numbers that are rounded in a known direction.

Python's fractions are exact, and ``float(Fraction)`` is correctly rounded, in the subnormal range too; so one
comparison decides whether the nearest float lies on the right side.
"""

from __future__ import annotations

import math
from fractions import Fraction

UNIT_ROUNDOFF = 2.0**-53
"""Half the distance from 1 to the next float: the relative error of one operation, if nothing underflows."""

ROOM_FOR_CHECKERS = 8.0
"""How many times the allowance for rounding is taken from a bound: checkers that round otherwise have to prove it."""


def rounding_factor(operations: int) -> float:
    """Bound the relative error of that many floating-point operations in a row: n u / (1 - n u)."""
    return operations * UNIT_ROUNDOFF / (1 - operations * UNIT_ROUNDOFF)


def root_of(value: Fraction) -> float:
    """Return the square root of a number that may be far from 1, with a relative error of two roundings."""
    if value == 0:
        return 0.0
    halves = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(float(value / Fraction(4) ** halves)), halves)


def rounded_up(value: Fraction) -> float:
    """Return the smallest float that is not below ``value``; infinity if there is no other."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0.0)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def rounded_down(value: Fraction) -> float:
    """Return the largest float that is not above ``value``."""
    return 0.0 - rounded_up(-value)  # not -0.0
