"""Mend clusterings that break cannot-links.

Where assigning one super-point after the other runs into dead ends, a start breaks cannot-links at first. A descent in
which they have a price that rises mends most, and a tabu search (Hertz and de Werra, 1987) what is left then.
"""

from __future__ import annotations

import numpy as np

from certimeans.compilation import compiled_without_allocation
from certimeans.heuristics.chains import Workspace
from certimeans.heuristics.state import (
    Clusters,
    Space,
    count_violations,
    insertion_cost,
    move_point,
    removal_gain,
)
from certimeans.randomness import RandomState, random_below

_PRICE_GROWTH = 1.5
_PRICE_RISES = 16
_SHORTEST_TABU, _RANDOM_TABU = 5, 10


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
        _tabu_step(space, clusters, work, price, step, random)
    return count_violations(clusters) == 0


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
def _tabu_step(space: Space, clusters: Clusters, work: Workspace, price: float, step: int, random: RandomState) -> None:
    """Make the best move of a conflicting super-point that is not forbidden."""
    best, chosen, target = -np.inf, -1, -1
    for i in range(len(clusters.labels)):
        a = clusters.labels[i]
        if clusters.members[a] < 2 or clusters.conflicts[i, a] == 0:
            continue
        leaving = removal_gain(space, clusters, i)
        for b in range(space.n_clusters):
            if b == a or work.forbidden_until[i, b] > step:
                continue
            bound = leaving + price * (clusters.conflicts[i, a] - clusters.conflicts[i, b])
            if bound > best:
                gain = bound - insertion_cost(space, clusters, i, b)
                if gain > best:
                    best, chosen, target = gain, i, b
    if chosen >= 0:
        source = clusters.labels[chosen]
        work.forbidden_until[chosen, source] = step + 1 + _SHORTEST_TABU + random_below(random, _RANDOM_TABU)
        move_point(space, clusters, chosen, target)
