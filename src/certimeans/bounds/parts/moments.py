"""Second moments: what parts are to have in common besides means.

Parts with equal means may still differ in shape, and a part whose cluster is wider than usual in some direction would
rather be divided along it: it has a better clustering of its own, which no bound can avoid. So the products of
coordinates are matched like the coordinates themselves. They cost nothing if they differ, but the exchanges treat them
as if they did. With d coordinates there are d (d + 1) / 2 products; of many, those along the main axes are taken.
"""

from __future__ import annotations

import math

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.presolve.contract import sum_by_group

_MOST_PRODUCTS = 100
_MOST_ENTRIES = 20_000_000
"""Of the table of all coordinates and products: exchanges and memory grow with it."""


def with_second_moments(weights: FloatArray, offsets: FloatArray, label: IntArray, k: int) -> FloatArray:
    """Add columns to a table of w (x - mean of the cluster), one row for each unit: w times products of x - mean.

    Each product is counted from its mean in its cluster. All together vary as much as the coordinates do.
    """
    n_axes = _number_of_axes(*offsets.shape)
    if n_axes == 0:
        return offsets
    with np.errstate(all="ignore"):  # units may differ by many powers of ten: what is no number is left out
        positions = offsets / weights[:, None]
        spread = float((offsets * positions).sum())
        if not math.isfinite(spread):
            return offsets
        if n_axes < offsets.shape[1]:
            positions = positions @ _main_axes(offsets, positions, n_axes)
        first, second = np.triu_indices(n_axes)
        products = positions[:, first] * positions[:, second]
        totals = np.bincount(label, weights, minlength=k)
        products -= (sum_by_group(label, weights[:, None] * products, k) / np.maximum(totals, 1e-300)[:, None])[label]
        size = float((weights[:, None] * products * products).sum())
        products *= weights[:, None] * math.sqrt(spread / size) if size > 0 else 0.0
    return np.hstack([offsets, products]) if np.isfinite(products).all() else offsets


def _number_of_axes(n_units: int, n_coordinates: int) -> int:
    """Return along how many axes products are taken: of all coordinates if these are few."""
    room = min(_MOST_PRODUCTS, _MOST_ENTRIES // max(1, n_units) - n_coordinates)
    return min(n_coordinates, int((math.sqrt(8 * max(0, room) + 1) - 1) / 2))


def _main_axes(offsets: FloatArray, positions: FloatArray, count: int) -> FloatArray:
    """Return the directions in which units differ most from the means of their clusters."""
    _, vectors = np.linalg.eigh(offsets.T @ positions)
    axes: FloatArray = vectors[:, -count:]
    return axes
