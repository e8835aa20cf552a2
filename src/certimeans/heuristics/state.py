"""What the local search keeps up to date: clusters whose sums, weights and conflicts follow every move.

Letters in formulas: w_i and m_i are the weight and the mean of super-point i; W_c, p_c and p_c / W_c are the weight,
the weighted vector sum and the centre of cluster c.

Two representations share all code. Through the *Gram matrix* of the means, the search never sees the dimension of the
data: a row of ``sums`` holds the inner products of p_c with every mean, and a move costs O(s). Through *coordinates*,
a row of ``sums`` is p_c itself, a move costs O(d) and distances keep their digits even beside far outliers. In both,
moving a super-point adds and subtracts its row.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_inside, compiled_without_allocation, inlined
from certimeans.heuristics.settings import SearchSettings
from certimeans.presolve.contract import SuperPoints

SmallIntArray: TypeAlias = NDArray[np.int32]
"""Tables with a row per super-point: half the memory of 64 bits, which counts with a million points."""

# Not for tuning: below these gains a difference may be rounding. Relative to the cost that the moved point has in its
# cluster, and absolute, in units of the total scatter (inner products of the Gram matrix lose digits of nearby points).
_RELATIVE_TOLERANCE = 1e-9
_ABSOLUTE_TOLERANCE = 1e-18
_GRAM_TOLERANCE = 1e-13

# Not for tuning: every move lowers the cost, so a descent ends; this guards against rounding that feigns gains.
_MOST_IMPROVEMENTS_PER_POINT = 200

# Not for tuning: the product of two smaller weights may underflow.
_LEAST_SAFE_WEIGHT = 1e-100


class Space(NamedTuple):
    """The problem, as compiled code reads it; nothing in it changes.

    Attributes
    ----------
    rows
        Inner products of the means if ``by_gram``, else their coordinates; one row per super-point.
    squares
        Squared length of each mean; kept only with the Gram matrix.
    start, neighbours
        Compressed lists of cannot-linked super-points.
    """

    rows: FloatArray
    by_gram: bool
    squares: FloatArray
    weights: FloatArray
    start: IntArray
    neighbours: IntArray
    n_clusters: int


class Clusters(NamedTuple):
    """A clustering and all that makes its moves cheap to evaluate.

    Attributes
    ----------
    labels
        Cluster of each super-point.
    sums
        One row per cluster: the weighted sum of its members' rows.
    square
        Squared length of p_c; kept only with the Gram matrix.
    weight, members
        Total weight and number of members of each cluster.
    conflicts
        How many super-points of each cluster (column) cannot link with each super-point (row).
    """

    labels: IntArray
    sums: FloatArray
    square: FloatArray
    weight: FloatArray
    members: IntArray
    conflicts: SmallIntArray


def make_space(
    super_points: SuperPoints, settings: SearchSettings | None = None, *, by_gram: bool | None = None
) -> Space:
    """Lay out the problem for compiled code.

    Parameters
    ----------
    by_gram
        Which representation to use; chosen by size and dimension if not given. Super-points without vectors are
        always represented by their Gram matrix.
    """
    settings = settings or SearchSettings()
    weights = np.ascontiguousarray(super_points.weights)
    vectors = super_points.vectors
    if vectors is None:
        by_gram = True
    elif by_gram is None:
        by_gram = super_points.size <= settings.largest_gram and vectors.shape[1] > settings.largest_cheap_dimension
    if by_gram:
        rows = _products_of_means(super_points)
        squares = rows.diagonal().copy()
    else:
        rows = super_points.means
        squares = np.zeros(0)
    start, neighbours = super_points.graph.adjacency
    return Space(rows, by_gram, squares, weights, start, neighbours, super_points.n_clusters)


def _products_of_means(super_points: SuperPoints) -> FloatArray:
    """Inner products of the means of the super-points."""
    weights = super_points.weights
    if super_points.vectors is not None and weights.min() < _LEAST_SAFE_WEIGHT:
        means = super_points.means
        return np.ascontiguousarray(means @ means.T)
    return np.ascontiguousarray(super_points.gram / weights[:, None] / weights)


def make_clusters(space: Space) -> Clusters:
    """Allocate a clustering without content; :func:`set_labels` fills it."""
    size, width = space.rows.shape
    k = space.n_clusters
    return Clusters(
        labels=np.zeros(size, dtype=np.int64),
        sums=np.zeros((k, width)),
        square=np.zeros(k),
        weight=np.zeros(k),
        members=np.zeros(k, dtype=np.int64),
        conflicts=np.zeros((size, k), dtype=np.int32),
    )


@inlined
def most_improvements(size: int) -> int:
    """Return after how many improvements a descent is ended, whatever it promises."""
    return _MOST_IMPROVEMENTS_PER_POINT * (size + 10)


@compiled_without_allocation
def set_labels(space: Space, clusters: Clusters, labels: IntArray) -> None:
    """Recompute everything from labels; they may break cannot-links, but must leave no cluster empty."""
    rows, weights, start, neighbours = space.rows, space.weights, space.start, space.neighbours
    sums, square, weight, members = clusters.sums, clusters.square, clusters.weight, clusters.members
    own, conflicts = clusters.labels, clusters.conflicts
    size, k, width = len(labels), len(weight), rows.shape[1]
    for c in range(k):
        weight[c] = 0.0
        square[c] = 0.0
        members[c] = 0
        for t in range(width):
            sums[c, t] = 0.0
    for i in range(size):
        for c in range(k):
            conflicts[i, c] = 0
    for i in range(size):
        c = labels[i]
        own[i] = c
        w = weights[i]
        weight[c] += w
        members[c] += 1
        for t in range(width):
            sums[c, t] += w * rows[i, t]
        for position in range(start[i], start[i + 1]):
            conflicts[neighbours[position], c] += 1
    if space.by_gram:
        for i in range(size):
            square[labels[i]] += weights[i] * sums[labels[i], i]


@compiled_inside
def move_point(space: Space, clusters: Clusters, i: int, b: int) -> None:
    """Move super-point i to cluster b, whether or not that keeps the cannot-links."""
    rows, start, neighbours = space.rows, space.start, space.neighbours
    labels, sums, square, weight = clusters.labels, clusters.sums, clusters.square, clusters.weight
    members, conflicts = clusters.members, clusters.conflicts
    a = labels[i]
    w = space.weights[i]
    if space.by_gram:
        own = w * w * space.squares[i]
        square[a] += own - 2.0 * w * sums[a, i]
        square[b] += own + 2.0 * w * sums[b, i]
    for t in range(rows.shape[1]):
        share = w * rows[i, t]
        sums[a, t] -= share
        sums[b, t] += share
    weight[a] -= w
    weight[b] += w
    members[a] -= 1
    members[b] += 1
    labels[i] = b
    for position in range(start[i], start[i + 1]):
        other = neighbours[position]
        conflicts[other, a] -= 1
        conflicts[other, b] += 1


@compiled_inside
def distance_to_centre(space: Space, clusters: Clusters, i: int, c: int) -> float:
    """Squared distance of the mean of super-point i to the centre of cluster c."""
    rows, sums = space.rows, clusters.sums
    share = 1.0 / clusters.weight[c]
    if space.by_gram:
        return float(space.squares[i] - share * (2.0 * sums[c, i] - share * clusters.square[c]))
    total = 0.0
    for t in range(rows.shape[1]):
        difference = rows[i, t] - share * sums[c, t]
        total += difference * difference
    return total


@compiled_without_allocation
def scatter(space: Space, clusters: Clusters) -> float:
    """Cost of the clustering, without the constant scatter inside super-points."""
    weights, labels = space.weights, clusters.labels
    total = 0.0
    for i in range(len(weights)):
        total += weights[i] * distance_to_centre(space, clusters, i, labels[i])
    return total


@compiled_without_allocation
def count_violations(clusters: Clusters) -> int:
    """Count the cannot-links that are broken."""
    twice = 0
    for i in range(len(clusters.labels)):
        twice += clusters.conflicts[i, clusters.labels[i]]
    return twice // 2


@compiled_inside
def removal_gain(space: Space, clusters: Clusters, i: int) -> float:
    """Decrease of cost when i leaves its cluster, which must have other members."""
    a = clusters.labels[i]
    w = space.weights[i]
    weight = clusters.weight[a]
    rest = weight - w
    if rest <= 0.0:  # the others weigh nothing beside i, to double precision: leave such a cluster alone
        return -np.inf
    return float(w * weight / rest * distance_to_centre(space, clusters, i, a))


@compiled_inside
def insertion_cost(space: Space, clusters: Clusters, i: int, b: int) -> float:
    """Increase of cost when i enters cluster b."""
    w, weight = space.weights[i], clusters.weight[b]
    return float(w * weight / (weight + w) * distance_to_centre(space, clusters, i, b))


@inlined
def least_gain(space: Space, leaving: float) -> float:
    """Return the gain from which a move is no rounding error; ``leaving`` is the gain of its first super-point."""
    floor = _GRAM_TOLERANCE if space.by_gram else _ABSOLUTE_TOLERANCE
    return float(floor + _RELATIVE_TOLERANCE * leaving) if leaving > 0.0 else floor
