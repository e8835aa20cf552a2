"""The upper bound: search for a good clustering of super-points that keeps every cannot-link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.errors import InputError
from certimeans.heuristics.descent import is_better
from certimeans.heuristics.limited.search import search_within_limits
from certimeans.heuristics.lloyd import centroids, costs_at_centres
from certimeans.heuristics.memetic import MemeticSearch
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.starts import smallest_last_order
from certimeans.heuristics.state import make_space
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.graph import Graph

__all__ = ["SearchSettings", "search_clustering"]

_SHARE_FOR_SAMPLE = 0.25  # of the time that is left


def search_clustering(
    super_points: SuperPoints,
    *,
    colouring: IntArray | None = None,
    start: IntArray | None = None,
    seed: int | Sequence[int] = 0,
    deadline: Deadline | None = None,
    settings: SearchSettings | None = None,
    on_improvement: Callable[[IntArray], None] | None = None,
) -> IntArray | None:
    """Search for a clustering of low cost: a memetic search with ejection trees and Kempe chains.

    Parameters
    ----------
    colouring
        Colours that keep the cannot-links, at most k of them, if known: the last resort among the starts. Where sizes
        are limited, they keep the limits, too.
    start
        A clustering of the super-points to begin with; if it breaks cannot-links it is mended where possible.
    seed
        Equal seeds give equal results, unless the deadline cuts the search short.
    deadline
        When to end, whatever was found by then; if nothing was, with a clustering that is only feasible.
    on_improvement
        Called with the labels of each new best clustering.

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
    if start is not None:
        start = _checked_start(start, size, k)
    if super_points.limits is not None:
        return search_within_limits(
            super_points,
            settings,
            colouring=colouring,
            start=start,
            seed=seed,
            deadline=deadline,
            on_improvement=on_improvement,
        )
    order, degeneracy = smallest_last_order(graph)
    # Else assignment in this order keeps the cannot-links and Kempe chains stay short; nothing else is needed.
    is_dense = degeneracy >= k or len(graph.edges) > settings.links_of_dense_graph * size
    search = MemeticSearch(make_space(super_points, settings), order, settings, is_dense=is_dense, colouring=colouring)
    if start is None and size > settings.largest_without_sample and super_points.vectors is not None:
        start = _start_from_sample(super_points, search, seed, deadline, settings)
        if start is not None and not is_dense and on_improvement is not None:
            on_improvement(start)
    best: IntArray | None = None
    best_cost = np.inf
    n_visits = 0
    for island in range(settings.islands if is_dense else 1):
        search.begin([*np.atleast_1d(seed), island] if island else seed)
        budget, island_cost = settings.n_searches, np.inf
        while search.born < budget and n_visits + search.visits < settings.max_visits and not deadline.passed():
            if start is None:
                search.advance(budget, deadline)
            else:
                search.advance_from(start, deadline)
                start = None
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


def _start_from_sample(
    super_points: SuperPoints,
    search: MemeticSearch,
    seed: int | Sequence[int],
    deadline: Deadline,
    settings: SearchSettings,
) -> IntArray | None:
    """Cluster a sample without its links, and give every super-point the nearest of its centres that is free.

    One descent of a million super-points takes many seconds; from here it has almost nothing left to do.
    """
    random = np.random.default_rng(seed)
    chosen = np.sort(random.choice(super_points.size, settings.sample_size, replace=False))
    assert super_points.vectors is not None  # noqa: S101  # the caller looks
    sample = SuperPoints(
        super_points.weights[chosen],
        super_points.vectors[chosen],
        Graph(settings.sample_size, np.empty((0, 2), dtype=np.int64)),
        super_points.n_clusters,
        np.arange(settings.sample_size),
    )
    few = replace(settings, n_searches=settings.sample_searches)
    labels = search_clustering(
        sample, seed=seed, deadline=deadline.within(_SHARE_FOR_SAMPLE * deadline.remaining()), settings=few
    )
    if labels is None:
        return None
    search.begin(seed)
    return search.assign_to(costs_at_centres(super_points, centroids(sample, labels)))


def _checked_start(start: IntArray, size: int, k: int) -> IntArray:
    labels = np.asarray(start, dtype=np.int64)
    if labels.shape != (size,) or labels.min() < 0 or labels.max() >= k:
        raise InputError(f"start must hold a cluster in 0..{k - 1} for each of the {size} super-points")
    return labels
