"""A clustering from a relaxation matrix: the paper's IPC-k-means (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.assignment import Assigner
from certimeans.heuristics.lloyd import centroids, constrained_lloyd
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.graph import Graph

_N_SEARCHES = 20  # the rows of a good matrix fall into k tight groups; a few descents find them


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
    rows of D^(-1/2) Y_k D^(-1/2) P with P the vectors. Clustering these rows (without constraints; with the local
    search instead of the paper's k-means, which it contains) gives k centres, from which constrained Lloyd starts.

    Parameters
    ----------
    matrix
        Y, symmetric, one row a super-point; for a clustering it would be a projector of rank k.
    assigner
        The assigner of the super-points' graph, if there is one already.
    seed
        Of the clustering of the rows.

    Returns
    -------
    IntArray or None
        Labels of the super-points that keep every cannot-link, or ``None`` if none was found in time.
    """
    approximate = approximate_centres(super_points, matrix)
    size, k = super_points.size, super_points.n_clusters
    unconstrained = SuperPoints(
        super_points.weights,
        super_points.weights[:, None] * approximate,
        Graph(size, np.empty((0, 2), dtype=np.int64)),
        k,
        np.arange(size, dtype=np.int64),
    )
    settings = SearchSettings(n_searches=_N_SEARCHES)
    groups = search_clustering(unconstrained, seed=seed, deadline=deadline, settings=settings)
    if groups is None:
        return None
    return constrained_lloyd(super_points, centroids(unconstrained, groups), assigner=assigner, deadline=deadline)


def approximate_centres(super_points: SuperPoints, matrix: FloatArray) -> FloatArray:
    """Approximate centre of each super-point's cluster: the rows of Z_k P with Z_k of rank k."""
    from scipy.linalg import eigh  # noqa: PLC0415  # slow to import, not needed by other heuristics

    size, k = super_points.size, super_points.n_clusters
    values, vectors = eigh(matrix, subset_by_index=[size - k, size - 1])
    root = np.sqrt(super_points.weights)[:, None]
    centres: FloatArray = (vectors * values) @ (vectors.T @ (super_points.vectors / root)) / root
    return centres
