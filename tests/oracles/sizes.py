"""Small random instances with limits on sizes, and what keeps them, in rational arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from certimeans.problem.instance import Instance
from tests.oracles.brute_force import exact_cost, feasible_partitions
from tests.oracles.instances import SmallInstance, random_instance


class LimitedInstance(NamedTuple):
    """A small instance and what is said about sizes: arguments of ``solve``."""

    base: SmallInstance
    sizes: dict[str, Any]

    def amounts(self) -> list[Fraction]:
        """Return what each point counts."""
        return [Fraction(value) for value in self.sizes.get("capacity", [1] * len(self.base.points))]

    def allows(self, labels: Sequence[int]) -> bool:
        """Whether clusters have allowed sizes."""
        totals = [Fraction(0)] * self.base.k
        for label, amount in zip(labels, self.amounts(), strict=True):
            totals[label] += amount
        if "sizes" in self.sizes:
            return sorted(totals) == sorted(map(Fraction, self.sizes["sizes"]))
        least, most = Fraction(self.sizes.get("size_min", 0)), self.sizes.get("size_max")
        return all(least <= total and (most is None or total <= Fraction(most)) for total in totals)

    def partitions(self) -> list[tuple[int, ...]]:
        """List all clusterings."""
        base = self.base
        found = feasible_partitions(len(base.points), base.k, base.must_link, base.cannot_link)
        return [labels for labels in found if self.allows(labels)]

    def optimum(self) -> Fraction | None:
        """Return the least cost, exactly; ``None`` if there is no clustering."""
        costs = (exact_cost(self.base.points, labels, self.base.weights) for labels in self.partitions())
        return min(costs, default=None)

    def arguments(self) -> dict[str, Any]:
        """Return all arguments of ``solve`` but points and k."""
        links = {"must_link": self.base.must_link, "cannot_link": self.base.cannot_link}
        return {**links, **self.sizes}

    def build(self) -> Instance:
        """Build the package's own instance."""
        return Instance.create(self.base.points, self.base.k, weights=self.base.weights, **self.arguments())


def limited_instance(seed: int, max_points: int = 8) -> LimitedInstance:
    """Draw limits, exact sizes or capacities (integers, decimals, of all magnitudes, the weights), many infeasible."""
    random = np.random.default_rng([seed, 77])
    base = random_instance(seed, max_points, weighted=bool(random.random() < 0.4))
    n, k = len(base.points), base.k
    kind = int(random.integers(5))
    sizes: dict[str, Any] = {}
    if random.random() < 0.5:
        styles = [
            random.integers(0, 4, size=n).astype(float),
            np.round(random.random(n), 1),
            random.random(n),
            10.0 ** random.integers(-300, 300, size=n),
            np.full(n, 3.0),
            2 * np.array(base.weights or [1.0] * n),
        ]
        sizes["capacity"] = styles[int(random.integers(len(styles)))].tolist()
    instance = LimitedInstance(base, sizes)
    labels, amounts = random.integers(0, k, size=n).tolist(), instance.amounts()
    totals = [sum((a for a, label in zip(amounts, labels, strict=True) if label == c), Fraction(0)) for c in range(k)]
    numbers = [float(total) if "capacity" in sizes else int(total) for total in totals]
    if kind in (0, 2):
        sizes["size_max"] = max(numbers)
    if kind in (1, 2):
        sizes["size_min"] = min(numbers)
    if kind == 3:
        sizes["sizes"] = numbers
    if kind == 4:
        sizes["size_max"] = float(sum(amounts)) / k if "capacity" in sizes else -(-n // k)
        sizes["size_min"] = 0 if "capacity" in sizes else n // k
    return instance
