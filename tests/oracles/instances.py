"""Small random instances of every sort that the solver has to get right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans.problem.instance import Instance

Pair = tuple[int, int]


class SmallInstance(NamedTuple):
    """Plain data, so that oracles need nothing of the package."""

    points: list[list[float]]
    k: int
    must_link: list[Pair]
    cannot_link: list[Pair]
    weights: list[float] | None

    def build(self) -> Instance:
        """Build the package's own instance."""
        return Instance.create(
            self.points, self.k, must_link=self.must_link, cannot_link=self.cannot_link, weights=self.weights
        )


def random_instance(seed: int, max_points: int = 9, max_k: int = 4, *, weighted: bool = False) -> SmallInstance:
    """Draw integer, float, duplicate or collinear points with up to n constraints, some of them infeasible."""
    random = np.random.default_rng([seed, 20260])
    n = int(random.integers(2, max_points + 1))
    d = int(random.integers(1, 4))
    k = int(random.integers(1, min(max_k, n) + 1))
    points = random.normal(size=(n, d))
    style = random.integers(4)
    if style == 0:
        points = np.round(3 * points)
    elif style == 1:
        points = points[random.integers(0, n, size=n)]
    elif style == 2:
        points = np.outer(points[:, 0], random.normal(size=d))
    n_constraints = int(random.integers(0, n + 1))
    pairs = [tuple(int(x) for x in random.choice(n, 2, replace=False)) for _ in range(n_constraints)]
    share_of_must_links = random.random()
    must_link: list[Pair] = []
    cannot_link: list[Pair] = []
    for i, j in pairs:
        (must_link if random.random() < share_of_must_links else cannot_link).append((i, j))
    weights = random.choice([0.5, 1.0, 2.0, 3.25], size=n).tolist() if weighted else None
    return SmallInstance(points.tolist(), k, must_link, cannot_link, weights)
