"""The loop around the local search: children of a small population descend, and the best survive."""

from __future__ import annotations

from certimeans.compilation import compiled_without_allocation
from certimeans.heuristics.chains import Workspace, begin_chains, swap_chains
from certimeans.heuristics.children import Guide, make_child
from certimeans.heuristics.ejections import QUICK, THOROUGH, Path, begin_trees, grow_trees
from certimeans.heuristics.population import BETTER, Population, add_member, best_slot
from certimeans.heuristics.starts import Room
from certimeans.heuristics.state import Clusters, Space, scatter
from certimeans.randomness import RandomState, shuffle

IDLE, GROWS_TREES, SWAPS_CHAINS = 0, 1, 2  # what a child does


@compiled_without_allocation
def evolve(  # noqa: PLR0913  # compiled code takes its state apart
    space: Space,
    guide: Guide,
    population: Population,
    room: Room,
    clusters: Clusters,
    work: Workspace,
    path: Path,
    random: RandomState,
    max_born: int,
    max_visits: int,
) -> int:
    """Make children and let them improve until ``max_born`` did, or for about ``max_visits`` visits.

    A child improves by ejection trees, then by Kempe chains, in turn until neither helps. One that is cut short
    goes on in the next call; from its start on, ``clusters`` keeps the cannot-links between calls. Returns the number
    of visits.
    """
    visits = 0
    while population.born[0] < max_born and visits < max_visits:
        if population.busy[0] == IDLE:
            visits += len(space.weights)
            if not make_child(space, guide, population, room, clusters, work, random):
                population.born[0] += 1
                continue
            shuffle(random, work.order)
            begin_trees(space, clusters, path, QUICK)
            population.busy[0] = GROWS_TREES
        left = max(1, max_visits - visits)
        if population.busy[0] == GROWS_TREES:
            done = grow_trees(space, clusters, work.order, path, left)
            if done < left:
                begin_chains(work, random)
                population.busy[0] = SWAPS_CHAINS
        else:
            done = swap_chains(space, clusters, work, left)
            if done < left and not _goes_on(space, population, clusters, work, path):
                population.busy[0] = IDLE
                population.born[0] += 1
                add_member(space, population, clusters)
        visits += done
    return visits


@compiled_without_allocation
def _goes_on(space: Space, population: Population, clusters: Clusters, work: Workspace, path: Path) -> bool:
    """Let a child grow trees again if chains moved it, or if it is the best and did not yet search thoroughly."""
    max_tries = path.max_tries[0]
    if work.progress[2] == 0:
        best = best_slot(population)
        is_better = best >= 0 and scatter(space, clusters) < population.cost[best] * BETTER
        if max_tries == THOROUGH or not is_better:
            return False
        max_tries = THOROUGH
    begin_trees(space, clusters, path, max_tries)
    population.busy[0] = GROWS_TREES
    return True
