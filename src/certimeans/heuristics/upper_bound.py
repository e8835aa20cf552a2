"""The upper bound: search for a good clustering of super-points that keeps every cannot-link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.errors import InputError
from certimeans.heuristics.descent import is_better
from certimeans.heuristics.large import LargeSearch
from certimeans.heuristics.limited.search import search_within_limits
from certimeans.heuristics.lloyd import costs_at_centres
from certimeans.heuristics.memetic import MemeticSearch
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.starts import smallest_last_order
from certimeans.heuristics.state import make_space
from certimeans.presolve.contract import SuperPoints

__all__ = ["SearchSettings", "search_clustering"]


def search_clustering(  # noqa: PLR0913  # what is known and what is allowed
    super_points: SuperPoints,
    *,
    colouring: IntArray | None = None,
    start: IntArray | None = None,
    centres: Sequence[FloatArray] = (),
    seed: int | Sequence[int] = 0,
    deadline: Deadline | None = None,
    settings: SearchSettings | None = None,
    on_improvement: Callable[[IntArray], None] | None = None,
    n_threads: int = 1,
) -> IntArray | None:
    """Search for a clustering of low cost: a memetic search with ejection trees and Kempe chains.

    With very many super-points it searches samples first, see :mod:`certimeans.heuristics.large`.

    Parameters
    ----------
    colouring
        Colours that keep the cannot-links, at most k of them, if known: the last resort among the starts. Where sizes
        are limited, they keep the limits, too.
    start
        A clustering of the super-points to begin with; if it breaks cannot-links it is mended where possible.
    centres
        Sets of k centres to begin with, in the coordinates of the super-points' means, as those of a clustering of some
        of them.
    seed
        Equal seeds give equal results, unless the deadline cuts the search short.
    deadline
        When to end, whatever was found by then; if nothing was, with a clustering that is only feasible.
    on_improvement
        Called with the labels of each new best clustering.
    n_threads
        How many threads may work, where very many super-points give them something to do. It changes no result.

    Returns
    -------
    IntArray or None
        Labels of the super-points: k non-empty clusters, no cannot-link broken, and no limit on sizes. ``None`` if none
        was found, which proves nothing.
    """
    settings = settings or SearchSettings()
    deadline = deadline or Deadline()
    size, k, graph = super_points.size, super_points.n_clusters, super_points.graph
    if size < k:
        return None
    starts = [] if start is None else [_checked_start(start, size, k)]
    if super_points.limits is not None:
        return search_within_limits(
            super_points,
            settings,
            colouring=colouring,
            start=starts[0] if starts else None,
            seed=seed,
            deadline=deadline,
            on_improvement=on_improvement,
        )
    order, degeneracy = smallest_last_order(graph)
    # Else assignment in this order keeps the cannot-links and Kempe chains stay short; nothing else is needed.
    is_dense = degeneracy >= k or len(graph.edges) > settings.links_of_dense_graph * size
    is_large = size > settings.largest_without_sample and super_points.vectors is not None
    space = make_space(super_points, settings)
    # A few clusterings of a million points are enough to remember.
    remembered = replace(settings, population=2) if is_large else settings
    search = MemeticSearch(space, order, remembered, is_dense=is_dense, colouring=colouring)
    if is_large:
        large = LargeSearch(
            super_points,
            space,
            order,
            settings,
            partial(_search_sample, settings=settings),
            is_dense=is_dense,
            seed=seed,
            n_threads=n_threads,
        )
        return _search_large(large, search, starts, centres, seed, deadline, on_improvement, is_dense=is_dense)
    starts += [_assigned(super_points, search, seed, given) for given in centres]
    best: IntArray | None = None
    best_cost = np.inf
    n_visits = 0
    for island in range(settings.islands if is_dense else 1):
        search.begin([*np.atleast_1d(seed), island] if island else seed)
        budget, island_cost = settings.n_searches, np.inf
        while search.born < budget and n_visits + search.visits < settings.max_visits and not deadline.passed():
            if starts:
                search.advance_from(starts.pop(0), deadline)
            else:
                search.advance(budget, deadline)
            cost = search.best_cost
            if is_dense and is_better(cost, island_cost, settings.same_cost):
                island_cost = cost
                most = settings.most_dense_searches * settings.n_searches
                budget = max(budget, min(settings.patience * search.born, most))
            if search.has_found and (best is None or is_better(cost, best_cost, settings.same_cost)):
                best, best_cost = search.best_labels, cost
                if on_improvement is not None:
                    on_improvement(best)
        n_visits += search.visits
    return search.assign_cheaply() if best is None else best


def _search_large(
    large: LargeSearch,
    search: MemeticSearch,
    starts: list[IntArray],
    centres: Sequence[FloatArray],
    seed: int | Sequence[int],
    deadline: Deadline,
    on_improvement: Callable[[IntArray], None] | None,
    *,
    is_dense: bool,
) -> IntArray | None:
    """Search very many super-points: tell of a first clustering soon, then let the best start descend."""
    search.begin(seed)
    first: IntArray | None = None
    if not starts:
        first = large.quick_start(deadline)
        if first is not None and not is_dense and on_improvement is not None:
            on_improvement(first)
        if not deadline.passed():
            best = large.best_start(centres, deadline)
            starts = [labels for labels in (best if best is not None else first,) if labels is not None]
    for start in starts:
        search.advance_from(start, deadline, search.settings.least_gain_of_pass)
        if search.has_found and on_improvement is not None:
            on_improvement(search.best_labels)
    if search.has_found:
        return search.best_labels
    return search.assign_cheaply() if first is None or is_dense else first


def _search_sample(
    sample: SuperPoints, seed: Sequence[int], deadline: Deadline, settings: SearchSettings
) -> IntArray | None:
    few = replace(settings, n_searches=settings.linked_searches, largest_without_sample=max(sample.size, 1))
    return search_clustering(sample, seed=seed, deadline=deadline, settings=few)


def _assigned(
    super_points: SuperPoints, search: MemeticSearch, seed: int | Sequence[int], centres: FloatArray
) -> IntArray:
    """Assign super-points to given centres; where links do not allow that, they are left broken."""
    costs = costs_at_centres(super_points, np.asarray(centres, dtype=np.float64))
    search.begin(seed)
    labels = search.assign_to(costs)
    nearest: IntArray = costs.argmin(axis=1)
    return nearest if labels is None else labels


def _checked_start(start: IntArray, size: int, k: int) -> IntArray:
    labels = np.asarray(start, dtype=np.int64)
    if labels.shape != (size,) or labels.min() < 0 or labels.max() >= k:
        raise InputError(f"start must hold a cluster in 0..{k - 1} for each of the {size} super-points")
    return labels
