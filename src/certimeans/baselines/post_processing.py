"""PP: k-means first, constraints afterwards."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray
from certimeans.baselines.common import as_clustering, must_link_groups, seed_centres, unconstrained_points
from certimeans.deadline import Deadline
from certimeans.heuristics.assignment import Assigner
from certimeans.heuristics.lloyd import centroids, constrained_lloyd, costs_at_centres
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance


def post_processing(instance: Instance, seed: int = 0, deadline: Deadline | None = None) -> Clustering | None:
    """Post-process one unconstrained k-means clustering (Vrain, Davidson et al., 2020).

    k-means gives each point a degree of membership in each cluster; the result is the feasible assignment with the
    largest total membership. It resembles the unconstrained clustering, it does not minimise the cost.

    Differences from the original: memberships are those of fuzzy c-means, 1 / d^2 scaled to sum 1, as k-means itself
    defines none; and the integer programme is solved as in :mod:`.blpkm`.

    Parameters
    ----------
    instance
        The problem.
    seed
        Of the k-means++ start of k-means.

    Returns
    -------
    Clustering or None
        ``None`` if no feasible assignment exists or was found in time.
    """
    groups = must_link_groups(instance)
    if groups is None:
        return None
    points = unconstrained_points(instance)
    free_labels = constrained_lloyd(points, seed_centres(instance, seed), deadline=deadline)
    if free_labels is None:
        return None
    distances = costs_at_centres(points, centroids(points, free_labels)) / points.weights[:, None]
    memberships = np.zeros((groups.size, instance.n_clusters))
    np.add.at(memberships, groups.group_of, _memberships(distances) * points.weights[:, None])
    labels = Assigner(groups.graph, instance.n_clusters).assign(-memberships, deadline)
    return as_clustering(instance, groups, labels)


def _memberships(squared_distances: FloatArray) -> FloatArray:
    """Degree of membership of each point (row) in each cluster (column); each row sums to 1."""
    tiny = np.finfo(np.float64).tiny  # a point on a centre belongs to it, without a division by zero
    nearest = np.maximum(squared_distances.min(axis=1, keepdims=True), tiny)
    closeness = nearest / np.maximum(squared_distances, tiny)
    shares: FloatArray = closeness / closeness.sum(axis=1, keepdims=True)
    return shares
