from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from certimeans.deadline import Deadline
from certimeans.errors import InfeasibleError, InputError
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.colouring import find_colouring
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.graph import Graph, unique_edges
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from tests.oracles.brute_force import optimum
from tests.oracles.instances import random_instance

FEW = SearchSettings(n_searches=30)


def large_problem(size: int, k: int, n_edges: int, dimension: int = 2) -> SuperPoints:
    """Blobs with cannot-links between points of different blobs."""
    random = np.random.default_rng(3)
    blob = random.integers(0, k, size=size)
    vectors = random.normal(size=(k, dimension))[blob] * 4 + random.normal(size=(size, dimension))
    pairs = random.integers(0, size, size=(n_edges, 2))
    edges = unique_edges(pairs[blob[pairs[:, 0]] != blob[pairs[:, 1]]])
    vectors -= vectors.mean(axis=0)
    vectors /= np.sqrt((vectors**2).sum())
    return SuperPoints(np.ones(size), vectors, Graph(size, edges), k, np.arange(size))


def is_clustering(super_points: SuperPoints, labels: np.ndarray) -> bool:
    """Whether labels break no cannot-link and leave no cluster empty."""
    edges = super_points.graph.edges
    is_proper = (labels[edges[:, 0]] != labels[edges[:, 1]]).all()
    return bool(is_proper) and np.unique(labels).tolist() == list(range(super_points.n_clusters))


def test_the_optimum_is_found_on_small_instances() -> None:
    """300 instances, some weighted, with and without a known colouring: feasible always, optimal in 99 %."""
    n_solved = n_missed = 0
    for seed in range(300):
        small = random_instance(seed, max_points=8, weighted=seed % 3 == 0)
        best = optimum(small.points, small.k, small.must_link, small.cannot_link, small.weights)
        instance = small.build()
        try:
            presolved = presolve(instance)
        except InfeasibleError:
            assert best.cost is None
            continue
        groups = presolved.super_points
        colouring = presolved.colouring if seed % 2 else None
        labels = search_clustering(groups, colouring=colouring, seed=seed, settings=FEW)
        assert labels is not None
        found = Clustering.from_labels(instance, groups.expand_labels(labels))
        assert found.satisfies(instance)
        assert best.cost is not None
        n_solved += 1
        n_missed += found.cost > best.cost * (1 + 1e-9) + 1e-12
    assert n_solved > 150
    assert n_missed <= 0.01 * n_solved


def test_equal_seeds_give_equal_labels() -> None:
    """On a dense graph, where every part of the search takes part; NumPy's global generator is left alone."""
    groups = large_problem(60, 4, 150)
    before = str(np.random.get_state())  # noqa: NPY002  # the very thing that must not change
    first, again, other = (search_clustering(groups, seed=seed, settings=FEW) for seed in (5, 5, 6))
    assert first is not None
    assert again is not None
    assert other is not None
    assert (first == again).all()
    assert is_clustering(groups, first)
    assert is_clustering(groups, other)
    assert str(np.random.get_state()) == before  # noqa: NPY002


def test_threads_do_not_disturb_each_other() -> None:
    """Two searches at a time return what each returns alone."""
    groups = large_problem(80, 3, 60)
    alone = search_clustering(groups, seed=1, settings=FEW)
    found: list[np.ndarray | None] = [None, None]

    def run(slot: int) -> None:
        found[slot] = search_clustering(groups, seed=1, settings=FEW)

    threads = [threading.Thread(target=run, args=(slot,)) for slot in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for labels in found:
        np.testing.assert_array_equal(labels, alone)


def test_a_deadline_is_kept_and_what_was_found_is_feasible() -> None:
    """Twenty thousand points, far more searches than fit: ends in time with a clustering."""
    groups = large_problem(20_000, 10, 4_000)
    search_clustering(groups, settings=SearchSettings(n_searches=1), deadline=Deadline(0.0))  # compiles
    begin = time.monotonic()
    labels = search_clustering(groups, deadline=Deadline(0.5), settings=SearchSettings(n_searches=10_000))
    assert time.monotonic() - begin < 1.5
    assert labels is not None
    assert is_clustering(groups, labels)


def test_a_passed_deadline_returns_a_feasible_clustering() -> None:
    """Nothing could be searched; on a sparse graph one is assigned in order, on a dense one the colouring helps."""
    groups = large_problem(30, 3, 20)
    labels = search_clustering(groups, deadline=Deadline(0.0))
    assert labels is not None
    assert is_clustering(groups, labels)
    dense = large_problem(60, 3, 400)
    labels = search_clustering(dense, colouring=find_colouring(dense.graph, 3), deadline=Deadline(0.0))
    assert labels is not None
    assert is_clustering(dense, labels)


def test_an_infeasible_problem_ends_without_a_result() -> None:
    """A clique of four super-points has no clustering with three clusters; the search gives up."""
    edges = np.array([[i, j] for i in range(4) for j in range(i + 1, 4)])
    groups = SuperPoints(np.ones(6), np.eye(6), Graph(6, edges), 3, np.arange(6))
    assert search_clustering(groups, settings=FEW) is None


@pytest.mark.parametrize(("size", "k"), [(1, 1), (5, 1), (5, 5), (4, 3)])
def test_extreme_numbers_of_clusters(size: int, k: int) -> None:
    """One cluster, as many clusters as points, and all points equal."""
    for vectors in (np.zeros((size, 2)), np.arange(2.0 * size).reshape(size, 2)):
        groups = SuperPoints(np.ones(size), vectors, Graph(size, np.empty((0, 2), dtype=np.int64)), k, np.arange(size))
        labels = search_clustering(groups, settings=FEW)
        assert labels is not None
        assert is_clustering(groups, labels)


def test_one_cluster_with_a_cannot_link_has_no_clustering() -> None:
    """And fewer super-points than clusters have none either."""
    pair = SuperPoints(np.ones(2), np.eye(2), Graph(2, np.array([[0, 1]])), 1, np.arange(2))
    assert search_clustering(pair, settings=FEW) is None
    single = SuperPoints(np.ones(1), np.eye(1), Graph(1, np.empty((0, 2), dtype=np.int64)), 2, np.arange(1))
    assert search_clustering(single, settings=FEW) is None


def test_a_start_is_never_made_worse() -> None:
    """With a single search, the start's own descent is the result; a start that breaks links is mended."""
    groups = large_problem(60, 3, 80)
    best = search_clustering(groups)
    assert best is not None
    again = search_clustering(groups, start=best, settings=SearchSettings(n_searches=1))
    np.testing.assert_array_equal(again, best)
    mended = search_clustering(groups, start=np.zeros(60, dtype=np.int64), settings=SearchSettings(n_searches=1))
    assert mended is not None
    assert is_clustering(groups, mended)


def test_a_start_of_the_wrong_shape_is_refused() -> None:
    """The message says what a start must be."""
    with pytest.raises(InputError, match=r"cluster in 0\.\.2 for each of the 60"):
        search_clustering(large_problem(60, 3, 0), start=np.zeros(59, dtype=np.int64))


def test_improvements_are_reported_in_order() -> None:
    """Each reported clustering is feasible, and the last one is the result."""
    groups = large_problem(100, 5, 100)
    reported: list[np.ndarray] = []
    labels = search_clustering(groups, settings=FEW, on_improvement=reported.append)
    assert all(is_clustering(groups, better) for better in reported)
    np.testing.assert_array_equal(reported[-1], labels)


def test_settings_name_the_bad_field() -> None:
    """A search of no searches is a mistake."""
    with pytest.raises(InputError, match="n_searches must be at least 1"):
        SearchSettings(n_searches=0)


def test_a_far_outlier_does_not_hide_the_rest() -> None:
    """A million times as far as the others are apart: the other clusters are still the best ones."""
    points = [[0.0, 0.0], [0.0, 0.1], [1.0, 0.0], [1.0, 0.1], [1e6, 0.0]]
    instance = Instance.create(points, 3)
    groups = presolve(instance).super_points
    labels = search_clustering(groups)
    assert labels is not None
    assert Clustering.from_labels(instance, groups.expand_labels(labels)).cost == pytest.approx(0.01)


@pytest.mark.parametrize("dimension", [2, 12])
@pytest.mark.parametrize("links", [0, 15])
@pytest.mark.parametrize("kind", ["tiny weights", "one heavy point", "equal points"])
def test_odd_input_ends_with_a_clustering(kind: str, links: int, dimension: int) -> None:
    """Weights from 1e-300 to 1, one point heavier than all others together, and points that are all equal."""
    groups = large_problem(30, 3, links, dimension)
    weights, means = np.ones(30), groups.means
    if kind == "tiny weights":
        weights = np.logspace(-300, 0, 30)
    elif kind == "one heavy point":
        weights[7] = 1e18
    else:
        means = np.ones_like(means)
    odd = SuperPoints(weights, weights[:, None] * means, groups.graph, 3, np.arange(30))
    labels = search_clustering(odd, settings=FEW)
    assert labels is not None
    assert is_clustering(odd, labels)
