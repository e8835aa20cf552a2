"""What clusters hold, and how much they may hold, as compiled code keeps track of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import IntArray
from certimeans.compilation import compiled_without_allocation, inlined
from certimeans.presolve.contract import SuperPoints

_MOST_BITS = 62


class Loads(NamedTuple):
    """Integers: sums of them are exact.

    Attributes
    ----------
    amount
        What each super-point counts.
    exact
        The loads of all clusters in increasing order, if these are prescribed; else without content.
    low, high
        Between what the load of each cluster has to be.
    load
        Sum of the amounts of each cluster.
    rank
        Room for an order of the clusters.
    smallest
        The smallest amount.
    """

    amount: IntArray
    exact: IntArray
    low: IntArray
    high: IntArray
    load: IntArray
    rank: IntArray
    smallest: int


def make_loads(points: SuperPoints) -> Loads:
    """Lay out the limits of super-points.

    Amounts that do not fit into 64 bits are rounded up, and limits such that what keeps the rounded ones keeps the
    exact ones. Exact sizes are then out of reach: only clusterings that come from elsewhere have them.
    """
    limits, k = points.limits, points.n_clusters
    assert limits is not None  # noqa: S101  # callers ask only where there are limits
    slots = limits.slots(k)
    shift = max(0, max(limits.total, *(high for _, high in slots)).bit_length() - _MOST_BITS)
    amounts = [-(-int(amount) >> shift) for amount in limits.amounts]
    spare = len(amounts) if shift else 0  # each was rounded up by less than one
    low = [-(-least >> shift) + spare for least, _ in slots]
    high = [most >> shift for _, most in slots]
    smallest = min(amounts)
    exact = high if limits.exact is not None and not shift else []
    return Loads(
        np.array(amounts, dtype=np.int64),
        np.array(exact, dtype=np.int64),
        np.array([max(least, smallest) for least in low], dtype=np.int64),  # no cluster is empty
        np.array(high, dtype=np.int64),
        np.zeros(k, dtype=np.int64),
        np.zeros(k, dtype=np.int64),
        smallest,
    )


@compiled_without_allocation
def set_loads(loads: Loads, labels: IntArray) -> None:
    """Recompute the load of each cluster."""
    loads.load[:] = 0
    for i in range(len(labels)):
        loads.load[labels[i]] += loads.amount[i]


@compiled_without_allocation
def match_sizes(loads: Loads) -> None:
    """Give the largest of the exact sizes to the cluster with the largest load, and so on; without any, do nothing."""
    rank, load = loads.rank, loads.load
    if len(loads.exact) == 0:
        return
    for c in range(len(load)):  # insertion sort: there are few clusters
        place = c
        while place > 0 and load[rank[place - 1]] > load[c]:
            rank[place] = rank[place - 1]
            place -= 1
        rank[place] = c
    for place in range(len(load)):
        loads.low[rank[place]] = loads.exact[place]
        loads.high[rank[place]] = loads.exact[place]


@compiled_without_allocation
def exchange_sizes(loads: Loads, a: int, b: int) -> None:
    """Let two clusters change their limits."""
    loads.low[a], loads.low[b] = loads.low[b], loads.low[a]
    loads.high[a], loads.high[b] = loads.high[b], loads.high[a]


@inlined
def breach(loads: Loads, c: int, load: int) -> int:
    """By how much a load of a cluster is outside its limits."""
    return int(max(0, load - loads.high[c]) + max(0, loads.low[c] - load))


@compiled_without_allocation
def total_breach(loads: Loads) -> int:
    """By how much all loads are outside their limits."""
    total = 0
    for c in range(len(loads.load)):
        total += breach(loads, c, loads.load[c])
    return total


@inlined
def change_of_breach(loads: Loads, i: int, a: int, b: int) -> int:
    """Return how much more loads are outside their limits when super-point i moves from a to b."""
    w = loads.amount[i]
    after = breach(loads, a, loads.load[a] - w) + breach(loads, b, loads.load[b] + w)
    return after - breach(loads, a, loads.load[a]) - breach(loads, b, loads.load[b])


@inlined
def may_move(loads: Loads, amount: int, a: int, b: int) -> bool:
    """Whether an amount, which may be negative, can go from a to b within the limits."""
    left, right = loads.load[a] - amount, loads.load[b] + amount
    return bool(loads.low[a] <= left <= loads.high[a] and loads.low[b] <= right <= loads.high[b])
