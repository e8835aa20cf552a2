"""A small population of local optima whose centres are mixed: the loop around the local search.

Follows HG-means (Gribel and Vidal, 2019): two parents' clusters are matched, each centre of the child comes from
either, one centre is drawn anew, and the clustering that follows the centres descends to a local optimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._compiled import compiled, compiled_without_allocation
from certimeans._typing import FloatArray, IntArray
from certimeans.heuristics.local_search import begin_descent, descend
from certimeans.heuristics.moves import Workspace, swap_random_chains
from certimeans.heuristics.penalty import mend, walk
from certimeans.heuristics.starts import (
    assign_in_order,
    assign_to_nearest,
    costs_of_centre,
    costs_of_point,
    fill_empty_clusters,
    seed_centres,
)
from certimeans.heuristics.state import Clusters, Space, scatter, set_labels
from certimeans.randomness import RandomState, random_below, random_index, random_unit

_SHARE_OF_FRESH_STARTS = 0.1
_SHARE_OF_MIXED_LABELS = 0.5  # of the mended starts that have parents
MENDING_STEPS = 300
_WALK_PRICE = 4.0  # relative to the price with which mending begins: a walk starts from a clustering worth keeping
_SAME_COST = 1e-9  # two local optima of this relative difference are taken for one


class Guide(NamedTuple):
    """How starts are made, and what is done beyond descents.

    Attributes
    ----------
    order
        The order of assignment, see :func:`~.starts.smallest_last_order`.
    colouring
        A clustering that keeps the cannot-links, the last resort; empty if none is known.
    share_mended
        Share of the starts that break cannot-links first and mend them; the others are assigned in order.
    price
        Price of a broken cannot-link to begin with.
    walk_steps
        Length of the walk after each descent, see :func:`~.penalty.walk`; 0 for none.
    n_fresh
        How many starts are made from fresh centres before parents are mixed.
    """

    order: IntArray
    colouring: IntArray
    share_mended: float
    price: float
    walk_steps: int
    n_fresh: int


class Population(NamedTuple):
    """Local optima with what is needed to use their centres; member r lives in slot ``slots[r]``.

    Attributes
    ----------
    costs
        Room for the costs of a child's centres.
    size, born, busy
        One number each: members, children made so far, whether a child's descent is under way.
    """

    labels: IntArray
    sums: FloatArray
    square: FloatArray
    weight: FloatArray
    cost: FloatArray
    slots: IntArray
    costs: FloatArray
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
        np.zeros((k, size)),
        *cells,
    )


@compiled
def evolve(
    space: Space,
    guide: Guide,
    population: Population,
    clusters: Clusters,
    work: Workspace,
    random: RandomState,
    max_born: int,
    max_visits: int,
) -> int:
    """Make children and let them descend until ``max_born`` did, or for about ``max_visits`` visits.

    A descent that is cut short goes on in the next call. Between calls, ``clusters`` breaks no cannot-link while a
    descent is under way. Returns the number of visits, without those of walks.
    """
    visits = walked = 0
    while population.born[0] < max_born and visits + walked < max_visits:
        if population.busy[0] == 0:
            visits += len(space.weights)
            if not _make_child(space, guide, population, clusters, work, random):
                population.born[0] += 1
                continue
            begin_descent(work, random)
            population.busy[0] = 1
        left = max(1, max_visits - visits - walked)
        done = descend(space, clusters, work, left)
        visits += done
        if done == left:
            continue
        if guide.walk_steps > 0:
            walked += guide.walk_steps * len(space.weights)
            improved = walk(space, clusters, work, _WALK_PRICE * guide.price, guide.walk_steps, random)
            set_labels(space, clusters, work.best_labels)
            if improved:
                begin_descent(work, random)
                continue
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


@compiled
def _make_child(
    space: Space, guide: Guide, population: Population, clusters: Clusters, work: Workspace, random: RandomState
) -> bool:
    """Make a start for a descent; False if no clustering that keeps the cannot-links was found."""
    costs = population.costs
    fresh = population.born[0] < guide.n_fresh or random_unit(random) < _SHARE_OF_FRESH_STARTS
    fresh = fresh or population.size[0] < 2
    if fresh:
        seed_centres(space, random, costs)
    else:
        _mix_centres(space, population, random)
        _redraw_centre(space, costs, random)
    labels = np.empty(len(space.weights), dtype=np.int64)
    if random_unit(random) < guide.share_mended:
        assign_to_nearest(costs, labels)
        if not fresh and random_unit(random) < _SHARE_OF_MIXED_LABELS:
            _mix_labels(space, population, labels, random)
        fill_empty_clusters(labels, space.n_clusters, random)
        set_labels(space, clusters, labels)
        price = guide.price * np.exp(3.0 * random_unit(random) - 1.5)
        if mend(space, clusters, work, price, MENDING_STEPS, random):
            set_labels(space, clusters, clusters.labels.copy())  # removes the rounding of many moves
            return True
    if assign_in_order(space, costs, guide.order, labels):
        fill_empty_clusters(labels, space.n_clusters, random)
        set_labels(space, clusters, labels)
        return True
    if len(guide.colouring) == 0:
        return False
    labels[:] = guide.colouring
    fill_empty_clusters(labels, space.n_clusters, random)
    set_labels(space, clusters, labels)
    swap_random_chains(space, clusters, work, len(labels), random)
    return True


@compiled_without_allocation
def _tournament(population: Population, random: RandomState) -> int:
    """Pick the better of two random members."""
    size = population.size[0]
    first = population.slots[random_below(random, size)]
    second = population.slots[random_below(random, size)]
    return int(first if population.cost[first] <= population.cost[second] else second)


@compiled
def _mix_centres(space: Space, population: Population, random: RandomState) -> None:
    """Take each centre from either of two parents and fill in its costs."""
    mother, father = _tournament(population, random), _tournament(population, random)
    partner = match_clusters(population.labels[mother], population.labels[father], space)
    for c in range(space.n_clusters):
        parent, cluster = (mother, c) if random_unit(random) < 0.5 else (father, partner[c])
        costs_of_centre(
            space,
            population.sums[parent, cluster],
            population.square[parent, cluster],
            population.weight[parent, cluster],
            population.costs[c],
        )


@compiled
def _mix_labels(space: Space, population: Population, labels: IntArray, random: RandomState) -> None:
    """Build labels cluster by cluster: in turn, each parent gives the one with most members not yet labelled.

    This crossover of graph colouring (Galinier and Hao, 1999) passes on what centres cannot: which of many
    combinations keeps the cannot-links. Super-points that no parent's cluster brings keep the label they have.
    """
    k = space.n_clusters
    mother, father = _tournament(population, random), _tournament(population, random)
    is_labelled = np.zeros(len(labels), dtype=np.bool_)
    for c in range(k):
        parent = mother if c % 2 == 0 else father
        count = np.zeros(k, dtype=np.int64)
        for i in range(len(labels)):
            if not is_labelled[i]:
                count[population.labels[parent, i]] += 1
        largest = count.argmax()
        for i in range(len(labels)):
            if not is_labelled[i] and population.labels[parent, i] == largest:
                is_labelled[i] = True
                labels[i] = c


@compiled
def match_clusters(labels: IntArray, other: IntArray, space: Space) -> IntArray:
    """Pair the clusters of two clusterings: each takes the free one with the heaviest intersection."""
    k = space.n_clusters
    common = np.zeros((k, k))
    for i in range(len(labels)):
        common[labels[i], other[i]] += space.weights[i]
    partner = np.full(k, -1, dtype=np.int64)
    taken = np.zeros(k, dtype=np.bool_)
    for c in range(k):
        for e in range(k):
            if not taken[e] and (partner[c] < 0 or common[c, e] > common[c, partner[c]]):
                partner[c] = e
        taken[partner[c]] = True
    return partner


@compiled
def _redraw_centre(space: Space, costs: FloatArray, random: RandomState) -> None:
    """Move a random centre to a super-point, mostly one that is far from the other centres."""
    redrawn = random_below(random, space.n_clusters)
    nearest = np.empty(len(space.weights))
    for i in range(len(nearest)):
        cost = np.inf
        for c in range(space.n_clusters):
            if c != redrawn:
                cost = min(cost, costs[c, i])
        nearest[i] = max(0.0, cost)
    total, total_weight = nearest.sum(), space.weights.sum()
    uniform = random_unit(random) / total_weight
    if total > 0.0:
        for i in range(len(nearest)):
            nearest[i] = uniform * space.weights[i] + (1.0 - uniform * total_weight) * nearest[i] / total
    costs_of_point(space, random_index(random, nearest), costs[redrawn])
