import threading
import time

import numpy as np
import pytest

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.lloyd import centroids, costs_at_centroids
from certimeans.heuristics.sampling import draw_sample
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.upper_bound import search_clustering
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.graph import Graph, unique_edges

SMALL_SAMPLES = SearchSettings(
    largest_without_sample=500,
    sample_size=400,
    samples=2,
    sample_searches=10,
    linked_samples=1,
    linked_searches=3,
    judging_sample=1000,
)


def blobs(size: int, k: int, n_edges: int = 0, dimension: int = 2) -> SuperPoints:
    """Overlapping blobs with cannot-links between points of different ones."""
    random = np.random.default_rng(5)
    blob = random.integers(0, k, size=size)
    vectors = 3 * random.normal(size=(k, dimension))[blob] + random.normal(size=(size, dimension))
    pairs = random.integers(0, size, size=(n_edges, 2))
    edges = unique_edges(pairs[blob[pairs[:, 0]] != blob[pairs[:, 1]]])
    vectors -= vectors.mean(axis=0)
    vectors /= np.sqrt((vectors**2).sum())
    return SuperPoints(np.ones(size), vectors, Graph(size, edges), k, np.arange(size))


def cost(points: SuperPoints, labels: IntArray | None) -> float:
    """Return the cost of labels, which have to keep every cannot-link."""
    assert labels is not None
    edges = points.graph.edges
    assert (labels[edges[:, 0]] != labels[edges[:, 1]]).all()
    assert len(np.unique(labels)) == points.n_clusters
    return float(costs_at_centroids(points, labels)[np.arange(points.size), labels].sum())


@pytest.mark.parametrize("n_edges", [0, 1500, 9000])
def test_samples_lead_to_as_good_a_clustering(n_edges: int) -> None:
    """Without links, with few, and on a dense graph: within a thousandth of the search of all points."""
    points = blobs(3000, 6, n_edges)
    by_samples = cost(points, search_clustering(points, settings=SMALL_SAMPLES))
    best = cost(points, search_clustering(points, settings=SearchSettings(n_searches=40, islands=1)))
    assert by_samples <= 1.001 * best


def test_the_number_of_threads_changes_nothing() -> None:
    """Seeds belong to samples, not to threads."""
    points = blobs(2000, 4, 800)
    found = [search_clustering(points, seed=3, settings=SMALL_SAMPLES, n_threads=n) for n in (1, 3)]
    np.testing.assert_array_equal(found[0], found[1])


def test_given_centres_are_a_start() -> None:
    """With samples too poor to find anything, the centres of a good clustering lead back to it, at any size."""
    points = blobs(2000, 8)
    best = search_clustering(points, settings=SearchSettings(n_searches=60))
    assert best is not None
    poor = SearchSettings(
        n_searches=1, largest_without_sample=500, sample_size=8, samples=0, quick_sample_searches=1, linked_samples=0
    )
    for settings in (poor, SearchSettings(n_searches=1)):
        found = search_clustering(points, centres=[centroids(points, best)], settings=settings)
        assert cost(points, found) <= (1 + 1e-6) * cost(points, best)


def test_a_given_start_is_improved() -> None:
    """It replaces the samples."""
    points = blobs(2000, 4)
    start = np.arange(2000) % 4
    found = search_clustering(points, start=start, settings=SMALL_SAMPLES)
    assert cost(points, found) < 0.5 * cost(points, start)


def test_the_first_clustering_is_told_soon_and_limits_are_kept() -> None:
    """A hundred thousand points: the deadline, and a stop from outside, are kept; what is found is feasible."""
    points = blobs(100_000, 10, 30_000, dimension=5)
    told: list[float] = []
    search_clustering(points, deadline=Deadline(0.0))  # compiles
    for stop in (False, True):
        told.clear()
        began = time.monotonic()
        deadline = Deadline(None if stop else 3.0)
        if stop:
            threading.Timer(3.0, deadline.request_stop).start()
        labels = search_clustering(
            points, deadline=deadline, on_improvement=lambda _: told.append(time.monotonic()), n_threads=2
        )
        assert time.monotonic() - began < 4.0
        cost(points, labels)
        assert told


def test_a_sample_with_links_has_whole_components() -> None:
    """Pairs stay pairs, and nothing is drawn twice; without links there are none."""
    pairs = np.arange(1000).reshape(-1, 2)
    points = blobs(1000, 3)
    points = SuperPoints(points.weights, points.vectors, Graph(1000, pairs), 3, points.group_of)
    sample, chosen = draw_sample(points, 300, np.random.default_rng(0), with_links=True)
    assert len(np.unique(chosen)) == sample.size == 300
    assert len(sample.graph.edges) == 150
    assert points.vectors is not None
    np.testing.assert_array_equal(sample.vectors, points.vectors[chosen])
    sample, _ = draw_sample(points, 300, np.random.default_rng(0), with_links=False)
    assert len(sample.graph.edges) == 0


def test_a_sample_of_one_large_component_comes_from_all_of_it() -> None:
    """Balls of at most thirty: the sample of a chain of 10,000 has many pieces, and most of their links."""
    chain = np.column_stack([np.arange(9999), np.arange(1, 10_000)])
    points = blobs(10_000, 3)
    points = SuperPoints(points.weights, points.vectors, Graph(10_000, chain), 3, points.group_of)
    sample, chosen = draw_sample(points, 600, np.random.default_rng(0), with_links=True)
    assert len(sample.graph.edges) > 550
    assert np.ptp(chosen) > 8000
