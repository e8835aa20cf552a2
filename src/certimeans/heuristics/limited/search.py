"""The memetic search where sizes are limited: centres of parents, assignments within the limits, exchanges."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.chains import make_chains
from certimeans.heuristics.descent import keep, make_members
from certimeans.heuristics.limited.descent import BEGIN, begin, descend_within
from certimeans.heuristics.limited.exchanges import make_exchanges
from certimeans.heuristics.limited.loads import exchange_sizes, make_loads, match_sizes, set_loads, total_breach
from certimeans.heuristics.limited.mending import mend_within
from certimeans.heuristics.limited.transport import alternate, make_network
from certimeans.heuristics.memetic import Population, PopulationSearch
from certimeans.heuristics.mixing import FRESH, Drawing, draw_starts, make_family
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.starts import fill_empty_clusters, make_room
from certimeans.heuristics.state import count_violations, make_clusters, make_space, scatter, set_labels
from certimeans.presolve.contract import SuperPoints
from certimeans.randomness import random_below, random_state, random_unit

_LEAST_COST = 1e-12
_LLOYD_ROUNDS = 30
_PATIENCE = 4
"""The search goes on until it is this many times as long as at its last improvement."""
_MOST_SEARCHES = 3
"""Improvements that keep coming make it this many times as long as asked for, at most."""
_LEAST_SEARCHES = 24
"""At least this many descents, times the number of different sizes if these are prescribed."""
_SHARE_BY_LOAD, _SHARE_EXCHANGED = 0.5, 0.5


def search_within_limits(
    points: SuperPoints,
    settings: SearchSettings,
    *,
    colouring: IntArray | None,
    start: IntArray | None,
    seed: int | Sequence[int],
    deadline: Deadline,
    on_improvement: Callable[[IntArray], None] | None,
) -> IntArray | None:
    """Search for a clustering of low cost that keeps cannot-links and limits on sizes.

    Parameters
    ----------
    colouring
        A clustering that keeps everything, if one is known: the last resort among the starts.

    Returns
    -------
    IntArray or None
        Labels of the super-points, ``None`` if none were found.
    """
    search = LimitedSearch(points, settings, seed)
    if colouring is not None and not _keeps_limits(points, colouring):
        colouring = None
    best: IntArray | None = colouring
    last, budget = 0, settings.n_searches
    if start is not None:
        search.advance_from(start, deadline)
    while search.born < budget and search.visits < settings.max_visits and not deadline.passed():
        if search.born >= max(search.n_searches, _PATIENCE * last) and search.has_found:
            break
        if search.born >= _LEAST_SEARCHES // 2 and not search.has_found and colouring is not None:
            search.advance_from(colouring, deadline)
        before = search.best_cost
        search.advance(deadline)
        if search.best_cost < before - settings.same_cost * abs(before) or np.isinf(before):
            last = search.born
            budget = max(budget, min(_PATIENCE * last, _MOST_SEARCHES * settings.n_searches))
            if search.has_found and on_improvement is not None:
                on_improvement(search.best_labels)
    if search.has_found:
        best = search.best_labels
    return best


def _keeps_limits(points: SuperPoints, labels: IntArray) -> bool:
    limits = points.limits
    return limits is not None and limits.allow(limits.totals(labels, points.n_clusters))


class LimitedSearch(PopulationSearch):
    """The loop over one problem, advanced by one child at a time."""

    def __init__(self, points: SuperPoints, settings: SearchSettings, seed: int | Sequence[int]) -> None:
        self.space = make_space(points, settings)
        self.settings = settings
        exact = () if points.limits is None else points.limits.exact or ()
        self._has_unequal_sizes = len(set(exact)) > 1
        self.n_searches = _LEAST_SEARCHES * (len(set(exact)) if self._has_unequal_sizes else 1)
        self.born = 0
        self.visits = 0
        self._points = points
        self._loads = make_loads(points)
        self._members = make_members(self.space, 2 * settings.population)
        self._room = make_room(self.space)
        self._clusters = make_clusters(self.space)
        self._network = make_network(points.n_clusters)
        self._exchanges = make_exchanges(points.n_clusters)
        self._chains = make_chains(self.space)
        self._random = random_state(seed)
        self._population = Population(settings.population, 1, settings.same_cost)
        self._order = np.arange(points.size, dtype=np.int64)
        width = 1 if self.space.by_gram else max(1, self.space.rows.shape[1])
        self._work_per_call = max(1, settings.evaluations_per_call // width)
        self._centres_per_call = max(
            1, settings.evaluations_per_call // (settings.draws_per_centre * points.size * width)
        )

    def advance(self, deadline: Deadline) -> None:
        """Make a child of two clusterings, or of fresh centres, and let it descend."""
        slot = self._population.free_slots(1)[0]
        self.born += 1
        mother = self._draw(slot, deadline)
        labels = self._members.labels[slot]
        if mother is None or deadline.passed():
            return
        is_matched = self._inherit_sizes(mother)
        left = alternate(
            self.space, self._clusters, self._room.costs, labels, self._loads, self._network, _LLOYD_ROUNDS, is_matched
        )
        self.visits += len(labels)
        fill_empty_clusters(labels, self._room.members, self._random)
        self._finish(slot, deadline, is_kept=left == 0)

    def advance_from(self, labels: IntArray, deadline: Deadline) -> None:
        """Let given labels descend; what they break is mended where possible."""
        slot = self._population.free_slots(1)[0]
        self._members.labels[slot] = labels
        self.born += 1
        fill_empty_clusters(self._members.labels[slot], self._room.members, self._random)
        self._finish(slot, deadline, is_kept=_keeps_limits(self._points, self._members.labels[slot]))

    def _inherit_sizes(self, mother: int) -> bool:
        """Let the clusters of a child have the sizes of its mother's, often with two of them exchanged.

        Which of unequal sizes belongs where is a choice like any other. Half of the time, and for fresh centres, it
        follows from the loads at the nearest centres instead: then this returns False.
        """
        loads, random = self._loads, self._random
        if mother == FRESH or not self._has_unequal_sizes or random_unit(random) < _SHARE_BY_LOAD:
            return False
        set_loads(loads, self._members.labels[mother])
        match_sizes(loads)
        if random_unit(random) < _SHARE_EXCHANGED:
            k = self.space.n_clusters
            exchange_sizes(loads, random_below(random, k), random_below(random, k))
        return True

    def _draw(self, slot: int, deadline: Deadline) -> int | None:
        """Draw the centres of a child, as costs at them; return its mother, ``None`` if the deadline passed before."""
        random, settings = self._random, self.settings
        n_fresh = settings.population + 1 - self.born
        family = make_family([slot], self._population.slots, n_fresh, settings.share_of_fresh_starts, random)
        at = Drawing(0, 0)
        while at.child < 1:
            if deadline.passed():
                return None
            at = draw_starts(
                self.space,
                self._members,
                self._room,
                family,
                self._order,
                at,
                False,
                settings.draws_per_centre,
                self._centres_per_call,
                random,
            )
        return int(family.mother[0])

    def _finish(self, slot: int, deadline: Deadline, *, is_kept: bool) -> None:
        """Mend labels where they break something, let them descend and keep what comes out."""
        labels, space, clusters, loads = self._members.labels[slot], self.space, self._clusters, self._loads
        set_labels(space, clusters, labels)
        set_loads(loads, labels)
        if len(loads.exact):
            loads.low[:] = loads.high[:] = loads.exact  # whatever order; begin() and mending match them
        if not is_kept or count_violations(clusters) > 0:
            cost = self.best_cost if self.has_found else scatter(space, clusters)
            price = self.settings.least_price * max(abs(cost), _LEAST_COST) / len(labels)
            if not mend_within(space, clusters, loads, labels, price, self.settings, self._random, deadline):
                return
        begin(space, clusters, loads, self._exchanges)
        if total_breach(loads) > 0:  # only where amounts were rounded: nothing may move, but these labels count
            self._keep(slot)
            return
        at = BEGIN
        while not at.is_done and not deadline.passed():
            at = descend_within(space, clusters, loads, self._exchanges, self._chains, at, self._work_per_call)
        self.visits += at.work // self.space.n_clusters  # a visit of a super-point looks at every cluster
        self._keep(slot)

    def _keep(self, slot: int) -> None:
        cost = scatter(self.space, self._clusters)
        keep(self._clusters, self._members, slot, cost)
        self._population.add(slot, np.inf if np.isnan(cost) else float(cost))
