"""Sweeps over all super-points, and the simplest improvement: one that nothing binds moves to a better cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import IntArray
from certimeans.compilation import inlined
from certimeans.heuristics.state import (
    Clusters,
    SmallIntArray,
    Space,
    insertion_cost,
    least_gain,
    most_improvements,
    move_point,
    removal_gain,
)


class Sweep(NamedTuple):
    """How far a cyclic sweep got; it ends when all super-points were visited since the last improvement.

    Attributes
    ----------
    position
        Where in the order the next visit is.
    idle
        Visits since the last improvement: the number of super-points when the sweep has ended.
    improvements, visits
        How many there were.
    trials
        Further work: moves tried in vain in trees, or members of chains that were looked at.
    gain
        What all improvements together should have taken from the cost.
    """

    position: int
    idle: int
    improvements: int
    visits: int
    trials: int
    gain: float


BEGIN = Sweep(0, 0, 0, 0, 0, 0.0)


class Recency(NamedTuple):
    """What changed since what was visited; time is the number of improvements of a sweep.

    Attributes
    ----------
    order
        The random cyclic order of the visits.
    changed
        When each cluster changed last.
    visited
        When each super-point was visited last.
    """

    order: IntArray
    changed: IntArray
    visited: SmallIntArray


def make_recency(space: Space) -> Recency:
    """Allocate the memory of a sweep; the order is that of the super-points."""
    size = len(space.weights)
    return Recency(
        order=np.arange(size, dtype=np.int64),
        changed=np.zeros(space.n_clusters, dtype=np.int64),
        visited=np.zeros(size, dtype=np.int32),
    )


@inlined
def forget_visits(recency: Recency) -> None:
    """Begin a sweep of another clustering."""
    changed, visited = recency.changed, recency.visited
    for c in range(len(changed)):
        changed[c] = 0
    for i in range(len(visited)):
        visited[i] = -1


@inlined
def move_freely(space: Space, clusters: Clusters, recency: Recency, i: int, now: int) -> float:
    """Move a super-point without cannot-links to the best of the clusters that changed since its last visit.

    Returns
    -------
    float
        The gain; 0 if it stays.
    """
    changed, visited = recency.changed, recency.visited
    a = clusters.labels[i]
    since = visited[i]
    visited[i] = now
    if clusters.members[a] < 2:
        return 0.0
    own_is_new = changed[a] > since
    leaving = removal_gain(space, clusters, i)
    most, target = least_gain(space, leaving), -1
    for b in range(space.n_clusters):
        if (own_is_new or changed[b] > since) and b != a:
            gain = leaving - insertion_cost(space, clusters, i, b)
            if gain > most:
                most, target = gain, b
    if target < 0:
        return 0.0
    move_point(space, clusters, i, target)
    changed[a] = now + 1
    changed[target] = now + 1
    return float(most)


@inlined
def sweep_freely(space: Space, clusters: Clusters, recency: Recency, sweep: Sweep, max_visits: int) -> Sweep:
    """Move one super-point after the other until none gains, for at most ``max_visits``; there are no cannot-links."""
    order = recency.order
    size = len(order)
    position, idle, improvements, visits, gain = sweep.position, sweep.idle, sweep.improvements, 0, sweep.gain
    while idle < size and visits < max_visits:
        i = order[position]
        position = position + 1 if position + 1 < size else 0
        visits += 1
        idle += 1
        gained = move_freely(space, clusters, recency, i, improvements)
        if gained > 0.0:
            gain += gained
            improvements += 1
            idle = 0 if improvements < most_improvements(size) else size
    return Sweep(position, idle, improvements, sweep.visits + visits, sweep.trials, gain)
