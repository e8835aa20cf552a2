"""Clusterings on dense cannot-link graphs: broken cannot-links are allowed at a price.

Where assigning one super-point after the other runs into dead ends, and where Kempe chains grow so long that no move
keeps every cannot-link and gains, the way to better clusterings leads through such that break a few. A descent whose
price rises mends a clustering that follows its centres; a tabu walk (Hertz and de Werra, 1987) mends what is left, and
later crosses the border of feasibility to and fro in search of a better clustering.
"""

from __future__ import annotations

import numpy as np

from certimeans._compiled import compiled_without_allocation
from certimeans.heuristics.moves import Workspace
from certimeans.heuristics.state import (
    Clusters,
    Space,
    count_violations,
    insertion_cost,
    move_point,
    removal_gain,
    scatter,
)
from certimeans.randomness import RandomState, random_below

_PRICE_GROWTH = 1.5
_PRICE_RISES = 16
_SHORTEST_TABU, _RANDOM_TABU = 5, 10
_STEPS_PER_PRICE = 10  # after as many steps on one side of feasibility, the price changes
_PRICE_CHANGE = 1.2


@compiled_without_allocation
def mend(space: Space, clusters: Clusters, work: Workspace, price: float, tabu_steps: int, random: RandomState) -> bool:
    """Remove broken cannot-links while the cost stays low; True if none is left."""
    for _ in range(_PRICE_RISES):
        _descend_with_price(space, clusters, price)
        if count_violations(clusters) == 0:
            return True
        price *= _PRICE_GROWTH
    work.forbidden_until[:] = 0
    for step in range(tabu_steps):
        if count_violations(clusters) == 0:
            return True
        _tabu_step(space, clusters, work, price, step, True, random)
    return count_violations(clusters) == 0


@compiled_without_allocation
def walk(space: Space, clusters: Clusters, work: Workspace, price: float, steps: int, random: RandomState) -> bool:
    """Walk from a feasible clustering to and fro across the border; True if a better one was found.

    The best feasible labels met are left in ``work.best_labels``; ``clusters`` is where the walk ended.
    """
    best = cost = scatter(space, clusters)
    work.forbidden_until[:] = 0
    improved = False
    feasible_steps = 0
    for i in range(len(clusters.labels)):
        work.best_labels[i] = clusters.labels[i]
    for step in range(steps):
        cost -= _tabu_step(space, clusters, work, price, step, False, random)
        if count_violations(clusters) == 0:
            feasible_steps = max(1, feasible_steps + 1)
            if cost < best * (1.0 - 1e-9):
                best = cost
                improved = True
                for i in range(len(clusters.labels)):
                    work.best_labels[i] = clusters.labels[i]
        else:
            feasible_steps = min(-1, feasible_steps - 1)
        if feasible_steps >= _STEPS_PER_PRICE:
            price /= _PRICE_CHANGE
            feasible_steps = 0
        elif feasible_steps <= -_STEPS_PER_PRICE:
            price *= _PRICE_CHANGE
            feasible_steps = 0
    return improved


@compiled_without_allocation
def _descend_with_price(space: Space, clusters: Clusters, price: float) -> None:
    """Move super-points one by one while that lowers the cost plus the price of all broken cannot-links."""
    size = len(clusters.labels)
    idle, i = 0, 0
    for _ in range(50 * size):  # a bound on the work: the price of a round need not be paid to the end
        if idle >= size:
            break
        i = i + 1 if i + 1 < size else 0
        idle += 1
        a = clusters.labels[i]
        if clusters.members[a] < 2:
            continue
        leaving = removal_gain(space, clusters, i)
        best, target = 1e-12 + 1e-9 * max(leaving, 0.0), -1
        for b in range(space.n_clusters):
            if b != a:
                broken = clusters.conflicts[i, a] - clusters.conflicts[i, b]
                gain = leaving - insertion_cost(space, clusters, i, b) + price * broken
                if gain > best:
                    best, target = gain, b
        if target >= 0:
            move_point(space, clusters, i, target)
            idle = 0


@compiled_without_allocation
def _tabu_step(
    space: Space, clusters: Clusters, work: Workspace, price: float, step: int, mending: bool, random: RandomState
) -> float:
    """Make the best move that is not forbidden, of a conflicting super-point if ``mending``; return its gain."""
    best, best_gain, chosen, target = -np.inf, 0.0, -1, -1
    for i in range(len(clusters.labels)):
        a = clusters.labels[i]
        if clusters.members[a] < 2 or (mending and clusters.conflicts[i, a] == 0):
            continue
        leaving = removal_gain(space, clusters, i)
        for b in range(space.n_clusters):
            if b == a or work.forbidden_until[i, b] > step:
                continue
            broken = clusters.conflicts[i, a] - clusters.conflicts[i, b]
            bound = leaving + price * broken
            if bound <= best:
                continue
            gain = leaving - insertion_cost(space, clusters, i, b)
            if gain + price * broken > best:
                best, best_gain, chosen, target = gain + price * broken, gain, i, b
    if chosen >= 0:
        source = clusters.labels[chosen]
        work.forbidden_until[chosen, source] = step + 1 + _SHORTEST_TABU + random_below(random, _RANDOM_TABU)
        move_point(space, clusters, chosen, target)
    return best_gain
