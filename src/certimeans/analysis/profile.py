"""What the clusters are like, in the user's own units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.analysis.frames import pandas
from certimeans.errors import InputError

if TYPE_CHECKING:
    from certimeans.result import SolveResult

_LEAST_TELLING = 0.5  # standard deviations from the mean: less distinguishes nothing


@dataclass(frozen=True, eq=False)
class Profile:
    """Means and spreads of the clusters, each point counted with its weight.

    Attributes
    ----------
    names
        The features; none for a Gram matrix.
    sizes, shares
        Number of points of each cluster, and its share of the weight.
    means, spreads
        Mean and standard deviation of each feature in each cluster, in the user's units.
    overall_means, overall_spreads
        The same of all points together.
    """

    names: tuple[str, ...]
    sizes: IntArray
    shares: FloatArray
    means: FloatArray
    spreads: FloatArray
    overall_means: FloatArray
    overall_spreads: FloatArray

    @property
    def scores(self) -> FloatArray:
        """How far the mean of each cluster is from that of all points, in standard deviations of all points."""
        spreads = np.where(self.overall_spreads > 0, self.overall_spreads, 1.0)
        scores: FloatArray = (self.means - self.overall_means) / spreads
        return scores

    def telling(self, cluster: int, most: int = 3) -> list[tuple[str, float]]:
        """Return what distinguishes a cluster: the features farthest from the overall mean, and how far they are."""
        scores = self.scores[cluster]
        order = np.argsort(-np.abs(scores), kind="stable")[:most]
        return [(self.names[f], float(scores[f])) for f in order if abs(scores[f]) >= _LEAST_TELLING]

    def in_words(self, cluster: int, most: int = 3) -> str:
        """Say what distinguishes a cluster."""
        found = self.telling(cluster, most)
        words = [f"{name} {'high' if score > 0 else 'low'} ({score:+.1f} sd)" for name, score in found]
        return ", ".join(words) or ("near the overall mean" if self.names else "")

    def titles(self) -> list[str]:
        """Return the columns of :meth:`rows`."""
        columns = [f"{name} {what}" for name in self.names for what in ("mean", "spread")]
        return ["cluster", "size", "share", *columns, *(["distinguished by"] if self.names else [])]

    def rows(self) -> list[list[Any]]:
        """Return one row per cluster."""
        return [
            [
                cluster,
                int(self.sizes[cluster]),
                float(self.shares[cluster]),
                *np.column_stack([self.means[cluster], self.spreads[cluster]]).ravel().tolist(),
                *([self.in_words(cluster)] if self.names else []),
            ]
            for cluster in range(len(self.sizes))
        ]

    def to_frame(self) -> Any:
        """Return the rows as a DataFrame, by cluster."""
        return pandas().DataFrame(self.rows(), columns=self.titles()).set_index("cluster")


def profile_of(result: SolveResult) -> Profile:
    """Describe the clusters of a result.

    Raises
    ------
    InputError
        If it has no clustering.
    """
    clustering, instance = result.clustering, result.instance
    if clustering is None:
        raise InputError("there is no clustering to describe")
    labels, k = clustering.labels, clustering.n_clusters
    weights = instance.weights / instance.weights.max()
    totals: FloatArray = np.bincount(labels, weights, minlength=k).astype(np.float64)
    shares = totals / totals.sum()
    if instance.geometry != "points" or clustering.centres is None:
        nothing = np.empty((k, 0))
        return Profile((), clustering.sizes, shares, nothing, nothing, np.empty(0), np.empty(0))
    points, means = instance.points, clustering.centres
    names = instance.feature_names or tuple(f"feature {f}" for f in range(instance.n_features))
    spreads = np.empty_like(means)
    overall_means, overall_spreads = np.empty(len(names)), np.empty(len(names))
    everything = np.zeros(len(points), dtype=np.int64)
    for feature in range(len(names)):  # one at a time: a table of a million points is not copied
        column = points[:, feature]
        spreads[:, feature] = _spread(column - means[labels, feature], weights, labels, totals)
        anchor = column[0]
        mean = anchor + np.average(column - anchor, weights=weights)
        overall_means[feature] = mean
        overall_spreads[feature] = _spread(column - mean, weights, everything, totals.sum(keepdims=True))[0]
    return Profile(names, clustering.sizes, shares, means, spreads, overall_means, overall_spreads)


def _spread(deviations: FloatArray, weights: FloatArray, labels: IntArray, totals: FloatArray) -> FloatArray:
    """Return the root mean square of deviations by cluster; scaled, so that squares stay in range."""
    unit = max(float(np.abs(deviations).max()), np.finfo(np.float64).tiny)
    squares = np.bincount(labels, weights * (deviations / unit) ** 2, minlength=len(totals))
    spread: FloatArray = unit * np.sqrt(squares / totals)
    return spread
