"""A clustering from a relaxation that says how much of each super-point is in clusters of which prescribed size."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.problem.sizes import SizeLimits


def round_sizes(limits: SizeLimits, shares: FloatArray, together: FloatArray) -> IntArray:
    """Give each super-point the size that it has most of, the clearest first, while there is room.

    Parameters
    ----------
    limits
        With prescribed sizes.
    shares
        For each different size, in increasing order, the share that each super-point has in clusters of it.
    together
        For each of these, how much two super-points share such a cluster.

    Returns
    -------
    IntArray
        Labels; cannot-links, and sizes where super-points count more than one, may be broken.
    """
    exact, amounts = limits.exact or (), [int(amount) for amount in limits.amounts]
    counts = [exact.count(size) for size in limits.choices]
    room = [size * count for size, count in zip(limits.choices, counts, strict=True)]
    block = np.full(len(amounts), -1, dtype=np.int64)
    for place in np.argsort(-shares, axis=None, kind="stable").tolist():
        g, i = divmod(place, len(amounts))
        if block[i] < 0 and amounts[i] <= room[g]:
            block[i] = g
            room[g] -= amounts[i]
    for i in np.flatnonzero(block < 0).tolist():
        block[i] = g = int(np.argmax(room))
        room[g] -= amounts[i]
    labels = np.zeros(len(amounts), dtype=np.int64)
    used = 0
    for g, (size, count) in enumerate(zip(limits.choices, counts, strict=True)):
        left = np.flatnonzero(block == g)
        for number in range(count):
            taken = left if number == count - 1 else _first_cluster(left, together[g], amounts, size)
            labels[taken] = used + number
            left = np.setdiff1d(left, taken)
        used += count
    return labels


def _first_cluster(left: IntArray, together: FloatArray, amounts: list[int], size: int) -> IntArray:
    """Take the first super-point that is left, and those that share most with it, as long as there is room."""
    taken: list[int] = []
    if len(left):
        near = left[np.argsort(-together[left[0], left], kind="stable")]
        for i in (int(left[0]), *near.tolist()):
            if i not in taken and amounts[i] <= size:
                taken.append(i)
                size -= amounts[i]
    return np.array(taken, dtype=np.int64)
