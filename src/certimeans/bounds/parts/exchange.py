"""Blocks change places until every part has, in every cluster, almost the same mean as the whole.

What splitting loses through different means is the sum over parts p and clusters c of |S_pc|^2 / W_pc, where W is the
weight of the cluster in the part and S the sum of w (x - mean of the whole cluster): anticlustering. Two blocks with
the same pattern of labels in different parts are swapped if that lowers the sum. Of many parts some at a time are
taken, in a processor's cache and on all its cores, after a few swaps that give these groups of parts equal means.
S may have further columns, which cost nothing, but are to match as well: see :mod:`.moments`.
"""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.parts.settings import PartSettings
from certimeans.compilation import compiled, compiled_without_allocation
from certimeans.deadline import Deadline
from certimeans.randomness import RandomState, random_below, random_state

GROUP_SIZE = 16_000
"""Means are matched between so many blocks at a time, at least."""
_SWAPPED_BETWEEN_GROUPS = 1_000
_SWEEPS_BETWEEN_GROUPS = 3


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
    """Return the sum of |S|^2 / W over parts and clusters, or over clusters alone."""
    return float(((sums * sums).sum(axis=-1) / np.where(weights > 0, weights, 1.0)).sum())


def match_means(  # noqa: PLR0913  # all that it depends on
    entries: Entries,
    part: IntArray,
    pattern: IntArray,
    n_parts: int,
    k: int,
    settings: PartSettings,
    n_coordinates: int,
    *,
    seed: int = 0,
    negligible: float = 0.0,
    deadline: Deadline | None = None,
    n_threads: int = 1,
    is_sample: bool = False,
) -> float:
    """Swap blocks of equal pattern until the means match; return what they still cost, in working units.

    Parameters
    ----------
    part, pattern
        Of each block; parts are changed in place.
    n_coordinates
        How many columns of the entries have a cost: all are matched first, then these once more.
    negligible
        Swaps end when the columns cost no more than this, or would if they had a cost.
    n_threads
        Groups of parts at a time; the outcome does not depend on it.
    is_sample
        Whether only the first group of parts will be looked at.
    """
    deadline = deadline or Deadline()
    n_groups = max(1, min(n_parts // 2, len(part) // GROUP_SIZE))
    first_part = np.linspace(0, n_parts, n_groups + 1).astype(np.int64)
    group_of_part = np.repeat(np.arange(n_groups), np.diff(first_part))
    if n_groups > 1:
        _match_groups(entries, part, pattern, group_of_part, k, settings.partners, seed)
    order = np.lexsort((pattern, group_of_part[part]))
    sorted_part, sorted_pattern = part[order], pattern[order]
    ends = np.searchsorted(group_of_part[sorted_part], np.arange(n_groups + 1))
    entries = gather(entries, order)
    states = [random_state([seed, 11, group]) for group in range(n_groups)]
    groups = range(1 if is_sample else n_groups)

    def sweeps(entries: Entries, pool: Executor) -> float:
        """Swap until all columns match, and return what they cost; the same parts are changed each time."""
        weights, sums = totals_of(entries, sorted_part, n_parts, k)

        def sweep_group(group: int) -> int:
            blocks, parts = slice(ends[group], ends[group + 1]), slice(first_part[group], first_part[group + 1])
            own = entries._replace(start=entries.start[ends[group] : ends[group + 1] + 1])
            place = sorted_part[blocks] - first_part[group]
            starts = _pattern_starts(sorted_pattern[blocks])
            swaps: int = sweep(own, place, weights[parts], sums[parts], starts, settings.partners, states[group])
            sorted_part[blocks] = place + first_part[group]
            return swaps

        for _ in range(settings.sweeps):
            if deadline.passed() or loss_of(weights, sums) <= negligible:
                break
            if sum(pool.map(sweep_group, groups)) < ends[len(groups)] // 1000:
                break
        return loss_of(weights, sums)

    with ThreadPoolExecutor(n_threads) as pool:
        if entries.offsets.shape[1] > n_coordinates:
            sweeps(entries, pool)
            entries = entries._replace(offsets=np.ascontiguousarray(entries.offsets[:, :n_coordinates]))
        loss = sweeps(entries, pool)
    part[order] = sorted_part
    return loss


def _match_groups(
    entries: Entries, part: IntArray, pattern: IntArray, group_of_part: IntArray, k: int, partners: int, seed: int
) -> None:
    """Swap some blocks between groups of parts, so that swaps inside groups can match the rest."""
    n_groups = int(group_of_part[-1]) + 1
    some = np.arange(0, len(part), max(1, len(part) // (n_groups * _SWAPPED_BETWEEN_GROUPS)))
    some = some[np.argsort(pattern[some], kind="stable")]
    weights, sums = totals_of(entries, group_of_part[part], n_groups, k)
    before = group_of_part[part[some]]
    after = before.copy()
    chosen, starts, random = gather(entries, some), _pattern_starts(pattern[some]), random_state([seed, 13])
    for _ in range(_SWEEPS_BETWEEN_GROUPS):
        sweep(chosen, after, weights, sums, starts, partners, random)
    moved = np.flatnonzero(before != after)
    left, entered = (some[moved[np.lexsort((group[moved], pattern[some[moved]]))]] for group in (before, after))
    part[entered] = part[left]


def gather(entries: Entries, blocks: IntArray) -> Entries:
    """Return the entries of some blocks, in their order."""
    counts = np.diff(entries.start)[blocks]
    start = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(start[-1]) + np.repeat(entries.start[blocks] - start[:-1], counts)
    return Entries(start, entries.cluster[places], entries.weights[places], entries.offsets[places])


def _pattern_starts(pattern: IntArray) -> IntArray:
    """Return where each pattern begins among sorted ones, and where the last one ends."""
    return np.concatenate([[0], np.flatnonzero(np.diff(pattern)) + 1, [len(pattern)]]).astype(np.int64)


@compiled
def sweep(
    entries: Entries,
    part: IntArray,
    weights: FloatArray,
    sums: FloatArray,
    pattern_start: IntArray,
    partners: int,
    random: RandomState,
) -> int:
    """Try to swap every block with some others of its pattern; return how many swaps there were.

    Blocks are sorted by pattern; those of pattern p are ``pattern_start[p]:pattern_start[p + 1]``.
    """
    swaps = 0
    for pattern in range(len(pattern_start) - 1):
        first, count = pattern_start[pattern], pattern_start[pattern + 1] - pattern_start[pattern]
        for position in range(count if count > 1 else 0):
            a = first + position
            for _ in range(partners):
                b = first + random_below(random, count)
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
