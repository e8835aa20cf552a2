"""The problem as the user states it: points, weights, the number of clusters, and constraints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints, PairsLike
from certimeans.problem.cost import Interval, as_interval, cost_by_feature, cost_of_gram, cost_of_points
from certimeans.problem.expand import expand
from certimeans.problem.rounding import root_of
from certimeans.problem.scaling import SMALLEST_WEIGHT_RATIO, ScaledData, scale_gram, scale_points
from certimeans.problem.sizes import SizeLimits, exact_limits
from certimeans.problem.sources import is_mapped
from certimeans.problem.validation import as_gram, as_n_clusters, as_points, as_weights, gram_of_distances

SMALLEST_SCATTER = 2.0**-1000
"""Below it a cost may have too few digits for a proof: doubles lose digits from 2**-1022 on."""

_ROWS_AT_A_TIME = 100_000

Geometry = Literal["points", "gram"]


@dataclass(frozen=True, eq=False)
class Instance:
    """A clustering problem, checked and frozen.

    Find k non-empty clusters that keep every constraint and minimise the weighted sum of squared distances of the
    points to the centroid of their cluster.

    Parameters
    ----------
    table
        The points, one row per point: numbers of any kind, or a DataFrame. Or their Gram matrix.
    n_clusters
        k, the number of clusters.
    constraints
        What must and what cannot share a cluster, and how large clusters may be.
    weights
        Positive weight of each point; 1 if not given.
    feature_names
        Names of the columns; a DataFrame's own if not given.
    geometry
        Whether ``table`` holds points, or inner products: a symmetric matrix K, which gives clusters C the cost
        ``sum_i w_i K_ii - sum_C (sum_{i, j in C} w_i w_j K_ij) / w(C)``. It need not be positive semidefinite.
    standardize
        Whether distances are measured in standard deviations of the features (population variance, unweighted).
        The points stay the user's own; features that are constant do not count.

    Attributes
    ----------
    must_link, cannot_link
        The constraints of every kind about pairs, each pair once, smaller number first.
    limits
        What is said about the sizes of clusters, in exact integers; ``None`` for nothing.

    Raises
    ------
    InputError
        If an argument is not usable; the message names it and says where.
    """

    table: FloatArray
    n_clusters: int
    constraints: Constraints = field(default_factory=Constraints)
    weights: FloatArray = None  # type: ignore[assignment]  # None means 1 each; set in __post_init__
    feature_names: tuple[str, ...] | None = None
    geometry: Geometry = "points"
    standardize: bool = False
    must_link: IntArray = field(init=False)
    cannot_link: IntArray = field(init=False)
    limits: SizeLimits | None = field(init=False)

    def __post_init__(self) -> None:
        names = self.feature_names
        if names is None and self.geometry == "points" and hasattr(self.table, "columns"):
            names = tuple(str(column) for column in self.table.columns)
        table = as_points(self.table) if self.geometry == "points" else as_gram(self.table)
        if self.standardize and self.geometry == "gram":
            raise InputError("standardize needs points; this problem is given as a Gram matrix")
        weights = as_weights(self.weights, len(table))
        n_clusters = as_n_clusters(self.n_clusters, len(table))
        self.constraints.check_range(len(table))
        for name, value in (
            ("table", table),
            ("weights", weights),
            ("n_clusters", n_clusters),
            ("feature_names", names),
            ("standardize", bool(self.standardize)),
        ):
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)
        pairs = expand(self.constraints, self._positions)
        for name, links in (("must_link", pairs.must_link), ("cannot_link", pairs.cannot_link)):
            links.setflags(write=False)
            object.__setattr__(self, name, links)
        limits = exact_limits(self.constraints.cluster_sizes, weights, n_clusters)
        object.__setattr__(self, "limits", limits)
        self._check_range_of_costs()
        if is_mapped(table):
            _ = self.fingerprint  # what the points are now is what everything will be about

    @classmethod
    def create(  # noqa: PLR0913  # all that a problem can consist of
        cls,
        points: ArrayLike | None = None,
        n_clusters: int | None = None,
        *,
        gram: ArrayLike | None = None,
        squared_distances: ArrayLike | None = None,
        must_link: PairsLike | None = None,
        cannot_link: PairsLike | None = None,
        weights: ArrayLike | None = None,
        diameter: float | None = None,
        split: float | None = None,
        partial_labels: Iterable[Any] | None = None,
        size_min: float | None = None,
        size_max: float | None = None,
        sizes: Iterable[float] | None = None,
        capacity: ArrayLike | None = None,
        standardize: bool = False,
        feature_names: tuple[str, ...] | None = None,
    ) -> Instance:
        """Build an instance from plain arguments: points, or a Gram matrix, or squared distances."""
        constraints = Constraints.create(
            must_link,
            cannot_link,
            diameter=diameter,
            split=split,
            partial_labels=partial_labels,
            size_min=size_min,
            size_max=size_max,
            sizes=sizes,
            capacity=capacity,
        )
        table, geometry = one_table(points, gram, squared_distances)
        return cls(table, n_clusters, constraints, weights, feature_names, geometry, standardize)  # type: ignore[arg-type]  # __post_init__ converts

    @property
    def points(self) -> FloatArray:
        """The points, one row per point.

        Raises
        ------
        InputError
            If the problem was given as a Gram matrix, which knows no points.
        """
        if self.geometry != "points":
            raise InputError("this needs points, but the problem was given as a Gram matrix")
        return self.table

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.table)

    @property
    def n_features(self) -> int:
        """Number of coordinates of a point; 0 for a Gram matrix."""
        return int(self.table.shape[1]) if self.geometry == "points" else 0

    @cached_property
    def variances(self) -> list[tuple[Fraction, Fraction]] | None:
        """For each feature two numbers that enclose its variance, by which squares are divided; ``None`` for none."""
        if not self.standardize:
            return None
        everything = np.zeros(self.n_points, dtype=np.int64)
        scatters = cost_by_feature(self.points, np.ones(self.n_points), everything, 1)
        return [(low / self.n_points, high / self.n_points) for low, high in scatters]

    @cached_property
    def scaled(self) -> ScaledData:
        """The problem in working numbers: what all numerical work starts from."""
        if self.geometry == "gram":
            return scale_gram(self.table, self.weights, self.n_clusters)
        return scale_points(self.table, self.weights, self.deviations, self.deviation_error)

    @cached_property
    def total_scatter(self) -> float:
        """Cost of a single cluster with all points, in the user's units, rounded up."""
        return self.cost(np.zeros(self.n_points, dtype=np.int64)).high

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that defines the problem: equal for equal points, weights, k, pairs and size limits."""
        return self._digest()

    def check_unchanged(self) -> None:
        """Make sure that points in a mapped file are still those of the beginning; others cannot change.

        Raises
        ------
        InputError
            If the file was changed.
        """
        if is_mapped(self.table) and self._digest() != self.fingerprint:
            raise InputError("the file of points was changed during the solve; nothing can be said about its points")

    def _digest(self) -> str:
        digest = hashlib.sha256(b"certimeans instance 2\n")
        digest.update(f"{self.geometry}\n{int(self.standardize)}\n".encode())
        digest.update(np.array([self.n_points, self.n_features, self.n_clusters], dtype="<i8").tobytes())
        for values in (self.table, self.weights):
            for first in range(0, len(values), _ROWS_AT_A_TIME):
                block = values[first : first + _ROWS_AT_A_TIME] + 0.0  # + 0.0 turns -0.0 into 0.0
                digest.update(block.astype("<f8", copy=False).tobytes())
        for pairs in (self.must_link, self.cannot_link):
            digest.update(np.array([len(pairs)], dtype="<i8").tobytes())
            digest.update(pairs.astype("<i8").tobytes())
        stated = self.constraints.cluster_sizes
        if stated is not None:
            digest.update(b"sizes\n")
            for numbers in stated.as_lists():
                digest.update(np.array([-1 if numbers is None else len(numbers)], dtype="<i8").tobytes())
                digest.update(np.array([] if numbers is None else numbers, dtype="<f8").tobytes())
        return digest.hexdigest()

    def cost(self, labels: IntArray) -> Interval:
        """Enclose the cost of clusters 0, 1, ..., all of which have points, in the user's units."""
        k = int(labels.max()) + 1
        if self.geometry == "gram":
            return as_interval(*cost_of_gram(self.table, self.weights, labels, k))
        if self.variances is None:
            return as_interval(*cost_of_points(self.table, self.weights, labels, k))
        low = high = Fraction(0)
        costs = cost_by_feature(self.table, self.weights, labels, k)
        for (least, most), (smallest, largest) in zip(costs, self.variances, strict=True):
            if most > 0:  # else the feature is constant in each cluster, and its variance may be 0
                low += least / largest
                high += most / smallest
        return as_interval(low, high)

    @cached_property
    def deviations(self) -> FloatArray | None:
        """Standard deviation of each feature if they are standardised, 1 for constant ones; else ``None``."""
        if self.variances is None:
            return None
        deviations = np.array([root_of(low) if low else 1.0 for low, _ in self.variances])
        if deviations.min() < np.finfo(np.float64).tiny:
            raise InputError(
                f"feature {int(deviations.argmin())} varies by {deviations.min():.3g} only, too little for double "
                "precision to standardize it; multiply it by a constant, or leave it out"
            )
        return deviations

    @cached_property
    def deviation_error(self) -> float:
        """A bound on the relative error of each of the deviations; 0 without standardising."""
        if self.variances is None:
            return 0.0
        # The root of a variance is off by half of the interval's relative width, and by a rounding or two.
        width = max((float((high - low) / low) for low, high in self.variances if low > 0), default=0.0)
        return width + 2.0**-50

    def positions(self, points: FloatArray) -> FloatArray:
        """Return points, not only the instance's own, such that plain distances between them are those that count."""
        if self.deviations is None or self.variances is None:
            return points
        fractions, exponents = np.frexp(self.deviations)
        moved = np.ldexp(points - np.median(self.table, axis=0), -exponents) / fractions
        counts = np.array([high > 0 for _, high in self.variances])  # others may vary in points that are not our own
        return np.where(counts, moved, 0.0)

    @cached_property
    def _positions(self) -> FloatArray:
        """Points between which distances are measured, for constraints that are about distances."""
        if self.geometry == "gram":
            if self.constraints.diameter is not None or self.constraints.split is not None:
                raise InputError("diameter and split need points; a Gram matrix has none")
            return np.empty((self.n_points, 0))
        return self.positions(self.table)

    def _check_range_of_costs(self) -> None:
        """Refuse problems whose costs are no ordinary doubles."""
        if self.weights.min() < SMALLEST_WEIGHT_RATIO * self.weights.max():
            raise InputError(
                f"weights from {self.weights.min():.3g} to {self.weights.max():.3g} differ by more than double "
                "precision can handle; leave out the points with the smallest weights"
            )
        scatter = abs(self.total_scatter)
        if not np.isfinite(scatter):
            raise InputError(
                f"the squared distances of these points are too large for double precision (largest number "
                f"{np.abs(self.table).max():.3g}, largest weight {self.weights.max():.3g}); divide them by a constant"
            )
        if 0 < scatter < SMALLEST_SCATTER:
            raise InputError(
                f"the squared distances of these points are too small for double precision (all of them together "
                f"make {scatter:.3g}); multiply the points or the weights by a constant"
            )

    def __repr__(self) -> str:
        features = _counted(self.n_features, "feature") if self.geometry == "points" else "a Gram matrix"
        sizes = self.constraints.cluster_sizes
        return (
            f"Instance({_counted(self.n_points, 'point')}, {features}{', standardized' if self.standardize else ''}, "
            f"k={self.n_clusters}, {_counted(len(self.must_link), 'must-link')}, "
            f"{_counted(len(self.cannot_link), 'cannot-link')}{'' if sizes is None else f', {sizes.in_words()}'})"
        )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def one_table(points: Any, gram: Any, squared_distances: Any) -> tuple[Any, Geometry]:
    """Return what the problem is about: points or a Gram matrix; exactly one of the arguments is not ``None``."""
    ways = {"points": points, "gram": gram, "squared_distances": squared_distances}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        said = "nothing" if not given else " and ".join(given)
        raise InputError(f"give the data once, as points, as gram or as squared_distances; got {said}")
    if points is not None:
        return points, "points"
    return (gram if gram is not None else gram_of_distances(squared_distances)), "gram"
