"""The memetic loop on dense cannot-link graphs, where a start that follows its centres breaks many cannot-links.

There Kempe chains are so long that most swap whole clusters, which changes nothing, and a descent stays near its start.
So starts, half of them annealed with a price on broken cannot-links, are mended and only then descend.
"""

from __future__ import annotations

from typing import NamedTuple

from certimeans._compiled import compiled_without_allocation
from certimeans._typing import IntArray
from certimeans.heuristics.local_search import begin_descent, descend
from certimeans.heuristics.memetic import Population, add_member, best_slot, draw_centres, mix_labels
from certimeans.heuristics.moves import Workspace, swap_random_chains
from certimeans.heuristics.penalty import anneal, mend
from certimeans.heuristics.starts import Room, assign_to_nearest, fill_empty_clusters
from certimeans.heuristics.state import Clusters, Space, scatter, set_labels
from certimeans.randomness import RandomState, random_unit

_SHARE_OF_MIXED_LABELS = 0.5  # of the starts that have parents
_SHARE_OF_ANNEALED = 0.5  # of all starts; the others cost little and bring variety
_PROPOSALS_PER_VISIT = 20  # on average over the starts; a visit of the descent looks at every cluster and at chains
MENDING_STEPS = 300

# In units of the mean cost of a super-point in the best clustering known. From the least heat a start keeps most of
# what its parents gave; from the most it forgets nearly all.
_LEAST_PRICE, _MOST_PRICE = 2.0, 4.0
_LEAST_HEAT, _MOST_HEAT = 0.3, 1.5
_COLD = 0.1
_LEAST_COST = 1e-12  # of the total scatter: a start may cost nothing


class Guide(NamedTuple):
    """How starts are made.

    Attributes
    ----------
    colouring
        A clustering that keeps the cannot-links, the last resort; empty if none is known.
    sweeps
        Length of each annealing.
    n_fresh
        How many starts are made from fresh centres before parents are mixed.
    """

    colouring: IntArray
    sweeps: int
    n_fresh: int


@compiled_without_allocation
def evolve_dense(  # noqa: PLR0913  # compiled code takes its state apart
    space: Space,
    guide: Guide,
    population: Population,
    room: Room,
    clusters: Clusters,
    work: Workspace,
    random: RandomState,
    max_born: int,
    max_visits: int,
) -> int:
    """Do what :func:`~.memetic.evolve` does, with annealed starts; these count as visits too."""
    visits = 0
    while population.born[0] < max_born and visits < max_visits:
        if population.busy[0] == 0:
            visits += (1 + guide.sweeps // _PROPOSALS_PER_VISIT) * len(space.weights)
            if not _make_child(space, guide, population, room, clusters, work, random):
                population.born[0] += 1
                continue
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
def _make_child(
    space: Space,
    guide: Guide,
    population: Population,
    room: Room,
    clusters: Clusters,
    work: Workspace,
    random: RandomState,
) -> bool:
    """Make a start for a descent; False if no clustering that keeps the cannot-links was found."""
    is_fresh = draw_centres(space, guide.n_fresh, population, room, random)
    assign_to_nearest(room)
    if not is_fresh and random_unit(random) < _SHARE_OF_MIXED_LABELS:
        mix_labels(population, room, random)
    fill_empty_clusters(room.labels, room.tally, random)
    set_labels(space, clusters, room.labels)
    best = best_slot(population)
    cost = population.cost[best] if best >= 0 else scatter(space, clusters)
    unit = max(cost, _LEAST_COST) / len(space.weights)
    price = unit * _between(random, _LEAST_PRICE, _MOST_PRICE)
    if random_unit(random) < _SHARE_OF_ANNEALED:
        hot = unit * _between(random, _LEAST_HEAT, _MOST_HEAT)
        anneal(space, clusters, price, hot, unit * _COLD, guide.sweeps, random)
    if mend(space, clusters, work, price, MENDING_STEPS, random):
        set_labels(space, clusters, clusters.labels)  # removes the rounding of many moves
        return True
    if len(guide.colouring) == 0:
        return False
    for i in range(len(room.labels)):  # assigning the whole array would cost seconds of compile time
        room.labels[i] = guide.colouring[i]
    fill_empty_clusters(room.labels, room.tally, random)
    set_labels(space, clusters, room.labels)
    swap_random_chains(space, clusters, work, len(room.labels), random)
    return True


@compiled_without_allocation
def _between(random: RandomState, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(low * (high / low) ** random_unit(random))
