"""Every partition of a few points: slow, obvious, and independent of the package's own code.

Up to about ten points (ten points have 9,330 partitions into three clusters, 115,975 in all).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

Pair = tuple[int, int]


class Optimum(NamedTuple):
    """The best clustering and its cost; both ``None`` if no clustering is feasible."""

    cost: float | None
    labels: tuple[int, ...] | None


def partitions(n_points: int, k: int) -> Iterator[tuple[int, ...]]:
    """List all partitions into exactly k non-empty clusters, clusters numbered by first appearance."""
    labels = [0] * n_points

    def extend(position: int, used: int) -> Iterator[tuple[int, ...]]:
        if used + (n_points - position) < k:
            return
        if position == n_points:
            yield tuple(labels)
            return
        for label in range(min(used + 1, k)):
            labels[position] = label
            yield from extend(position + 1, max(used, label + 1))

    return extend(0, 0)


def is_feasible(labels: Sequence[int], must_link: Sequence[Pair], cannot_link: Sequence[Pair]) -> bool:
    """Whether labels keep every pair."""
    return all(labels[i] == labels[j] for i, j in must_link) and all(labels[i] != labels[j] for i, j in cannot_link)


def feasible_partitions(
    n_points: int, k: int, must_link: Sequence[Pair], cannot_link: Sequence[Pair]
) -> Iterator[tuple[int, ...]]:
    """List all partitions into k clusters that keep every pair."""
    return (labels for labels in partitions(n_points, k) if is_feasible(labels, must_link, cannot_link))


def exact_cost(
    points: Sequence[Sequence[float]], labels: Sequence[int], weights: Sequence[float] | None = None
) -> Fraction:
    """Weighted sum of squared distances to the centroids, in rational arithmetic: no rounding at all."""
    weight = [Fraction(1)] * len(points) if weights is None else [Fraction(w) for w in weights]
    total = Fraction(0)
    for label in set(labels):
        members = [i for i, other in enumerate(labels) if other == label]
        mass = sum((weight[i] for i in members), Fraction(0))
        for coordinate in range(len(points[0])):
            values = [Fraction(points[i][coordinate]) for i in members]
            mean = sum((weight[i] * x for i, x in zip(members, values, strict=True)), Fraction(0)) / mass
            total += sum((weight[i] * (x - mean) ** 2 for i, x in zip(members, values, strict=True)), Fraction(0))
    return total


def optimum(
    points: Sequence[Sequence[float]],
    k: int,
    must_link: Sequence[Pair] = (),
    cannot_link: Sequence[Pair] = (),
    weights: Sequence[float] | None = None,
) -> Optimum:
    """Find the best feasible partition by looking at all of them."""
    # Distances within a cluster give its cost without a centroid: sum over pairs of w_i w_j |x_i - x_j|^2 / W.
    n = len(points)
    weight = [1.0] * n if weights is None else list(weights)
    squared = [
        [weight[i] * weight[j] * sum((a - b) ** 2 for a, b in zip(points[i], points[j], strict=True)) for j in range(n)]
        for i in range(n)
    ]
    best: Optimum = Optimum(None, None)
    for labels in feasible_partitions(n, k, must_link, cannot_link):
        cost = 0.0
        for label in range(k):
            members = [i for i in range(n) if labels[i] == label]
            pairs = sum(squared[i][j] for position, i in enumerate(members) for j in members[:position])
            cost += pairs / sum(weight[i] for i in members)
        if best.cost is None or cost < best.cost:
            best = Optimum(cost, labels)
    return best
