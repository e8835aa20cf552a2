"""Clusterings on dense cannot-link graphs: broken cannot-links are allowed at a price, and the price rises.

Where assigning one super-point after the other runs into dead ends, a descent that pays for broken cannot-links finds
a clustering close to its centres; tabu recolouring (Hertz and de Werra, 1987) mends what stays broken.
"""

from __future__ import annotations

import numpy as np

from certimeans._compiled import compiled_without_allocation
from certimeans.heuristics.moves import Workspace
from certimeans.heuristics.randomness import RandomState, random_below
from certimeans.heuristics.state import Clusters, Space, count_violations, insertion_cost, move_point, removal_gain

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
    return _recolour(space, clusters, work, price, tabu_steps, random)


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
        target, _ = _cheapest_target(space, clusters, i, price)
        if target >= 0:
            move_point(space, clusters, i, target)
            idle = 0


@compiled_without_allocation
def _cheapest_target(space: Space, clusters: Clusters, i: int, price: float) -> tuple[int, float]:
    """Find the cluster to which i moves with the largest gain, prices included; -1 if none gains."""
    a = clusters.labels[i]
    if clusters.count[a] < 2:
        return -1, 0.0
    leaving = removal_gain(space, clusters, i)
    best, target = 1e-12 + 1e-9 * max(leaving, 0.0), -1
    for b in range(space.n_clusters):
        if b != a:
            broken = clusters.conflicts[i, a] - clusters.conflicts[i, b]
            gain = leaving - insertion_cost(space, clusters, i, b) + price * broken
            if gain > best:
                best, target = gain, b
    return target, best


@compiled_without_allocation
def _recolour(space: Space, clusters: Clusters, work: Workspace, price: float, steps: int, random: RandomState) -> bool:
    """Move conflicting super-points, best first, never soon back to where they came from."""
    size, k = clusters.conflicts.shape
    work.forbidden_until[:] = 0
    for step in range(steps):
        best, chosen, target = -np.inf, -1, -1
        n_broken = 0
        for i in range(size):
            a = clusters.labels[i]
            if clusters.conflicts[i, a] == 0:
                continue
            n_broken += 1
            if clusters.count[a] < 2:
                continue
            leaving = removal_gain(space, clusters, i)
            for b in range(k):
                if b == a or work.forbidden_until[i, b] > step:
                    continue
                broken = clusters.conflicts[i, a] - clusters.conflicts[i, b]
                gain = leaving - insertion_cost(space, clusters, i, b) + price * broken
                if gain > best:
                    best, chosen, target = gain, i, b
        if n_broken == 0:
            return True
        if chosen >= 0:
            source = clusters.labels[chosen]
            work.forbidden_until[chosen, source] = step + _SHORTEST_TABU + random_below(random, _RANDOM_TABU)
            move_point(space, clusters, chosen, target)
    return count_violations(clusters) == 0
