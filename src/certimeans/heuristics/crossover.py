"""Children: centres and labels of two parents mixed.

Follows HG-means (Gribel and Vidal, 2019): two parents' clusters are matched, each centre of the child comes from
either, and one centre is drawn anew. Labels are mixed as in graph colouring (Galinier and Hao, 1999).
"""

from __future__ import annotations

import numpy as np

from certimeans._typing import IntArray
from certimeans.compilation import compiled_without_allocation
from certimeans.heuristics.population import Population, tournament
from certimeans.heuristics.starts import Room, costs_of_centre, costs_of_point, seed_centres
from certimeans.heuristics.state import Space
from certimeans.randomness import RandomState, random_below, random_index, random_unit

_SHARE_OF_FRESH_STARTS = 0.1


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
    mother, father = tournament(population, random), tournament(population, random)
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

    This passes on what centres cannot: which of many
    combinations keeps the cannot-links. Super-points that no parent's cluster brings keep the label they have.
    """
    mother, father = tournament(population, random), tournament(population, random)
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
