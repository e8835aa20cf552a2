"""How a child becomes the start of a descent: a clustering that keeps every cannot-link."""

from __future__ import annotations

from typing import NamedTuple

from certimeans._typing import IntArray
from certimeans.compilation import compiled_without_allocation
from certimeans.heuristics.chains import Workspace, swap_random_chains
from certimeans.heuristics.crossover import draw_centres, mix_labels
from certimeans.heuristics.penalty import mend
from certimeans.heuristics.population import Population, best_slot
from certimeans.heuristics.starts import Room, assign_in_order, assign_to_nearest, fill_empty_clusters
from certimeans.heuristics.state import Clusters, Space, scatter, set_labels
from certimeans.randomness import RandomState, random_unit

_SHARE_OF_MIXED_LABELS = 0.5  # of the starts that have parents, on dense graphs
MENDING_STEPS = 300
# In units of the mean cost of a super-point in the best clustering known.
_LEAST_PRICE, _MOST_PRICE = 2.0, 4.0
_LEAST_COST = 1e-12  # of the total scatter: a start may cost nothing


class Guide(NamedTuple):
    """How starts are made.

    Attributes
    ----------
    order
        One in which assignment cannot fail, see :func:`~.starts.smallest_last_order`; empty on dense graphs.
    colouring
        A clustering that keeps the cannot-links, empty if none is known: the start on dense graphs if all fresh ones
        have failed. It knows nothing of the points, and so costs much time to improve.
    n_fresh
        How many starts are made from fresh centres before parents are mixed.
    """

    order: IntArray
    colouring: IntArray
    n_fresh: int


@compiled_without_allocation
def make_child(
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
    if len(guide.order) > 0:
        assign_in_order(space, room, guide.order)
        fill_empty_clusters(room.labels, room.tally, random)
        set_labels(space, clusters, room.labels)
        return True
    assign_to_nearest(room)
    if not is_fresh and random_unit(random) < _SHARE_OF_MIXED_LABELS:
        mix_labels(population, room, random)
    fill_empty_clusters(room.labels, room.tally, random)
    set_labels(space, clusters, room.labels)
    best = best_slot(population)
    cost = population.cost[best] if best >= 0 else scatter(space, clusters)
    price = max(cost, _LEAST_COST) / len(space.weights) * _LEAST_PRICE
    price *= (_MOST_PRICE / _LEAST_PRICE) ** random_unit(random)
    if mend(space, clusters, work, price, MENDING_STEPS, random):
        set_labels(space, clusters, clusters.labels)  # removes the rounding of many moves
        return True
    if len(guide.colouring) == 0 or best >= 0 or population.born[0] < guide.n_fresh:
        return False
    for i in range(len(room.labels)):  # assigning the whole array would cost seconds of compile time
        room.labels[i] = guide.colouring[i]
    fill_empty_clusters(room.labels, room.tally, random)
    set_labels(space, clusters, room.labels)
    swap_random_chains(space, clusters, work, len(room.labels), random)
    return True
