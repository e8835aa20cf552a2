"""Centres of parts as starts for the whole."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.parts.problem import cost_of
from certimeans.heuristics.extension import search_from_centres
from certimeans.heuristics.lloyd import centroids
from certimeans.heuristics.settings import SearchSettings
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance

SMALL, LARGE = SearchSettings(), SearchSettings(largest_without_sample=500, sample_size=500)


def problem() -> tuple[SuperPoints, IntArray, IntArray]:
    """Draw three clusters in a row; return a good clustering, and one that divides a cluster and unites two."""
    random = np.random.default_rng(0)
    good = np.arange(900) % 3
    points: FloatArray = np.array([[0.0, 0.0], [10.0, 0.0], [14.0, 0.0]])[good] + random.normal(size=(900, 2))
    bad = np.where(good == 0, np.where(points[:, 1] > 0, 0, 1), 2)
    return presolve(Instance(points, 3)).super_points, good, bad


def test_better_centres_lead_to_a_better_clustering() -> None:
    """With and without samples."""
    points, good, bad = problem()
    for settings in (SMALL, LARGE):
        found = search_from_centres(points, bad, [centroids(points, bad), centroids(points, good)], settings)
        assert found is not None
        assert cost_of(points, found) <= cost_of(points, good)


def test_centres_that_are_no_better_take_no_time() -> None:
    """Neither worse ones nor the same."""
    points, good, bad = problem()
    assert search_from_centres(points, good, [centroids(points, bad), centroids(points, good)], SMALL) is None
