"""Numbers of extreme and mixed magnitudes."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray


def extreme_numbers(random: np.random.Generator, n: int, *, zeros: bool = True) -> FloatArray:
    """Draw one of several sorts: ordinary, one magnitude, mixed magnitudes, far offset, few values, constant."""
    values: FloatArray = random.normal(size=n)
    magnitude = 10.0 ** random.uniform(-140, 140)
    sort = random.integers(6)
    if sort == 1:
        values *= magnitude
    elif sort == 2:
        values *= 10.0 ** random.uniform(-140, 140, size=n)
    elif sort == 3:
        values += 10.0 ** random.integers(0, 20)
    elif sort == 4:
        values = random.integers(1, 3, size=n) * magnitude
    elif sort == 5:
        values[:] = 10.0 ** random.uniform(-300, 300)
    if zeros and random.random() < 0.2:
        values[random.random(n) < 0.3] = 0.0
    return values


def extreme_problem(seed: int) -> tuple[FloatArray, FloatArray | None, int]:
    """Draw a few points with features, and perhaps weights, of extreme magnitudes, and a number of clusters."""
    random = np.random.default_rng([seed, 7])
    n, d = int(random.integers(2, 8)), int(random.integers(1, 4))
    points = np.column_stack([extreme_numbers(random, n) for _ in range(d)])
    weights = np.abs(extreme_numbers(random, n, zeros=False)) if random.random() < 0.5 else None
    return points, weights, int(random.integers(1, min(n, 4) + 1))
