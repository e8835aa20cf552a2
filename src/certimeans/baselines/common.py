"""What the baselines share: points as the heuristics see them, and k-means++ centres."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.presolve.contract import SuperPoints, contract
from certimeans.presolve.graph import Contradiction, Graph, connected
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance


def must_link_groups(instance: Instance) -> SuperPoints | None:
    """Merge must-linked points; ``None`` if a cannot-link lies inside a group or fewer than k groups are left."""
    groups = connected(instance.n_points, instance.must_link)
    try:
        merged = contract(instance, groups)
    except Contradiction:
        return None
    return merged if merged.size >= instance.n_clusters else None


def unconstrained_points(instance: Instance) -> SuperPoints:
    """Take each point as a group of its own, without constraints."""
    points = contract(instance, np.arange(instance.n_points, dtype=np.int64))
    no_links = Graph(points.size, np.empty((0, 2), dtype=np.int64))
    return SuperPoints(points.weights, points.vectors, no_links, points.n_clusters, points.group_of)


def seed_centres(instance: Instance, seed: int) -> FloatArray:
    """Draw k of the points as starting centres, as k-means++ does (Arthur and Vassilvitskii, 2007)."""
    from sklearn.cluster import kmeans_plusplus  # noqa: PLC0415  # slow to import

    points = unconstrained_points(instance)
    means = points.means
    centres, _ = kmeans_plusplus(means, instance.n_clusters, sample_weight=points.weights, random_state=seed)
    return np.asarray(centres, dtype=np.float64)


def as_clustering(instance: Instance, groups: SuperPoints, labels: IntArray | None) -> Clustering | None:
    """Evaluate labels of groups on the raw data."""
    return None if labels is None else Clustering.from_labels(instance, groups.expand_labels(labels))
