"""Which pairs of points may be worth a question: those whose clusters the least change of cost would change."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from certimeans._typing import FloatArray, IntArray
from certimeans.presolve.contract import SuperPoints, contract
from certimeans.presolve.graph import connected
from certimeans.problem.instance import Instance

Pair = tuple[int, int]


def doubtful_pairs(instance: Instance, labels: IntArray, count: int, without: set[Pair]) -> list[Pair]:
    """Return pairs of points, the most doubtful first: a point on the edge of its cluster, and the nearest beyond it.

    Nothing is proven here: this only chooses what to ask.

    Parameters
    ----------
    labels
        A clustering that keeps every constraint.
    without
        Pairs, smaller point first, that are left out.
    """
    points = contract(instance, connected(instance.n_points, instance.must_link))
    clusters = labels[points.first_points]
    costs = move_costs(points, clusters)
    order = np.argsort(costs.min(axis=1), kind="stable")
    used = np.zeros(points.size, dtype=np.int64)
    found: list[Pair] = []
    for group in order.tolist():
        target = int(costs[group].argmin())
        if not np.isfinite(costs[group, target]) or len(found) == count:
            break
        if used[group]:
            continue
        members = np.flatnonzero((clusters == target) & (used < 2))
        for other in _by_nearness(points, group, members).tolist():
            i, j = sorted(_nearest_members(instance, points, group, other))
            if (i, j) not in without:
                found.append((i, j))
                used[[group, other]] += 1
                break
    return found


def move_costs(points: SuperPoints, clusters: IntArray) -> FloatArray:
    """Return by how much the cost changes if a super-point moves to a cluster; infinite where it cannot go or is."""
    k = int(clusters.max()) + 1
    weights = points.weights
    totals = np.bincount(clusters, weights, minlength=k)
    indicator = np.zeros((points.size, k))
    indicator[np.arange(points.size), clusters] = 1.0
    if points.vectors is not None:
        products = points.vectors @ (points.vectors.T @ indicator)
        squares = np.einsum("ij,ij->i", points.vectors, points.vectors)
    else:
        products = points.gram @ indicator
        squares = points.gram.diagonal()
    sums = np.bincount(clusters, products[np.arange(points.size), clusters], minlength=k)
    own = products[np.arange(points.size), clusters]
    left = totals[clusters] - weights
    sizes = np.bincount(clusters, minlength=k)
    with np.errstate(divide="ignore", invalid="ignore"):
        leaving = sums[clusters] / totals[clusters] - (sums[clusters] - 2 * own + squares) / left
    leaving[sizes[clusters] == 1] = np.inf  # a cluster must not become empty
    joining = sums / totals - (sums + 2 * products + squares[:, None]) / (totals + weights[:, None])
    costs: FloatArray = leaving[:, None] + joining
    costs[np.arange(points.size), clusters] = np.inf
    for a, b in points.graph.edges.tolist():
        costs[a, clusters[b]] = costs[b, clusters[a]] = np.inf
    return costs


def _by_nearness(points: SuperPoints, group: int, others: IntArray) -> IntArray:
    """Sort super-points by their distance from one."""
    if points.vectors is not None:
        means = points.vectors[others] / points.weights[others, None]
        distances = cdist(points.vectors[[group]] / points.weights[group], means)[0]
    else:
        gram, weights = points.gram, points.weights
        distances = gram[others, others] / weights[others] ** 2 - 2 * gram[group, others] / (
            weights[group] * weights[others]
        )
    ordered: IntArray = others[np.argsort(distances, kind="stable")]
    return ordered


def _nearest_members(instance: Instance, points: SuperPoints, group: int, other: int) -> tuple[int, int]:
    """Of two groups of must-linked points, return the two that are nearest to each other."""
    first, second = np.flatnonzero(points.group_of == group), np.flatnonzero(points.group_of == other)
    if instance.geometry != "points" or len(first) * len(second) == 1:
        return int(first[0]), int(second[0])
    positions = instance.positions(instance.points)
    distances = cdist(positions[first], positions[second])
    a, b = np.unravel_index(int(distances.argmin()), distances.shape)
    return int(first[a]), int(second[b])
