"""Heuristics within limits on sizes: they keep the limits, and find what is best where that is known."""

from itertools import product

import numpy as np
import pytest

from certimeans.errors import InfeasibleError
from certimeans.heuristics.chains import make_chains
from certimeans.heuristics.limited.descent import BEGIN, begin, descend_within
from certimeans.heuristics.limited.exchanges import make_exchanges, swap_gain
from certimeans.heuristics.limited.loads import make_loads
from certimeans.heuristics.limited.rounding import round_sizes
from certimeans.heuristics.limited.transport import assign_within, make_network
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.state import make_clusters, make_space, scatter, set_labels
from certimeans.heuristics.upper_bound import search_clustering
from certimeans.presolve.contract import SuperPoints, contract
from certimeans.presolve.graph import Contradiction
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from tests.oracles.sizes import limited_instance


def super_points(n: int, k: int, **sizes: object) -> SuperPoints:
    points = np.random.default_rng(n).normal(size=(n, 2))
    return contract(Instance.create(points, k, **sizes), np.arange(n))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(10))
def test_equal_amounts_are_assigned_at_least_cost(seed: int) -> None:
    """No other assignment within the limits costs less at the same centres."""
    points = super_points(7, 3, size_min=2, size_max=3)
    costs = np.random.default_rng(seed).random((3, 7))
    loads, labels = make_loads(points), np.zeros(7, dtype=np.int64)
    assert assign_within(costs, labels, loads, make_network(3), False) == 0
    best = min(
        sum(costs[c, i] for i, c in enumerate(other))
        for other in product(range(3), repeat=7)
        if all(2 <= other.count(c) <= 3 for c in range(3))
    )
    assert costs[labels, np.arange(7)].sum() == pytest.approx(best)


@pytest.mark.parametrize("by_gram", [False, True])
def test_the_gain_of_a_swap_is_exact(by_gram: bool) -> None:
    """It is the difference of the costs before and after."""
    random = np.random.default_rng(0)
    instance = Instance.create(random.normal(size=(9, 3)), 2, weights=random.random(9) + 0.5)
    space = make_space(contract(instance, np.arange(9)), by_gram=by_gram)
    clusters, labels = make_clusters(space), np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    set_labels(space, clusters, labels)
    before, gain = scatter(space, clusters), swap_gain(space, clusters, 2, 6, 0, 1)
    labels[[2, 6]] = [1, 0]
    set_labels(space, clusters, labels)
    assert before - scatter(space, clusters) == pytest.approx(gain, abs=1e-12)


@pytest.mark.parametrize("seeds", range(0, 120, 40))
def test_what_is_found_keeps_every_constraint(seeds: int) -> None:
    """And something is found wherever there is anything; mostly the best."""
    found = best = 0
    for seed in range(seeds, seeds + 40):
        stated = limited_instance(seed)
        try:
            presolved = presolve(stated.build())
        except (InfeasibleError, Contradiction):
            continue
        labels = search_clustering(presolved.super_points, colouring=presolved.colouring, seed=seed)
        assert labels is not None, seed
        clustering = Clustering.from_labels(presolved.instance, presolved.super_points.expand_labels(labels))
        assert clustering.satisfies(presolved.instance), seed
        optimum = stated.optimum()
        assert optimum is not None
        found += 1
        best += clustering.cost <= float(optimum) * (1 + 1e-9) + 1e-12
    assert best >= 0.9 * found > 0


def test_balanced_clusters_of_many_points_come_at_once() -> None:
    """Three separated groups of 100: each is a cluster, and exact sizes find the right group."""
    random = np.random.default_rng(1)
    hidden = np.repeat([0, 1, 2], [80, 100, 120])
    points = random.normal(size=(300, 2)) + 20.0 * np.eye(3)[hidden][:, :2]
    instance = Instance.create(points, 3, sizes=[100, 80, 120], cannot_link=[(0, 290), (1, 100)])
    presolved = presolve(instance)
    labels = search_clustering(presolved.super_points, colouring=presolved.colouring)
    assert labels is not None
    assert len(set(zip(labels.tolist(), hidden.tolist(), strict=True))) == 3


def test_what_keeps_a_point_out_is_evicted() -> None:
    """Three clusters of three: 2 and 5 are in each other's place, but a cannot-link with 4, which could change with 8.

    Neither exchange gains alone: the first breaks the cannot-link, the second one costs something.
    """
    points = np.array([[0, 0], [0.1, 0], [4, 0], [4, 0], [4.1, 0.2], [0, 0.1], [4.2, 3], [4, 3], [4.1, 2.2]])
    problem = presolve(Instance.create(points, 3, sizes=[3, 3, 3], cannot_link=[(2, 4)])).super_points
    space = make_space(problem, SearchSettings())
    clusters, loads, exchanges, chains = (
        make_clusters(space),
        make_loads(problem),
        make_exchanges(3),
        make_chains(space),
    )
    set_labels(space, clusters, np.repeat([0, 1, 2], 3))
    begin(space, clusters, loads, exchanges)
    at = BEGIN
    while not at.is_done:
        at = descend_within(space, clusters, loads, exchanges, chains, at, 10**6)
    assert clusters.labels.tolist() == [0, 0, 1, 1, 2, 0, 2, 2, 1]


def test_sizes_of_a_relaxation_become_a_clustering() -> None:
    """Each has the size that it has most of, while there is room; those of one size that share most are together."""
    limits = presolve(Instance.create(np.arange(7.0)[:, None], 3, sizes=[2, 2, 3])).super_points.limits
    assert limits is not None
    shares = np.array([[1.0, 0.9, 0.1, 0.8, 0.7, 0.6, 0.0], [0.0, 0.1, 0.9, 0.2, 0.3, 0.4, 1.0]])
    together = np.zeros((2, 7, 7))
    together[0, 0, 3] = together[0, 3, 0] = 0.8
    assert round_sizes(limits, shares, together).tolist() == [0, 1, 2, 0, 1, 2, 2]
