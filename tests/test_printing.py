"""Numbers as text: rounded in the direction in which they stay true, and hardly more."""

import math
from fractions import Fraction

import numpy as np
import pytest

from certimeans.printing import fixed_percent_up, harmless, percent_down, percent_up, text_down, text_up

RANDOM = np.random.default_rng(0)
VALUES = [float(value) for value in RANDOM.random(300) * 10.0 ** RANDOM.integers(-12, 12, size=300)]
EDGES = [math.nextafter(number / 100_000, side) for number in range(1, 1000, 3) for side in (0.0, 1.0)]


@pytest.mark.parametrize("sign", [1, -1])
def test_costs_are_rounded_up_and_bounds_down(sign: int) -> None:
    """By less than a unit of the last of eight digits."""
    for value in (sign * value for value in VALUES):
        down, up = Fraction(text_down(value)), Fraction(text_up(value))
        assert down <= Fraction(value) <= up
        assert up - down <= abs(Fraction(value)) / 10**7
    assert (text_up(0.1 + 0.2, 3), text_down(0.1 + 0.2, 3)) == ("0.301", "0.3")


def test_shares_in_per_cent_are_rounded_outwards() -> None:
    """Also those next to a number of three digits, which the product of two floats would hit."""
    for share in (*(value for value in VALUES if value < 1), *EDGES):
        down, up = (Fraction(percent(share).removesuffix(" %")) for percent in (percent_down, percent_up))
        assert down <= 100 * Fraction(share) <= up
        assert up - down <= max(Fraction(share), Fraction(1, 10**6))


@pytest.mark.parametrize("decimals", [3, 4])
def test_gaps_in_columns_are_rounded_up(decimals: int) -> None:
    """By less than a unit of the last decimal, which is always written."""
    for share in (*VALUES, *EDGES):
        text = fixed_percent_up(share, decimals)
        assert 0 <= Fraction(text) - 100 * Fraction(share) < Fraction(1, 10**decimals)
        assert len(text.partition(".")[2]) == decimals


def test_huge_shares_are_written() -> None:
    """Gaps relative to a cost of nearly 0, as Gram matrices may have it."""
    assert Fraction(percent_up(2.0**120).removesuffix(" %")) >= 100 * 2**120
    assert Fraction(fixed_percent_up(2.0**120)) == 100 * 2**120


def test_what_is_not_finite_is_unknown() -> None:
    """No bound, no clustering, no gap."""
    for write in (text_up, text_down, percent_up, percent_down, fixed_percent_up):
        assert write(math.inf) == write(-math.inf) == write(math.nan) == "unknown"
    assert percent_up(0.0) == percent_down(0.0) == "0 %"
    assert percent_up(1e-12) == "0.000001 %"
    assert percent_up(0.1234) == "12.4 %"


def test_what_drives_a_terminal_is_written_out() -> None:
    """Escape sequences, text that runs backwards, ends of lines that are none; letters of any script stay."""
    assert harmless("Zoë Ж 山\n\tx") == "Zoë Ж 山\n\tx"
    assert harmless("\x1b[2J\u202e\u2028") == "\\x1b[2J\\x202e\\x2028"
