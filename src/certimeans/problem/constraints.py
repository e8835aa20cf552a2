"""What the user knows: which points belong together, and which apart.

A :class:`Constraints` object holds the knowledge as the user stated it. Together with the points, :mod:`.expand` turns
every kind into must-link and cannot-link pairs, and :mod:`.sizes` what is said about the sizes of clusters into exact
integers; everything after that sees pairs and these only.

To add a kind that says something about pairs, give it a field here, a function in :mod:`.expand` that turns it into
pairs, a phrase in :meth:`Constraints.reason`, and a reader in :mod:`.io.links`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from certimeans._typing import IntArray
from certimeans.errors import InputError
from certimeans.problem.sizes import StatedSizes

PairsLike: TypeAlias = ArrayLike | Iterable[Sequence[int]]
"""What users pass as pairs: an array with two columns, or any iterable of pairs."""

LinkKind = Literal["must-link", "cannot-link"]

_UNKNOWN_WORDS = frozenset({"", "?", "na", "nan", "none", "-1"})


def _no_pairs() -> IntArray:
    return np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PartialLabels:
    """Classes known for some points: the same class must link, different classes cannot link.

    Attributes
    ----------
    codes
        The class of each point, numbered by first appearance; -1 where it is unknown.
    names
        The user's name of each class.
    """

    codes: IntArray
    names: tuple[str, ...]

    @classmethod
    def encode(cls, values: Iterable[Any]) -> PartialLabels:
        """Read one value per point; ``None``, NaN, -1, ``""``, ``"?"`` and ``"NA"`` mean unknown."""
        numbers: dict[str, int] = {}
        codes = [_class_number(value, numbers) for value in values]
        return cls(np.array(codes, dtype=np.int64), tuple(numbers))


def _class_number(value: object, numbers: dict[str, int]) -> int:
    if isinstance(value, Real) and float(value).is_integer():
        value = int(float(value))  # so that 1, 1.0 and "1" are one class
    name = "" if value is None else str(value).strip()
    return -1 if name.lower() in _UNKNOWN_WORDS else numbers.setdefault(name, len(numbers))


@dataclass(frozen=True, eq=False)
class Constraints:
    """Knowledge about points that are numbered from 0, and about clusters.

    Attributes
    ----------
    must_link, cannot_link
        Pairs that share a cluster, and pairs that do not: each pair once, smaller number first, sorted. Any sequence
        of pairs may be given; reversed and repeated pairs are fine.
    diameter
        Two points farther apart than this cannot link.
    split
        Two points closer than this must link.
    partial_labels
        Known classes of some points.
    cluster_sizes
        How large clusters may be; ``None`` if nothing is said about that.
    """

    must_link: IntArray = field(default_factory=_no_pairs)
    cannot_link: IntArray = field(default_factory=_no_pairs)
    diameter: float | None = None
    split: float | None = None
    partial_labels: PartialLabels | None = None
    cluster_sizes: StatedSizes | None = None

    def __post_init__(self) -> None:
        for name in ("must_link", "cannot_link"):
            object.__setattr__(self, name, as_pairs(getattr(self, name), name))
        for name in ("diameter", "split"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _as_distance(value, name))

    @classmethod
    def create(  # noqa: PLR0913  # all that can be said
        cls,
        must_link: PairsLike | None = None,
        cannot_link: PairsLike | None = None,
        *,
        diameter: float | None = None,
        split: float | None = None,
        partial_labels: Iterable[Any] | None = None,
        size_min: float | None = None,
        size_max: float | None = None,
        sizes: Iterable[float] | None = None,
        capacity: ArrayLike | None = None,
    ) -> Constraints:
        """Check and tidy what a user passes; ``None`` stands for nothing known."""
        return cls(
            as_pairs(must_link, "must_link"),
            as_pairs(cannot_link, "cannot_link"),
            diameter,
            split,
            None if partial_labels is None else PartialLabels.encode(partial_labels),
            StatedSizes.create(size_min, size_max, sizes, capacity),
        )

    def __or__(self, other: Constraints) -> Constraints:
        """All that either states."""
        if self.partial_labels is not None and other.partial_labels is not None:
            raise InputError("partial labels are given twice; merge them into one list")
        ours, theirs = self.cluster_sizes, other.cluster_sizes
        return Constraints(
            np.vstack([self.must_link, other.must_link]),
            np.vstack([self.cannot_link, other.cannot_link]),
            min((d for d in (self.diameter, other.diameter) if d is not None), default=None),
            max((d for d in (self.split, other.split) if d is not None), default=None),
            self.partial_labels or other.partial_labels,
            ours | theirs if ours is not None and theirs is not None else ours or theirs,
        )

    def check_range(self, n_points: int) -> None:
        """Raise :class:`InputError` where a pair, a label or a capacity has no point."""
        for name in ("must_link", "cannot_link"):
            pairs: IntArray = getattr(self, name)
            outside = np.flatnonzero(pairs[:, 1] >= n_points)
            if outside.size:
                i, j = pairs[outside[0]]
                raise InputError(
                    f"{name} pair ({i}, {j}): there are only {n_points} points, numbered 0 to {n_points - 1}"
                )
        if self.partial_labels is not None and len(self.partial_labels.codes) != n_points:
            given = len(self.partial_labels.codes)
            raise InputError(
                f"partial_labels has {given} entries for {n_points} points; give one for each, -1 if unknown"
            )
        if self.cluster_sizes is not None:
            self.cluster_sizes.check_range(n_points)

    def reason(self, kind: LinkKind, i: int, j: int) -> str:
        """Say in a few words why two points are linked, or not: where the pair came from."""
        stated = self.must_link if kind == "must-link" else self.cannot_link
        if _contains(stated, i, j):
            return kind
        labels = self.partial_labels
        if labels is not None and labels.codes[i] >= 0 and labels.codes[j] >= 0:
            first, second = labels.names[labels.codes[i]], labels.names[labels.codes[j]]
            if kind == "must-link" and first == second:
                return f"both labelled {first!r}"
            if kind == "cannot-link" and first != second:
                return f"labelled {first!r} and {second!r}"
        if kind == "must-link":
            return f"closer than {self.split:g}" if self.split is not None else kind
        return f"farther apart than {self.diameter:g}" if self.diameter is not None else kind


def as_pairs(pairs: PairsLike | None, name: str) -> IntArray:
    """Turn what a user passes into a sorted array of distinct pairs (i, j) with i < j.

    Raises
    ------
    InputError
        If an entry is not a pair of two different non-negative integers; the message names the entry.
    """
    if pairs is None:
        return _no_pairs()
    array = _as_pair_array(pairs, name)
    if array.size == 0:
        return _no_pairs()
    bad = np.flatnonzero((array < 0).any(axis=1) | (array[:, 0] == array[:, 1]))
    if bad.size:
        i, j = array[bad[0]]
        problem = "a pair needs two different points" if i == j else "points are numbered from 0"
        raise InputError(f"{name}[{bad[0]}] = ({i}, {j}): {problem}")
    unique: IntArray = np.unique(np.sort(array, axis=1), axis=0)
    unique.setflags(write=False)
    return unique


def _as_pair_array(pairs: Any, name: str) -> IntArray:
    if isinstance(pairs, str | bytes):
        raise InputError(f"{name} must be a sequence of pairs (i, j); got a string")
    try:
        if not hasattr(pairs, "__array__"):
            pairs = list(pairs)  # sets and generators of pairs are welcome
        array = np.asarray(pairs)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a sequence of pairs (i, j){_first_odd_entry(pairs, name)}") from None
    if array.size == 0 and array.ndim <= 2:
        return _no_pairs()
    if array.ndim != 2 or array.shape[1] != 2:
        advice = f"; for one pair write [{tuple(array.tolist())}]" if array.shape == (2,) else ""
        raise InputError(f"{name} must be a sequence of pairs (i, j); got an array of shape {array.shape}{advice}")
    if not np.issubdtype(array.dtype, np.integer):
        given = pairs if isinstance(pairs, list) else array.tolist()
        advice = "; names need points that have them: a DataFrame with an index" if array.dtype.kind == "U" else ""
        raise InputError(f"{name} must hold integers{_first_odd_entry(given, name)}{advice}")
    if array.dtype == np.uint64 and (array > np.iinfo(np.int64).max).any():
        raise InputError(f"{name} holds numbers that are too large for point numbers")
    return array.astype(np.int64)


def _first_odd_entry(pairs: object, name: str) -> str:
    """Name the first entry that is not a pair of integers, for an error message."""
    if not isinstance(pairs, list):
        return f"; got {type(pairs).__name__}"
    for position, entry in enumerate(pairs):
        is_pair = hasattr(entry, "__len__") and not isinstance(entry, str) and len(entry) == 2
        if not is_pair or not all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in entry):
            return f"; {name}[{position}] is {entry!r}"
    return ""


def _as_distance(value: Any, name: str) -> float:
    is_distance = isinstance(value, Real) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max  # type: ignore[operator]  # comparable
    if not is_distance:
        shown = "a huge number" if isinstance(value, int) and value.bit_length() > 1024 else repr(value)
        raise InputError(f"{name} must be a finite distance, zero or more; got {shown}")
    return float(value)


def _contains(pairs: IntArray, i: int, j: int) -> bool:
    low, high = min(i, j), max(i, j)
    start, stop = np.searchsorted(pairs[:, 0], [low, low + 1])
    return bool((pairs[start:stop, 1] == high).any())
