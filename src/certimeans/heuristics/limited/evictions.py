"""Two exchanges at once: a super-point goes where one cannot-link keeps it out, and what keeps it out goes elsewhere.

Where sizes are tight, neither of the two gains alone: the first is forbidden, and the second one costs something.
"""

from __future__ import annotations

import numpy as np

from certimeans.compilation import compiled_inside, inlined
from certimeans.heuristics.limited.exchanges import swap_gain
from certimeans.heuristics.limited.loads import Loads, may_move
from certimeans.heuristics.limited.mending import shift
from certimeans.heuristics.state import Clusters, Space, insertion_cost, least_gain, removal_gain


@compiled_inside
def evict_some(space: Space, clusters: Clusters, loads: Loads, max_work: int) -> tuple[bool, int]:
    """Make the first such pair of exchanges that gains; say whether there was one, and the work in distances."""
    work = 0
    for i in range(len(clusters.labels)):
        a = clusters.labels[i]
        if space.start[i] == space.start[i + 1] or clusters.members[a] < 2:
            continue
        for b in range(space.n_clusters):
            if b == a or clusters.conflicts[i, b] != 1:
                continue
            if work >= max_work:
                return False, work
            blocker = _neighbour_in(space, clusters, i, b)
            first, j = _best_partner(space, clusters, loads, i, b, blocker)
            work += len(clusters.labels)
            if not first > 0.0:
                continue
            worthwhile = least_gain(space, removal_gain(space, clusters, i))
            _make(space, clusters, loads, i, j, a, b)
            second, target, partner = -1.0 - first, -1, -1
            for c in range(space.n_clusters):
                if c != b:
                    gain, d = _best_partner(space, clusters, loads, blocker, c, -1)
                    if gain > second:
                        second, target, partner = gain, c, d
            work += len(clusters.labels)
            if target >= 0 and first + second > worthwhile:
                _make(space, clusters, loads, blocker, partner, b, target)
                return True, work
            _make(space, clusters, loads, i, j, b, a)
    return False, work


@inlined
def _make(space: Space, clusters: Clusters, loads: Loads, i: int, j: int, a: int, b: int) -> None:
    """Move i from a to b, and j, if there is one, from b to a."""
    shift(space, clusters, loads, i, b)
    if j >= 0:
        shift(space, clusters, loads, j, a)


@inlined
def _neighbour_in(space: Space, clusters: Clusters, i: int, c: int) -> int:
    """Return a super-point of a cluster with a cannot-link to i."""
    found = -1
    for position in range(space.start[i], space.start[i + 1]):
        if clusters.labels[space.neighbours[position]] == c:
            found = space.neighbours[position]
    return found


@compiled_inside
def _best_partner(space: Space, clusters: Clusters, loads: Loads, i: int, b: int, ignored: int) -> tuple[float, int]:
    """Find what is best given in exchange when super-point i goes to cluster b; a conflict with ``ignored`` may stay.

    Returns
    -------
    tuple
        The gain, minus infinity if there is no way; and the partner, -1 if nothing is given.
    """
    a = clusters.labels[i]
    conflicts = clusters.conflicts[i, b] - (1 if ignored >= 0 else 0)
    best, partner = -np.inf, -1
    if conflicts == 0 and clusters.members[a] > 1 and may_move(loads, loads.amount[i], a, b):
        best = removal_gain(space, clusters, i) - insertion_cost(space, clusters, i, b)
    if conflicts > 1:
        return best, partner
    for j in range(len(clusters.labels)):
        if clusters.labels[j] != b or j == ignored:
            continue
        if not may_move(loads, loads.amount[i] - loads.amount[j], a, b):
            continue
        linked = 0
        for position in range(space.start[i], space.start[i + 1]):
            linked += space.neighbours[position] == j
        if conflicts != linked or clusters.conflicts[j, a] != linked:
            continue
        gain = swap_gain(space, clusters, i, j, a, b)
        if gain > best:
            best, partner = gain, j
    return best, partner
