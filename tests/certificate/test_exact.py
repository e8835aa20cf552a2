"""Sums without rounding, and roundings in the right direction, against rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest

from certimeans.certificate import exact


@pytest.mark.parametrize("span", [1, 30, 300])
def test_sums_of_products_are_exact(span: int) -> None:
    """Also with numbers of every magnitude together, subnormal ones and zeros among them."""
    random = np.random.default_rng(span)
    for _ in range(50 if span < 300 else 10):
        n = int(random.integers(1, 9))
        x = random.normal(size=n) * 10.0 ** random.uniform(-1.07 * span, span, size=n) * (random.random(n) < 0.9)
        w = random.random(n) * 10.0 ** random.uniform(-span, span, size=n) + 5e-324
        gram = random.normal(size=(n, n)) * 10.0 ** random.uniform(-span, span, size=(n, n))
        groups = random.integers(0, 3, size=n)
        ours, theirs = [Fraction(value) for value in w.tolist()], [Fraction(value) for value in x.tolist()]
        sums, exponent = exact.group_sums(x, w, groups, 3)
        for group in range(3):
            expected = sum((ours[i] * theirs[i] for i in range(n) if groups[i] == group), Fraction(0))
            assert sums[group] * exact.power(exponent) == expected
        squares, exponent = exact.sum_of_squares(x, w)
        assert squares * exact.power(exponent) == sum(a * b * b for a, b in zip(ours, theirs, strict=True))
        pairs = [(i, j) for i in range(n) for j in range(n)]
        expected = sum((ours[i] * ours[j] * Fraction(gram[i, j].item()) for i, j in pairs), Fraction(0))
        assert exact.quadratic_form(gram, w) == expected


def test_sums_over_many_points_are_exact() -> None:
    """A hundred thousand points, more than a block: nothing is lost next to 1e16."""
    x = np.full(100_000, 1e16)
    x[::2] += 2.0
    sums, exponent = exact.group_sums(x, np.ones(100_000), np.arange(100_000) % 2, 2)
    assert [int(total) * exact.power(exponent) for total in sums] == [50_000 * (10**16 + 2), 50_000 * 10**16]
    total, exponent = exact.sum_of_squares(x, np.ones(100_000))
    assert total * exact.power(exponent) == 50_000 * ((10**16 + 2) ** 2 + 10**32)


def test_rounding_goes_in_one_direction() -> None:
    """Among normal and subnormal numbers, beyond the largest, and at zero."""
    tiny = Fraction(5e-324)
    assert exact.rounded_down(tiny / 3) == 0.0
    assert exact.rounded_up(tiny / 3) == 5e-324
    assert exact.rounded_down(-tiny / 3) == -5e-324
    assert exact.rounded_down(Fraction(1, 3)) < Fraction(1, 3) < exact.rounded_up(Fraction(1, 3))
    assert exact.rounded_down(Fraction(10) ** 400) == 1.7976931348623157e308
    assert exact.rounded_up(Fraction(10) ** 400) == math.inf
    assert exact.rounded_down(-(Fraction(10) ** 400)) == -math.inf
    assert math.copysign(1.0, exact.rounded_up(Fraction(0))) == 1.0


def test_roots_of_any_size_are_accurate() -> None:
    """Beyond the range of floats too; what is too large is infinite."""
    for exponent in (-600, -301, 0, 155, 600):
        value = Fraction(3) * Fraction(10) ** exponent
        assert abs(Fraction(exact.root(value)) ** 2 / value - 1) < Fraction(1, 2**50)
    assert exact.root(Fraction(10) ** 700) == math.inf
