"""How many clusters each region gets: the cheapest of all ways, by dynamic programming over regions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.problem.rounding import UNIT_ROUNDOFF


class Allocation(NamedTuple):
    """Numbers of clusters, one for each region, and what these cost at least together; no numbers if there is no way.

    Sums of m numbers that are not negative have a relative error of at most m - 1 roundings, which are subtracted: no
    allocation costs less than the cheapest is said to cost.
    """

    cost: float
    counts: tuple[int, ...]


def cheapest_allocation(tables: Sequence[Sequence[float]], n_clusters: int) -> Allocation:
    """Return the cheapest way to give each region at least one cluster.

    Parameters
    ----------
    tables
        For each region what one cluster costs, two, and so on, as many as it can have: not negative, perhaps infinite.
    n_clusters
        How many there are in all.
    """
    best: FloatArray = np.full(n_clusters + 1, math.inf)
    best[0] = 0.0
    chosen: list[IntArray] = []
    for table in tables:
        totals, counts = np.full_like(best, math.inf), np.zeros(n_clusters + 1, dtype=np.int64)
        for count, cost in enumerate(table[:n_clusters], start=1):
            costs = best[:-count] + cost
            is_cheaper = costs < totals[count:]
            totals[count:][is_cheaper] = costs[is_cheaper]
            counts[count:][is_cheaper] = count
        best = totals
        chosen.append(counts)
    if math.isinf(best[n_clusters]):
        return Allocation(math.inf, ())
    found: list[int] = []
    for counts in reversed(chosen):
        found.append(int(counts[n_clusters - sum(found)]))
    return Allocation(float(best[n_clusters]) * (1 - 2 * len(tables) * UNIT_ROUNDOFF), tuple(reversed(found)))
