"""The search for a clustering of very many super-points: samples first, then passes over all of them.

A descent of a million super-points takes many seconds, so there is none from a bad start. The memetic search looks for
centres in samples, some with the links of their members and some without. The best centres are refined on all points
(:mod:`.refinement`), the points are assigned to them as the cannot-links allow, and one descent ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_without_allocation
from certimeans.deadline import Deadline
from certimeans.heuristics.lloyd import centroids
from certimeans.heuristics.memetic import MemeticSearch
from certimeans.heuristics.refinement import Refiner, squared_distance
from certimeans.heuristics.sampling import draw_sample
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.starts import fill_empty_clusters
from certimeans.heuristics.state import Space, make_space
from certimeans.presolve.contract import SuperPoints
from certimeans.randomness import random_state

# Shares of the time that is left, if there is a limit: for the samples, and for refining what they gave.
_SHARE_FOR_SAMPLES = 0.4
_SHARE_FOR_REFINING = 0.5

# Not for tuning: two sets of centres whose costs differ relatively by less are taken for one.
_SAME_COST = 1e-6

_VISITS_PER_CALL = 200_000  # super-points assigned between two looks at the clock, times the number of clusters

SearchSample = Callable[[SuperPoints, Sequence[int], Deadline], IntArray | None]
"""Searches a sample that has links, given a seed."""


class _Start(NamedTuple):
    """Labels that a descent may start from, and their cost."""

    labels: IntArray
    cost: float


class LargeSearch:
    """Looks for starts among samples of a problem.

    Parameters
    ----------
    space, order
        The problem as compiled code reads it, by coordinates, and an order of assignment.
    is_dense
        Whether assignment in this order may break cannot-links; then it does not try to keep them.
    search_sample
        How to search a sample that has links.
    n_threads
        How many threads to use.
    """

    def __init__(
        self,
        super_points: SuperPoints,
        space: Space,
        order: IntArray,
        settings: SearchSettings,
        search_sample: SearchSample,
        *,
        is_dense: bool,
        seed: int | Sequence[int],
        n_threads: int,
    ) -> None:
        self._super_points = super_points
        self._space = space
        self._order = order
        self._settings = settings
        self._search_sample = search_sample
        self._keeps_links = not is_dense and len(space.neighbours) > 0
        self._seed = [int(number) for number in np.atleast_1d(seed)]
        self._n_threads = n_threads
        self._refiner = Refiner(space.rows, space.weights, n_threads)

    def quick_start(self, deadline: Deadline) -> IntArray | None:
        """Return a clustering after a few descents of one sample; ``None`` if time does not allow that."""
        few = deadline.within(_SHARE_FOR_SAMPLES * deadline.remaining())
        candidates = self._search_freely(0, self._settings.quick_sample_searches, few)
        return self._assign(candidates[0], deadline) if candidates else None

    def best_start(self, given: Sequence[FloatArray], deadline: Deadline) -> IntArray | None:
        """Return the best clustering that centres of samples, or given ones, lead to without a descent."""
        candidates = self._best_candidates(given, deadline)
        best: _Start | None = None
        refining = deadline.within(_SHARE_FOR_REFINING * deadline.remaining())
        for centres, is_free in candidates:
            found = self._refine(centres, refining, is_free=is_free)
            if found is not None and (best is None or found.cost < best.cost):
                best = found
            if refining.passed():
                break
        return None if best is None else best.labels

    def _best_candidates(self, given: Sequence[FloatArray], deadline: Deadline) -> list[tuple[FloatArray, bool]]:
        """Search samples, and return the best centres, with whether they were found without links."""
        settings = self._settings
        sampling = deadline.within(_SHARE_FOR_SAMPLES * deadline.remaining())
        is_linked = len(self._space.neighbours) > 0
        with ThreadPoolExecutor(self._n_threads) as pool:
            free = [
                pool.submit(self._search_freely, number, settings.sample_searches, sampling)
                for number in range(1, settings.samples + 1)
            ]
            linked = [pool.submit(self._search_linked, number, sampling) for number in range(settings.linked_samples)]
            found = [*given, *(centres for future in free for centres in future.result())]
            bound = [centres for future in linked if is_linked and (centres := future.result()) is not None]
        chosen = self._choose(found, deadline)
        return [(centres, False) for centres in bound] + [(centres, True) for centres in chosen]

    def _search_freely(self, number: int, n_searches: int, deadline: Deadline) -> list[FloatArray]:
        """Return the best centres of a sample without links."""
        seed = [*self._seed, number]
        size = self._settings.sample_size
        sample, _ = draw_sample(self._super_points, size, np.random.default_rng(seed), with_links=False)
        settings = replace(self._settings, n_searches=n_searches)
        search = MemeticSearch(
            make_space(sample, settings, by_gram=False),
            np.arange(size, dtype=np.int64),
            settings,
            is_dense=False,
            colouring=None,
        )
        search.begin(seed)
        while search.born < n_searches and not deadline.passed():
            search.advance(n_searches, deadline)
        return search.centres(self._settings.finalists)

    def _search_linked(self, number: int, deadline: Deadline) -> FloatArray | None:
        """Return the best centres of a sample with its links."""
        if len(self._space.neighbours) == 0:
            return None
        seed = [*self._seed, number, 1]
        size = self._settings.sample_size
        sample, _ = draw_sample(self._super_points, size, np.random.default_rng(seed), with_links=True)
        labels = self._search_sample(sample, seed, deadline)
        return None if labels is None else centroids(sample, labels)

    def _choose(self, candidates: Sequence[FloatArray], deadline: Deadline) -> list[FloatArray]:
        """Refine centres on one larger sample, and return the best different ones."""
        size = min(self._super_points.size, self._settings.judging_sample)
        chosen = np.random.default_rng([*self._seed, 2]).choice(self._super_points.size, size, replace=False)
        chosen.sort()
        judge = Refiner(self._space.rows[chosen], self._space.weights[chosen], self._n_threads)
        judged = []
        for centres in candidates:
            refined = judge.refine(centres, deadline, self._settings.least_gain_of_pass)
            if refined is None:
                break
            judged.append(refined)
        judged.sort(key=lambda refined: refined.cost)
        best: list[FloatArray] = []
        last = -np.inf
        for refined in judged:
            if refined.cost > last * (1 + _SAME_COST) and len(best) < self._settings.finalists:
                best.append(refined.centres)
                last = refined.cost
        return best or list(candidates[:1])

    def _refine(self, centres: FloatArray, deadline: Deadline, *, is_free: bool) -> _Start | None:
        """Refine centres on all super-points, then assign these; with links, in turn until that no longer helps."""
        if is_free:
            refined = self._refiner.refine(centres, deadline, self._settings.least_gain_of_pass)
            centres = centres if refined is None else refined.centres
        best: _Start | None = None
        while True:
            labels = self._assign(centres, deadline)
            if labels is None:
                return best
            centres = self._refiner.means_of(labels, len(centres))
            cost = self._refiner.cost(centres, labels)
            gained = np.inf if best is None else best.cost - cost
            if best is None or cost < best.cost:
                best = _Start(labels, cost)
            if not self._keeps_links or deadline.passed() or gained < self._settings.least_gain_of_round * cost:
                return best

    def _assign(self, centres: FloatArray, deadline: Deadline) -> IntArray | None:
        """Assign all super-points to centres, cheaply; ``None`` if the links, or the time, do not allow that."""
        size, k = self._super_points.size, len(centres)
        labels = np.full(size, -1, dtype=np.int64)
        blocked_for = np.full(k, -1, dtype=np.int64)
        piece = max(1, _VISITS_PER_CALL // k)
        for first in range(0, size, piece):
            last = min(size, first + piece)
            if first > 0 and deadline.stop_requested:
                return None
            if not assign_piece(self._space, centres, self._order, first, last, labels, blocked_for, self._keeps_links):
                return None
        fill_empty_clusters(labels, np.zeros(k, dtype=np.int64), random_state(self._seed))
        return labels


@compiled_without_allocation
def assign_piece(
    space: Space,
    centres: FloatArray,
    order: IntArray,
    first: int,
    last: int,
    labels: IntArray,
    blocked_for: IntArray,
    keeps_links: bool,
) -> bool:
    """Give super-points the nearest centre, those at ``first`` to ``last - 1`` in the order; see ``starts.assign``."""
    for place in range(first, last):
        i = order[place]
        if keeps_links:
            for position in range(space.start[i], space.start[i + 1]):
                c = labels[space.neighbours[position]]
                if c >= 0:
                    blocked_for[c] = i
        chosen, least = -1, np.inf
        for c in range(len(centres)):
            if blocked_for[c] != i:
                distance = squared_distance(space.rows, centres, i, c)
                if chosen < 0 or distance < least:
                    chosen, least = c, distance
        if chosen < 0:
            return False
        labels[i] = chosen
    return True
