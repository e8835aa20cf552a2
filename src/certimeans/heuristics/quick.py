"""A clustering at once, for those who had no time to search for a good one."""

from __future__ import annotations

import numpy as np

from certimeans._typing import IntArray
from certimeans.heuristics.lloyd import costs_at_centres
from certimeans.heuristics.memetic import MemeticSearch
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.starts import smallest_last_order
from certimeans.heuristics.state import make_space
from certimeans.presolve.contract import SuperPoints


def quick_clustering(super_points: SuperPoints, colouring: IntArray | None, seed: int = 0) -> IntArray | None:
    """Give every super-point the nearest of k random ones that its cannot-links leave, or the colouring's cluster.

    Returns
    -------
    IntArray or None
        Labels of the super-points; ``None`` if cannot-links are in the way and no colouring is known.
    """
    if super_points.size < super_points.n_clusters:
        return None
    if super_points.limits is not None:
        return colouring  # it keeps the limits on sizes, if it is known
    settings = SearchSettings(population=2)  # little memory: there is no search
    order, _ = smallest_last_order(super_points.graph)
    search = MemeticSearch(make_space(super_points, settings), order, settings, is_dense=False, colouring=colouring)
    search.begin(seed)
    if super_points.vectors is None:
        return search.assign_cheaply()
    chosen = np.random.default_rng(seed).choice(super_points.size, super_points.n_clusters, replace=False)
    return search.assign_to(costs_at_centres(super_points, super_points.means[chosen]))
