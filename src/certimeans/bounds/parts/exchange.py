"""Blocks change places until every part has, in every cluster, almost the same mean as the whole.

What splitting loses through different means is the sum over parts p and clusters c of |S_pc|^2 / W_pc, where W is the
weight of the cluster in the part and S the sum of w (x - mean of the whole cluster): anticlustering. Two blocks with
the same pattern of labels in different parts are swapped if that lowers the sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled, compiled_without_allocation
from certimeans.randomness import RandomState, random_below


class Entries(NamedTuple):
    """What blocks bring to clusters: those of block b are ``start[b]:start[b + 1]``, clusters growing.

    Attributes
    ----------
    cluster, weights, offsets
        The cluster, its weight in the block, and the block's part of S.
    """

    start: IntArray
    cluster: IntArray
    weights: FloatArray
    offsets: FloatArray


def make_entries(block: IntArray, label: IntArray, weights: FloatArray, offsets: FloatArray, k: int) -> Entries:
    """Add up what the units of each block bring to each cluster."""
    n_blocks = int(block.max(initial=-1)) + 1
    if n_blocks == len(block):
        order = np.argsort(block, kind="stable")
        return Entries(np.arange(n_blocks + 1), label[order], weights[order], np.ascontiguousarray(offsets[order]))
    keys, inverse = np.unique(block * k + label, return_inverse=True)
    sums = np.empty((len(keys), offsets.shape[1]))
    for feature in range(offsets.shape[1]):
        sums[:, feature] = np.bincount(inverse, offsets[:, feature], minlength=len(keys))
    start = np.searchsorted(keys, k * np.arange(n_blocks + 1)).astype(np.int64)
    totals: FloatArray = np.bincount(inverse, weights, minlength=len(keys)).astype(np.float64)
    return Entries(start, keys % k, totals, sums)


def totals_of(entries: Entries, part: IntArray, n_parts: int, k: int) -> tuple[FloatArray, FloatArray]:
    """Return W and S by part and cluster; W is at least tiny, so that it can be divided by."""
    place = np.repeat(part, np.diff(entries.start)) * k + entries.cluster
    weights: FloatArray = np.bincount(place, entries.weights, minlength=n_parts * k).astype(np.float64)
    sums = np.empty((n_parts * k, entries.offsets.shape[1]))
    for feature in range(entries.offsets.shape[1]):
        sums[:, feature] = np.bincount(place, entries.offsets[:, feature], minlength=n_parts * k)
    return weights.reshape(n_parts, k), np.ascontiguousarray(sums.reshape(n_parts, k, -1))


def loss_of(weights: FloatArray, sums: FloatArray) -> float:
    """Return the sum over parts and clusters of |S|^2 / W."""
    return float(((sums * sums).sum(axis=2) / np.where(weights > 0, weights, 1.0)).sum())


@compiled
def sweep(
    entries: Entries,
    part: IntArray,
    weights: FloatArray,
    sums: FloatArray,
    pattern_start: IntArray,
    by_pattern: IntArray,
    partners: int,
    random: RandomState,
) -> int:
    """Try to swap every block with some others of its pattern; return how many swaps there were."""
    swaps = 0
    for pattern in range(len(pattern_start) - 1):
        first, count = pattern_start[pattern], pattern_start[pattern + 1] - pattern_start[pattern]
        for position in range(count if count > 1 else 0):
            a = by_pattern[first + position]
            for _ in range(partners):
                b = by_pattern[first + random_below(random, count)]
                if part[a] != part[b] and _change(entries, weights, sums, a, b, part[a], part[b]) < 0.0:
                    _swap(entries, weights, sums, a, b, part[a], part[b])
                    part[a], part[b] = part[b], part[a]
                    swaps += 1
                    break
    return swaps


@compiled_without_allocation
def _change(entries: Entries, weights: FloatArray, sums: FloatArray, a: int, b: int, p: int, q: int) -> float:
    """Return by how much the sum changes if block a of part p and block b of part q are swapped; 0 if they differ."""
    at_a, at_b = entries.start[a], entries.start[b]
    n_entries = entries.start[a + 1] - at_a
    if entries.start[b + 1] - at_b != n_entries:
        return 0.0
    change = 0.0
    for entry in range(n_entries):
        c = entries.cluster[at_a + entry]
        moved = entries.weights[at_b + entry] - entries.weights[at_a + entry]
        new_p, new_q = weights[p, c] + moved, weights[q, c] - moved
        if entries.cluster[at_b + entry] != c or new_p <= 0.0 or new_q <= 0.0:
            return 0.0
        before_p, after_p, before_q, after_q = 0.0, 0.0, 0.0, 0.0
        for j in range(sums.shape[2]):
            step = entries.offsets[at_b + entry, j] - entries.offsets[at_a + entry, j]
            before_p += sums[p, c, j] * sums[p, c, j]
            before_q += sums[q, c, j] * sums[q, c, j]
            after_p += (sums[p, c, j] + step) * (sums[p, c, j] + step)
            after_q += (sums[q, c, j] - step) * (sums[q, c, j] - step)
        change += after_p / new_p - before_p / weights[p, c] + after_q / new_q - before_q / weights[q, c]
    return change


@compiled_without_allocation
def _swap(entries: Entries, weights: FloatArray, sums: FloatArray, a: int, b: int, p: int, q: int) -> None:
    """Change W and S as a swap of two blocks of one pattern does."""
    at_a, at_b = entries.start[a], entries.start[b]
    for entry in range(entries.start[a + 1] - at_a):
        c = entries.cluster[at_a + entry]
        moved = entries.weights[at_b + entry] - entries.weights[at_a + entry]
        weights[p, c] += moved
        weights[q, c] -= moved
        for j in range(sums.shape[2]):
            step = entries.offsets[at_b + entry, j] - entries.offsets[at_a + entry, j]
            sums[p, c, j] += step
            sums[q, c, j] -= step
