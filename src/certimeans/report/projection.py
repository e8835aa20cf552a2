"""Where to draw a point: two coordinates, whatever the number of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.problem.instance import Instance


@dataclass(frozen=True, eq=False)
class Projection:
    """Points in the plane.

    Attributes
    ----------
    points
        Two coordinates per point.
    names
        What the two axes show.
    is_metric
        Whether distances in the picture are distances of the data, as far as two axes can show them.
    """

    points: FloatArray
    names: tuple[str, str]
    is_metric: bool

    def centres(self, labels: IntArray, weights: FloatArray) -> FloatArray:
        """Return the weighted mean of each cluster; where the projection is linear, the centre's own place."""
        totals = np.bincount(labels, weights)
        sums = [np.bincount(labels, weights * column) for column in self.points.T]
        return np.column_stack([s / totals for s in sums])


def has_points(instance: Instance) -> bool:
    """Whether the problem has coordinates to draw; one that was given as a Gram matrix has none."""
    return getattr(instance, "geometry", "points") == "points"


def project(instance: Instance) -> Projection:
    """Project on the two main axes; two features are shown as they are, a single one against its rank.

    Raises
    ------
    InputError
        If the problem has no points.
    """
    if not has_points(instance):
        raise InputError("this picture needs points; this problem was given as a Gram matrix")
    if instance.n_features == 1:
        values = instance.points[:, 0]
        rank = np.empty(len(values))
        rank[np.argsort(values, kind="stable")] = np.arange(1, len(values) + 1)
        return Projection(np.column_stack([values, rank]), (feature_name(instance, 0), "rank of the value"), False)
    if instance.n_features == 2:
        return Projection(instance.points, (feature_name(instance, 0), feature_name(instance, 1)), True)
    coordinates, shares = _main_axes(instance)
    first, second = (f"main axis {i + 1} ({100 * share:.1f} % of the variance)" for i, share in enumerate(shares))
    return Projection(coordinates, (first, second), True)


def feature_name(instance: Instance, feature: int) -> str:
    """Return the user's name of a feature, or its number."""
    names = instance.feature_names
    return f"feature {feature}" if names is None else names[feature]


def centred_points(instance: Instance) -> tuple[FloatArray, int]:
    """Return the points around their weighted mean, divided by 2**exponent, and the exponent: squares stay in range.

    If the problem is about standardised features, so are these.
    """
    points, weights = instance.points, instance.weights
    exponent = _exponent(points)
    moved = np.ldexp(points, -exponent)
    moved = moved - (0.5 * moved.min(axis=0) + 0.5 * moved.max(axis=0))  # far from the origin, digits survive this
    spread = _exponent(moved)
    moved = np.ldexp(moved, -spread)
    shares = weights / weights.max()
    moved = moved - shares @ moved / shares.sum()
    if getattr(instance, "standardize", False):
        deviations = moved.std(axis=0)
        return moved / np.where(deviations > 0, deviations, 1.0), 0
    return moved, exponent + spread


def _exponent(values: FloatArray) -> int:
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


def _main_axes(instance: Instance) -> tuple[FloatArray, FloatArray]:
    """Return coordinates on the two main axes, in the user's units, and each axis's share of the scatter."""
    points, exponent = centred_points(instance)
    rows = points * np.sqrt(instance.weights)[:, None]
    if len(rows) == 1:
        return np.zeros((1, 2)), np.zeros(2)
    few_features = rows.shape[1] <= rows.shape[0]
    square = rows.T @ rows if few_features else rows @ rows.T
    values, vectors = eigh(square, subset_by_index=[len(square) - 2, len(square) - 1])
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    axes = vectors if few_features else rows.T @ vectors
    lengths = np.linalg.norm(axes, axis=0)
    axes = axes / np.where(lengths > 0, lengths, 1.0)
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]]) + 0.0  # a sign that does not depend on the library
    total = float((rows**2).sum())
    shares: FloatArray = values / total if total > 0 else np.zeros(2)
    return np.ldexp(points @ axes, exponent), shares
