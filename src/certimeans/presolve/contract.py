"""Must-links become weighted super-points: the problem that bounds and heuristics work on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.presolve.graph import Contradiction, Graph, unique_edges
from certimeans.problem.instance import Instance
from certimeans.problem.rounding import rounding_factor
from certimeans.problem.scaling import CostScale
from certimeans.problem.sizes import SizeLimits

_FEW_NUMBERS = 20_000


@dataclass(frozen=True, eq=False)
class SuperPoints:
    """Groups of points that share a cluster in every clustering considered, and what cannot be joined.

    In working units (:mod:`certimeans.problem.scaling`). With p_i the weighted sum of the points of group i, the cost
    of a partition of the groups into clusters C is::

        scatter - sum over C of (sum of <p_i, p_j> over i, j in C) / (sum of C's weights)

    Attributes
    ----------
    weights
        Total weight of each group.
    vectors
        The p_i, one row per group; ``None`` if the problem was given as a Gram matrix.
    graph
        Cannot-links between the groups.
    n_clusters
        k, the number of clusters.
    group_of
        The group of each original point: the inverse data that undo the contraction.
    scale
        What leads from working units back to the user's.
    products
        The inner products <p_i, p_j>, if they are known already.
    limits
        How large clusters may be; ``None`` if that is free.
    """

    weights: FloatArray
    vectors: FloatArray | None
    graph: Graph
    n_clusters: int
    group_of: IntArray
    scale: CostScale = field(default_factory=CostScale)
    products: FloatArray | None = None
    limits: SizeLimits | None = None

    @property
    def size(self) -> int:
        """Number of super-points."""
        return len(self.weights)

    @property
    def scatter(self) -> float:
        """The constant of the cost: about 1, or 0 if all points are equal."""
        return self.scale.scatter

    @property
    def means(self) -> FloatArray:
        """Mean of each group, one row per group.

        Raises
        ------
        InputError
            If the problem was given as a Gram matrix, which knows no points.
        """
        if self.vectors is None:
            raise InputError("this method needs points, but the problem was given as a Gram matrix")
        return np.ascontiguousarray(self.vectors / self.weights[:, None])

    @cached_property
    def gram(self) -> FloatArray:
        """Inner products of the vectors; memory grows with the square of the size."""
        if self.products is not None:
            return self.products
        assert self.vectors is not None  # noqa: S101  # one of the two is there
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
            None if self.vectors is None else _sum_by_group(group_of, self.vectors, size),
            Graph(size, lift(edges, group_of)),
            self.n_clusters,
            group_of[self.group_of],
            self.scale,
            None if self.vectors is not None else _sum_of_products(group_of, self.gram, size),
            None if self.limits is None else self.limits.merged(group_of, size),
        )

    def relative_error(self) -> float:
        """Bound the relative error of the vectors and their products, entry by entry, that rounding of sums makes."""
        return 4 * rounding_factor(len(self.group_of) + 16)

    def objective_error(self) -> float:
        """Bound how far the cost of any clustering may be from the exact one in working units, through rounding.

        Points: the matrix A with rows p_i / sqrt(w_i) has a Frobenius norm of at most the root of the scatter. Rounded
        sums over a group and over the dimension change A A', and with it its product with a projector of trace k, by at
        most their norm times k. A Gram matrix: entry errors are relative to sums of absolute values, whose norm in the
        scaling D^{1/2} K D^{1/2} does not grow when groups are merged. The scatter is the sum of w_i K_ii, whose
        absolute values add up to 1 at most in working units; they may cancel, so the scatter itself says nothing.
        """
        n, k = len(self.group_of), self.n_clusters
        if self.vectors is None:
            # In working units the sum of w_i |K_ii|, of which the scatter is made, is at most about 1.
            return rounding_factor(2 * n + 64) * (k * self.scale.gram_norm + 2.0)
        dimension = self.vectors.shape[1]
        products = self.relative_error() + rounding_factor(dimension + 16)
        return self.scatter * (k * products + rounding_factor(n + dimension + 16))


def contract(instance: Instance, group_of: IntArray) -> SuperPoints:
    """Build the super-points of an instance from the group of each point."""
    size = int(group_of.max()) + 1
    weights, points, gram, scale = instance.scaled
    vectors = products = None
    if points is not None:
        vectors = _sum_by_group(group_of, points * weights[:, None], size)
    else:
        assert gram is not None  # noqa: S101  # one of the two is there
        products = _sum_of_products(group_of, gram * np.outer(weights, weights), size)
    return SuperPoints(
        _sum_by_group(group_of, weights, size),
        vectors,
        Graph(size, lift(instance.cannot_link, group_of)),
        instance.n_clusters,
        group_of,
        scale,
        products,
        None if instance.limits is None else instance.limits.merged(group_of, size),
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
    if size == len(group_of):
        return rows.copy()  # nothing is merged: groups are numbered by first appearance
    return sum_by_group(group_of, rows, size)


def sum_by_group(group_of: IntArray, rows: FloatArray, size: int) -> FloatArray:
    """Sum numbers or rows by groups 0..size-1, in whatever order these appear; some may be empty."""
    if 0 < rows.size <= _FEW_NUMBERS:  # a sparse matrix would take longer to make than to use
        columns = rows.reshape(len(rows), -1).T
        few = np.array([np.bincount(group_of, column, minlength=size) for column in columns], dtype=np.float64)
        return np.ascontiguousarray(few.T).reshape(size, *rows.shape[1:])
    from scipy.sparse import csr_array  # noqa: PLC0415  # slow to import, and not always needed

    ones = np.ones(len(group_of))
    indicator = csr_array((ones, (group_of, np.arange(len(group_of)))), shape=(size, len(group_of)))
    sums: FloatArray = np.asarray(indicator @ rows)
    return sums


def _sum_of_products(group_of: IntArray, products: FloatArray, size: int) -> FloatArray:
    """Sum a symmetric matrix by groups of rows and of columns."""
    if size == len(group_of):
        return products  # nothing is merged: groups are numbered by first appearance
    half = _sum_by_group(group_of, products, size)
    sums = _sum_by_group(group_of, np.ascontiguousarray(half.T), size)
    return 0.5 * (sums + sums.T)
