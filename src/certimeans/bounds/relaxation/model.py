"""The semidefinite relaxation, stated once.

Let the super-points have weights w and vectors p_i, let N be the total weight and u_i = sqrt(w_i / N), a unit vector.
A clustering is the matrix Z with Z_ij = 1 / w(C) where i and j share the cluster C, and 0 elsewhere. In the symmetric
scaling Y_ij = sqrt(w_i w_j) Z_ij it is an orthogonal projector with ::

    Y u = u,   trace Y = k,   0 <= Y <= I (as matrices),   Y_ij >= 0,   Y_ij = 0 on cannot-links,
    cost = scatter + <C, Y>,   C_ij = - <p_i, p_j> / sqrt(w_i w_j).

The relaxation drops "projector" and keeps the rest, as two sets: the *spectral* set of all u u' + R with R u = 0,
0 <= R <= I and trace R = k - 1, and the *polyhedral* set of the entrywise conditions and the cuts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certimeans._typing import BoolArray, FloatArray
from certimeans.bounds.relaxation.sizes import SizeBox, SizeRows, too_much_together
from certimeans.presolve.contract import SuperPoints
from certimeans.problem.rounding import rounding_factor
from certimeans.problem.sizes import SizeLimits


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The relaxation of one clustering problem on super-points.

    Attributes
    ----------
    objective
        C, the cost's coefficients.
    direction
        u, the eigenvector that all feasible matrices share.
    root_weights
        Square root of each super-point's weight: Z_ij = Y_ij / (root_weights[i] root_weights[j]).
    forbidden
        Where Y_ij = 0 because i and j cannot link.
    n_clusters
        k, the trace of Y.
    scatter
        The cost's constant.
    max_cluster_weight
        No cluster can weigh more: all but the k - 1 lightest super-points, or what limits on sizes allow.
    weight_error
        Relative error of the weights: 0 if all sums of the user's weights are exact, else that of summing them.
    objective_error
        How far the cost of a clustering may be from the exact one because C and the constant are rounded.
    box, size_rows
        What limits on sizes say, if there are any; see :mod:`.sizes`. Both if amounts are proportional to weights and
        the sizes of some clusters are decided, else one of the two.
    """

    objective: FloatArray
    direction: FloatArray
    root_weights: FloatArray
    forbidden: BoolArray
    n_clusters: int
    scatter: float
    max_cluster_weight: float
    weight_error: float
    objective_error: float
    box: SizeBox | None = None
    size_rows: SizeRows | None = None

    @property
    def size(self) -> int:
        """Number of super-points."""
        return len(self.direction)

    @classmethod
    def from_super_points(cls, super_points: SuperPoints) -> Relaxation:
        """State the relaxation of a contracted problem."""
        weights, size, k = super_points.weights, super_points.size, super_points.n_clusters
        root_weights = np.sqrt(weights)
        objective = -super_points.gram / np.outer(root_weights, root_weights)
        forbidden = np.zeros((size, size), dtype=np.bool_)
        first, second = super_points.graph.edges.T
        forbidden[first, second] = forbidden[second, first] = True
        limits = super_points.limits
        if limits is not None:
            forbidden |= too_much_together(limits)
        heaviest = float(np.sort(weights)[k - 1 :].sum())
        if limits is not None and limits.follows_weights:
            heaviest = min(heaviest, float(weights.sum()) * (limits.most / limits.total))
        weight_error = 0.0 if super_points.scale.weights_are_exact else rounding_factor(len(super_points.group_of) + 4)
        return cls(
            objective=0.5 * (objective + objective.T),
            direction=root_weights / np.sqrt(weights.sum()),
            root_weights=root_weights,
            forbidden=forbidden,
            n_clusters=k,
            scatter=super_points.scatter,
            max_cluster_weight=heaviest * (1 + weight_error) * (1 + rounding_factor(size + 64)),
            weight_error=weight_error,
            objective_error=super_points.objective_error(),
            box=SizeBox.of(limits, k) if limits is not None and limits.follows_weights else None,
            size_rows=None if limits is None else _size_rows(limits, root_weights, forbidden),
        )


def _size_rows(limits: SizeLimits, root_weights: FloatArray, forbidden: BoolArray) -> SizeRows | None:
    if limits.follows_weights:
        return SizeRows.of_anchors(limits, forbidden)
    return SizeRows.of(limits, root_weights)
