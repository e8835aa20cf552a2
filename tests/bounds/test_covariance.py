"""The covariance bound: cheap, and never above the optimum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certimeans.bounds.covariance import CovarianceBounder, covariance_bound
from certimeans.bounds.protocol import Question
from certimeans.presolve.contract import contract
from certimeans.problem.instance import Instance
from tests.oracles.brute_force import exact_cost, feasible_partitions
from tests.oracles.instances import random_instance


def bound_of(instance: Instance) -> float:
    points = contract(instance, np.arange(instance.n_points))
    return CovarianceBounder().bound(Question(points, lambda: np.inf)).bound.value


@pytest.mark.parametrize("seed", range(100))
def test_no_partition_costs_less(seed: int) -> None:
    """Against every partition of a few points, in rational arithmetic, with and without weights."""
    small = random_instance(seed, 8, weighted=seed % 2 == 0)
    instance = small.build()
    costs = (
        exact_cost(small.points, labels, small.weights)
        for labels in feasible_partitions(len(small.points), small.k, [], [])
    )
    assert Fraction(bound_of(instance)) <= min(costs)


def test_it_is_tight_where_clusters_lie_on_a_line() -> None:
    """Two clusters of equal points on a line: all scatter is between them, and the bound is the optimum."""
    instance = Instance.create([[0.0], [0.0], [4.0], [4.0]], 2)
    assert bound_of(instance) == 0.0
    # With a third feature that only varies inside clusters, what it costs is what is left.
    spread = Instance.create([[0.0, 1.0], [0.0, -1.0], [40.0, 1.0], [40.0, -1.0]], 2)
    assert bound_of(spread) == pytest.approx(4.0, rel=1e-9)


def test_both_sides_give_the_same() -> None:
    """The matrix of the features and that of the points have the same eigenvalues."""
    random = np.random.default_rng(0)
    tall, wide = random.normal(size=(30, 3)), random.normal(size=(8, 20))
    for points in (tall, wide):
        expected = bound_of(Instance.create(points, 3))
        assert expected > 0
        assert bound_of(Instance.create(gram=points @ points.T, n_clusters=3)) == pytest.approx(expected, rel=1e-9)


def test_a_million_points_take_a_moment() -> None:
    """The bound is there in the first second."""
    import time  # noqa: PLC0415

    instance = Instance.create(np.random.default_rng(0).normal(size=(1_000_000, 5)), 4)
    points = contract(instance, np.arange(instance.n_points))
    began = time.perf_counter()
    assert covariance_bound(points) > 0
    assert time.perf_counter() - began < 2.0
