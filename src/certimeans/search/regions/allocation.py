"""How many clusters each region gets: the cheapest of all ways, by dynamic programming over regions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

Cost = Fraction | float
"""Exact; a float only for infinity."""


class Allocation(NamedTuple):
    """Numbers of clusters, one for each region, and what these cost together; without any if there is no way."""

    cost: Cost
    counts: tuple[int, ...]


def cheapest_allocation(tables: Sequence[Sequence[Cost]], n_clusters: int) -> Allocation:
    """Return the cheapest way to give each region at least one cluster.

    Parameters
    ----------
    tables
        For each region what one cluster costs, two, and so on, as many as it can have.
    n_clusters
        How many there are in all.
    """
    best: dict[int, Allocation] = {0: Allocation(Fraction(0), ())}
    for table in tables:
        following: dict[int, Allocation] = {}
        for used, before in best.items():
            for count, cost in enumerate(table[: n_clusters - used], start=1):
                total = before.cost + cost
                known = following.get(used + count)
                if known is None or total < known.cost:
                    following[used + count] = Allocation(total, (*before.counts, count))
        best = following
    return best.get(n_clusters, Allocation(math.inf, ()))
