"""Mend clusterings that break cannot-links.

Where assigning one super-point after the other runs into dead ends, a start breaks cannot-links at first. A descent in
which they have a price that rises mends most, and a tabu search (Hertz and de Werra, 1987) what is left then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans.compilation import compiled_without_allocation, inlined
from certimeans.deadline import Deadline
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.state import (
    Clusters,
    SmallIntArray,
    Space,
    count_violations,
    insertion_cost,
    move_point,
    removal_gain,
)
from certimeans.randomness import RandomState, random_below

# Not for tuning: the price of a round need not be paid to the end, and a descent with rounding errors might have none.
_MOST_VISITS_PER_POINT = 50

_TABU_STEPS_PER_CALL = 10  # each looks at every super-point: with a million of them, some hundredths of a second


class Payment(NamedTuple):
    """How far the descent with a rising price got.

    Attributes
    ----------
    price
        Of a broken cannot-link.
    rises
        How often the price has risen.
    i
        The next super-point.
    idle, visits
        Visits since the last move and visits at this price.
    is_proper
        Whether no cannot-link is broken any more.
    """

    price: float
    rises: int
    i: int
    idle: int
    visits: int
    is_proper: bool


def mend(
    space: Space,
    clusters: Clusters,
    price: float,
    settings: SearchSettings,
    random: RandomState,
    deadline: Deadline,
    max_visits: int = 1_000_000,
) -> bool:
    """Remove broken cannot-links while the cost stays low.

    Parameters
    ----------
    price
        What a broken cannot-link costs at first.
    max_visits
        Visits of super-points between two looks at the deadline.

    Returns
    -------
    bool
        Whether none is left; False also if the deadline passed before.
    """
    paid = Payment(price, 0, 0, 0, 0, is_proper=False)
    while not paid.is_proper and paid.rises < settings.price_rises:
        if deadline.passed():
            return False
        paid = pay(space, clusters, paid, settings.price_growth, settings.price_rises, max_visits)
    if paid.is_proper:
        return True
    forbidden_until = np.zeros(clusters.conflicts.shape, dtype=np.int32)
    for step in range(0, settings.tabu_steps, _TABU_STEPS_PER_CALL):
        if deadline.passed():
            return False
        last = min(step + _TABU_STEPS_PER_CALL, settings.tabu_steps)
        durations = (settings.shortest_tabu, settings.random_tabu)
        if search_tabu(space, clusters, forbidden_until, paid.price, step, last, durations, random):
            return True
    return False


@compiled_without_allocation
def pay(
    space: Space, clusters: Clusters, payment: Payment, price_growth: float, price_rises: int, max_visits: int
) -> Payment:
    """Move super-points one by one while that lowers the cost plus the price of all broken cannot-links."""
    size = len(clusters.labels)
    price, rises, i, idle, visits = payment.price, payment.rises, payment.i, payment.idle, payment.visits
    for _ in range(max_visits):
        if idle >= size or visits >= _MOST_VISITS_PER_POINT * size:
            if count_violations(clusters) == 0:
                return Payment(price, rises, i, idle, visits, True)
            price *= price_growth
            rises += 1
            if rises >= price_rises:
                break
            i, idle, visits = 0, 0, 0
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
                broken = clusters.conflicts[i, a] - clusters.conflicts[i, b]
                gain = leaving - insertion_cost(space, clusters, i, b) + price * broken
                if gain > best:
                    best, target = gain, b
        if target >= 0:
            move_point(space, clusters, i, target)
            idle = 0
    return Payment(price, rises, i, idle, visits, False)


@compiled_without_allocation
def search_tabu(
    space: Space,
    clusters: Clusters,
    forbidden_until: SmallIntArray,
    price: float,
    first_step: int,
    last_step: int,
    durations: tuple[int, int],
    random: RandomState,
) -> bool:
    """Make some steps of the tabu search; True as soon as no cannot-link is broken.

    Parameters
    ----------
    forbidden_until
        Step until which a super-point (row) must not return to a cluster (column).
    durations
        For how many steps at least, and how many more at random.
    """
    shortest, spread = durations
    for step in range(first_step, last_step):
        if count_violations(clusters) == 0:
            return True
        chosen, target = _best_tabu_move(space, clusters, forbidden_until, price, step)
        if chosen >= 0:
            forbidden_until[chosen, clusters.labels[chosen]] = step + 1 + shortest + random_below(random, spread)
            move_point(space, clusters, chosen, target)
    return count_violations(clusters) == 0


@inlined
def _best_tabu_move(
    space: Space, clusters: Clusters, forbidden_until: SmallIntArray, price: float, step: int
) -> tuple[int, int]:
    """Find the best move of a conflicting super-point that is not forbidden: what moves, and where to; -1 if none."""
    best, chosen, target = -np.inf, -1, -1
    for i in range(len(clusters.labels)):
        a = clusters.labels[i]
        if clusters.members[a] < 2 or clusters.conflicts[i, a] == 0:
            continue
        leaving = removal_gain(space, clusters, i)
        for b in range(space.n_clusters):
            if b == a or forbidden_until[i, b] > step:
                continue
            bound = leaving + price * (clusters.conflicts[i, a] - clusters.conflicts[i, b])
            if bound > best:
                gain = bound - insertion_cost(space, clusters, i, b)
                if gain > best:
                    best, chosen, target = gain, i, b
    return chosen, target
