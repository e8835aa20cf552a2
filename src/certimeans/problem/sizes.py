"""How large clusters may be: what the user states, and the same in exact integers.

A limit applies to the number of points of a cluster, or to the sum of their capacities. Capacities and limits are the
doubles that they are, and a double is an integer times a power of two: so in the smallest of these powers everything
is an integer, sums are exact, and whether a cluster keeps a limit is never a matter of rounding.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError

Amounts = NDArray[Any]
"""Exact integers: 64 bits where all sums fit, else Python's own."""

_FITS = 2**62
_NORMAL = 1e-300  # well above the subnormal numbers


@dataclass(frozen=True, eq=False)
class StatedSizes:
    """What a user says about the sizes of clusters.

    Attributes
    ----------
    size_min, size_max
        Every cluster has at least, and at most, that many points; ``None`` for no limit.
    sizes
        The exact sizes, one for each cluster, in any order.
    capacity
        One number for each point: limits and sizes then apply to its sum over a cluster, not to the number of points.
    """

    size_min: float | None = None
    size_max: float | None = None
    sizes: tuple[float, ...] | None = None
    capacity: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("size_min", "size_max"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _as_limit(value, name))
        if self.sizes is not None:
            object.__setattr__(self, "sizes", _as_sizes(self.sizes))
        if self.capacity is not None:
            object.__setattr__(self, "capacity", _as_capacity(self.capacity))
        if self.size_min is not None and self.size_max is not None and self.size_min > self.size_max:
            raise InputError(f"size_min is {shown(self.size_min)}, above size_max, which is {shown(self.size_max)}")
        for size in self.sizes or ():
            if size < (self.size_min or 0) or size > (math.inf if self.size_max is None else self.size_max):
                raise InputError(
                    f"sizes has {shown(size)}, which is not between size_min and size_max; give the sizes alone"
                )

    @classmethod
    def create(
        cls, size_min: Any = None, size_max: Any = None, sizes: Iterable[Any] | None = None, capacity: Any = None
    ) -> StatedSizes | None:
        """Check what a user passes; ``None`` if that is nothing."""
        if size_min is None and size_max is None and sizes is None and capacity is None:
            return None
        return cls(size_min, size_max, sizes, capacity)  # type: ignore[arg-type]  # __post_init__ converts

    @property
    def has_limits(self) -> bool:
        """Whether anything is limited; capacities alone limit nothing."""
        return self.size_min is not None or self.size_max is not None or self.sizes is not None

    def __or__(self, other: StatedSizes) -> StatedSizes:
        """All that either states."""
        capacities = [capacity for capacity in (self.capacity, other.capacity) if capacity is not None]
        if len(capacities) == 2 and not np.array_equal(capacities[0], capacities[1]):
            raise InputError("capacity is given twice, with different numbers")
        if self.sizes is not None and other.sizes is not None and sorted(self.sizes) != sorted(other.sizes):
            raise InputError("sizes are given twice, with different numbers")
        return StatedSizes(
            max((m for m in (self.size_min, other.size_min) if m is not None), default=None),
            min((m for m in (self.size_max, other.size_max) if m is not None), default=None),
            self.sizes if self.sizes is not None else other.sizes,
            self.capacity if self.capacity is not None else other.capacity,
        )

    def check_range(self, n_points: int) -> None:
        """Raise :class:`InputError` if there is not one capacity for each point."""
        if self.capacity is not None and len(self.capacity) != n_points:
            raise InputError(f"capacity has {len(self.capacity)} entries; give one for each of the {n_points} points")

    def as_lists(self) -> tuple[Sequence[float] | FloatArray | None, ...]:
        """Return all four as lists, ``None`` for what is not stated: how they are stored and told apart."""
        least = None if self.size_min is None else [self.size_min]
        most = None if self.size_max is None else [self.size_max]
        return least, most, None if self.sizes is None else sorted(self.sizes), self.capacity

    def in_words(self) -> str:
        """Say what is stated in a few words."""
        if self.sizes is not None:
            words = "sizes " + "/".join(shown(size) for size in sorted(self.sizes))
        elif self.size_max is None:
            words = f"sizes from {shown(self.size_min or 0)}"
        elif self.size_min is None:
            words = f"sizes up to {shown(self.size_max)}"
        else:
            words = f"sizes {shown(self.size_min)} to {shown(self.size_max)}"
        return words if self.capacity is None else f"{words} of capacity"

    def of_points(self, kept: IntArray) -> StatedSizes:
        """State the same about some of the points."""
        capacity = None if self.capacity is None else self.capacity[kept]
        return StatedSizes(self.size_min, self.size_max, self.sizes, capacity)


@dataclass(frozen=True, eq=False)
class SizeLimits:
    """The same for points or groups of them, in exact integers.

    Attributes
    ----------
    amounts
        What each point, or group, counts.
    least, most
        The sum of a cluster lies between these.
    exact
        The sums of all clusters in increasing order, if they are prescribed; then the first and the last are ``least``
        and ``most``.
    unit
        What an integer counts in the user's numbers.
    counts_points
        Whether every point counts 1.
    follows_weights
        Whether amounts are proportional to the weights of the points.
    decided
        Points, or groups, whose cluster is known to have a certain one of the prescribed sums: pairs of both.
    """

    amounts: Amounts
    least: int
    most: int
    exact: tuple[int, ...] | None
    unit: Fraction
    counts_points: bool
    follows_weights: bool
    decided: tuple[tuple[int, int], ...] = ()

    @property
    def fits(self) -> bool:
        """Whether all sums fit into 64 bits."""
        return self.amounts.dtype != object

    @cached_property
    def total(self) -> int:
        """The sum of all amounts."""
        return int(self.amounts.sum())

    def slots(self, n_clusters: int) -> list[tuple[int, int]]:
        """Return the least and the most of each of k clusters; exact sizes in increasing order."""
        if self.exact is not None:
            return [(size, size) for size in self.exact]
        return [(self.least, self.most)] * n_clusters

    def totals(self, labels: IntArray, n_clusters: int) -> list[int]:
        """Return the sum of each cluster."""
        return [int(total) for total in sum_amounts(self.amounts, labels, n_clusters)]

    def allow(self, totals: Sequence[int]) -> bool:
        """Whether clusters with these sums keep the limits."""
        if self.exact is not None:
            return sorted(totals) == list(self.exact)
        return all(self.least <= total <= self.most for total in totals)

    def merged(self, group_of: IntArray, size: int) -> SizeLimits:
        """Let points with one number in ``group_of`` count as one."""
        amounts = sum_amounts(self.amounts, group_of, size)
        decided = dict.fromkeys((int(group_of[i]), total) for i, total in self.decided)
        return replace(self, amounts=amounts, decided=tuple(decided))

    @property
    def choices(self) -> tuple[int, ...]:
        """The different sums that are prescribed, in increasing order; empty if none are."""
        return tuple(sorted(set(self.exact or ())))

    def as_number(self, amount: int) -> float:
        """Return an amount in the user's numbers, rounded where it has to be: for information only."""
        value = amount * self.unit
        if value.denominator == 1 and value < 2**53:
            return int(value)
        return float(min(value, Fraction(sys.float_info.max)))

    def in_words(self, amount: int) -> str:
        """Write an amount in the user's numbers."""
        return shown(amount * self.unit)

    def compared(self, amount: int, limit: int) -> str:
        """Write an amount beside the limit that it breaks, with the difference if both look alike."""
        first, second = self.in_words(amount), self.in_words(limit)
        words = f"{first}, {'above' if amount > limit else 'below'} {second}"
        return words if first != second else f"{words} by {shown(abs(amount - limit) * self.unit)}"


def exact_limits(stated: StatedSizes | None, weights: FloatArray, n_clusters: int) -> SizeLimits | None:
    """Turn what a user states into exact integers; ``None`` if nothing is limited.

    Raises
    ------
    InputError
        If it does not fit the number of points and clusters, or says how many points in anything but whole numbers.
    """
    if stated is None:
        return None
    n_points = len(weights)
    stated.check_range(n_points)
    if not stated.has_limits:
        raise InputError("capacity says what size limits apply to; give size_min, size_max or sizes as well")
    if stated.sizes is not None and len(stated.sizes) != n_clusters:
        raise InputError(f"sizes has {len(stated.sizes)} entries for {n_clusters} clusters; give one for each")
    given = {"size_min": stated.size_min, "size_max": stated.size_max}
    given |= {f"sizes[{c}]": size for c, size in enumerate(stated.sizes or ())}
    limits = {name: value for name, value in given.items() if value is not None}
    if stated.capacity is None:
        for name, value in limits.items():
            if not value.is_integer():
                raise InputError(f"{name} is {value}; points are counted in whole numbers, unless capacity is given")
        amounts, exponent = np.ones(n_points, dtype=np.int64), 0
    else:
        amounts, exponent = _integers(stated.capacity, list(limits.values()))
    scale = Fraction(2) ** exponent
    total = int(amounts.sum())
    exact = None if stated.sizes is None else tuple(sorted(int(Fraction(size) / scale) for size in stated.sizes))
    least = 0 if stated.size_min is None else int(Fraction(stated.size_min) / scale)
    most = total if stated.size_max is None else min(total, int(Fraction(stated.size_max) / scale))
    if exact is not None:
        least, most = exact[0], exact[-1]
    amounts.setflags(write=False)
    follows = _are_proportional(np.ones(n_points) if stated.capacity is None else stated.capacity, weights)
    return SizeLimits(amounts, least, most, exact, scale, stated.capacity is None, follows)


def _are_proportional(values: FloatArray, weights: FloatArray) -> bool:
    """Whether doubles are proportional, without rounding; weights are positive."""
    if not values.min() > 0:
        return False
    ratio = Fraction(values[0]) / Fraction(weights[0])
    is_power = Fraction(float(ratio)) == ratio and math.frexp(float(ratio))[0] == 0.5
    if is_power and values.min() > _NORMAL:  # a power of two scales without rounding, but for subnormal numbers
        return bool((values == weights * float(ratio)).all())
    pairs = set(zip(values.tolist(), weights.tolist(), strict=True))
    return all(Fraction(value) == ratio * Fraction(weight) for value, weight in pairs)


def sum_amounts(amounts: Amounts, group_of: IntArray, size: int) -> Amounts:
    """Sum exact integers by group."""
    sums = np.zeros(size, dtype=amounts.dtype)
    np.add.at(sums, group_of, amounts)
    return sums


def as_integers(values: FloatArray, exponent: int) -> list[int]:
    """Return doubles as multiples of a power of two of which they are multiples."""
    mantissas, exponents = np.frexp(values)
    digits = np.ldexp(mantissas, 53).astype(np.int64).tolist()
    shifts = (exponents.astype(np.int64) - 53 - exponent).tolist()
    return [digit << shift if shift >= 0 else digit >> -shift for digit, shift in zip(digits, shifts, strict=True)]


def lowest_bit(values: FloatArray) -> int | None:
    """Return the largest exponent for which all values are multiples of its power of two; ``None`` for zeros only."""
    mantissas, exponents = np.frexp(values[values != 0])
    if not mantissas.size:
        return None
    digits = np.ldexp(mantissas, 53).astype(np.int64)
    _, lowest = np.frexp((digits & -digits).astype(np.float64))
    return int((exponents.astype(np.int64) + lowest).min()) - 54


def shown(value: float | Fraction) -> str:
    """Write a size or a limit, without digits that say nothing; a long fraction only nearly."""
    if Fraction(value).denominator == 1 and abs(Fraction(value)) < 10**15:
        return str(int(value))
    try:
        return f"{float(value):.12g}"
    except OverflowError:
        return "a number above all doubles"


def _integers(capacity: FloatArray, limits: list[float]) -> tuple[Amounts, int]:
    """Return capacities as integers, and the exponent of the power of two in which they and the limits count."""
    exponent = lowest_bit(np.concatenate([capacity, np.array(limits, dtype=np.float64)])) or 0
    integers = as_integers(capacity, exponent)
    largest = max([sum(integers), *as_integers(np.array(limits, dtype=np.float64), exponent)])
    return np.array(integers, dtype=np.int64 if largest < _FITS else object), exponent


def _as_limit(value: object, name: str) -> float:
    try:
        limit = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value) + 0.0
    except OverflowError:
        limit = math.inf
    if not 0 <= limit < math.inf:
        raise InputError(f"{name} must be a finite number, zero or more; got {value!r}")
    if limit != value:  # Python compares integers and floats without rounding
        raise InputError(f"{name} is {value!r}, which no double is; give a number of at most 15 digits")
    return limit


def _as_sizes(sizes: Any) -> tuple[float, ...]:
    try:
        values = list(sizes)
    except TypeError:
        raise InputError(f"sizes must be a list, one number for each cluster; got {sizes!r}") from None
    if isinstance(sizes, str):
        raise InputError(f"sizes must be a list, one number for each cluster; got {sizes!r}")
    return tuple(_as_limit(value, f"sizes[{position}]") for position, value in enumerate(values))


def _as_capacity(capacity: Any) -> FloatArray:
    try:
        given = np.asarray(capacity)
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("capacity must be numbers, one for each point") from None
    if array.ndim != 1 or given.dtype.kind in "Ucm":
        raise InputError(f"capacity must be a list of numbers, one for each point; got shape {array.shape}")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise InputError(f"capacity[{bad[0]}] is {array[bad[0]]}: every capacity must be finite, zero or more")
    if given.dtype.kind in "iuO":
        for position, (value, double) in enumerate(zip(given.tolist(), array.tolist(), strict=True)):
            if value != double:
                raise InputError(
                    f"capacity[{position}] is {value}, which no double is; give numbers of at most 15 digits"
                )
    array += 0.0
    array.setflags(write=False)
    return array
