"""Make a clustering keep cannot-links and limits: a descent in which breaking them has a price, then a tabu search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import IntArray
from certimeans.compilation import compiled_without_allocation, inlined
from certimeans.deadline import Deadline
from certimeans.heuristics.limited.loads import Loads, change_of_breach, match_sizes, set_loads, total_breach
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.state import (
    Clusters,
    SmallIntArray,
    Space,
    count_violations,
    insertion_cost,
    move_point,
    removal_gain,
    set_labels,
)
from certimeans.randomness import RandomState, random_below

# Not for tuning: a super-point that leaves a cluster for a cannot-link's sake puts two loads out by its amount.
_SHARE_OF_LIMITS = 0.3
_MOST_VISITS_PER_POINT = 20
_TABU_STEPS_PER_CALL = 10


class Prices(NamedTuple):
    """What a broken cannot-link costs, and one unit outside the limits."""

    link: float
    unit: float


def mend_within(
    space: Space,
    clusters: Clusters,
    loads: Loads,
    labels: IntArray,
    price: float,
    settings: SearchSettings,
    random: RandomState,
    deadline: Deadline,
) -> bool:
    """Make ``labels`` keep cannot-links and limits while the cost stays low; say whether that worked.

    Parameters
    ----------
    price
        What a broken cannot-link costs at first.
    """
    set_labels(space, clusters, labels)
    set_loads(loads, labels)
    match_sizes(loads)
    typical = max(1.0, float(loads.amount.mean()))
    for _ in range(settings.price_rises):
        if count_violations(clusters) == 0 and total_breach(loads) == 0:
            break
        if deadline.passed():
            return False
        pay_for_limits(space, clusters, loads, Prices(price, _SHARE_OF_LIMITS * price / typical))
        price *= settings.price_growth
    forbidden_until = np.zeros(clusters.conflicts.shape, dtype=np.int32)
    prices = Prices(price, _SHARE_OF_LIMITS * price / typical)
    durations = (settings.shortest_tabu, settings.random_tabu)
    for step in range(0, settings.tabu_steps, _TABU_STEPS_PER_CALL):
        if count_violations(clusters) == 0 and total_breach(loads) == 0:
            break
        if deadline.passed():
            return False
        search_tabu_within(
            space, clusters, loads, forbidden_until, prices, step, step + _TABU_STEPS_PER_CALL, durations, random
        )
    labels[:] = clusters.labels
    return bool(count_violations(clusters) == 0 and total_breach(loads) == 0)


@inlined
def shift(space: Space, clusters: Clusters, loads: Loads, i: int, b: int) -> None:
    """Move super-point i to cluster b, with its load."""
    a = clusters.labels[i]
    move_point(space, clusters, i, b)
    loads.load[a] -= loads.amount[i]
    loads.load[b] += loads.amount[i]


@compiled_without_allocation
def pay_for_limits(space: Space, clusters: Clusters, loads: Loads, prices: Prices) -> None:
    """Move super-points one by one while that lowers the cost plus the price of all that is broken."""
    size = len(clusters.labels)
    idle, visits, i = 0, 0, 0
    while idle < size and visits < _MOST_VISITS_PER_POINT * size:
        i = i + 1 if i + 1 < size else 0
        idle += 1
        visits += 1
        a = clusters.labels[i]
        if clusters.members[a] < 2:
            continue
        leaving = removal_gain(space, clusters, i)
        best, target = 1e-12 + 1e-9 * max(leaving, 0.0), -1  # less may be rounding
        for b in range(space.n_clusters):
            if b != a:
                gain = leaving - insertion_cost(space, clusters, i, b) + _saved(clusters, loads, prices, i, a, b)
                if gain > best:
                    best, target = gain, b
        if target >= 0:
            shift(space, clusters, loads, i, target)
            idle = 0


@inlined
def _saved(clusters: Clusters, loads: Loads, prices: Prices, i: int, a: int, b: int) -> float:
    """Return how much less is to be paid when super-point i moves from a to b."""
    links = clusters.conflicts[i, a] - clusters.conflicts[i, b]
    return float(prices.link * links - prices.unit * change_of_breach(loads, i, a, b))


@compiled_without_allocation
def search_tabu_within(  # noqa: PLR0913  # compiled code takes its state apart
    space: Space,
    clusters: Clusters,
    loads: Loads,
    forbidden_until: SmallIntArray,
    prices: Prices,
    first_step: int,
    last_step: int,
    durations: tuple[int, int],
    random: RandomState,
) -> None:
    """Make some steps of a tabu search; end as soon as nothing is broken."""
    shortest, spread = durations
    for step in range(first_step, last_step):
        if count_violations(clusters) == 0 and total_breach(loads) == 0:
            return
        best, chosen, target = -np.inf, -1, -1
        for i in range(len(clusters.labels)):
            a = clusters.labels[i]
            if clusters.members[a] < 2:
                continue
            leaving = removal_gain(space, clusters, i)
            for b in range(space.n_clusters):
                if b == a or forbidden_until[i, b] > step:
                    continue
                if clusters.conflicts[i, a] == 0 and change_of_breach(loads, i, a, b) >= 0:
                    continue  # it mends nothing
                bound = leaving + _saved(clusters, loads, prices, i, a, b)
                if bound > best:
                    gain = bound - insertion_cost(space, clusters, i, b)
                    if gain > best:
                        best, chosen, target = gain, i, b
        if chosen >= 0:
            forbidden_until[chosen, clusters.labels[chosen]] = step + 1 + shortest + random_below(random, spread)
            shift(space, clusters, loads, chosen, target)
