"""Limits on the sizes of clusters, in exact integers.

A limit is about the number of points of a cluster, or about the sum of their capacities. Capacities and limits are
doubles: integers times a power of two. In the smallest of these powers all of them, and all sums, are integers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.certificate.archive import require
from certimeans.certificate.exact import as_integers, power
from certimeans.errors import CertificateError

KEYS = ("size_min", "size_max", "sizes")
_MOST_STEPS = 1_000_000  # of a search; about a minute


class Stated(NamedTuple):
    """What ``certificate.json`` says about sizes, and the array of capacities; ``None`` for what it does not say."""

    size_min: float | None
    size_max: float | None
    sizes: list[float] | None
    capacity: FloatArray | None

    def lists(self) -> tuple[list[float] | FloatArray | None, ...]:
        """Return all as lists, in the order in which the fingerprint takes them."""
        least = None if self.size_min is None else [self.size_min]
        most = None if self.size_max is None else [self.size_max]
        return least, most, self.sizes, self.capacity

    def in_words(self) -> str:
        """Say what the sizes of clusters are to be."""
        least, most = (None if number is None else f"{number:.12g}" for number in (self.size_min, self.size_max))
        if self.sizes is not None:
            words = "of sizes " + "/".join(f"{size:.12g}" for size in self.sizes)
        elif most is None:
            words = f"of sizes from {least}"
        else:
            words = f"of sizes up to {most}" if least is None else f"of sizes {least} to {most}"
        return words if self.capacity is None else f"{words}, sums of capacities,"


def read_sizes(content: Any, k: int) -> tuple[Stated, bool] | None:
    """Read the object ``cluster_sizes``, and whether there is an array of capacities; ``None`` if it is null."""
    if content is None:
        return None
    where = "certificate.json: cluster_sizes"
    require(isinstance(content, dict) and set(content) == {*KEYS, "capacity"}, f"{where} must have four keys")
    has_capacity = content["capacity"]
    require(isinstance(has_capacity, bool), f"{where}: capacity must be true or false")
    least, most, sizes = (content[key] for key in KEYS)
    require(not (least is None and most is None and sizes is None), f"{where} limits nothing")
    require(sizes is None or (isinstance(sizes, list) and len(sizes) == k), f"{where}: there must be k sizes")
    for number in (*(limit for limit in (least, most) if limit is not None), *(sizes or [])):
        good = type(number) in (int, float) and 0 <= number < 1.79e308 and float(number) == number
        require(good, f"{where}: limits must be finite numbers, zero or more")
        require(has_capacity or float(number).is_integer(), f"{where}: points are whole numbers")
    limits = [None if number is None else float(number) for number in (least, most)]
    exact = None if sizes is None else [float(size) for size in sizes]
    require(exact is None or exact == sorted(exact), f"{where}: sizes must be sorted")
    return Stated(limits[0], limits[1], exact, None), has_capacity


class Limits:
    """The limits of points.

    Attributes
    ----------
    amounts
        What each point counts.
    slots
        The least and the most of each cluster; exact sizes in increasing order.
    is_exact
        Whether sizes are prescribed.
    """

    def __init__(self, stated: Stated, n: int, k: int) -> None:
        values = np.ones(n) if stated.capacity is None else stated.capacity
        limits = [number for number in (stated.size_min, stated.size_max, *(stated.sizes or [])) if number is not None]
        integers, exponent = as_integers(np.concatenate([values, np.array(limits, dtype=np.float64)]))
        self.unit = power(exponent)
        self.amounts: list[int] = integers[:n].tolist()
        total = sum(self.amounts)
        self.is_exact = stated.sizes is not None
        if stated.sizes is not None:
            exact = [self._units(size) for size in stated.sizes]
            self.slots = [(size, size) for size in exact]
            require(all(self._agrees(stated, size) for size in exact), "certificate.json: sizes break the other limits")
        else:
            least = 0 if stated.size_min is None else self._units(stated.size_min)
            most = total if stated.size_max is None else min(total, self._units(stated.size_max))
            self.slots = [(least, most)] * k

    def _units(self, number: float) -> int:
        return int(Fraction(number) / self.unit)

    def _agrees(self, stated: Stated, size: int) -> bool:
        above = stated.size_min is None or size >= self._units(stated.size_min)
        return above and (stated.size_max is None or size <= self._units(stated.size_max))

    def totals(self, groups: IntArray, size: int) -> list[int]:
        """Return what each of the groups 0..size-1 counts."""
        totals = [0] * size
        for group, amount in zip(groups.tolist(), self.amounts, strict=True):
            totals[group] += amount
        return totals

    def follow(self, weights: FloatArray) -> bool:
        """Whether what points count is proportional to their weights, exactly."""
        first, unit = self.amounts[0], Fraction(weights[0])
        pairs = set(zip(self.amounts, weights.tolist(), strict=True))
        return all(amount > 0 and amount * unit == first * Fraction(weight) for amount, weight in pairs)

    def are_kept(self, labels: IntArray, k: int) -> bool:
        """Whether clusters keep the limits."""
        totals = sorted(self.totals(labels, k))
        return all(least <= total <= most for total, (least, most) in zip(totals, self.slots, strict=True))

    def choices(self) -> list[int]:
        """Return the different sizes that are prescribed, in increasing order; none if sizes are not prescribed."""
        return sorted({low for low, _ in self.slots}) if self.is_exact else []

    def can_be_kept(self, amounts: list[int], links: list[set[int]], decided: dict[int, int] | None = None) -> bool:
        """Decide whether groups with these amounts can form k clusters within the limits; linked groups are apart.

        ``decided`` has groups whose cluster has to have a certain one of prescribed sizes.

        Raises
        ------
        CertificateError
            If that takes too long to decide: the question is NP-complete.
        """
        return _Packing(amounts, links, self.slots, decided or {}).exists()


class _Packing:
    """An exhaustive search: large groups first, each into every cluster that is left to it.

    Clusters that are alike are tried once. Without links, what is left to do depends only on how full the clusters
    are, so no such situation is looked at twice.
    """

    def __init__(
        self, amounts: list[int], links: list[set[int]], slots: list[tuple[int, int]], decided: dict[int, int]
    ) -> None:
        self.order = sorted(range(len(amounts)), key=lambda group: (-amounts[group], -len(links[group]), group))
        self.amounts = amounts
        self.links = links
        self.slots = slots
        self.decided = decided
        self.has_links = any(links)
        self.content: list[list[int]] = [[] for _ in slots]
        self.load = [0] * len(slots)
        self.left = sum(amounts)
        self.failed: set[tuple[Any, ...]] = set()

    def exists(self) -> bool:
        least, most = sum(low for low, _ in self.slots), sum(high for _, high in self.slots)
        if not least <= self.left <= most or len(self.order) < len(self.slots):
            return False
        trail: list[list[int]] = [self._options(0)]
        placed: list[int] = []
        for _ in range(_MOST_STEPS):
            if len(placed) == len(trail):  # come back to a group: take it out first
                self._remove(placed.pop(), self.order[len(trail) - 1])
            if not trail[-1]:
                key = self._situation(len(trail) - 1)
                if key is not None:
                    self.failed.add(key)
                trail.pop()
                if not trail:
                    return False
                continue
            cluster = trail[-1].pop()
            self._add(cluster, self.order[len(placed)])
            placed.append(cluster)
            if len(placed) == len(self.order):
                return True
            trail.append(self._options(len(placed)))
        raise CertificateError("it takes too long to decide whether groups fit into clusters of the sizes asked for")

    def _options(self, place: int) -> list[int]:
        if self._situation(place) in self.failed:
            return []
        group = self.order[place]
        amount = self.amounts[group]
        options, seen = [], set()
        for cluster, (low, high) in enumerate(self.slots):
            inside = self.content[cluster]
            if self.decided.get(group, high) != high:
                continue
            if self.load[cluster] + amount > high or not self.links[group].isdisjoint(inside):
                continue
            kind = (self.load[cluster], low, high, bool(inside), cluster if inside and self.has_links else -1)
            if kind in seen:
                continue
            seen.add(kind)
            if self._can_still_work(cluster, amount, len(self.order) - place - 1):
                options.append(cluster)
        return sorted(
            options, key=lambda c: (self.load[c] + amount == self.slots[c][1], self.slots[c][1] - self.load[c])
        )

    def _can_still_work(self, cluster: int, amount: int, n_left: int) -> bool:
        """Whether what is left after a group is enough for the clusters that lack something, or everything."""
        missing = empty = 0
        for c, (low, _) in enumerate(self.slots):
            load = self.load[c] + (amount if c == cluster else 0)
            missing += max(0, low - load)
            empty += not self.content[c] and c != cluster
        return missing <= self.left - amount and empty <= n_left

    def _add(self, cluster: int, group: int) -> None:
        self.content[cluster].append(group)
        self.load[cluster] += self.amounts[group]
        self.left -= self.amounts[group]

    def _remove(self, cluster: int, group: int) -> None:
        self.content[cluster].remove(group)
        self.load[cluster] -= self.amounts[group]
        self.left += self.amounts[group]

    def _situation(self, place: int) -> tuple[Any, ...] | None:
        if self.has_links:
            return None
        kinds = (
            (*slot, load, bool(inside)) for slot, load, inside in zip(self.slots, self.load, self.content, strict=True)
        )
        return place, *sorted(kinds)
