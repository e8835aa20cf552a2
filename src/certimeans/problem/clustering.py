"""A clustering: labels, and what follows from them and the raw data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.problem.instance import Instance
from certimeans.problem.sizes import SizeLimits


@dataclass(frozen=True, eq=False)
class Clustering:
    """A partition of the points of an instance, with its cost proven from the raw data.

    Attributes
    ----------
    labels
        Cluster of each point; clusters are numbered by first appearance.
    centres
        Weighted mean of each cluster in the user's units, one row per cluster; ``None`` for a Gram matrix.
    sizes
        Number of points in each cluster.
    cost
        Weighted sum of squared distances of the points to the centre of their cluster: at least the exact one, and
        above it by rounding only; 0 only if it is exactly 0.
    """

    labels: IntArray
    centres: FloatArray | None
    sizes: IntArray
    cost: float

    @classmethod
    def from_labels(cls, instance: Instance, labels: ArrayLike) -> Clustering:
        """Evaluate labels on the raw data of ``instance``, whatever numbers or names they use.

        Raises
        ------
        InputError
            If there is not exactly one label for each point.
        """
        numbered = as_labels(labels, instance.n_points)
        cost = instance.cost(numbered).high
        return cls(numbered, _centres(instance, numbered), np.bincount(numbered), cost)

    @property
    def n_clusters(self) -> int:
        """Number of (non-empty) clusters."""
        return len(self.sizes)

    def satisfies(self, instance: Instance) -> bool:
        """Whether there are exactly k clusters and every constraint holds."""
        return self.violations(instance, limit=1) == []

    def violations(self, instance: Instance, limit: int = 10) -> list[str]:
        """Say what the clustering violates, one sentence each, at most ``limit`` of them."""
        found = []
        if len(self.labels) != instance.n_points:
            return [f"{len(self.labels)} labels for {instance.n_points} points"]
        if self.n_clusters != instance.n_clusters:
            found.append(f"{self.n_clusters} clusters instead of {instance.n_clusters}")
        for pairs, together in ((instance.must_link, True), (instance.cannot_link, False)):
            broken = (self.labels[pairs[:, 0]] == self.labels[pairs[:, 1]]) != together
            where = "in different clusters" if together else "in one cluster"
            kind = "must link" if together else "cannot link"
            found += [f"points {i} and {j} {kind} but are {where}" for i, j in pairs[broken][:limit]]
        if instance.limits is not None and self.n_clusters == instance.n_clusters:
            found += _broken_limits(instance.limits, self.labels, self.n_clusters)
        return found[:limit]


def _broken_limits(limits: SizeLimits, labels: IntArray, n_clusters: int) -> list[str]:
    """Say which limits on sizes are not kept; decided without rounding."""
    totals = limits.totals(labels, n_clusters)
    if limits.allow(totals):
        return []
    has = "has size" if limits.counts_points else "has a total capacity of"
    if limits.exact is not None:
        listed = ["/".join(map(limits.in_words, sorted(sizes))) for sizes in (totals, limits.exact)]
        return [f"the clusters have sizes {listed[0]} instead of {listed[1]}"]
    short = [c for c, total in enumerate(totals) if total < limits.least]
    large = [c for c, total in enumerate(totals) if total > limits.most]
    return [
        *(f"cluster {c} {has} {limits.compared(totals[c], limits.least)}" for c in short),
        *(f"cluster {c} {has} {limits.compared(totals[c], limits.most)}" for c in large),
    ]


def as_labels(labels: ArrayLike, n_points: int, name: str = "labels") -> IntArray:
    """Check labels, one for each point, and number the clusters by first appearance."""
    array: np.ndarray[Any, Any] = np.asarray(labels)
    if array.shape != (n_points,):
        raise InputError(f"{name} have shape {array.shape}; give one for each of the {n_points} points")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise InputError(f"{name}[{np.flatnonzero(np.isnan(array))[0]}] is NaN; every point needs a cluster")
    try:
        return by_first_appearance(array)
    except TypeError:
        raise InputError(f"{name} must be of one kind: all numbers, or all strings") from None


def by_first_appearance(labels: np.ndarray[Any, Any]) -> IntArray:
    """Renumber labels 0, 1, ... in the order in which they first appear."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbered: IntArray = rank[inverse]
    return numbered


def _centres(instance: Instance, labels: IntArray) -> FloatArray | None:
    """Return the weighted mean of each cluster, in the user's units; ``None`` without points.

    Means are taken relative to one point of the cluster, so a cluster far from the origin keeps its digits.
    """
    if instance.geometry != "points":
        return None
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
    points, weights = instance.points, instance.scaled.weights[order]
    anchors = points[order[starts]]
    centres = np.empty_like(anchors)
    totals = np.add.reduceat(weights, starts)
    for feature in range(points.shape[1]):  # one at a time: a table of a million points is not copied
        relative = points[order, feature] - anchors[labels[order], feature]
        centres[:, feature] = anchors[:, feature] + np.add.reduceat(relative * weights, starts) / totals
    return centres
