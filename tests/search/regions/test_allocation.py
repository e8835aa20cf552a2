"""The cheapest numbers of clusters, against all of them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from certimeans.search.regions.allocation import Cost, cheapest_allocation


@pytest.mark.parametrize("seed", range(30))
def test_the_cheapest_of_all_allocations(seed: int) -> None:
    """Tables of different lengths with some entries infinite."""
    random = np.random.default_rng(seed)
    tables: list[list[Cost]] = [
        [
            math.inf if random.random() < 0.2 else Fraction(int(random.integers(100)))
            for _ in range(random.integers(1, 5))
        ]
        for _ in range(random.integers(1, 4))
    ]
    k = int(random.integers(1, 9))
    ways = [counts for counts in itertools.product(*(range(1, len(table) + 1) for table in tables)) if sum(counts) == k]
    best = min((sum(t[c - 1] for t, c in zip(tables, counts, strict=True)) for counts in ways), default=math.inf)
    found = cheapest_allocation(tables, k)
    assert found.cost == best
    assert found.counts in ways or not ways
