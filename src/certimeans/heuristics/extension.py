"""Centres that were found in parts of a problem are starts for the whole, if they are better than what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.lloyd import centroids
from certimeans.heuristics.refinement import Refiner
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.upper_bound import search_clustering
from certimeans.presolve.contract import SuperPoints

_BETTER = 1e-5  # relatively, on a sample: less is not worth a descent of all super-points


def search_from_centres(
    super_points: SuperPoints,
    labels: IntArray,
    candidates: Sequence[FloatArray],
    settings: SearchSettings,
    *,
    seed: int | Sequence[int] = 0,
    deadline: Deadline | None = None,
    n_threads: int = 1,
) -> IntArray | None:
    """Descend from the best of some centres; ``None`` if none is better than those of a clustering.

    Centres are compared on one sample of the super-points, without links, after a few passes of Lloyd's algorithm.

    Parameters
    ----------
    labels
        The clustering that is known.
    candidates
        Sets of centres, in working units.
    """
    deadline = deadline or Deadline()
    size = min(super_points.size, settings.judging_sample)
    chosen = np.random.default_rng([*np.atleast_1d(seed), 3]).choice(super_points.size, size, replace=False)
    chosen.sort()
    judge = Refiner(super_points.means[chosen], super_points.weights[chosen], n_threads)
    known = judge.refine(centroids(super_points, labels), deadline, settings.least_gain_of_pass)
    if known is None:
        return None
    least, best = known.cost * (1 - _BETTER), None
    for centres in candidates:
        refined = judge.refine(centres, deadline, settings.least_gain_of_pass)
        if refined is not None and refined.cost < least:
            least, best = refined.cost, refined.centres
    if best is None:
        return None
    few = replace(settings, samples=0, linked_samples=0, n_searches=1)
    return search_clustering(
        super_points, centres=[best], seed=seed, deadline=deadline, settings=few, n_threads=n_threads
    )
