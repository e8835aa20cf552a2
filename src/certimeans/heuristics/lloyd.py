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
    costs = costs_at_centres(super_points, centres)
    return lloyd_from_costs(super_points, costs, assigner=assigner, deadline=deadline, max_iterations=max_iterations)


def lloyd_from_costs(
    super_points: SuperPoints,
    costs: FloatArray,
    *,
    assigner: Assigner | None = None,
    deadline: Deadline | None = None,
    max_iterations: int = 300,
) -> IntArray | None:
    """Do the same from the costs of each super-point (row) at each starting centre (column); needs no coordinates."""
    deadline = deadline or Deadline()
    assigner = assigner or Assigner(super_points.graph, super_points.n_clusters)
    best_labels: IntArray | None = None
    best_cost = np.inf
    for _ in range(max_iterations):
        labels = assigner.assign(costs, deadline)
        if labels is None:
            break
        costs = costs_at_centroids(super_points, labels)
        cost = float(costs[np.arange(len(labels)), labels].sum())
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
    means = super_points.means
    sums = np.zeros((k, means.shape[1]))
    np.add.at(sums, labels, means * super_points.weights[:, None])
    centres: FloatArray = sums / weights[:, None]
    return centres


def costs_at_centroids(super_points: SuperPoints, labels: IntArray) -> FloatArray:
    """Cost of each super-point (row) at the centroid of each cluster (column), from coordinates if there are any."""
    if super_points.vectors is not None:
        return costs_at_centres(super_points, centroids(super_points, labels))
    k = super_points.n_clusters
    is_member = labels == np.arange(k)[:, None]
    return costs_at_combinations(super_points, is_member / (is_member @ super_points.weights)[:, None])


def costs_at_centres(super_points: SuperPoints, centres: FloatArray) -> FloatArray:
    """Weighted squared distance of each super-point (row) to each centre (column)."""
    means = super_points.means
    costs = np.empty((super_points.size, len(centres)))
    for c, centre in enumerate(centres):  # one centre at a time: differences keep the digits, memory stays small
        costs[:, c] = ((means - centre) ** 2).sum(axis=1)
    weighted: FloatArray = costs * super_points.weights[:, None]
    return weighted


def costs_at_combinations(super_points: SuperPoints, coefficients: FloatArray) -> FloatArray:
    """Do the same for centres that are combinations of the super-points' vectors, from the Gram matrix alone.

    With p_i = w_i m_i the vectors and c = sum over j of a_j p_j, the cost w_i |m_i - c|^2 is
    <p_i, p_i> / w_i - 2 <p_i, c> + w_i <c, c>. It may be negative if the Gram matrix is not positive semidefinite.

    Parameters
    ----------
    coefficients
        One row per centre: the factors a.
    """
    gram, weights = super_points.gram, super_points.weights
    products = gram @ coefficients.T
    squares = (coefficients.T * products).sum(axis=0)
    costs: FloatArray = (gram.diagonal() / weights)[:, None] - 2.0 * products + weights[:, None] * squares
    return costs
