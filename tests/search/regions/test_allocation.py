"""The cheapest numbers of clusters, against all of them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from certimeans.search.regions.allocation import cheapest_allocation


@pytest.mark.parametrize("seed", range(30))
def test_the_cheapest_of_all_allocations(seed: int) -> None:
    """Tables of different lengths with some entries infinite; the cost is rounded down."""
    random = np.random.default_rng(seed)
    tables: list[list[float]] = [
        [
            math.inf if random.random() < 0.2 else random.random() * 10.0 ** random.integers(-9, 9)
            for _ in range(random.integers(1, 5))
        ]
        for _ in range(random.integers(1, 4))
    ]
    k = int(random.integers(1, 9))
    ways = [counts for counts in itertools.product(*(range(1, len(table) + 1) for table in tables)) if sum(counts) == k]
    sums = [[table[count - 1] for table, count in zip(tables, counts, strict=True)] for counts in ways]
    best = min((sum(map(Fraction, costs), Fraction(0)) for costs in sums if math.inf not in costs), default=None)
    found = cheapest_allocation(tables, k)
    if best is None:
        assert found == (math.inf, ())
    else:
        assert best * (1 - Fraction(1, 10**14)) <= Fraction(found.cost) <= best
        assert found.counts in ways
