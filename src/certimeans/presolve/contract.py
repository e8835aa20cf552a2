"""Must-links become weighted super-points: the problem that bounds and heuristics work on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from certimeans._typing import FloatArray, IntArray
from certimeans.presolve.graph import Contradiction, Graph, unique_edges
from certimeans.problem.instance import Instance


@dataclass(frozen=True, eq=False)
class SuperPoints:
    """Groups of points that share a cluster in every clustering considered, and what cannot be joined.

    Distances are in units in which the total scatter of the instance is 1, and the weighted mean of all points is
    the origin. The cost of a partition of the super-points into clusters C is::

        scatter - sum over C of |sum of C's vectors|^2 / (sum of C's weights)

    Attributes
    ----------
    weights
        Total weight of each group.
    vectors
        Weighted sum of each group's points.
    graph
        Cannot-links between the groups.
    n_clusters
        k, the number of clusters.
    group_of
        The group of each original point: the inverse data that undo the contraction.
    scatter
        Cost of a single cluster with all points: 1, or 0 if all points are equal.
    """

    weights: FloatArray
    vectors: FloatArray
    graph: Graph
    n_clusters: int
    group_of: IntArray
    scatter: float = 1.0

    @property
    def size(self) -> int:
        """Number of super-points."""
        return len(self.weights)

    @cached_property
    def gram(self) -> FloatArray:
        """Inner products of the vectors; memory grows with the square of the size."""
        products: FloatArray = self.vectors @ self.vectors.T
        return products

    @cached_property
    def first_points(self) -> IntArray:
        """The first original point of each group: a name for it that outlives merging."""
        return np.unique(self.group_of, return_index=True)[1].astype(np.int64)

    def expand_labels(self, labels: IntArray) -> IntArray:
        """Turn labels of super-points into labels of points."""
        expanded: IntArray = np.asarray(labels)[self.group_of]
        return expanded

    def merge(self, group_of: IntArray, extra_cannot_links: IntArray | None = None) -> SuperPoints:
        """Contract further: super-points with one number in ``group_of`` become one.

        Raises
        ------
        Contradiction
            If two of them cannot link.
        """
        edges = self.graph.edges
        if extra_cannot_links is not None:
            edges = np.vstack([edges, extra_cannot_links])
        size = int(group_of.max()) + 1
        return SuperPoints(
            _sum_by_group(group_of, self.weights, size),
            _sum_by_group(group_of, self.vectors, size),
            Graph(size, lift(edges, group_of)),
            self.n_clusters,
            group_of[self.group_of],
            self.scatter,
        )


def contract(instance: Instance, group_of: IntArray) -> SuperPoints:
    """Build the super-points of an instance from the group of each point."""
    size = int(group_of.max()) + 1
    points, weights = instance.scaled.points, instance.weights
    scatter = float(weights @ (points**2).sum(axis=1))
    unit = np.sqrt(scatter) if scatter > 0 else 1.0
    return SuperPoints(
        _sum_by_group(group_of, weights, size),
        _sum_by_group(group_of, points * (weights / unit)[:, None], size),
        Graph(size, lift(instance.cannot_link, group_of)),
        instance.n_clusters,
        group_of,
        1.0 if scatter > 0 else 0.0,
    )


def lift(cannot_link: IntArray, group_of: IntArray) -> IntArray:
    """State cannot-links between points as edges between their groups.

    Raises
    ------
    Contradiction
        If a cannot-link has both ends in one group.
    """
    edges = group_of[cannot_link]
    if (edges[:, 0] == edges[:, 1]).any():
        raise Contradiction
    return unique_edges(edges)


def _sum_by_group(group_of: IntArray, rows: FloatArray, size: int) -> FloatArray:
    ones = np.ones(len(group_of))
    indicator = csr_array((ones, (group_of, np.arange(len(group_of)))), shape=(size, len(group_of)))
    sums: FloatArray = np.asarray(indicator @ rows)
    return sums
