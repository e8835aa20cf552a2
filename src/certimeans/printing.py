"""Numbers as text, rounded in the direction in which they stay true."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_UP, Context, Decimal

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # control, format, surrogates, line and paragraph ends
_SMALLEST_SHOWN = Decimal("0.000001")
_MOST_REGIONS_SHOWN = 6
_EXACT = Context(prec=2_000)
"""Enough digits for every float."""


def text_down(value: float, digits: int = 8) -> str:
    """Write a proven lower bound: never more than was proven."""
    return _rounded(value, Context(digits, ROUND_FLOOR))


def text_up(value: float, digits: int = 8) -> str:
    """Write a cost: never less than it is."""
    return _rounded(value, Context(digits, ROUND_CEILING))


def percent_up(share: float) -> str:
    """Write a gap in per cent with three digits, at most six decimals: never less than it is."""
    return _percent(share, ROUND_CEILING)


def percent_down(share: float) -> str:
    """Write a share in per cent likewise, but never more than it is."""
    return _percent(share, ROUND_FLOOR)


def fixed_percent_up(share: float, decimals: int = 4) -> str:
    """Write a gap in per cent for a column, with so many decimals and without the sign: never less than it is."""
    if not math.isfinite(share):
        return "unknown"
    return f"{_in_percent(share).quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING, _EXACT):f}"


def harmless(text: str) -> str:
    """Write out what would move a terminal's cursor or turn its text around: names come from files of others."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in _UNSAFE else f"\\x{ord(c):02x}" for c in text)


def _rounded(value: float, context: Context) -> str:
    if not math.isfinite(value):
        return "unknown"
    return f"{float(context.create_decimal_from_float(value)):.{context.prec}g}"


def _percent(share: float, rounding: str) -> str:
    if not math.isfinite(share):
        return "unknown"
    number = Context(3, rounding).create_decimal(_in_percent(share)).quantize(_SMALLEST_SHOWN, rounding, _EXACT)
    text = f"{number:f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def _in_percent(share: float) -> Decimal:
    """Return the exact product, where that of floats might be rounded to the wrong side."""
    return Decimal(share).scaleb(2, _EXACT)


def scientific_up(value: float) -> str:
    """Write a gap with two digits that do not claim more than was proven."""
    return f"{Context(prec=2, rounding=ROUND_UP).create_decimal_from_float(value):e}"


def regions_in_words(sizes: Sequence[int]) -> str:
    """Say how many regions there are, and how many points are in them."""
    shown = [f"{size:,}" for size in sorted(sizes, reverse=True)]
    if len(shown) > _MOST_REGIONS_SHOWN:
        shown = [*shown[: _MOST_REGIONS_SHOWN - 1], "fewer"]
    return (
        f"the points lie in {len(sizes)} regions that no better clustering joins: {', '.join(shown[:-1])} and "
        f"{shown[-1]} points"
    )
