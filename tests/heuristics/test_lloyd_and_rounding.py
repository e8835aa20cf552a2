from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.lloyd import centroids, constrained_lloyd, costs_at_centres, costs_at_centroids
from certimeans.heuristics.rounding import rank_k_factors, round_relaxation
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import by_first_appearance
from certimeans.problem.instance import Instance


def blobs() -> SuperPoints:
    """Three blobs with must-links inside and cannot-links between them."""
    random = np.random.default_rng(0)
    points = np.vstack([random.normal(centre, 0.6, size=(12, 2)) for centre in ((0, 0), (4, 0), (0, 4))])
    instance = Instance.create(
        points, 3, must_link=[(0, 1), (1, 2), (13, 14)], cannot_link=[(0, 12), (12, 24), (5, 30)]
    )
    return presolve(instance).super_points


def relaxation_of(super_points: SuperPoints, labels: IntArray) -> FloatArray:
    """Build the matrix Y of a clustering."""
    roots = np.sqrt(super_points.weights)
    matrix = np.zeros((super_points.size, super_points.size))
    for c in range(super_points.n_clusters):
        member = np.where(labels == c, roots, 0.0)
        matrix += np.outer(member, member) / (member @ member)
    return matrix


def test_lloyd_ends_at_a_fixed_point() -> None:
    """Another run from its own centres changes nothing, and every cannot-link holds."""
    groups = blobs()
    labels = constrained_lloyd(groups, np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]]))
    assert labels is not None
    edges = groups.graph.edges
    assert (labels[edges[:, 0]] != labels[edges[:, 1]]).all()
    again = constrained_lloyd(groups, centroids(groups, labels))
    np.testing.assert_array_equal(again, labels)


def test_lloyd_keeps_its_deadline_with_a_clustering_in_hand() -> None:
    """One assignment is made by dynamic programming, then it stops."""
    assert constrained_lloyd(blobs(), np.eye(3, 2), deadline=Deadline(0.0)) is not None


def test_a_tight_relaxation_gives_its_clustering_back() -> None:
    """The matrix of a clustering has exact centres, and rounding returns that clustering; noise does not matter."""
    groups = blobs()
    labels = search_clustering(groups)
    assert labels is not None
    matrix = relaxation_of(groups, labels)
    factor, combinations = rank_k_factors(groups, matrix)
    assert groups.vectors is not None
    approximate = factor @ combinations @ groups.vectors
    np.testing.assert_allclose(approximate, centroids(groups, labels)[labels], atol=1e-12)
    noise = np.random.default_rng(1).normal(scale=0.01, size=matrix.shape)
    for relaxation in (matrix, matrix + noise + noise.T):
        rounded = round_relaxation(groups, relaxation)
        assert rounded is not None
        np.testing.assert_array_equal(by_first_appearance(rounded), by_first_appearance(labels))


def without_vectors(super_points: SuperPoints) -> SuperPoints:
    """Keep the Gram matrix only."""
    kernel = SuperPoints(
        super_points.weights, super_points.vectors, super_points.graph, super_points.n_clusters, super_points.group_of
    )
    kernel.__dict__["gram"] = super_points.gram
    kernel.__dict__["vectors"] = None
    return kernel


def test_the_gram_matrix_alone_gives_the_same_costs_and_clusterings() -> None:
    """Costs agree with those from coordinates; search and rounding find the same clustering without them."""
    groups = blobs()
    kernel = without_vectors(groups)
    labels = search_clustering(groups)
    assert labels is not None
    np.testing.assert_allclose(
        costs_at_centroids(kernel, labels), costs_at_centres(groups, centroids(groups, labels)), atol=1e-12
    )
    found = search_clustering(kernel)
    assert found is not None
    np.testing.assert_array_equal(by_first_appearance(found), by_first_appearance(labels))
    rounded = round_relaxation(kernel, relaxation_of(groups, labels))
    assert rounded is not None
    np.testing.assert_array_equal(by_first_appearance(rounded), by_first_appearance(labels))


def test_an_indefinite_gram_matrix_is_no_obstacle() -> None:
    """Costs may be negative then; the search ends with a clustering all the same, and so does rounding."""
    groups = blobs()
    kernel = without_vectors(groups)
    noise = np.random.default_rng(5).normal(size=(groups.size, groups.size))
    kernel.__dict__["gram"] = noise + noise.T
    labels = search_clustering(kernel, settings=SearchSettings(n_searches=30))
    assert labels is not None
    edges = groups.graph.edges
    assert (labels[edges[:, 0]] != labels[edges[:, 1]]).all()
    assert costs_at_centroids(kernel, labels)[np.arange(groups.size), labels].sum() < 0
    assert round_relaxation(kernel, relaxation_of(groups, labels)) is not None
