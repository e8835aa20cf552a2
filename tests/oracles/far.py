"""Small instances in which one to three points or groups are far from the others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from certimeans.problem.instance import Instance
from tests.oracles.instances import Pair, SmallInstance
from tests.oracles.subsets import Statement, inner_products


class FarInstance(NamedTuple):
    """A small instance, with features divided by their deviations or not."""

    base: SmallInstance
    standardize: bool

    def build(self) -> Instance:
        """Build the package's own instance."""
        small = self.base
        links: dict[str, Any] = {"must_link": small.must_link, "cannot_link": small.cannot_link}
        return Instance.create(small.points, small.k, weights=small.weights, standardize=self.standardize, **links)

    def statement(self) -> Statement:
        """State it in exact numbers."""
        stated = Statement.of(self.base)
        return stated._replace(products=inner_products(self.base.points, standardize=self.standardize))


def far_instance(seed: int, *, extreme: bool = False) -> FarInstance:
    """Draw points around one to four places that are a little or very far apart, with weights and links or without.

    Parameters
    ----------
    extreme
        Whether magnitudes go from 1e-140 to 1e140.
    """
    random = np.random.default_rng([seed, 90])
    n, d, n_places = int(random.integers(4, 10)), int(random.integers(1, 4)), int(random.integers(2, 5))
    k = int(random.integers(2, min(n, 5)))
    decades = 140 if extreme else 9
    places = random.normal(size=(n_places, d)) * 10.0 ** random.uniform(0, decades, size=(n_places, 1))
    scales = 10.0 ** random.uniform(-decades if extreme else -3, 0, size=n_places)
    scales = scales if random.random() < 0.5 else np.ones(n_places)
    place = random.integers(0, n_places, size=n)
    points = places[place] + random.normal(size=(n, d)) * scales[place, None]
    if random.random() < 0.3:
        points = np.round(points) if not extreme else points
    if random.random() < 0.25:
        points[random.integers(n, size=2)] = points[random.integers(n)]  # identical points
    if random.random() < 0.2:
        points += 10.0 ** random.integers(0, 14)
    together: list[Pair] = []
    apart: list[Pair] = []
    for _ in range(int(random.choice([0, 0, 1, 2, 4, 6]))):
        i, j = (int(x) for x in random.choice(n, 2, replace=False))
        is_inside = place[i] == place[j]
        (apart if random.random() < (0.4 if is_inside else 0.85) else together).append((i, j))
    weights: list[float] | None = None
    if random.random() < 0.4:
        spread = 140 if extreme and random.random() < 0.3 else 2
        weights = (
            random.choice([0.5, 1.0, 2.0, 3.25], size=n) * 10.0 ** random.uniform(-spread, spread, size=n)
        ).tolist()
    return FarInstance(SmallInstance(points.tolist(), k, together, apart, weights), bool(random.random() < 0.25))
