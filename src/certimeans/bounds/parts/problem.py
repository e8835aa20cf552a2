r"""A part of a problem, as a problem of its own that carries its own points.

**Why parts give a bound.** Let point i have the weight w_i, and part p the weight w_i^p >= 0 of it, where the sum of
w_i^p over the parts is at most w_i. For a fixed cluster, the scatter around the best centre is superadditive in the
weights: one centre for all parts costs at least as much as a centre for each. A feasible clustering, restricted to a
part, keeps what must be together and what must be apart, and has at most k clusters; splitting a cluster never costs
more, so if the part has at least k super-points, its optimum with exactly k clusters is no larger. Hence ::

    optimum  >=  sum over parts of (a lower bound of the part's optimum with k clusters),

for any split. What is left of a weight costs at least 0, and so does a part with fewer than k super-points. The scatter
inside super-points is part of each part's own cost.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.presolve.contract import SuperPoints, sum_by_group
from certimeans.presolve.graph import Graph
from certimeans.problem.scaling import scale_points


@dataclass(frozen=True, eq=False)
class Part:
    """Some points with all that a bound of them needs: what a worker anywhere is sent.

    Attributes
    ----------
    members
        The numbers of its points in the whole problem, growing.
    points
        Their coordinates, as the user gave them.
    weights
        Their weights in this part.
    has_shares
        Whether some weight is only a share of the point's weight.
    group_of
        The super-point of each of them, 0, 1, ...
    cannot_links
        Pairs of super-points of the part that cannot link.
    n_clusters
        k.
    labels
        Cluster of each super-point in the best clustering of the whole.
    deviations, deviation_error
        What each feature is divided by, and a bound on its relative error; ``None`` and 0 without standardising.
    """

    members: IntArray
    points: FloatArray
    weights: FloatArray
    has_shares: bool
    group_of: IntArray
    cannot_links: IntArray
    n_clusters: int
    labels: IntArray
    deviations: FloatArray | None = None
    deviation_error: float = 0.0

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is computed from the rest: it can be larger than all of it, and messages carry parts."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def size(self) -> int:
        """Number of super-points."""
        return len(self.labels)

    @cached_property
    def super_points(self) -> SuperPoints:
        """The part in working units of its own scale."""
        scaled = scale_points(self.points, self.weights, self.deviations, self.deviation_error)
        assert scaled.vectors is not None  # noqa: S101  # points have vectors
        return SuperPoints(
            sum_by_group(self.group_of, scaled.weights, self.size),
            sum_by_group(self.group_of, scaled.vectors * scaled.weights[:, None], self.size),
            Graph(self.size, self.cannot_links),
            self.n_clusters,
            self.group_of,
            scaled.scale,
        )

    def cost(self, labels: IntArray) -> float:
        """Return about the cost of a clustering of the super-points, in the user's units."""
        return cost_of(self.super_points, labels)


def cost_of(points: SuperPoints, labels: IntArray) -> float:
    """Return about the cost of a clustering of super-points, in the user's units; clusters may be empty."""
    assert points.vectors is not None  # noqa: S101  # parts are made of points
    sums = sum_by_group(labels, points.vectors, points.n_clusters)
    weights = np.bincount(labels, points.weights, minlength=points.n_clusters)
    saved = float(((sums * sums).sum(axis=1) / np.where(weights > 0, weights, 1.0)).sum())
    return max(0.0, points.scatter - saved) * points.scale.unit
