"""How several numbers of clusters compare, and how the clustering of one starts the next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import IntArray
from certimeans.presolve.graph import connected
from certimeans.problem.clustering import by_first_appearance
from certimeans.problem.instance import Instance
from certimeans.result import SolveResult

_MOST_FOR_SILHOUETTE = 5000
"""Points whose silhouettes are computed; of more, a sample of that many."""


class Choice(NamedTuple):
    """One number of clusters.

    Attributes
    ----------
    k, status
        The number, and why the solver stopped.
    cost, lower_bound, gap
        Cost of the clustering, what every clustering costs at least, and the proven relative gap.
    explained
        Share of the scatter that the clusters explain: 1 - cost / (cost of a single cluster).
    silhouette
        Mean silhouette; of a sample of 5,000 points if there are more. ``None`` where it is not defined.
    agreement
        Adjusted Rand index with the clustering of the number before; ``None`` for the first.
    seconds
        Wall time.
    """

    k: int
    status: str
    cost: float | None = None
    lower_bound: float | None = None
    gap: float | None = None
    explained: float | None = None
    silhouette: float | None = None
    agreement: float | None = None
    seconds: float = 0.0


def start_for_next(result: SolveResult) -> IntArray | None:
    """Split the most expensive cluster that can be: a clustering into one more that keeps every constraint.

    Returns labels of all points that the user gave; ``None`` if there are none, or no points to measure with.
    """
    clustering, instance = result.clustering, result.instance
    if clustering is None or instance.geometry != "points":
        return None
    groups = connected(instance.n_points, instance.must_link)
    points = instance.positions(instance.points)
    labels = clustering.labels.copy()
    costs = []
    for cluster in range(clustering.n_clusters):
        members = points[labels == cluster]
        costs.append(float(((members - members.mean(axis=0)) ** 2).sum()))
    for cluster in np.argsort(costs)[::-1].tolist():
        members = np.flatnonzero(labels == cluster)
        if len(np.unique(groups[members])) > 1:
            axis = int(points[members].var(axis=0).argmax())
            number = by_first_appearance(groups[members])
            middles = np.bincount(number, points[members, axis]) / np.bincount(number)
            upper = middles > np.median(middles)
            if not upper.any():
                upper = np.arange(len(middles)) > 0
            labels[members[upper[number]]] = clustering.n_clusters
            if instance.limits is not None and not instance.limits.allow(
                instance.limits.totals(labels, clustering.n_clusters + 1)
            ):
                return None
            if result.reduction is None:
                return labels
            everyone: IntArray = np.zeros(len(result.reduction.table), dtype=np.int64)
            everyone[result.reduction.kept] = labels
            return everyone
    return None


def silhouette(instance: Instance, labels: IntArray) -> float | None:
    """Return the mean silhouette, of a sample if there are many points; ``None`` where it is not defined."""
    from sklearn.metrics import silhouette_score  # noqa: PLC0415  # slow to import

    chosen = np.arange(instance.n_points)
    if len(chosen) > _MOST_FOR_SILHOUETTE:
        chosen = np.sort(np.random.default_rng(0).choice(len(chosen), _MOST_FOR_SILHOUETTE, replace=False))
    own = labels[chosen]
    if not 2 <= len(np.unique(own)) < len(own):
        return None
    if instance.geometry == "points":
        points = instance.positions(instance.points[chosen])
        points = points - points.mean(axis=0)
        unit = float(np.abs(points).max())
        return float(silhouette_score(points / (unit or 1.0), own))
    gram = instance.table[np.ix_(chosen, chosen)]
    squares = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
    distances = np.sqrt(np.maximum(squares, 0.0))
    np.fill_diagonal(distances, 0.0)
    return float(silhouette_score(distances, own, metric="precomputed"))


def agreement(labels: IntArray, before: IntArray) -> float:
    """Return the adjusted Rand index of two clusterings."""
    from sklearn.metrics import adjusted_rand_score  # noqa: PLC0415  # slow to import

    return float(adjusted_rand_score(before, labels))
