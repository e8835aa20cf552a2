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
