"""Points of weight zero: they cost nothing wherever they go, so the problem is the one without them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.presolve.conflict import Conflict
from certimeans.problem.clustering import Clustering, as_labels
from certimeans.problem.constraints import Constraints, LinkKind, PartialLabels
from certimeans.problem.expand import expand
from certimeans.problem.instance import Geometry, Instance
from certimeans.problem.nearest import KernelCentres, scaled_distances
from certimeans.problem.validation import as_gram, as_points, as_weights


@dataclass(frozen=True, eq=False)
class WithoutWeightless:
    """The problem without its points of weight zero, and the way back.

    Attributes
    ----------
    instance
        The problem of the points that remain.
    kept
        Their numbers, in order.
    table
        All points, or the whole Gram matrix.
    """

    instance: Instance
    kept: IntArray
    table: FloatArray

    @property
    def weightless(self) -> IntArray:
        """The numbers of the points that were left out."""
        return np.setdiff1d(np.arange(len(self.table)), self.kept)

    def restrict_labels(self, labels: ArrayLike | None) -> IntArray | None:
        """Take labels of all points over to those that remain."""
        return None if labels is None else as_labels(labels, len(self.table), "initial_labels")[self.kept]

    def restore_labels(self, clustering: Clustering) -> IntArray:
        """Return labels of all points; those that were left out go to the nearest centre."""
        labels = np.empty(len(self.table), dtype=np.int64)
        labels[self.kept] = clustering.labels
        weightless = self.weightless
        if weightless.size and clustering.centres is not None:
            labels[weightless] = self._nearest_centre(weightless, clustering.centres)
        elif weightless.size:
            centres = KernelCentres.of(self.instance.table, self.instance.weights, clustering.labels)
            labels[weightless] = centres.nearest(self.table[np.ix_(weightless, self.kept)])
        return labels

    def restore_conflict(self, conflict: Conflict) -> Conflict:
        """Say a contradiction among the points that remain in the numbers of all points."""
        kept = self.kept
        return replace(
            conflict,
            links=tuple((kind, int(kept[i]), int(kept[j])) for kind, i, j in conflict.links),
            groups=tuple(tuple(int(kept[i]) for i in group) for group in conflict.groups),
            remedies=None
            if conflict.remedies is None
            else tuple((kind, int(kept[i]), int(kept[j])) for kind, i, j in conflict.remedies),
        )

    def _nearest_centre(self, points: IntArray, centres: FloatArray) -> IntArray:
        deviations = self.instance.deviations
        scale = np.ones(centres.shape[1]) if deviations is None else deviations
        distances, _ = scaled_distances(self.table[points] / scale, centres / scale)
        nearest: IntArray = distances.argmin(axis=1)
        return nearest


def leave_out_weightless(
    table: Any,
    n_clusters: Any,
    constraints: Constraints,
    weights: ArrayLike | None,
    *,
    geometry: Geometry = "points",
    standardize: bool = False,
    feature_names: tuple[str, ...] | None = None,
) -> WithoutWeightless:
    """Build the instance of the points that have a weight.

    Raises
    ------
    InputError
        If an argument is not usable, or a constraint of any kind mentions a point of weight zero. It would have to be
        kept although the point does not count, and may say something about points that do (two must-links to it join
        their other ends).
    """
    if feature_names is None and geometry == "points" and hasattr(table, "columns"):
        feature_names = tuple(str(column) for column in table.columns)
    full = as_points(table) if geometry == "points" else as_gram(table)
    checked = as_weights(weights, len(full), name="sample_weight", zero_allowed=True)
    kept = np.flatnonzero(checked > 0)
    own = full
    if len(kept) < len(full):
        own = full[kept] if geometry == "points" else full[np.ix_(kept, kept)]
        positions = full if geometry == "points" else np.empty((len(full), 0))
        if geometry == "points" and standardize and (constraints.diameter is not None or constraints.split is not None):
            # Distances are those of the points that count, scaled as they are.
            positions = Instance(own, n_clusters, weights=checked[kept], standardize=True).positions(full)
        constraints = _renumbered(positions, checked, constraints, kept)
    instance = Instance(own, n_clusters, constraints, checked[kept], feature_names, geometry, standardize)
    return WithoutWeightless(instance, kept, full)


def _renumbered(positions: FloatArray, weights: FloatArray, constraints: Constraints, kept: IntArray) -> Constraints:
    """State the constraints for the points that remain; distances are those between ``positions``."""
    constraints.check_range(len(positions))
    sizes = constraints.cluster_sizes
    if sizes is not None:
        counts = weights > 0 if sizes.capacity is None else (weights > 0) | (sizes.capacity == 0)
        if not counts.all():
            point = int(np.flatnonzero(~counts)[0])
            raise InputError(
                f"sample_weight[{point}] is 0, but limits on sizes count that point: give it a positive weight, or "
                "leave it out of the sizes with capacity 0"
            )
    for kind, pairs in zip(get_args(LinkKind), expand(constraints, positions), strict=True):
        mentions = np.argwhere(weights[pairs] == 0)
        if mentions.size:
            i, j = pairs[mentions[0, 0]].tolist()
            reason = constraints.reason(kind, i, j)
            raise InputError(
                f"sample_weight[{(i, j)[mentions[0, 1]]}] is 0, but a constraint mentions that point: {kind} ({i}, {j})"
                f"{'' if reason == kind else f', {reason}'}; give it a positive weight, or drop the constraint"
            )
    position = np.cumsum(weights > 0) - 1
    labels = constraints.partial_labels
    return replace(
        constraints,
        must_link=position[constraints.must_link],
        cannot_link=position[constraints.cannot_link],
        partial_labels=None if labels is None else PartialLabels(labels.codes[kept], labels.names),
        cluster_sizes=None if sizes is None else sizes.of_points(kept),
    )
