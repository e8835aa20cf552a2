"""A small population of local optima whose centres are mixed: the loop around the local search.

Follows HG-means (Gribel and Vidal, 2019): two parents' clusters are matched, each centre of the child comes from
either, one centre is drawn anew, and the clustering that follows the centres descends to a local optimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._compiled import compiled_without_allocation
from certimeans._typing import FloatArray, IntArray
from certimeans.heuristics.local_search import begin_descent, descend
from certimeans.heuristics.moves import Workspace
from certimeans.heuristics.starts import (
    Room,
    assign_in_order,
    costs_of_centre,
    costs_of_point,
    fill_empty_clusters,
    seed_centres,
)
from certimeans.heuristics.state import Clusters, Space, scatter, set_labels
from certimeans.randomness import RandomState, random_below, random_index, random_unit

_SHARE_OF_FRESH_STARTS = 0.1
_SAME_COST = 1e-9  # two local optima of this relative difference are taken for one


class Population(NamedTuple):
    """Local optima with what is needed to use their centres; member r lives in slot ``slots[r]``.

    Attributes
    ----------
    size, born, busy
        One number each: members, children made so far, whether a child's descent is under way.
    """

    labels: IntArray
    sums: FloatArray
    square: FloatArray
    weight: FloatArray
    cost: FloatArray
    slots: IntArray
    size: IntArray
    born: IntArray
    busy: IntArray


def make_population(space: Space, capacity: int) -> Population:
    """Allocate a population without members."""
    size, width = space.rows.shape
    k = space.n_clusters
    cells = (np.zeros(1, dtype=np.int64) for _ in range(3))
    return Population(
        np.zeros((capacity, size), dtype=np.int64),
        np.zeros((capacity, k, width)),
        np.zeros((capacity, k)),
        np.zeros((capacity, k)),
        np.full(capacity, np.inf),
        np.arange(capacity, dtype=np.int64),
        *cells,
    )


@compiled_without_allocation
def evolve(  # noqa: PLR0913  # compiled code takes its state apart
    space: Space,
    order: IntArray,
    n_fresh: int,
    population: Population,
    room: Room,
    clusters: Clusters,
    work: Workspace,
    random: RandomState,
    max_born: int,
    max_visits: int,
) -> int:
    """Make children and let them descend until ``max_born`` did, or for about ``max_visits`` visits.

    The first ``n_fresh`` start from fresh centres. ``order`` is one in which assignment cannot fail, see
    :func:`~.starts.smallest_last_order`. A descent that is cut short goes on in the next call; ``clusters`` keeps the
    cannot-links all the time. Returns the number of visits.
    """
    visits = 0
    while population.born[0] < max_born and visits < max_visits:
        if population.busy[0] == 0:
            visits += len(space.weights)
            draw_centres(space, n_fresh, population, room, random)
            assign_in_order(space, room, order)
            fill_empty_clusters(room.labels, room.tally, random)
            set_labels(space, clusters, room.labels)
            begin_descent(work, random)
            population.busy[0] = 1
        left = max(1, max_visits - visits)
        done = descend(space, clusters, work, left)
        visits += done
        if done < left:
            population.busy[0] = 0
            population.born[0] += 1
            add_member(space, population, clusters)
    return visits


@compiled_without_allocation
def add_member(space: Space, population: Population, clusters: Clusters) -> None:
    """Add a clustering unless one of its cost is there; when all slots are taken, the better half survives."""
    cost = scatter(space, clusters)
    size = population.size[0]
    for member in range(size):
        if abs(population.cost[population.slots[member]] - cost) <= _SAME_COST * cost:
            return
    slot = population.slots[size]
    for i in range(len(clusters.labels)):
        population.labels[slot, i] = clusters.labels[i]
    for c in range(space.n_clusters):
        population.square[slot, c] = clusters.square[c]
        population.weight[slot, c] = clusters.weight[c]
        for t in range(clusters.sums.shape[1]):
            population.sums[slot, c, t] = clusters.sums[c, t]
    population.cost[slot] = cost
    size += 1
    if size == len(population.slots):
        _sort_slots(population)
        size //= 2
    population.size[0] = size


@compiled_without_allocation
def _sort_slots(population: Population) -> None:
    """Sort the slots by cost; there are few, and all are taken."""
    slots, cost = population.slots, population.cost
    for last in range(1, len(slots)):
        slot, position = slots[last], last
        while position > 0 and cost[slots[position - 1]] > cost[slot]:
            slots[position] = slots[position - 1]
            position -= 1
        slots[position] = slot


@compiled_without_allocation
def best_slot(population: Population) -> int:
    """Find the slot of the cheapest member; -1 if there is none."""
    best = -1
    for member in range(population.size[0]):
        slot = population.slots[member]
        if best < 0 or population.cost[slot] < population.cost[best]:
            best = slot
    return best


@compiled_without_allocation
def _tournament(population: Population, random: RandomState) -> int:
    """Pick the better of two random members."""
    size = population.size[0]
    first = population.slots[random_below(random, size)]
    second = population.slots[random_below(random, size)]
    return int(first if population.cost[first] <= population.cost[second] else second)


@compiled_without_allocation
def draw_centres(space: Space, n_fresh: int, population: Population, room: Room, random: RandomState) -> bool:
    """Fill in the costs of a child's centres; True if they are fresh, not of parents."""
    fresh = population.born[0] < n_fresh or random_unit(random) < _SHARE_OF_FRESH_STARTS
    if fresh or population.size[0] < 2:
        seed_centres(space, room, random)
        return True
    _mix_centres(space, population, room, random)
    _redraw_centre(space, room, random)
    return False


@compiled_without_allocation
def _mix_centres(space: Space, population: Population, room: Room, random: RandomState) -> None:
    """Take each centre from either of two parents and fill in its costs."""
    mother, father = _tournament(population, random), _tournament(population, random)
    match_clusters(population.labels[mother], population.labels[father], space, room)
    for c in range(space.n_clusters):
        parent, cluster = (mother, c) if random_unit(random) < 0.5 else (father, room.partner[c])
        costs_of_centre(
            space,
            population.sums[parent, cluster],
            population.square[parent, cluster],
            population.weight[parent, cluster],
            room.costs[c],
        )


@compiled_without_allocation
def mix_labels(population: Population, room: Room, random: RandomState) -> None:
    """Build labels cluster by cluster: in turn, each parent gives the one with most members not yet labelled.

    This crossover of graph colouring (Galinier and Hao, 1999) passes on what centres cannot: which of many
    combinations keeps the cannot-links. Super-points that no parent's cluster brings keep the label they have.
    """
    mother, father = _tournament(population, random), _tournament(population, random)
    labels, count, is_labelled = room.labels, room.tally, room.share
    is_labelled[:] = 0.0
    for c in range(len(count)):
        parent = mother if c % 2 == 0 else father
        count[:] = 0
        for i in range(len(labels)):
            if is_labelled[i] == 0.0:
                count[population.labels[parent, i]] += 1
        largest = 0
        for e in range(1, len(count)):
            if count[e] > count[largest]:
                largest = e
        for i in range(len(labels)):
            if is_labelled[i] == 0.0 and population.labels[parent, i] == largest:
                is_labelled[i] = 1.0
                labels[i] = c


@compiled_without_allocation
def match_clusters(labels: IntArray, other: IntArray, space: Space, room: Room) -> None:
    """Pair the clusters of two clusterings: each takes the free one with the heaviest intersection."""
    common, partner, taken = room.common, room.partner, room.tally
    common[:] = 0.0
    for i in range(len(labels)):
        common[labels[i], other[i]] += space.weights[i]
    partner[:] = -1
    taken[:] = 0
    for c in range(space.n_clusters):
        for e in range(space.n_clusters):
            if taken[e] == 0 and (partner[c] < 0 or common[c, e] > common[c, partner[c]]):
                partner[c] = e
        taken[partner[c]] = 1


@compiled_without_allocation
def _redraw_centre(space: Space, room: Room, random: RandomState) -> None:
    """Move a random centre to a super-point, mostly one that is far from the other centres."""
    costs, share = room.costs, room.share
    redrawn = random_below(random, space.n_clusters)
    total, total_weight = 0.0, 0.0
    for i in range(len(share)):
        nearest = np.inf
        for c in range(space.n_clusters):
            if c != redrawn:
                nearest = min(nearest, costs[c, i])
        share[i] = max(0.0, nearest)
        total += share[i]
        total_weight += space.weights[i]
    uniform = random_unit(random) / total_weight
    if total > 0.0:
        for i in range(len(share)):
            share[i] = uniform * space.weights[i] + (1.0 - uniform * total_weight) * share[i] / total
    costs_of_point(space, random_index(random, share), costs[redrawn])
