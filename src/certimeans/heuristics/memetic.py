"""The memetic loop: children of a small population of local optima descend, and the best survive.

Follows HG-means (Gribel and Vidal, 2019): the clusters of two parents are matched, each centre of the child comes from
either of them, and one centre is drawn anew. On dense graphs labels are mixed as well, as in graph colouring (Galinier
and Hao, 1999).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_without_allocation, inlined
from certimeans.deadline import Deadline
from certimeans.heuristics.chains import make_chains, swap_random_chains
from certimeans.heuristics.descent import (
    LOADS,
    Effort,
    Members,
    begin_descent,
    descend_freely,
    descend_linked,
    make_members,
    store,
)
from certimeans.heuristics.ejections import make_tree
from certimeans.heuristics.mending import mend
from certimeans.heuristics.moves import make_recency
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.starts import (
    Room,
    assign,
    costs_of_centre,
    draw_centre,
    fill_empty_clusters,
    make_room,
    redraw_centre,
)
from certimeans.heuristics.state import (
    Space,
    count_violations,
    make_clusters,
    scatter,
    set_labels,
)
from certimeans.randomness import RandomState, random_below, random_state, random_unit

FRESH = -1  # instead of a parent

# Not for tuning: a clustering may cost nothing, and the price of a broken cannot-link must not be 0.
_LEAST_COST = 1e-12


class Family(NamedTuple):
    """Children to be made: the slot of each, and the slots of its parents, both ``FRESH`` if it has none."""

    child: IntArray
    mother: IntArray
    father: IntArray


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


class MemeticSearch:
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

    def advance(self, max_born: int, deadline: Deadline) -> None:
        """Make some children, at most until ``max_born`` are born, and let them descend."""
        family = self._plan(min(self._batch, max_born - self.born))
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

    def advance_from(self, labels: IntArray, deadline: Deadline) -> None:
        """Let given labels descend; if they break cannot-links they are mended where possible."""
        slot = self._population.free_slots(1)[0]
        self._members.labels[slot] = labels
        self._fill_empty_clusters(slot)
        price = self.settings.start_price / len(labels)
        if self._mend(slot, price, deadline):
            self._descend(np.array([slot], dtype=np.int64), deadline)
            self.born += 1

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

    def _plan(self, count: int) -> Family:
        """Choose slots and parents of the next children."""
        slots = self._population.free_slots(count)
        mothers, fathers = [], []
        for number in range(self.born, self.born + count):
            is_fresh = (
                number < self.n_fresh
                or len(self._population.slots) < 2
                or random_unit(self._random) < self.settings.share_of_fresh_starts
            )
            mothers.append(FRESH if is_fresh else self._population.tournament(self._random))
            fathers.append(FRESH if is_fresh else self._population.tournament(self._random))
        return Family(*(np.array(column, dtype=np.int64) for column in (slots, mothers, fathers)))

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

    def _descend(self, slots: IntArray, deadline: Deadline) -> None:
        """Improve starts until the deadline; one that is cut short counts as found, it keeps every constraint."""
        common = (self.space, self._clusters, self._members, slots, self._recency)
        at = begin_descent(self.best_cost)
        while at.child < len(slots):
            if self._is_linked:
                at = descend_linked(*common, self._tree, self._chains, at, self._effort, self._random)
            else:
                at = descend_freely(*common, at, self._effort, self._random)
            if deadline.passed():
                break
        self.visits += at.work
        n_done = at.child
        if at.child < len(slots) and at.phase != LOADS:
            cost = scatter(self.space, self._clusters)
            store(self.space, self._clusters, self._members, slots[at.child], cost)
            n_done += 1
        for slot in slots[:n_done].tolist():
            cost = float(self._members.cost[slot])
            self._population.add(slot, np.inf if np.isnan(cost) else cost)  # weights so unlike that none is left over


class Drawing(NamedTuple):
    """How far the starts of a family are made: the child, and its next centre."""

    child: int
    centre: int


@compiled_without_allocation
def draw_starts(  # noqa: PLR0913  # compiled code takes its state apart
    space: Space,
    members: Members,
    room: Room,
    family: Family,
    order: IntArray,
    at: Drawing,
    keeps_links: bool,
    draws: int,
    max_centres: int,
    random: RandomState,
) -> Drawing:
    """Draw the centres of children and assign the super-points to them; pause after ``max_centres`` centres.

    ``keeps_links`` says whether the assignment keeps the cannot-links.
    """
    child, centre = at.child, at.centre
    for _ in range(max_centres):
        if child == len(family.child):
            break
        mother, father = family.mother[child], family.father[child]
        if mother == FRESH:
            draw_centre(space, room, centre, draws, random)
        else:
            if centre == 0:
                match_clusters(members.labels[mother], members.labels[father], space.weights, room)
            _inherit_centre(space, members, room, mother, father, centre, random)
        centre += 1
        if centre == space.n_clusters:
            if mother != FRESH:
                redraw_centre(space, room, random)
            labels = members.labels[family.child[child]]
            assign(space, room, order, labels, keeps_links)
            fill_empty_clusters(labels, room.members, random)
            child, centre = child + 1, 0
    return Drawing(child, centre)


@inlined
def match_clusters(labels: IntArray, other: IntArray, weights: FloatArray, room: Room) -> None:
    """Pair the clusters of two clusterings: each takes the free one with the heaviest intersection."""
    common, partner, is_taken = room.common, room.partner, room.is_taken
    common[:] = 0.0
    for i in range(len(labels)):
        common[labels[i], other[i]] += weights[i]
    partner[:] = -1
    is_taken[:] = False
    for c in range(len(partner)):
        for e in range(len(partner)):
            if not is_taken[e] and (partner[c] < 0 or common[c, e] > common[c, partner[c]]):
                partner[c] = e
        is_taken[partner[c]] = True


@inlined
def _inherit_centre(
    space: Space, members: Members, room: Room, mother: int, father: int, c: int, random: RandomState
) -> None:
    """Take centre c of the mother, or the matching one of the father, and fill in its costs."""
    parent, cluster = (mother, c) if random_unit(random) < 0.5 else (father, room.partner[c])
    costs_of_centre(
        space,
        members.sums[parent, cluster],
        members.square[parent, cluster],
        members.weight[parent, cluster],
        room.costs[c],
    )


@compiled_without_allocation
def mix_labels(labels: IntArray, mother: int, father: int, child: int, room: Room) -> None:
    """Build labels cluster by cluster: in turn, each parent gives the one with most members not yet labelled.

    This passes on what centres cannot: which of many combinations keeps the cannot-links. Super-points that no
    parent's cluster brings keep the label they have.

    Parameters
    ----------
    labels
        One row per slot.
    mother, father, child
        Their slots.
    """
    count, is_labelled = room.members, room.is_labelled
    is_labelled[:] = False
    for c in range(len(count)):
        parent = mother if c % 2 == 0 else father
        count[:] = 0
        for i in range(len(is_labelled)):
            if not is_labelled[i]:
                count[labels[parent, i]] += 1
        largest = 0
        for e in range(1, len(count)):
            if count[e] > count[largest]:
                largest = e
        for i in range(len(is_labelled)):
            if not is_labelled[i] and labels[parent, i] == largest:
                is_labelled[i] = True
                labels[child, i] = c
