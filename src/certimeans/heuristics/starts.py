"""Where a descent starts: centres, and clusterings that follow them as far as the cannot-links allow.

A start is a table of costs (row: centre, column: super-point) turned into labels. Super-points are assigned one after
the other, each to the cheapest centre that no cannot-link forbids, in an order that cannot fail while the degeneracy
of the cannot-link graph is below k.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_without_allocation
from certimeans.heuristics.state import Space
from certimeans.presolve.graph import Graph
from certimeans.randomness import RandomState, random_below, random_index

_DRAWS = 3  # for each centre


class Room(NamedTuple):
    """Memory in which starts are made, so that compiled code need not allocate any.

    Attributes
    ----------
    costs
        Cost of each super-point (column) at each centre (row).
    labels
        The start.
    share, trial, tally, partner, common
        Numbers for each super-point (twice), for each cluster (twice), and for each pair of clusters.
    """

    costs: FloatArray
    labels: IntArray
    share: FloatArray
    trial: FloatArray
    tally: IntArray
    partner: IntArray
    common: FloatArray


def make_room(space: Space) -> Room:
    """Allocate the memory of starts."""
    size, k = len(space.weights), space.n_clusters
    return Room(
        np.zeros((k, size)),
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
        np.zeros(size),
        np.zeros(k, dtype=np.int64),
        np.zeros(k, dtype=np.int64),
        np.zeros((k, k)),
    )


def smallest_last_order(graph: Graph) -> tuple[IntArray, int]:
    """Order vertices so that each has few neighbours before it.

    Vertices of smallest remaining degree are removed one after the other; the order is the reverse of the removal.

    Returns
    -------
    order
        All vertices.
    degeneracy
        The largest number of neighbours that a vertex has before it; no order has a smaller one.
    """
    start, neighbours = (array.tolist() for array in graph.adjacency)
    degree = graph.degrees.tolist()
    linked = np.flatnonzero(graph.degrees)
    removed = np.ones(graph.n_vertices, dtype=np.bool_)
    removed[linked] = False
    queue = [(degree[v], v) for v in linked.tolist()]
    heapq.heapify(queue)
    removal: list[int] = []
    degeneracy = 0
    while queue:
        remaining, v = heapq.heappop(queue)
        if removed[v] or remaining != degree[v]:
            continue
        removed[v] = True
        removal.append(v)
        degeneracy = max(degeneracy, remaining)
        for u in neighbours[start[v] : start[v + 1]]:
            if not removed[u]:
                degree[u] -= 1
                heapq.heappush(queue, (degree[u], u))
    isolated = np.flatnonzero(graph.degrees == 0)
    return np.concatenate([np.array(removal[::-1], dtype=np.int64), isolated]), degeneracy


@compiled_without_allocation
def costs_of_centre(space: Space, products: FloatArray, square: float, weight: float, costs: FloatArray) -> None:
    """Fill in the cost w_i |m_i - centre|^2 of assigning each super-point to a centre.

    The centre is given as in a row of :class:`~.state.Clusters`: by its ``sums`` (here ``products``), ``square`` and
    ``weight``. A super-point itself is the centre with its own row, square and weight 1.
    """
    share = 1.0 / weight
    if space.by_gram:
        constant = share * share * square
        for i in range(len(costs)):
            costs[i] = space.weights[i] * (space.squares[i] - 2.0 * share * products[i] + constant)
    else:
        for i in range(len(costs)):
            total = 0.0
            for t in range(space.rows.shape[1]):
                difference = space.rows[i, t] - share * products[t]
                total += difference * difference
            costs[i] = space.weights[i] * total


@compiled_without_allocation
def costs_of_point(space: Space, i: int, costs: FloatArray) -> None:
    """Fill in the costs of a centre at the mean of super-point i."""
    costs_of_centre(space, space.rows[i], space.squares[i], 1.0, costs)


@compiled_without_allocation
def seed_centres(space: Space, room: Room, random: RandomState) -> None:
    """Draw k centres as k-means++ does (Arthur and Vassilvitskii, 2007), and fill in their costs.

    Each is the best of a few draws, in the sense that super-points are nearest to their centres then.
    """
    costs, nearest, trial = room.costs, room.share, room.trial
    k = space.n_clusters
    for i in range(len(nearest)):
        nearest[i] = space.weights[i]
    for c in range(k):
        least = np.inf
        for _ in range(_DRAWS if c > 0 else 1):
            costs_of_point(space, random_index(random, nearest), trial)
            total = 0.0
            for i in range(len(nearest)):
                total += trial[i] if c == 0 else min(nearest[i], trial[i])
            if total < least:
                least = total
                for i in range(len(nearest)):
                    costs[c, i] = trial[i]
        for i in range(len(nearest)):
            nearest[i] = max(0.0, costs[c, i] if c == 0 else min(nearest[i], costs[c, i]))


@compiled_without_allocation
def assign_in_order(space: Space, room: Room, order: IntArray) -> bool:
    """Give each super-point the cheapest centre that its assigned neighbours leave; False if one finds none."""
    costs, labels, blocked_by = room.costs, room.labels, room.tally
    labels[:] = -1
    blocked_by[:] = -1
    for i in order:
        for position in range(space.start[i], space.start[i + 1]):
            c = labels[space.neighbours[position]]
            if c >= 0:
                blocked_by[c] = i
        chosen = -1
        for c in range(space.n_clusters):
            if blocked_by[c] != i and (chosen < 0 or costs[c, i] < costs[chosen, i]):
                chosen = c
        if chosen < 0:
            return False
        labels[i] = chosen
    return True


@compiled_without_allocation
def assign_to_nearest(room: Room) -> None:
    """Give each super-point the cheapest centre, whatever the cannot-links say."""
    costs, labels = room.costs, room.labels
    for i in range(len(labels)):
        chosen = 0
        for c in range(1, len(costs)):
            if costs[c, i] < costs[chosen, i]:
                chosen = c
        labels[i] = chosen


@compiled_without_allocation
def fill_empty_clusters(labels: IntArray, count: IntArray, random: RandomState) -> None:
    """Move a random super-point that has company into each empty cluster, where nothing can conflict with it.

    ``count`` has one entry a cluster, and is overwritten with the number of members.
    """
    count[:] = 0
    for c in labels:
        count[c] += 1
    for c in range(len(count)):
        if count[c] == 0:
            i = random_below(random, len(labels))
            while count[labels[i]] < 2:
                i = i + 1 if i + 1 < len(labels) else 0
            count[labels[i]] -= 1
            labels[i] = c
            count[c] = 1
