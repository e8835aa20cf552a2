from __future__ import annotations

import numpy as np
import pytest

from certimeans.deadline import Deadline
from certimeans.heuristics.mending import mend
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.starts import fill_empty_clusters
from certimeans.heuristics.state import (
    Clusters,
    Space,
    count_violations,
    make_clusters,
    make_space,
    scatter,
    set_labels,
)
from certimeans.randomness import random_state
from tests.heuristics.test_chains import cost_from_scratch, random_super_points


def unit_of(space: Space, clusters: Clusters) -> float:
    """Mean cost of a super-point."""
    return scatter(space, clusters) / len(space.weights)


@pytest.mark.parametrize("by_gram", [True, False])
def test_a_mended_clustering_keeps_the_cannot_links_and_is_cheap(by_gram: bool) -> None:
    """From arbitrary labels to one that keeps the cannot-links and costs less than an arbitrary colouring."""
    cheaper = 0
    for seed in range(20):
        super_points, colouring = random_super_points(seed, n_edges=60)
        space = make_space(super_points, by_gram=by_gram)
        clusters, random = make_clusters(space), random_state(seed)
        fill_empty_clusters(colouring, np.zeros(space.n_clusters, dtype=np.int64), random)
        set_labels(space, clusters, np.arange(super_points.size) % space.n_clusters)
        unit = unit_of(space, clusters)
        assert mend(space, clusters, unit, SearchSettings(), random, Deadline())
        assert count_violations(clusters) == 0
        assert scatter(space, clusters) == pytest.approx(cost_from_scratch(super_points, clusters.labels))
        assert (np.bincount(clusters.labels, minlength=space.n_clusters) > 0).all()
        cheaper += scatter(space, clusters) < cost_from_scratch(super_points, colouring)
    assert cheaper >= 19


def test_mending_what_cannot_be_mended_says_so() -> None:
    """Two clusters cannot keep the three cannot-links of a triangle apart."""
    super_points, _ = random_super_points(0, k=3, n_edges=60)
    space = make_space(super_points)._replace(n_clusters=2)
    clusters = make_clusters(space)
    set_labels(space, clusters, np.arange(super_points.size) % 2)
    assert not mend(space, clusters, 0.1, SearchSettings(), random_state(0), Deadline())
    assert count_violations(clusters) > 0
