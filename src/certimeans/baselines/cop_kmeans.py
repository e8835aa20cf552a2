"""COP-k-means: k-means that never assigns a point against a constraint, and may fail."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.baselines.common import must_link_groups, seed_centres, unconstrained_points
from certimeans.compilation import compiled
from certimeans.heuristics.lloyd import centroids, costs_at_centres
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance


def cop_kmeans(instance: Instance, seed: int = 0, max_iterations: int = 300) -> Clustering | None:
    """Run COP-k-means once (Wagstaff, Cardie, Rogers and Schroedl, 2001).

    In each iteration, points are assigned one by one, in the order given, to the nearest centre that violates no
    constraint with the points assigned before; if a point has none, the algorithm fails. Constraints are closed under
    implication first, as in the original.

    Differences from the original: centres start from k-means++ as in the comparison of Piccialli et al., and a run
    that leaves a cluster empty counts as failed, as it does not answer the problem with k clusters.

    Parameters
    ----------
    instance
        The problem.
    seed
        Of the starting centres.
    max_iterations
        The last clustering is returned if centres still move after as many.

    Returns
    -------
    Clustering or None
        ``None`` if the algorithm fails, which it may although a clustering exists.
    """
    groups = must_link_groups(instance)
    if groups is None:
        return None
    points = unconstrained_points(instance)
    start, neighbours = groups.graph.adjacency
    centres = seed_centres(instance, seed)
    labels = np.full(instance.n_points, -1, dtype=np.int64)
    for _ in range(max_iterations):
        previous = labels
        labels = np.empty_like(previous)
        costs = costs_at_centres(points, centres)
        if not _assign_one_by_one(costs, groups.group_of, start, neighbours, labels):
            return None
        if len(np.unique(labels)) < instance.n_clusters:
            return None
        if (labels == previous).all():
            break
        centres = centroids(points, labels)
    return Clustering.from_labels(instance, labels)


@compiled
def _assign_one_by_one(
    costs: FloatArray, group_of: IntArray, start: IntArray, neighbours: IntArray, labels: IntArray
) -> bool:
    """Assign each point to the nearest centre that the points before it allow; False if one has none."""
    n, k = costs.shape
    cluster_of_group = np.full(len(start) - 1, -1, dtype=np.int64)
    for i in range(n):
        group = group_of[i]
        if cluster_of_group[group] < 0:
            allowed = np.ones(k, dtype=np.bool_)
            for position in range(start[group], start[group + 1]):
                if cluster_of_group[neighbours[position]] >= 0:
                    allowed[cluster_of_group[neighbours[position]]] = False
            nearest = -1
            for c in range(k):
                if allowed[c] and (nearest < 0 or costs[i, c] < costs[i, nearest]):
                    nearest = c
            if nearest < 0:
                return False
            cluster_of_group[group] = nearest
        labels[i] = cluster_of_group[group]
    return True
