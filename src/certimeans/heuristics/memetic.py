"""The memetic loop: children of a small population of local optima descend, and the best survive.

Follows HG-means (Gribel and Vidal, 2019). How parents are mixed is in :mod:`certimeans.heuristics.mixing`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.chains import make_chains, swap_random_chains
from certimeans.heuristics.descent import (
    LOADS,
    Effort,
    Members,
    begin_descent,
    descend_freely,
    descend_linked,
    keep,
    make_members,
)
from certimeans.heuristics.ejections import make_tree
from certimeans.heuristics.mending import mend
from certimeans.heuristics.mixing import FRESH, Drawing, draw_starts, make_family, mix_labels
from certimeans.heuristics.moves import make_recency
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.starts import assign, fill_empty_clusters, make_room
from certimeans.heuristics.state import (
    Space,
    count_violations,
    make_clusters,
    scatter,
    set_labels,
)
from certimeans.randomness import RandomState, random_below, random_state, random_unit

# Not for tuning: a clustering may cost nothing, and the price of a broken cannot-link must not be 0.
_LEAST_COST = 1e-12


class Population:
    """The slots of the local optima that are alive, sorted by cost.

    Parameters
    ----------
    n_survivors
        How many survive a selection, which happens when twice as many are alive.
    n_children
        How many children may be made at a time; they need slots, too.
    same_cost
        Two members whose costs differ relatively by at most this are taken for one.
    """

    def __init__(self, n_survivors: int, n_children: int, same_cost: float) -> None:
        self.slots: list[int] = []
        self.costs: list[float] = []
        self._n_survivors = n_survivors
        self._same_cost = same_cost
        self._free = list(range(2 * n_survivors - 1 + n_children))

    def free_slots(self, count: int) -> list[int]:
        """Return slots for children; they stay free until :meth:`add`."""
        return self._free[:count]

    def add(self, slot: int, cost: float) -> bool:
        """Make the local optimum in a free slot a member, unless there is one of its cost; say whether it is one."""
        rank = bisect_left(self.costs, cost)
        for neighbour in self.costs[max(0, rank - 1) : rank + 1]:
            if abs(neighbour - cost) <= self._same_cost * abs(cost):
                return False
        self._free.remove(slot)
        self.slots.insert(rank, slot)
        self.costs.insert(rank, cost)
        if len(self.slots) == 2 * self._n_survivors:
            self._free += self.slots[self._n_survivors :]
            del self.slots[self._n_survivors :], self.costs[self._n_survivors :]
        return True

    def tournament(self, random: RandomState) -> int:
        """Pick the better of two random members and return its slot."""
        size = len(self.slots)
        return self.slots[min(random_below(random, size), random_below(random, size))]

    @property
    def best_cost(self) -> float:
        """Cost of the best member; infinite if there is none."""
        return self.costs[0] if self.costs else np.inf


class PopulationSearch:
    """What a search that keeps a population has found."""

    _population: Population
    _members: Members

    @property
    def has_found(self) -> bool:
        """Whether there is a clustering."""
        return bool(self._population.slots)

    @property
    def best_cost(self) -> float:
        """Cost of the best clustering found; infinite if there is none."""
        return self._population.best_cost

    @property
    def best_labels(self) -> IntArray:
        """Labels of the best clustering found."""
        labels: IntArray = self._members.labels[self._population.slots[0]].copy()
        return labels


class MemeticSearch(PopulationSearch):
    """The memetic loop over one problem, advanced a few children at a time.

    Parameters
    ----------
    order
        An order of the super-points for their assignment.
    is_dense
        Whether assignment in this order may break cannot-links, so that starts have to be mended.
    colouring
        A clustering that keeps the cannot-links, if one is known: the start on dense graphs if all fresh ones have
        failed. It knows nothing of the points, and so costs much time to improve.
    """

    def __init__(
        self,
        space: Space,
        order: IntArray,
        settings: SearchSettings,
        *,
        is_dense: bool,
        colouring: IntArray | None,
    ) -> None:
        self.space = space
        self.settings = settings
        self._order = order
        self._is_dense = is_dense
        self._is_linked = len(space.neighbours) > 0
        self._colouring = colouring
        size, k = len(space.weights), space.n_clusters
        self.n_fresh = max(2, min(settings.population, settings.max_visits // (settings.visits_before_mixing * size)))
        width = 1 if space.by_gram else max(1, space.rows.shape[1])
        self._visits_per_call = max(1, settings.evaluations_per_call // (k * width))
        self._centres_per_call = max(1, settings.evaluations_per_call // (settings.draws_per_centre * size * width))
        self._batch = max(1, min(settings.batch, self._visits_per_call // (10 * size)))
        self._effort = Effort(
            settings.quick_tries, settings.thorough_tries, settings.same_cost, work_per_call=self._visits_per_call
        )
        self._members = make_members(space, 2 * settings.population - 1 + self._batch)
        self._room = make_room(space)
        self._clusters = make_clusters(space)
        self._recency = make_recency(space)
        if self._is_linked:
            self._tree = make_tree(space, settings.longest_path)
            self._chains = make_chains(space)

    def begin(self, seed: int | Sequence[int]) -> None:
        """Begin with an empty population."""
        self._random = random_state(seed)
        self._population = Population(self.settings.population, self._batch, self.settings.same_cost)
        self.born = 0
        self.visits = 0

    def advance(self, max_born: int, deadline: Deadline) -> None:
        """Make some children, at most until ``max_born`` are born, and let them descend."""
        population = self._population
        slots = population.free_slots(min(self._batch, max_born - self.born))
        n_fresh, share_of_fresh = self.n_fresh - self.born, self.settings.share_of_fresh_starts
        family = make_family(slots, population.slots, n_fresh, share_of_fresh, self._random)
        at = Drawing(0, 0)
        while at.child < len(family.child):
            if deadline.passed():
                self._room.costs[at.centre :] = np.inf  # for an assignment without these centres
                return
            at = draw_starts(
                self.space,
                self._members,
                self._room,
                family,
                self._order,
                at,
                not self._is_dense,
                self.settings.draws_per_centre,
                self._centres_per_call,
                self._random,
            )
        self.visits += len(family.child) * len(self.space.weights)
        starts = family.child
        if self._is_dense:
            couples = zip(family.child.tolist(), family.mother.tolist(), strict=True)
            mended = [slot for slot, mother in couples if self._make_feasible(slot, mother, deadline)]
            starts = np.array(mended, dtype=np.int64)
        self._descend(starts, deadline)
        self.born += len(family.child)

    def advance_from(self, labels: IntArray, deadline: Deadline, least_gain: float = 0.0) -> None:
        """Let given labels descend; if they break cannot-links they are mended where possible.

        The descent ends early when a pass over all super-points gains less than ``least_gain`` of the cost.
        """
        slot = self._population.free_slots(1)[0]
        self._members.labels[slot] = labels
        self._fill_empty_clusters(slot)
        price = self.settings.start_price / len(labels)
        if self._mend(slot, price, deadline):
            self._descend(np.array([slot], dtype=np.int64), deadline, least_gain)
            self.born += 1

    def centres(self, count: int) -> list[FloatArray]:
        """Return the centres of the best clusterings, at most ``count``; only where super-points have coordinates."""
        slots, members = self._population.slots[:count], self._members
        return [members.sums[slot] / members.weight[slot][:, None] for slot in slots]

    def assign_to(self, costs: FloatArray) -> IntArray | None:
        """Assign all super-points (rows) to centres (columns) at given costs; on dense graphs links may break."""
        self._room.costs[:] = costs.T
        if self._is_dense:
            nearest: IntArray = costs.argmin(axis=1)
            return nearest
        return self.assign_cheaply()

    def assign_cheaply(self) -> IntArray | None:
        """Make a clustering at once, of the centres drawn so far or of the colouring; ``None`` if there is none."""
        slot = self._population.free_slots(1)[0]
        if not assign(self.space, self._room, self._order, self._members.labels[slot], True):
            if self._colouring is None:
                return None
            self._members.labels[slot] = self._colouring
        self._fill_empty_clusters(slot)
        labels: IntArray = self._members.labels[slot].copy()
        return labels

    def _make_feasible(self, slot: int, mother: int, deadline: Deadline) -> bool:
        """Make a child on a dense graph keep all cannot-links; False if that fails."""
        population, random = self._population, self._random
        if mother != FRESH and random_unit(random) < self.settings.share_of_mixed_labels:
            mother, father = population.tournament(random), population.tournament(random)
            mix_labels(self._members.labels, mother, father, slot, self._room)
            self._fill_empty_clusters(slot)
        price = self.settings.least_price
        price *= (self.settings.most_price / price) ** random_unit(random)
        if self._mend(slot, price, deadline, relative=True):
            return True
        if self._colouring is None or population.slots or self.born < self.n_fresh or deadline.passed():
            return False
        self._members.labels[slot] = self._colouring
        self._fill_empty_clusters(slot)
        set_labels(self.space, self._clusters, self._members.labels[slot])
        swap_random_chains(self.space, self._clusters, self._chains, len(self._order), random)
        self._members.labels[slot] = self._clusters.labels
        return True

    def _mend(self, slot: int, price: float, deadline: Deadline, *, relative: bool = False) -> bool:
        """Mend labels; a relative price is one in units of the mean cost of a super-point."""
        if not self._is_linked:
            return True
        set_labels(self.space, self._clusters, self._members.labels[slot])
        if relative:
            cost = self.best_cost if self._population.slots else scatter(self.space, self._clusters)
            price *= max(abs(cost), _LEAST_COST) / len(self.space.weights)
        elif count_violations(self._clusters) == 0:
            return True
        if not mend(self.space, self._clusters, price, self.settings, self._random, deadline, self._visits_per_call):
            return False
        self._members.labels[slot] = self._clusters.labels
        return True

    def _fill_empty_clusters(self, slot: int) -> None:
        fill_empty_clusters(self._members.labels[slot], self._room.members, self._random)

    def _descend(self, slots: IntArray, deadline: Deadline, least_gain: float = 0.0) -> None:
        """Improve starts until the deadline; one that is cut short counts as found, it keeps every constraint."""
        common = (self.space, self._clusters, self._members, slots, self._recency)
        at = begin_descent(self.best_cost)
        before, end_of_pass = at, len(self.space.weights)
        while at.child < len(slots):
            if self._is_linked:
                at = descend_linked(*common, self._tree, self._chains, at, self._effort, self._random)
            else:
                at = descend_freely(*common, at, self._effort, self._random)
            if deadline.passed():
                break
            if least_gain > 0 and at.work >= end_of_pass and at.child < len(slots) and at.phase != LOADS:
                if at.gain - before.gain < least_gain * scatter(self.space, self._clusters):
                    break
                before, end_of_pass = at, at.work + len(self.space.weights)
        self.visits += at.work
        n_done = at.child
        if at.child < len(slots) and at.phase != LOADS:
            cost = scatter(self.space, self._clusters)
            keep(self._clusters, self._members, slots[at.child], cost)
            n_done += 1
        done = slots[:n_done]
        for slot, cost in zip(done.tolist(), self._members.cost[done].tolist(), strict=True):
            self._population.add(slot, math.inf if math.isnan(cost) else cost)  # no weight is left beside a huge one
