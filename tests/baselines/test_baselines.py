from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from certimeans.baselines import blpkm, cop_kmeans, post_processing
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from tests.oracles.brute_force import optimum
from tests.oracles.instances import random_instance

BASELINES = [blpkm, cop_kmeans, post_processing]
Baseline = Callable[[Instance, int], Clustering | None]


@pytest.mark.parametrize("baseline", BASELINES)
def test_results_are_feasible_and_never_below_the_optimum(baseline: Baseline) -> None:
    """Only COP-k-means may fail where a clustering exists; all fail where none does."""
    n_found = 0
    for seed in range(60):
        small = random_instance(seed, max_points=7)
        if len({tuple(point) for point in small.points}) < small.k:
            continue  # k-means++ cannot draw k different centres
        best = optimum(small.points, small.k, small.must_link, small.cannot_link)
        instance = small.build()
        found = baseline(instance, seed)
        if found is None:
            assert best.cost is None or baseline is cop_kmeans
        else:
            assert found.satisfies(instance)
            assert best.cost is not None
            assert found.cost >= best.cost * (1 - 1e-9) - 1e-12
            n_found += 1
    assert n_found > 15


@pytest.mark.parametrize("baseline", BASELINES)
def test_without_constraints_all_find_separate_blobs(baseline: Baseline) -> None:
    """Two groups far apart; equal seeds give equal labels."""
    random = np.random.default_rng(0)
    points = np.vstack([random.normal(0, 1, size=(10, 2)), random.normal(50, 1, size=(10, 2))])
    instance = Instance.create(points, 2)
    first, again = baseline(instance, 1), baseline(instance, 1)
    assert first is not None
    assert again is not None
    assert first.labels.tolist() == [0] * 10 + [1] * 10
    assert first.labels.tolist() == again.labels.tolist()


def test_cop_kmeans_fails_where_its_order_leads_into_a_dead_end() -> None:
    """Point 2 cannot join the clusters of 0 and 1, which were free to share one but are far apart."""
    instance = Instance.create([[0.0], [10.0], [5.0]], 2, cannot_link=[(0, 2), (1, 2)])
    assert all(cop_kmeans(instance, seed) is None for seed in range(5))
    assert blpkm(instance, 0) is not None


def test_post_processing_stays_close_to_k_means() -> None:
    """One cannot-link inside a blob moves the point that is nearest to the other blob, and nothing else."""
    points = [[0.0], [1.0], [3.0], [20.0], [21.0], [22.0]]
    found = post_processing(Instance.create(points, 2, cannot_link=[(0, 2)]), 0)
    assert found is not None
    assert found.labels.tolist() == [0, 0, 1, 1, 1, 1]
