"""Descents: starts are improved one after the other, each to a local optimum.

A descent is a sweep of single moves if there are no cannot-links at all; else ejection trees, then Kempe chains, in
turn until neither helps. Compiled code improves several starts in one call and pauses after a given amount of work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_without_allocation, inlined
from certimeans.heuristics.chains import Chains, begin_chains, swap_chains
from certimeans.heuristics.ejections import Tree, begin_trees, grow_trees
from certimeans.heuristics.moves import BEGIN, Recency, Sweep, forget_visits, sweep_freely
from certimeans.heuristics.state import Clusters, Space, most_improvements, scatter, set_labels
from certimeans.randomness import RandomState, shuffle

LOADS, GROWS_TREES, SWAPS_CHAINS = 0, 1, 2  # what a descent does next


class Members(NamedTuple):
    """Slots for clusterings, with what is needed to use their centres.

    Attributes
    ----------
    labels
        One row per slot: a start, then the local optimum that it leads to.
    sums, square, weight
        Of the clusters of a local optimum, see :class:`~.state.Clusters`.
    cost
        Of a local optimum.
    """

    labels: IntArray
    sums: FloatArray
    square: FloatArray
    weight: FloatArray
    cost: FloatArray


def make_members(space: Space, n_slots: int) -> Members:
    """Allocate slots."""
    size, width = space.rows.shape
    k = space.n_clusters
    return Members(
        labels=np.zeros((n_slots, size), dtype=np.int64),
        sums=np.zeros((n_slots, k, width)),
        square=np.zeros((n_slots, k)),
        weight=np.zeros((n_slots, k)),
        cost=np.full(n_slots, np.inf),
    )


class Descent(NamedTuple):
    """How far the descents of several starts got.

    Attributes
    ----------
    child
        The one that descends now; those before it are done.
    phase
        What it does next.
    sweep
        How far it does that.
    is_thorough
        Whether it tries many moves in each tree.
    work
        Visits of super-points by all of them, where moves that were undone count as visits.
    best_cost
        Cost of the best clustering known.
    gain
        What all improvements together should have taken from the costs.
    """

    child: int
    phase: int
    sweep: Sweep
    is_thorough: bool
    work: int
    best_cost: float
    gain: float


def begin_descent(best_cost: float) -> Descent:
    """Begin with the first start."""
    return Descent(0, LOADS, BEGIN, is_thorough=False, work=0, best_cost=best_cost, gain=0.0)


class Effort(NamedTuple):
    """How thoroughly to search; see :class:`~.settings.SearchSettings` for the first three."""

    quick_tries: int
    thorough_tries: int
    same_cost: float
    work_per_call: int


def is_better(cost: float, best_cost: float, same_cost: float) -> bool:
    """Whether a cost is lower than the best one by more than rounding; both may be negative, the best one infinite."""
    return best_cost == np.inf or cost < best_cost - same_cost * abs(best_cost)


_is_better = inlined(is_better)


def keep(clusters: Clusters, members: Members, slot: int, cost: float) -> None:
    """Store a clustering and its cost in a slot."""
    members.labels[slot] = clusters.labels
    members.sums[slot] = clusters.sums
    members.square[slot] = clusters.square
    members.weight[slot] = clusters.weight
    members.cost[slot] = cost


@inlined
def _store(clusters: Clusters, members: Members, slot: int, cost: float) -> None:
    """Do the same in compiled code."""
    from_labels, labels = clusters.labels, members.labels
    from_sums, sums = clusters.sums, members.sums
    square, weight = members.square, members.weight
    for i in range(len(from_labels)):
        labels[slot, i] = from_labels[i]
    for c in range(len(from_sums)):
        square[slot, c] = clusters.square[c]
        weight[slot, c] = clusters.weight[c]
        for t in range(from_sums.shape[1]):
            sums[slot, c, t] = from_sums[c, t]
    members.cost[slot] = cost


@compiled_without_allocation
def descend_freely(
    space: Space,
    clusters: Clusters,
    members: Members,
    slots: IntArray,
    recency: Recency,
    at: Descent,
    effort: Effort,
    random: RandomState,
) -> Descent:
    """Improve starts without cannot-links by single moves; go on where ``at`` says."""
    child, phase, sweep, best_cost = at.child, at.phase, at.sweep, at.best_cost
    work, gain = 0, at.gain
    while child < len(slots) and work < effort.work_per_call:
        if phase == LOADS:
            set_labels(space, clusters, members.labels[slots[child]])
            shuffle(random, recency.order)
            forget_visits(recency)
            phase, sweep = GROWS_TREES, Sweep(0, 0, 0, 0, 0, 0.0)
        before, gained = sweep.visits, sweep.gain
        sweep = sweep_freely(space, clusters, recency, sweep, effort.work_per_call - work)
        work += sweep.visits - before
        gain += sweep.gain - gained
        if sweep.idle >= len(space.weights):
            cost = scatter(space, clusters)
            _store(clusters, members, slots[child], cost)
            best_cost = min(best_cost, cost)
            child += 1
            phase = LOADS
    return Descent(child, phase, sweep, False, at.work + work, best_cost, gain)


@compiled_without_allocation
def descend_linked(  # noqa: PLR0913  # compiled code takes its state apart
    space: Space,
    clusters: Clusters,
    members: Members,
    slots: IntArray,
    recency: Recency,
    tree: Tree,
    chains: Chains,
    at: Descent,
    effort: Effort,
    random: RandomState,
) -> Descent:
    """Improve starts that keep the cannot-links by ejection trees and Kempe chains; go on where ``at`` says.

    One that would become the best clustering known grows thorough trees before it counts as a local optimum.
    """
    size = len(space.weights)
    child, phase, sweep, is_thorough, best_cost = at.child, at.phase, at.sweep, at.is_thorough, at.best_cost
    work, spent, gain = 0, 0, at.gain
    while child < len(slots) and spent < effort.work_per_call:
        if phase == LOADS:
            set_labels(space, clusters, members.labels[slots[child]])
            shuffle(random, recency.order)
            is_thorough = False
        if phase == LOADS or sweep.idle >= size:
            begin_trees(space, clusters, recency, tree)
            phase, sweep = GROWS_TREES, Sweep(0, 0, 0, 0, 0, 0.0)
        visits, trials, gained = sweep.visits, sweep.trials, sweep.gain
        left = effort.work_per_call - spent
        if phase == GROWS_TREES:
            tries = effort.thorough_tries if is_thorough else effort.quick_tries
            sweep = grow_trees(space, clusters, recency, tree, sweep, tries, left)
            spent += sweep.visits - visits + sweep.trials - trials
            work += sweep.visits - visits + sweep.trials - trials
            gain += sweep.gain - gained
            if sweep.idle >= size:
                shuffle(random, recency.order)
                begin_chains(chains)
                phase, sweep = SWAPS_CHAINS, Sweep(0, 0, 0, 0, 0, 0.0)
        else:
            sweep = swap_chains(space, clusters, chains, recency.order, sweep, left)
            spent += sweep.visits - visits + sweep.trials - trials
            work += sweep.visits - visits
            gain += sweep.gain - gained
            is_endless = sweep.improvements >= most_improvements(size)  # rounding feigns gains
            if sweep.idle >= size and (sweep.improvements == 0 or is_endless):
                cost = scatter(space, clusters)
                if not is_thorough and best_cost < np.inf and _is_better(cost, best_cost, effort.same_cost):
                    is_thorough = True
                else:
                    _store(clusters, members, slots[child], cost)
                    best_cost = min(best_cost, cost)
                    child += 1
                    phase = LOADS
    return Descent(child, phase, sweep, is_thorough, at.work + work, best_cost, gain)
