"""Lloyd's algorithm under constraints: alternate the best feasible assignment and the centroids."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.assignment import Assigner
from certimeans.presolve.contract import SuperPoints


def constrained_lloyd(
    super_points: SuperPoints,
    centres: FloatArray,
    *,
    assigner: Assigner | None = None,
    deadline: Deadline | None = None,
    max_iterations: int = 300,
) -> IntArray | None:
    """Improve centres until the assignment to them no longer changes.

    Parameters
    ----------
    centres
        k starting centres, in the coordinates of the super-points.
    assigner
        The assigner of the super-points' graph, if there is one already.
    deadline
        When to end with the clustering at hand.

    Returns
    -------
    IntArray or None
        Labels of the super-points; ``None`` if not even the first assignment was found.
    """
    deadline = deadline or Deadline()
    assigner = assigner or Assigner(super_points.graph, super_points.n_clusters)
    best_labels: IntArray | None = None
    best_cost = np.inf
    for _ in range(max_iterations):
        labels = assigner.assign(costs_at_centres(super_points, centres), deadline)
        if labels is None:
            break
        centres = centroids(super_points, labels)
        cost = float(costs_at_centres(super_points, centres)[np.arange(len(labels)), labels].sum())
        if not cost < best_cost:
            break
        best_labels, best_cost = labels, cost
        if deadline.passed():
            break
    return best_labels


def centroids(super_points: SuperPoints, labels: IntArray) -> FloatArray:
    """Weighted mean of each cluster; every cluster must have members."""
    k = super_points.n_clusters
    weights = np.bincount(labels, super_points.weights, minlength=k)
    sums = np.zeros((k, super_points.vectors.shape[1]))
    np.add.at(sums, labels, super_points.vectors)
    means: FloatArray = sums / weights[:, None]
    return means


def costs_at_centres(super_points: SuperPoints, centres: FloatArray) -> FloatArray:
    """Weighted squared distance of each super-point (row) to each centre (column)."""
    means = super_points.vectors / super_points.weights[:, None]
    costs = np.empty((super_points.size, len(centres)))
    for c, centre in enumerate(centres):  # one centre at a time: differences keep the digits, memory stays small
        costs[:, c] = ((means - centre) ** 2).sum(axis=1)
    weighted: FloatArray = costs * super_points.weights[:, None]
    return weighted
