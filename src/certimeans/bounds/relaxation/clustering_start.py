"""A start from a clustering: its matrix, and multipliers of the entries between its clusters in closed form.

If a clustering is optimal and its clusters lie far apart, multipliers that prove it are known ("Probably certifiably
correct k-means clustering", Iguchi, Mixon, Peterson and Villar 2017). Let p_i be a point of the cluster A and B another
cluster, with centres m_A and m_B, and let ::

    g_iB = (|p_i - m_B|^2 - |p_i - m_A|^2) / 2          how much nearer its own centre is

For any number r below all g let S_ij = (g_iB - r) (g_jA - r) / q_AB, where i is in A, j is in B and q_AB is the mean of
either factor. Then the span of the clusters' indicator vectors is invariant under C - S; its eigenvalues there are
about -r times the clusters' weights, and must be the lowest ones. Those within a cluster go down to its weight times
its largest variance along a line, and S, which couples the variation of two clusters along the line between their
centres, takes up to twice as much again. So r is three times the largest such variance of all clusters. On real data
some g are below r: they are replaced by r, and what comes out proves little by itself, but the solver is saved hundreds
of iterations.
"""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.admm import Iterate
from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.bounds.relaxation.model import Relaxation

_TIMES_VARIANCE = 3.0  # not for tuning: see above
_LARGEST_MULTIPLIER = 1e30  # the scatter is 1, and single precision has to have room for it
_POWER_STEPS = 8  # not for tuning: a variance within some percent is good enough


def start_from_clustering(relaxation: Relaxation, labels: IntArray, penalty: float | None = None) -> Iterate | None:
    """Start from a clustering of the super-points, with a penalty.

    ``None`` if it has fewer clusters than it should, or if weights differ so much that the multipliers are useless.
    """
    clusters, labels = np.unique(labels, return_inverse=True)
    if len(clusters) != relaxation.n_clusters:
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        start = _start(relaxation, labels, penalty)
    return start if np.abs(start.dual).max() < _LARGEST_MULTIPLIER else None


def _start(relaxation: Relaxation, labels: IntArray, penalty: float | None) -> Iterate:
    roots = relaxation.root_weights
    indicators = np.zeros((relaxation.size, relaxation.n_clusters))
    indicators[np.arange(relaxation.size), labels] = roots
    weights = (indicators**2).sum(axis=0)
    nearer = _nearer(relaxation, labels, indicators / weights)
    excess = np.maximum(nearer - _TIMES_VARIANCE * _largest_variance(relaxation, labels), 0.0)
    means = (roots[:, None] * indicators).T @ excess / weights[:, None]  # of the points of A towards B
    product = np.sqrt(means * means.T)
    factors = np.divide(1.0, product, out=np.zeros_like(product), where=product > 0)
    np.fill_diagonal(factors, 0.0)
    towards = (roots[:, None] * excess)[:, labels]
    dual = -towards * towards.T
    dual *= factors[labels][:, labels]
    indicators /= np.sqrt(weights)
    return Iterate(indicators @ indicators.T, dual, Cuts.none(), penalty)


def _nearer(relaxation: Relaxation, labels: IntArray, averaging: FloatArray) -> FloatArray:
    """Return g_iB for each super-point and cluster; 0 for its own one."""
    products = -(relaxation.objective @ averaging) / relaxation.root_weights[:, None]  # of p_i and the centre of B
    squares = ((relaxation.root_weights[:, None] * averaging) * products).sum(axis=0)  # of the centres
    half_distances = 0.5 * squares - products  # less |p_i|^2 / 2, which cancels
    own: FloatArray = half_distances[np.arange(len(labels)), labels]
    nearer: FloatArray = half_distances - own[:, None]
    return nearer


def _largest_variance(relaxation: Relaxation, labels: IntArray) -> float:
    """Return about the largest variance of a cluster along a line, of all clusters."""
    largest = 0.0
    for cluster in range(relaxation.n_clusters):
        members = np.flatnonzero(labels == cluster)
        roots = relaxation.root_weights[members]
        weight = float(roots @ roots)
        matrix = -relaxation.objective[np.ix_(members, members)]
        vector: FloatArray = matrix[np.argmax(np.diag(matrix))]
        for _ in range(_POWER_STEPS):
            vector = vector - (roots @ vector / weight) * roots
            norm = float(np.linalg.norm(vector))
            if not norm > 0:
                break
            vector = matrix @ (vector / norm)
        else:
            largest = max(largest, norm / weight)
    return largest
