"""Where a descent starts: centres, and clusterings that follow them as far as the cannot-links allow.

A start is a table of costs (row: centre, column: super-point) turned into labels. Super-points are assigned one after
the other, each to the cheapest centre that no cannot-link forbids, in an order that cannot fail while the degeneracy
of the cannot-link graph is below k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.compilation import compiled_inside, compiled_without_allocation
from certimeans.heuristics.state import Space
from certimeans.presolve.graph import Graph
from certimeans.randomness import RandomState, random_below, random_index, random_unit


class Room(NamedTuple):
    """Memory in which starts are made, so that compiled code need not allocate any.

    Attributes
    ----------
    costs
        Cost of each super-point (column) at each centre (row).
    nearest
        Cost of each super-point at the nearest of the centres drawn so far.
    trial
        Cost of each super-point at a centre that may be taken.
    chance
        How likely each super-point is to become a centre, up to a factor.
    members
        Number of members of each cluster.
    blocked_for
        For each cluster, the last super-point that a cannot-link keeps out of it.
    common
        Weight that a cluster of one parent (row) and one of the other (column) have in common.
    is_labelled
        Which super-points have got the label of a parent.
    partner, is_taken
        For each cluster of the first parent, the matching one of the second; which of those are matched already.
    """

    costs: FloatArray
    nearest: FloatArray
    trial: FloatArray
    chance: FloatArray
    members: IntArray
    blocked_for: IntArray
    is_labelled: BoolArray
    common: FloatArray
    partner: IntArray
    is_taken: BoolArray


def make_room(space: Space) -> Room:
    """Allocate the memory of starts."""
    size, k = len(space.weights), space.n_clusters
    return Room(
        costs=np.zeros((k, size)),
        nearest=np.zeros(size),
        trial=np.zeros(size),
        chance=np.zeros(size),
        members=np.zeros(k, dtype=np.int64),
        blocked_for=np.zeros(k, dtype=np.int64),
        is_labelled=np.zeros(size, dtype=np.bool_),
        common=np.zeros((k, k)),
        partner=np.zeros(k, dtype=np.int64),
        is_taken=np.zeros(k, dtype=np.bool_),
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
    if len(graph.edges) == 0:
        return np.arange(graph.n_vertices, dtype=np.int64), 0
    start, neighbours = graph.adjacency
    left = graph.degrees.copy()
    begin = np.concatenate([[0], np.cumsum(np.bincount(left))])
    queue = np.argsort(left, kind="stable")
    place = np.empty_like(queue)
    place[queue] = np.arange(len(queue))
    degeneracy = _peel_off(start, neighbours, left, begin, queue, place)
    return queue[::-1].copy(), degeneracy


@compiled_without_allocation
def _peel_off(
    start: IntArray, neighbours: IntArray, left: IntArray, begin: IntArray, queue: IntArray, place: IntArray
) -> int:
    """Remove vertices of smallest remaining degree in linear time (Matula and Beck, 1983); return the degeneracy.

    One that loses a neighbour changes places with the first of those that have as many neighbours left.

    Parameters
    ----------
    left
        Remaining degree of each vertex.
    begin
        Where the vertices of each remaining degree begin in the queue.
    queue
        Vertices sorted by remaining degree; in the end, in order of removal.
    place
        The place of each vertex in the queue.
    """
    degeneracy = 0
    for v in queue:
        degeneracy = max(degeneracy, left[v])
        for entry in range(start[v], start[v + 1]):
            u = neighbours[entry]
            if left[u] > left[v]:
                first = begin[left[u]]
                other = queue[first]
                queue[first], queue[place[u]] = u, other
                place[other], place[u] = place[u], first
                begin[left[u]] += 1
                left[u] -= 1
    return degeneracy


@compiled_inside
def costs_of_centre(space: Space, products: FloatArray, square: float, weight: float, costs: FloatArray) -> None:
    """Fill in the cost w_i |m_i - centre|^2 of assigning each super-point to a centre.

    The centre is given as in a row of :class:`~.state.Clusters`: by its ``sums`` (here ``products``), ``square`` and
    ``weight``. A super-point itself is the centre with its own row, square and weight 1.
    """
    rows, squares, weights = space.rows, space.squares, space.weights
    share = 1.0 / weight
    if space.by_gram:
        constant = share * share * square
        for i in range(len(costs)):
            costs[i] = weights[i] * (squares[i] - 2.0 * share * products[i] + constant)
    else:
        for i in range(len(costs)):
            total = 0.0
            for t in range(rows.shape[1]):
                difference = rows[i, t] - share * products[t]
                total += difference * difference
            costs[i] = weights[i] * total


@compiled_inside
def costs_of_point(space: Space, i: int, costs: FloatArray) -> None:
    """Fill in the costs of a centre at the mean of super-point i."""
    square = space.squares[i] if space.by_gram else 0.0
    costs_of_centre(space, space.rows[i], square, 1.0, costs)


@compiled_inside
def draw_centre(space: Space, room: Room, c: int, draws: int, random: RandomState) -> None:
    """Draw centre c as k-means++ does (Arthur and Vassilvitskii, 2007), and fill in its costs.

    It is the best of a few draws, in the sense that super-points are nearest to their centres then. Centres
    0, ..., c - 1 were drawn before.
    """
    nearest, trial, costs, weights = room.nearest, room.trial, room.costs, space.weights
    size = len(nearest)
    if c == 0:
        for i in range(size):
            nearest[i] = weights[i]
    least = np.inf
    for _ in range(draws if c > 0 else 1):
        costs_of_point(space, random_index(random, nearest), trial)
        total = 0.0
        for i in range(size):
            total += trial[i] if c == 0 or trial[i] < nearest[i] else nearest[i]
        if total < least:
            least = total
            for i in range(size):
                costs[c, i] = trial[i]
    for i in range(size):
        cost = max(0.0, costs[c, i])
        if c == 0 or cost < nearest[i]:
            nearest[i] = cost


@compiled_inside
def redraw_centre(space: Space, room: Room, random: RandomState) -> None:
    """Move a random centre to a super-point, mostly one that is far from the other centres."""
    costs, chance, weights = room.costs, room.chance, space.weights
    k = len(costs)
    redrawn = random_below(random, k)
    total, total_weight = 0.0, 0.0
    for i in range(len(chance)):
        nearest = np.inf
        for c in range(k):
            if c != redrawn and costs[c, i] < nearest:
                nearest = costs[c, i]
        chance[i] = max(0.0, nearest)
        total += chance[i]
        total_weight += weights[i]
    uniform = random_unit(random) / total_weight
    if total > 0.0:
        for i in range(len(chance)):
            chance[i] = uniform * weights[i] + (1.0 - uniform * total_weight) * chance[i] / total
    costs_of_point(space, random_index(random, chance), costs[redrawn])


@compiled_without_allocation
def assign(space: Space, room: Room, order: IntArray, labels: IntArray, keeps_links: bool) -> bool:
    """Give each super-point the cheapest centre, in a given order.

    If ``keeps_links``, only centres count that the neighbours assigned before leave; False if a super-point finds none.
    """
    costs, blocked_for, start, neighbours = room.costs, room.blocked_for, space.start, space.neighbours
    k = len(blocked_for)
    for i in range(len(labels)):
        labels[i] = -1
    for c in range(k):
        blocked_for[c] = -1
    for place in range(len(order)):
        i = order[place]
        if keeps_links:
            for position in range(start[i], start[i + 1]):
                c = labels[neighbours[position]]
                if c >= 0:
                    blocked_for[c] = i
        chosen = -1
        for c in range(k):
            if blocked_for[c] != i and (chosen < 0 or costs[c, i] < costs[chosen, i]):
                chosen = c
        if chosen < 0:
            return False
        labels[i] = chosen
    return True


@compiled_without_allocation
def fill_empty_clusters(labels: IntArray, count: IntArray, random: RandomState) -> None:
    """Move a random super-point that has company into each empty cluster, where nothing can conflict with it.

    ``count`` has one entry per cluster, and is overwritten with the number of members. There must be at least as many
    super-points as clusters.
    """
    for c in range(len(count)):
        count[c] = 0
    for i in range(len(labels)):
        count[labels[i]] += 1
    for c in range(len(count)):
        if count[c] == 0:
            i = random_below(random, len(labels))
            while count[labels[i]] < 2:
                i = i + 1 if i + 1 < len(labels) else 0
            count[labels[i]] -= 1
            labels[i] = c
            count[c] = 1
