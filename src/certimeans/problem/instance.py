"""The problem as the user states it: points, weights, the number of clusters, and constraints."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints, PairsLike
from certimeans.problem.expand import expand
from certimeans.problem.scaling import ScaledPoints, centre_and_scale


@dataclass(frozen=True, eq=False)
class Instance:
    """A clustering problem, checked and frozen.

    Find k non-empty clusters that keep every constraint and minimise the weighted sum of squared distances of the
    points to the centroid of their cluster.

    Parameters
    ----------
    points
        One row a point; numbers of any kind, or a DataFrame.
    n_clusters
        k, the number of clusters.
    constraints
        What must and what cannot share a cluster.
    weights
        Positive weight of each point; 1 if not given.

    Attributes
    ----------
    must_link, cannot_link
        The constraints of every kind as pairs, each once, smaller number first.
    feature_names
        Column names of a DataFrame, else ``None``.

    Raises
    ------
    InputError
        If an argument is not usable; the message names it and says where.
    """

    points: FloatArray
    n_clusters: int
    constraints: Constraints = field(default_factory=Constraints)
    weights: FloatArray = None  # type: ignore[assignment]  # None means 1 each; set in __post_init__
    feature_names: tuple[str, ...] | None = None
    must_link: IntArray = field(init=False)
    cannot_link: IntArray = field(init=False)

    def __post_init__(self) -> None:
        names = self.feature_names
        if names is None and hasattr(self.points, "columns"):
            names = tuple(str(column) for column in self.points.columns)
        points = as_points(self.points)
        weights = as_weights(self.weights, len(points))
        n_clusters = as_n_clusters(self.n_clusters, len(points))
        self.constraints.check_range(len(points))
        pairs = expand(self.constraints, points)
        for name, value in (
            ("points", points),
            ("weights", weights),
            ("n_clusters", n_clusters),
            ("feature_names", names),
            ("must_link", pairs.must_link),
            ("cannot_link", pairs.cannot_link),
        ):
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)
        if not np.isfinite(self.total_scatter):
            raise InputError(
                f"the squared distances of these points are too large for double precision (largest coordinate "
                f"{np.abs(points).max():.3g}, largest weight {weights.max():.3g}); divide the points by a constant"
            )

    @classmethod
    def create(
        cls,
        points: ArrayLike,
        n_clusters: int,
        *,
        must_link: PairsLike | None = None,
        cannot_link: PairsLike | None = None,
        weights: ArrayLike | None = None,
        **kinds: Any,
    ) -> Instance:
        """Build an instance from plain arguments; ``kinds`` are the other kinds of :meth:`Constraints.create`."""
        constraints = Constraints.create(must_link, cannot_link, **kinds)
        return cls(points, n_clusters, constraints, weights)  # type: ignore[arg-type]  # __post_init__ converts

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.points)

    @property
    def n_features(self) -> int:
        """Number of coordinates of a point."""
        return int(self.points.shape[1])

    @cached_property
    def scaled(self) -> ScaledPoints:
        """The points, centred at their weighted mean and scaled: what all numerical work starts from."""
        return centre_and_scale(self.points, self.weights)

    @cached_property
    def total_scatter(self) -> float:
        """Cost of a single cluster with all points, in the user's units."""
        squares = (self.scaled.points**2).sum(axis=1)
        return self.scaled.in_original_units(float(self.weights @ squares))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that defines the problem: equal for equal points, weights, k and pairs."""
        digest = hashlib.sha256(b"certimeans instance 1\n")
        digest.update(np.array([*self.points.shape, self.n_clusters], dtype="<i8").tobytes())
        for values in (self.points, self.weights):
            digest.update((values + 0.0).astype("<f8").tobytes())  # + 0.0 turns -0.0 into 0.0
        for pairs in (self.must_link, self.cannot_link):
            digest.update(np.array([len(pairs)], dtype="<i8").tobytes())
            digest.update(pairs.astype("<i8").tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return (
            f"Instance({self.n_points} points, {self.n_features} features, k={self.n_clusters}, "
            f"{len(self.must_link)} must-links, {len(self.cannot_link)} cannot-links)"
        )


def as_points(points: Any) -> FloatArray:
    """Copy a user's points into a table of finite doubles.

    Raises
    ------
    InputError
        If they are not such a table; the message names the first bad row and column.
    """
    if hasattr(points, "tocsr"):
        raise InputError("points are a sparse matrix; pass a dense one, e.g. points.toarray()")
    try:
        array = np.asarray(points)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"points must be a table of numbers, every row of the same length ({error})") from None
    if array.ndim != 2:
        advice = "; for one feature pass points.reshape(-1, 1)" if array.ndim == 1 else ""
        raise InputError(f"points must be a 2-D table, one row a point; got shape {array.shape}{advice}")
    if array.size == 0:
        raise InputError(f"points are empty: got {array.shape[0]} rows and {array.shape[1]} columns")
    if np.iscomplexobj(array):
        raise InputError("points hold complex numbers; only real ones can be clustered")
    table = _as_doubles(array)
    bad = np.argwhere(~np.isfinite(table))
    if bad.size:
        row, column = bad[0]
        given = array[row, column]
        raise InputError(
            f"points[{row}, {column}] is {given}: every coordinate must be a finite number "
            f"({len(bad)} such {'entry' if len(bad) == 1 else 'entries'}); fill or drop missing values first"
        )
    return table


def _as_doubles(array: np.ndarray[Any, Any]) -> FloatArray:
    try:
        if array.dtype.kind in "biuf":
            with np.errstate(over="ignore"):  # what overflows becomes inf and is reported with its place
                return np.array(array, dtype=np.float64, order="C")
        if array.dtype.kind == "O":
            return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        pass
    cells = [(place, value) for place, value in np.ndenumerate(array) if not _is_number(value)]
    if not cells:
        raise InputError(f"points have type {array.dtype}; pass numbers, not text or dates")
    (row, column), value = cells[0]
    raise InputError(f"points[{row}, {column}] is {str(value)!r}: every coordinate must be a number")


def _is_number(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError, OverflowError):
        return False


def as_weights(weights: ArrayLike | None, n_points: int) -> FloatArray:
    """Check weights, one positive finite number a point; ``None`` stands for 1 each."""
    if weights is None:
        return np.ones(n_points)
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("weights must be numbers, one for each point") from None
    if array.shape != (n_points,):
        raise InputError(f"weights have shape {array.shape}; give one number for each of the {n_points} points")
    bad = np.flatnonzero(~(np.isfinite(array) & (array > 0)))
    if bad.size:
        raise InputError(f"weights[{bad[0]}] is {array[bad[0]]}: every weight must be positive and finite")
    return array


def as_n_clusters(n_clusters: object, n_points: int) -> int:
    """Check k: an integer from 1 to the number of points."""
    if not isinstance(n_clusters, Integral) or isinstance(n_clusters, bool):
        raise InputError(f"n_clusters must be an integer; got {n_clusters!r}")
    n_clusters = int(n_clusters)
    if n_clusters < 1:
        raise InputError(f"n_clusters must be at least 1; got {n_clusters}")
    if n_clusters > n_points:
        raise InputError(f"n_clusters is {n_clusters}, but there are only {n_points} points")
    return n_clusters
