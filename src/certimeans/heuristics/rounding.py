"""A clustering from a relaxation matrix: the paper's IPC-k-means (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.assignment import Assigner
from certimeans.heuristics.lloyd import constrained_lloyd, costs_at_combinations, lloyd_from_costs
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.graph import Graph
from certimeans.scipy_lapack import largest_eigenvectors

_N_SEARCHES = 20  # not for tuning: the rows of a good matrix fall into k tight groups; a few descents find them


def round_relaxation(
    super_points: SuperPoints,
    matrix: FloatArray,
    *,
    assigner: Assigner | None = None,
    seed: int | Sequence[int] = 0,
    deadline: Deadline | None = None,
) -> IntArray | None:
    """Turn a relaxation matrix into a clustering by IPC-k-means.

    The matrix Y = D^(1/2) Z D^(1/2) of the super-points (D their weights, Z the paper's matrix) has the eigenvalues of
    the paper's matrix of all points. Its best approximation of rank k, Y_k, gives each point an approximate centre, the
    rows of D^(-1/2) Y_k D^(-1/2) P with P the vectors (without vectors: up to rotation, from their Gram matrix).
    Clustering these rows (without constraints; with the local search instead of the paper's k-means, which it
    contains) gives k centres, from which constrained Lloyd starts.

    Parameters
    ----------
    matrix
        Y, symmetric, one row per super-point; for a clustering it would be a projector of rank k.
    assigner
        The assigner of the super-points' graph, if there is one already.
    seed
        Of the clustering of the rows.

    Returns
    -------
    IntArray or None
        Labels of the super-points that keep every cannot-link, or ``None`` if none was found in time.
    """
    size, k, weights = super_points.size, super_points.n_clusters, super_points.weights
    factor, combinations = rank_k_factors(super_points, matrix)
    rows = factor @ _coordinates(super_points, combinations)
    unconstrained = SuperPoints(
        weights, weights[:, None] * rows, Graph(size, np.empty((0, 2), dtype=np.int64)), k, np.arange(size)
    )
    settings = SearchSettings(n_searches=_N_SEARCHES)
    groups = search_clustering(unconstrained, seed=seed, deadline=deadline, settings=settings)
    if groups is None:
        return None
    shares = np.where(groups == np.arange(k)[:, None], weights, 0.0)
    coefficients = (shares / shares.sum(axis=1, keepdims=True)) @ factor @ combinations
    if super_points.vectors is not None:
        centres = coefficients @ super_points.vectors
        return constrained_lloyd(super_points, centres, assigner=assigner, deadline=deadline)
    costs = costs_at_combinations(super_points, coefficients)
    return lloyd_from_costs(super_points, costs, assigner=assigner, deadline=deadline)


def rank_k_factors(super_points: SuperPoints, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Approximate Z by a matrix of rank k, given as two factors.

    Returns
    -------
    factor
        One row per super-point, k columns.
    combinations
        k rows, one column per super-point. The rows of ``factor @ combinations @ vectors`` are the approximate
        centres of the super-points' clusters.
    """
    values, vectors = largest_eigenvectors(matrix, super_points.n_clusters)
    roots = np.sqrt(super_points.weights)[:, None]
    return vectors * values / roots, (vectors / roots).T


def _coordinates(super_points: SuperPoints, combinations: FloatArray) -> FloatArray:
    """Coordinates of combinations of the super-points' vectors, in at most k dimensions if there are none of these."""
    if super_points.vectors is not None:
        coordinates: FloatArray = combinations @ super_points.vectors
        return coordinates
    values, vectors = np.linalg.eigh(combinations @ super_points.gram @ combinations.T)
    embedded: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))  # negative ones belong to no coordinates
    return embedded
