from __future__ import annotations

import time

import numpy as np
import pytest

from certimeans.baselines import rbba
from certimeans.baselines.rbba import separating_order
from certimeans.errors import InfeasibleError
from certimeans.problem.instance import Instance
from certimeans.solver import solve
from tests.oracles.brute_force import optimum
from tests.oracles.instances import random_instance


@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_that_of_all_partitions(*, weighted: bool) -> None:
    """Points of every sort, with constraints of both kinds; infeasible ones are told as such."""
    n_feasible = 0
    for seed in range(150):
        small = random_instance(seed, weighted=weighted)
        best = optimum(small.points, small.k, small.must_link, small.cannot_link, small.weights)
        if best.cost is None:
            with pytest.raises(InfeasibleError):
                rbba(small.build())
            continue
        instance = small.build()
        found = rbba(instance)
        assert found.is_proven
        assert found.clustering is not None
        assert found.clustering.satisfies(instance)
        assert found.clustering.cost == pytest.approx(best.cost, rel=1e-9, abs=1e-9)
        n_feasible += 1
    assert n_feasible > 50


def test_it_agrees_with_the_solver_on_more_points() -> None:
    """Forty points in three overlapping groups, too many to list all partitions."""
    random = np.random.default_rng(3)
    points = np.vstack([random.normal(centre, 1.0, size=(14, 2)) for centre in (0.0, 3.0, 6.0)])
    pairs = random.integers(0, len(points), size=(12, 2))
    links = [(int(i), int(j)) for i, j in pairs if i != j]
    found = rbba(Instance.create(points, 3, must_link=links[:4], cannot_link=links[4:]))
    ours = solve(points, 3, must_link=links[:4], cannot_link=links[4:], gap=1e-7)
    assert found.clustering is not None
    assert found.clustering.cost == pytest.approx(ours.objective, rel=1e-6)
    assert (found.solved_size, found.nodes > found.size) == (found.size, True)


def test_a_time_limit_ends_it_without_a_clustering() -> None:
    """Points without structure and many clusters: the method gives up soon after its limit, and claims nothing."""
    points = np.random.default_rng(0).normal(size=(150, 5))
    rbba(Instance.create(points[:8], 2))  # compiles
    began = time.perf_counter()
    found = rbba(Instance.create(points, 8), time_limit=0.5)
    assert time.perf_counter() - began < 5
    assert (found.clustering, found.is_proven) == (None, False)
    assert 0 < found.solved_size < found.size


def test_neighbours_are_half_the_order_apart() -> None:
    """Of pairs on a line, each half of the order has one point; an odd one lies between the halves."""
    order = separating_order(np.array([[0.0], [10.0], [0.1], [10.2], [50.0]])).tolist()
    assert sorted(order) == [0, 1, 2, 3, 4]
    assert order[2] == 4
    assert {frozenset((order[0], order[3])), frozenset((order[1], order[4]))} == {frozenset((0, 2)), frozenset((1, 3))}
