"""Numbers as text, rounded in the direction in which they stay true."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

_SMALLEST_SHOWN = Decimal("0.000001")


def rounded_down(value: float, digits: int = 8) -> str:
    """Write a proven lower bound: never more than was proven."""
    return _rounded(value, Context(digits, ROUND_FLOOR))


def rounded_up(value: float, digits: int = 8) -> str:
    """Write a cost: never less than it is."""
    return _rounded(value, Context(digits, ROUND_CEILING))


def percent_up(share: float) -> str:
    """Write a gap in per cent with three digits, at most six decimals: never less than it is."""
    if not math.isfinite(share):
        return "unknown"
    number = Context(3, ROUND_CEILING).create_decimal_from_float(100 * share)
    number = number.quantize(_SMALLEST_SHOWN, ROUND_CEILING)
    text = f"{number:f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def _rounded(value: float, context: Context) -> str:
    if not math.isfinite(value):
        return "unknown"
    return f"{float(context.create_decimal_from_float(value)):.{context.prec}g}"
