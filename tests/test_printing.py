"""Numbers as text: rounded in the direction in which they stay true, and hardly more."""

import math
from fractions import Fraction

import numpy as np
import pytest

from certimeans.printing import harmless, percent_down, percent_up, text_down, text_up

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


def test_what_is_not_finite_is_unknown() -> None:
    """No bound, no clustering, no gap."""
    for write in (text_up, text_down, percent_up, percent_down):
        assert write(math.inf) == write(-math.inf) == write(math.nan) == "unknown"
    assert percent_up(0.0) == percent_down(0.0) == "0 %"
    assert percent_up(1e-12) == "0.000001 %"
    assert percent_up(0.1234) == "12.4 %"


def test_what_drives_a_terminal_is_written_out() -> None:
    """Escape sequences, text that runs backwards, ends of lines that are none; letters of any script stay."""
    assert harmless("Zoë Ж 山\n\tx") == "Zoë Ж 山\n\tx"
    assert harmless("\x1b[2J\u202e\u2028") == "\\x1b[2J\\x202e\\x2028"
