"""The least cost over all clusterings of a few points in rational numbers, by dynamic programming over subsets.

Much faster than listing partitions, and as exact; ``test_subsets.py`` compares the two. Up to about ten points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Generic, NamedTuple, TypeVar

from tests.oracles.instances import SmallInstance

Pair = tuple[int, int]
Number = TypeVar("Number", int, Fraction)
_LARGEST_DENOMINATOR = 20_000  # bits; beyond, fractions are faster than integers with a common denominator


class Sizes(NamedTuple):
    """What clusters may hold of each point's amount: limits, or a list of sizes in any order."""

    amounts: Sequence[Fraction]
    least: Fraction | None = None
    most: Fraction | None = None
    exact: Sequence[Fraction] | None = None

    @classmethod
    def stated(
        cls,
        amounts: Sequence[Fraction],
        least: float | None,
        most: float | None,
        exact: Sequence[float] | None,
    ) -> Sizes:
        """Make it from plain numbers, each taken as the number that it is."""
        low, high = (None if limit is None else Fraction(limit) for limit in (least, most))
        return cls(amounts, low, high, None if exact is None else [Fraction(size) for size in exact])


class Statement(NamedTuple):
    """A clustering problem in exact numbers; ``products`` are inner products of the points."""

    products: Sequence[Sequence[Fraction]]
    weights: Sequence[Fraction]
    k: int
    must_link: Sequence[Pair] = ()
    cannot_link: Sequence[Pair] = ()
    sizes: Sizes | None = None

    @classmethod
    def of(cls, small: SmallInstance, sizes: Sizes | None = None) -> Statement:
        """State a small instance."""
        weights = [Fraction(1)] * len(small.points) if small.weights is None else [Fraction(w) for w in small.weights]
        return cls(inner_products(small.points), weights, small.k, small.must_link, small.cannot_link, sizes)

    def allows(self, labels: Sequence[int]) -> bool:
        """Whether labels are a clustering that keeps everything."""
        clusters = [[i for i, other in enumerate(labels) if other == label] for label in range(self.k)]
        keeps = all(labels[i] == labels[j] for i, j in self.must_link)
        keeps = keeps and all(labels[i] != labels[j] for i, j in self.cannot_link)
        if not keeps or not all(clusters) or len(labels) != sum(map(len, clusters)):
            return False
        if self.sizes is None:
            return True
        totals = [sum((self.sizes.amounts[i] for i in members), Fraction(0)) for members in clusters]
        if self.sizes.exact is not None and sorted(totals) != sorted(self.sizes.exact):
            return False
        return all(_within(total, self.sizes) for total in totals)

    def cost(self, labels: Sequence[int]) -> Fraction:
        """Return the exact cost of labels."""
        total = Fraction(0)
        for label in set(labels):
            members = [i for i, other in enumerate(labels) if other == label]
            own = sum((self.weights[i] * self.products[i][i] for i in members), Fraction(0))
            pairs = ((self.weights[i] * self.weights[j] * self.products[i][j]) for i in members for j in members)
            total += own - sum(pairs, Fraction(0)) / sum((self.weights[i] for i in members), Fraction(0))
        return total

    def optimum(self) -> Fraction | None:
        """Return the least cost; ``None`` if there is no clustering."""
        costs = subset_costs(self.products, self.weights)
        common = math.lcm(*(cost.denominator for cost in costs))
        if common.bit_length() > _LARGEST_DENOMINATOR:
            return _Search(self, costs).least()
        found = _Search(self, [int(cost * common) for cost in costs]).least()
        return None if found is None else Fraction(found, common)


def inner_products(points: Sequence[Sequence[float]], *, standardize: bool = False) -> list[list[Fraction]]:
    """Return exact inner products around the first point, features divided by standard deviations if asked."""
    n = len(points)
    products = [[Fraction(0)] * n for _ in range(n)]
    for column in zip(*points, strict=True):
        exact = [Fraction(x) for x in column]
        values = [x - exact[0] for x in exact]
        factor = Fraction(1)
        if standardize:
            variance = sum((x * x for x in values), Fraction(0)) / n - (sum(values, Fraction(0)) / n) ** 2
            factor = 1 / variance if variance else Fraction(0)
        for i in range(n):
            scaled = factor * values[i]
            for j in range(i + 1) if scaled else ():
                products[i][j] += scaled * values[j]
    return [[products[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def subset_costs(products: Sequence[Sequence[Fraction]], weights: Sequence[Fraction]) -> list[Fraction]:
    """Return the cost of each set of points as one cluster; bit i of its number says whether point i is in it."""
    n = len(weights)
    of_weights = math.lcm(*(weight.denominator for weight in weights))
    of_products = math.lcm(*(entry.denominator for row in products for entry in row))
    weight = [int(w * of_weights) for w in weights]
    pairs = [[weight[i] * weight[j] * int(products[i][j] * of_products) for j in range(n)] for i in range(n)]
    own = [weight[i] * int(products[i][i] * of_products) for i in range(n)]
    masses, alone, within = [0] * 2**n, [0] * 2**n, [0] * 2**n
    costs = [Fraction(0)] * 2**n
    for number in range(1, 2**n):
        i = number.bit_length() - 1
        rest = number - (1 << i)
        masses[number] = masses[rest] + weight[i]
        alone[number] = alone[rest] + own[i]
        crossing = sum(pairs[i][j] for j in range(i) if rest >> j & 1)
        within[number] = within[rest] + 2 * crossing + pairs[i][i]
        costs[number] = Fraction(
            alone[number] * masses[number] - within[number], masses[number] * of_weights * of_products
        )
    return costs


def _within(total: Fraction, sizes: Sizes) -> bool:
    return (sizes.least is None or sizes.least <= total) and (sizes.most is None or total <= sizes.most)


class _Search(Generic[Number]):
    """Take the cluster of the first point that is left, in every way, and solve the rest: each rest once."""

    def __init__(self, stated: Statement, costs: Sequence[Number]) -> None:
        self.n, self.k, self.sizes = len(stated.weights), stated.k, stated.sizes
        self.costs: Sequence[Number] = costs
        together = [1 << i | 1 << j for i, j in stated.must_link]
        apart = [1 << i | 1 << j for i, j in stated.cannot_link]
        self.is_cluster = [
            all(number & pair in {0, pair} for pair in together) and all(number & pair != pair for pair in apart)
            for number in range(2**self.n)
        ]
        self.totals: list[Fraction] = []
        if stated.sizes is not None:
            for number in range(2**self.n):
                members = [i for i in range(self.n) if number >> i & 1]
                self.totals.append(sum((stated.sizes.amounts[i] for i in members), Fraction(0)))
                self.is_cluster[number] &= _within(self.totals[-1], stated.sizes)
        self.known: dict[tuple[int, int, tuple[Fraction, ...]], Number | None] = {}

    def least(self) -> Number | None:
        exact = () if self.sizes is None or self.sizes.exact is None else tuple(sorted(self.sizes.exact))
        return self.rest(2**self.n - 1, self.k, exact)

    def rest(self, left: int, k: int, exact: tuple[Fraction, ...]) -> Number | None:
        """Return the least cost of k clusters of the points that are left, which have the sizes that are left."""
        if k == 1:
            fits = left and self.is_cluster[left] and (not exact or exact == (self.totals[left],))
            return self.costs[left] if fits else None
        key = (left, k, exact)
        if key in self.known:
            return self.known[key]
        best: Number | None = None
        first = left & -left
        others = left - first
        part = others
        while part:  # all subsets of the others but the whole: what is left must not be empty
            part = (part - 1) & others
            cluster = first | part
            if not self.is_cluster[cluster] or (exact and self.totals[cluster] not in exact):
                continue
            sizes = exact
            if exact:
                at = exact.index(self.totals[cluster])
                sizes = exact[:at] + exact[at + 1 :]
            below = self.rest(left ^ cluster, k - 1, sizes)
            if below is not None and (best is None or self.costs[cluster] + below < best):
                best = self.costs[cluster] + below
        self.known[key] = best
        return best
