"""A small population of local optima."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_without_allocation
from certimeans.heuristics.state import Clusters, Space, scatter
from certimeans.randomness import RandomState, random_below

_SAME_COST = 1e-9  # two local optima of this relative difference are taken for one
BETTER = 1.0 - _SAME_COST  # times the best cost: what lies below is better


class Population(NamedTuple):
    """Local optima with what is needed to use their centres; member r lives in slot ``slots[r]``.

    Attributes
    ----------
    size, born, busy
        One number each: members, children made so far, what the current child does (see :mod:`.memetic`).
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
def tournament(population: Population, random: RandomState) -> int:
    """Pick the better of two random members."""
    size = population.size[0]
    first = population.slots[random_below(random, size)]
    second = population.slots[random_below(random, size)]
    return int(first if population.cost[first] <= population.cost[second] else second)
