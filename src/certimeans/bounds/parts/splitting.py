"""Split a problem into parts that look alike."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.parts.exchange import Entries, loss_of, make_entries, match_means
from certimeans.bounds.parts.moments import with_second_moments
from certimeans.bounds.parts.problem import Part
from certimeans.bounds.parts.settings import PartSettings
from certimeans.bounds.parts.units import Units, centres_of, make_units
from certimeans.deadline import Deadline
from certimeans.presolve.contract import sum_by_group
from certimeans.presolve.reduce import Presolved

_BITS_OF_SHARES = 40  # below a point's weight: sums of shares are exact


@dataclass(frozen=True, eq=False)
class Split:
    """Which points belong to which part.

    Attributes
    ----------
    start, points
        The points that only part p has are ``points[start[p]:start[p + 1]]``, in increasing order.
    shared
        Points that every part has; the weight of point s of them in part p is ``shares[p, s]``.
    loss
        What the bound loses because means differ between parts, in the user's units, about.
    """

    start: IntArray
    points: IntArray
    shared: IntArray
    shares: FloatArray
    loss: float = 0.0

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.start) - 1

    def members(self, parts: tuple[int, ...], weights: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the points of some parts together, in increasing order, and their weights there."""
        own = [self.points[self.start[p] : self.start[p + 1]] for p in parts]
        chosen = np.concatenate([*own, self.shared])
        theirs = np.concatenate(
            [weights[chosen[: len(chosen) - len(self.shared)]], self.shares[list(parts)].sum(axis=0)]
        )
        order = np.argsort(chosen, kind="stable")
        return chosen[order], theirs[order]

    def united(self, n_parts: int) -> tuple[Split, list[range]]:
        """Unite neighbouring parts until so many are left; return which were united, too.

        What different means cost is not known of the new split.
        """
        ends = np.linspace(0, self.n_parts, n_parts + 1).round().astype(np.int64)
        start = self.start[ends]
        order = np.lexsort((self.points, np.repeat(np.arange(n_parts), np.diff(start))))
        shares = np.add.reduceat(self.shares, ends[:-1], axis=0)
        groups = [range(*pair) for pair in pairwise(ends.tolist())]
        return replace(self, start=start, points=self.points[order], shares=shares, loss=0.0), groups

    def loss_in(self, presolved: Presolved, labels: IntArray, centres: FloatArray, parts: tuple[int, ...]) -> float:
        """Return what different means cost in some parts together, in the user's units, shared points left out.

        Parameters
        ----------
        labels, centres
            The clustering of the super-points that the split follows, and its centres in working units.
        """
        weights, positions, _, scale = presolved.instance.scaled
        assert positions is not None  # noqa: S101  # a Gram matrix is never split
        points, k = presolved.super_points, presolved.instance.n_clusters
        own = np.concatenate([self.points[self.start[p] : self.start[p + 1]] for p in parts])
        label = labels[points.group_of[own]]
        offsets = weights[own, None] * (positions[own] - centres[label])
        here: FloatArray = np.bincount(label, weights[own], minlength=k).astype(np.float64)
        return loss_of(here, sum_by_group(label, offsets, k)) * scale.unit

    def size_of(self, parts: tuple[int, ...], group_of: IntArray) -> int:
        """Return the number of super-points of some parts together."""
        own = [self.points[self.start[p] : self.start[p + 1]] for p in parts]
        return len(np.unique(group_of[np.concatenate([*own, self.shared])]))

    def left_out(self, presolved: Presolved, unions: Iterable[tuple[int, ...]] = ()) -> int:
        """Count the cannot-links between super-points that are together in no part.

        Parameters
        ----------
        unions
            Parts that were united.
        """
        points = presolved.super_points
        edges = points.graph.edges
        part = np.full(len(points.group_of), -1, dtype=np.int64)
        name = np.arange(self.n_parts)
        for union in unions:
            name[list(union)] = union[0]
        part[self.points] = np.repeat(name, np.diff(self.start))
        of_group = np.full(points.size, -1, dtype=np.int64)
        of_group[points.group_of] = part
        divided = np.zeros(points.size, dtype=np.bool_)  # in several parts: counted as together with everything
        divided[points.group_of[of_group[points.group_of] != part]] = True
        first, second = of_group[edges].T
        together = (first == second) | (first < 0) | (second < 0) | divided[edges].any(axis=1)
        return int(np.count_nonzero(~together))


def make_part(presolved: Presolved, split: Split, labels: IntArray, parts: tuple[int, ...]) -> Part:
    """Take one part, or several together, out of a problem, with the constraints among its points.

    Parameters
    ----------
    labels
        The cluster of each super-point of the whole.
    """
    instance, points = presolved.instance, presolved.super_points
    members, weights = split.members(parts, instance.weights)
    groups, group_of = np.unique(points.group_of[members], return_inverse=True)
    start, neighbours = points.graph.adjacency
    counts = start[groups + 1] - start[groups]
    first = np.repeat(np.arange(len(groups)), counts)
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(start[groups], counts)
    others = neighbours[places]
    second = np.minimum(np.searchsorted(groups, others), len(groups) - 1)
    is_inside = (groups[second] == others) & (first < second)
    return Part(
        members=members,
        points=instance.points[members],
        weights=weights,
        has_shares=len(split.shared) > 0,
        group_of=group_of.astype(np.int64).reshape(-1),
        cannot_links=np.column_stack([first[is_inside], second[is_inside]]).astype(np.int64),
        n_clusters=instance.n_clusters,
        labels=labels[groups],
        deviations=instance.deviations,
        deviation_error=instance.deviation_error,
    )


def split_into_parts(  # noqa: PLR0913  # all that it depends on
    presolved: Presolved,
    labels: IntArray,
    n_parts: int,
    settings: PartSettings | None = None,
    *,
    seed: int = 0,
    negligible: float = 0.0,
    deadline: Deadline | None = None,
    n_threads: int = 1,
    is_sample: bool = False,
) -> Split:
    """Split a problem into parts of equal size in which every cluster has almost the mean that it has in the whole.

    Parameters
    ----------
    labels
        A clustering of the super-points.
    negligible
        Exchanges end when the means cost no more than this, in the user's units.
    deadline
        Exchanges end then, too: any split is valid.
    n_threads
        How many threads exchange; the outcome does not depend on it.
    is_sample
        Whether only the first parts will be looked at.
    """
    settings = settings or PartSettings()
    k = presolved.instance.n_clusters
    unit = presolved.instance.scaled.scale.unit
    units, entries, d, patterns = make_blocks(presolved, labels, n_parts, settings)
    sizes = np.bincount(units.block)
    part = _deal(entries, d, sizes, patterns, n_parts, seed)
    loss = match_means(
        entries,
        part,
        patterns.of_block,
        n_parts,
        k,
        settings,
        d,
        seed=seed,
        negligible=negligible / unit,
        deadline=deadline,
        n_threads=n_threads,
        is_sample=is_sample,
    )
    part_of_point = np.full(len(units.unit_of), -1, dtype=np.int64)
    is_own = units.unit_of >= 0
    part_of_point[is_own] = part[units.block[units.unit_of[is_own]]]
    order = np.argsort(part_of_point, kind="stable")[np.count_nonzero(~is_own) :]
    start = np.searchsorted(part_of_point[order], np.arange(n_parts + 1)).astype(np.int64)
    shared = np.flatnonzero(~is_own)
    equal = np.full((n_parts, len(shared)), 1 / n_parts)
    shares = rounded_shares(equal, presolved.instance.weights[shared])
    split = Split(start, order, shared, shares, loss * unit)
    return replace(split, loss=loss_with_shares(presolved, split, labels)) if len(shared) else split


class Blocks(NamedTuple):
    """What is dealt out to parts.

    Attributes
    ----------
    entries
        What each block brings to clusters; columns that have no cost come after the first ``n_coordinates``.
    """

    units: Units
    entries: Entries
    n_coordinates: int
    patterns: Patterns


def make_blocks(presolved: Presolved, labels: IntArray, n_parts: int, settings: PartSettings) -> Blocks:
    """Find out what stays together, and what exchanges are to match."""
    points, k = presolved.super_points, presolved.instance.n_clusters
    weights, positions, _, _ = presolved.instance.scaled
    assert positions is not None  # noqa: S101  # a Gram matrix is never split
    units = make_units(points, labels, positions, weights, n_parts, settings)
    offsets = units.offsets
    if settings.match_shapes:
        offsets = with_second_moments(units.weights, offsets, units.label, k)
    entries = make_entries(units.block, units.label, units.weights, offsets, k)
    return Blocks(units, entries, units.offsets.shape[1], _patterns(units.block, units.label, k))


def loss_with_shares(presolved: Presolved, split: Split, labels: IntArray) -> float:
    """Return what different means cost, shared points included, in the user's units."""
    centres, _ = centres_of(presolved.super_points, labels)
    return loss_of(*cluster_totals(presolved, split, labels, centres)) * presolved.instance.scaled.scale.unit


def cluster_totals(
    presolved: Presolved, split: Split, labels: IntArray, centres: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return W and S by part and cluster, shared points included; see :mod:`~certimeans.bounds.parts.exchange`."""
    weights, positions, _, _ = presolved.instance.scaled
    assert positions is not None  # noqa: S101  # a Gram matrix is never split
    points, k = presolved.super_points, presolved.instance.n_clusters
    chosen = np.concatenate([split.points, split.shared])
    label = labels[points.group_of[chosen]]
    offsets = positions[chosen] - centres[label]
    own = len(split.points)
    place = np.repeat(np.arange(split.n_parts), np.diff(split.start)) * k + label[:own]
    here: FloatArray = np.bincount(place, weights[chosen[:own]], minlength=split.n_parts * k).astype(np.float64)
    sums = sum_by_group(place, weights[chosen[:own], None] * offsets[:own], split.n_parts * k)
    shares = split.shares * (weights[split.shared] / presolved.instance.weights[split.shared])
    for cluster in np.unique(label[own:]):
        inside = label[own:] == cluster
        here[cluster::k] += shares[:, inside].sum(axis=1)
        sums[cluster::k] += shares[:, inside] @ offsets[own:][inside]
    return here.reshape(-1, k), sums.reshape(split.n_parts, k, -1)


def rounded_shares(fractions: FloatArray, weights: FloatArray) -> FloatArray:
    """Divide weights in the given fractions, one row for each part, rounded down so that they never add up to more.

    All shares of a point are multiples of one power of two, so that their sums are exact.
    """
    unit = np.ldexp(1.0, np.maximum(np.frexp(weights)[1] - _BITS_OF_SHARES, -1074))
    shares: FloatArray = np.floor(fractions * (1 - 2.0**-40) * (weights / unit)) * unit
    return shares


class Patterns(NamedTuple):
    """Blocks by the labels they consist of: ``blocks[start[p]:start[p + 1]]`` are those of pattern p."""

    start: IntArray
    blocks: IntArray

    @property
    def of_block(self) -> IntArray:
        """The pattern of each block."""
        pattern = np.empty(len(self.blocks), dtype=np.int64)
        pattern[self.blocks] = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return pattern


def _patterns(block: IntArray, label: IntArray, k: int) -> Patterns:
    names = np.random.default_rng(k).integers(1, 2**62, size=k, dtype=np.int64)
    n_blocks = int(block.max(initial=-1)) + 1
    keys = np.zeros(n_blocks, dtype=np.int64)
    with np.errstate(over="ignore"):
        np.add.at(keys, block, names[label])
    blocks = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[blocks], prepend=keys[blocks[:1]] - 1))
    return Patterns(np.append(first, n_blocks).astype(np.int64), blocks.astype(np.int64))


def _deal(
    entries: Entries, n_coordinates: int, sizes: IntArray, patterns: Patterns, n_parts: int, seed: int
) -> IntArray:
    """Deal out blocks: large ones to the parts that have least, single ones in order along their cluster's axis."""
    random = np.random.default_rng([seed, 7])
    part = np.empty(len(sizes), dtype=np.int64)
    load = np.zeros(n_parts, dtype=np.int64)
    singles: list[IntArray] = []
    several: list[IntArray] = []
    for first, end in zip(patterns.start[:-1], patterns.start[1:], strict=True):
        blocks = patterns.blocks[first:end]
        own = entries.offsets[entries.start[blocks], :n_coordinates]
        along = blocks[np.argsort(own @ _main_axis(own), kind="stable")]
        (singles if sizes[blocks[0]] == 1 else several).append(along)
    if several:
        rest = np.concatenate(several)
        rest = rest[np.argsort(-sizes[rest], kind="stable")]
        heap = [(0, tie, p) for p, tie in enumerate(random.permutation(n_parts).tolist())]
        heapq.heapify(heap)
        for b, size in zip(rest.tolist(), sizes[rest].tolist(), strict=True):
            filled, tie, p = heap[0]
            part[b] = p
            load[p] += size
            heapq.heapreplace(heap, (filled + size, tie, p))
    if singles:
        in_order = np.concatenate(singles)
        part[in_order] = _slots(load, len(in_order), random)
    return part


def _slots(load: IntArray, count: int, random: np.random.Generator) -> IntArray:
    """Return a sequence of parts that levels their loads: rounds in which every part with room has one turn."""
    n_parts = len(load)
    level = -(-(int(load.sum()) + count) // n_parts)
    room = np.maximum(level - load, 0)
    turns = np.arange(int(room.max(initial=0)))[:, None] < room
    order = np.argsort(random.random(turns.shape), axis=1)
    shuffled = np.where(np.take_along_axis(turns, order, axis=1), order, -1).ravel()
    slots = shuffled[shuffled >= 0]
    return slots[:count] if len(slots) >= count else np.resize(slots, count)


def _main_axis(rows: FloatArray) -> FloatArray:
    """Return the direction in which rows vary most, about."""
    some = rows[:: max(1, len(rows) // 5000)]
    _, vectors = np.linalg.eigh(some.T @ some)
    axis: FloatArray = vectors[:, -1]
    return axis
