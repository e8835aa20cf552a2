"""Parts are alike: what proves a bound of one is a good start for another.

Super-points of the two are matched within each cluster, nearest to nearest as far as they can; matrices and cuts of the
solved part are carried over along this matching. Any start is legal: a bound is proven from whatever comes out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.parts.problem import Part
from certimeans.bounds.relaxation.admm import Iterate
from certimeans.bounds.relaxation.bounder import WarmStart
from certimeans.bounds.relaxation.clustering_start import start_from_clustering
from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.proof.steps import RelaxationStep

_LARGEST_ASSIGNMENT = 1_500
"""Larger clusters are matched along their main direction, which takes no time."""


@dataclass(frozen=True, eq=False)
class Template:
    """A part that was bounded, for others to start from; matrices in single precision.

    Attributes
    ----------
    means, labels, weights
        Of its super-points: positions in the user's units, clusters, and shares of the weight of the part.
    primal, dual, cuts
        Where its bound ended; only upper triangles count.
    """

    means: FloatArray
    labels: IntArray
    weights: FloatArray
    primal: NDArray[np.float32]
    dual: NDArray[np.float32]
    cuts: Cuts

    @classmethod
    def of(cls, part: Part, start: WarmStart) -> Template:
        """Keep what a bound of a part ended with."""
        iterate = start.iterate
        return cls(
            _means(part),
            part.labels,
            _weights(part),
            iterate.primal.astype(np.float32),
            iterate.dual.astype(np.float32),
            iterate.cuts.purged(),
        )


def start_from(template: Template, part: Part) -> WarmStart | None:
    """Carry a template over to a part; ``None`` if a cluster of the part has nothing to be matched with."""
    source = _match(template, part)
    if source is None:
        return None
    points = part.super_points
    place = np.full(len(template.labels), -1, dtype=np.int64)
    place[source[::-1]] = np.arange(len(source))[::-1]  # the first of several copies
    cuts = template.cuts
    members = np.where(cuts.members >= 0, place[cuts.members], 0)
    kept = (members >= 0).all(axis=1)
    carried = Cuts.new(members[kept], cuts.coefficients[kept]).with_multipliers(cuts.multipliers[kept])
    factors = np.sqrt(_weights(part) / template.weights[source])
    primal, dual = (_carried(matrix, source, factors) for matrix in (template.primal, template.dual))
    return WarmStart(points.group_of, points.weights, Iterate(primal, dual, carried))


def start_from_proof(part: Part, step: RelaxationStep) -> WarmStart:
    """Go on from a bound of this part: its multipliers, and the matrix of the whole's clustering.

    Raises
    ------
    ValueError
        If the step does not belong to the part.
    """
    start = WarmStart.from_step(part.super_points, step)
    clustering = start_from_clustering(Relaxation.from_super_points(part.super_points), part.labels)
    return start if clustering is None else replace(start, iterate=replace(start.iterate, primal=clustering.primal))


def _carried(upper: NDArray[np.float32], source: IntArray, factors: FloatArray) -> FloatArray:
    """Take rows and columns of a symmetric matrix, in which those of a super-point grow with the root of its weight."""
    full = np.triu(upper) + np.triu(upper, 1).T
    carried: FloatArray = full[np.ix_(source, source)].astype(np.float64)
    return carried * factors * factors[:, None]


def _weights(part: Part) -> FloatArray:
    """Return the weight of each super-point, as a share of all."""
    weights: FloatArray = np.bincount(part.group_of, part.weights, minlength=part.size) / part.weights.sum()
    return weights


def _means(part: Part) -> FloatArray:
    """Return the mean of each super-point in coordinates that all parts share."""
    points = part.points if part.deviations is None else part.points / part.deviations
    weights = np.bincount(part.group_of, part.weights, minlength=part.size)
    means = np.empty((part.size, points.shape[1]))
    for feature in range(points.shape[1]):
        means[:, feature] = np.bincount(part.group_of, part.weights * points[:, feature], minlength=part.size)
    return means / weights[:, None]


def _match(template: Template, part: Part) -> IntArray | None:
    """Return for each super-point of the part the one of the template that stands for it."""
    source = np.full(part.size, -1, dtype=np.int64)
    means = _means(part)
    for cluster in np.unique(part.labels):
        ours, theirs = np.flatnonzero(part.labels == cluster), np.flatnonzero(template.labels == cluster)
        if len(theirs) == 0:
            return None
        source[ours] = theirs[_pairing(means[ours], template.means[theirs])]
    return source


def _pairing(ours: FloatArray, theirs: FloatArray) -> IntArray:
    """Pair rows, each of the others once if possible; who is left over takes the nearest."""
    if max(len(ours), len(theirs)) > _LARGEST_ASSIGNMENT:
        axis = np.linalg.eigh(np.cov(theirs.T).reshape(theirs.shape[1], -1))[1][:, -1]
        rank = np.argsort(np.argsort(ours @ axis, kind="stable"), kind="stable")
        in_order = np.argsort(theirs @ axis, kind="stable")
        paired: IntArray = in_order[rank * len(theirs) // len(ours)]
        return paired
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  # slow to import, and not always needed
    from scipy.spatial.distance import cdist  # noqa: PLC0415

    distances = cdist(ours, theirs, "sqeuclidean")
    partner: IntArray = distances.argmin(axis=1).astype(np.int64)
    rows, columns = linear_sum_assignment(distances)
    partner[rows] = columns
    return partner
