"""What a split moves around: super-points, pieces of heavy ones, and blocks of those whose cannot-links bind.

A cannot-link *binds* if one of its ends would rather be in the other end's cluster, or would make room there for
another. Most do not, and a bound loses little by leaving those out that join different parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.bounds.parts.settings import PartSettings
from certimeans.compilation import compiled
from certimeans.presolve.contract import SuperPoints, sum_by_group

_SMALL_CLUSTER = 4
"""A cluster of fewer super-points than this for each part is shared rather than dealt out."""


class Units(NamedTuple):
    """Pieces that go to one part each.

    Attributes
    ----------
    unit_of
        The unit of each point; -1 if all parts share it.
    block
        The block of each unit: units of one block go to one part.
    label
        The cluster of each unit in the clustering of the whole.
    weights, offsets
        The weight of each unit, and that weight times its mean less the mean of its cluster, in working units.
    """

    unit_of: IntArray
    block: IntArray
    label: IntArray
    weights: FloatArray
    offsets: FloatArray


def make_units(
    points: SuperPoints,
    labels: IntArray,
    positions: FloatArray,
    weights: FloatArray,
    n_parts: int,
    settings: PartSettings,
) -> Units:
    """Find out what has to stay together, what may be divided, and what all parts share.

    Parameters
    ----------
    labels
        The cluster of each super-point.
    positions, weights
        The points in working units, and their weights.
    """
    assert points.vectors is not None  # noqa: S101  # a Gram matrix is never split
    centres, totals = centres_of(points, labels)
    pieces = _pieces(points, n_parts, settings)
    is_shared = _shared(points, labels, centres, totals, pieces, n_parts, settings)
    pieces[is_shared] = 1
    unit_of = _number_units(points, positions, is_shared, pieces)
    kept = np.flatnonzero(unit_of >= 0)
    size = int(unit_of.max(initial=-1)) + 1
    group = np.empty(size, dtype=np.int64)
    group[unit_of[kept]] = points.group_of[kept]
    unit_weights: FloatArray = np.bincount(unit_of[kept], weights[kept], minlength=size).astype(np.float64)
    sums = sum_by_group(unit_of[kept], positions[kept] * weights[kept, None], size)
    label = labels[group]
    block = _blocks(points, labels, centres, group, pieces > 1, n_parts, settings)
    return Units(unit_of, block, label, unit_weights, sums - unit_weights[:, None] * centres[label])


def centres_of(points: SuperPoints, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the centre of each cluster of super-points, in working units, and its weight."""
    assert points.vectors is not None  # noqa: S101  # a Gram matrix is never split
    k = points.n_clusters
    totals: FloatArray = np.bincount(labels, points.weights, minlength=k).astype(np.float64)
    return sum_by_group(labels, points.vectors, k) / np.maximum(totals, np.finfo(float).tiny)[:, None], totals


def _pieces(points: SuperPoints, n_parts: int, settings: PartSettings) -> IntArray:
    """Return into how many pieces to divide each super-point: more than 1 for those that would dominate a part."""
    shares = points.weights * (n_parts / points.weights.sum()) / settings.heavy
    pieces: IntArray = np.where(shares > 1, np.minimum(np.ceil(2 * shares), n_parts), 1).astype(np.int64)
    return pieces


def _shared(
    points: SuperPoints,
    labels: IntArray,
    centres: FloatArray,
    totals: FloatArray,
    pieces: IntArray,
    n_parts: int,
    settings: PartSettings,
) -> BoolArray:
    """Say which super-points all parts share by weight.

    Those of clusters so small that parts would have to do without; those that are heavy and have too few points to be
    divided; and those that a part might rather give a cluster of their own, and merge two others for it.
    """
    offsets = points.means - centres[labels]
    added = points.weights * (offsets * offsets).sum(axis=1)
    used = np.flatnonzero(totals > 0)
    distances = ((centres[used, None] - centres[used]) ** 2).sum(axis=2)
    merging = distances * (totals[used, None] * totals[used] / (totals[used, None] + totals[used]))
    np.fill_diagonal(merging, np.inf)
    threshold = settings.share_above * float(merging.min(initial=np.inf)) / n_parts
    is_indivisible = (pieces > 1) & (np.bincount(points.group_of, minlength=points.size) < pieces)
    most = max(1, int(settings.most_shared * points.size / n_parts))
    counts = np.bincount(labels, minlength=len(totals))
    is_needed = is_indivisible | (counts < min(_SMALL_CLUSTER * n_parts, most))[labels]
    chosen = np.flatnonzero((added > threshold) | is_needed)
    if len(chosen) > most:
        rank = np.where(is_needed[chosen], np.inf, added[chosen])
        chosen = chosen[np.argsort(-rank, kind="stable")[:most]]
    mask = np.zeros(points.size, dtype=np.bool_)
    mask[chosen] = True
    return mask


def _number_units(points: SuperPoints, positions: FloatArray, is_shared: BoolArray, pieces: IntArray) -> IntArray:
    """Give every point the number of its unit: a super-point, or a piece of a heavy one."""
    is_whole = ~is_shared & (pieces == 1)
    number = np.cumsum(is_whole) - 1
    number[~is_whole] = -1
    unit_of: IntArray = number[points.group_of]
    count = int(number.max(initial=-1)) + 1
    divided = np.flatnonzero(pieces > 1)
    inside = np.flatnonzero(pieces[points.group_of] > 1)
    inside = inside[np.argsort(points.group_of[inside], kind="stable")]
    ends = np.searchsorted(points.group_of[inside], divided, side="right")
    for group, own in zip(divided, np.split(inside, ends), strict=False):  # nothing is left after the last
        n_pieces = min(int(pieces[group]), len(own))
        spread = positions[own] - positions[own].mean(axis=0)
        widest = int((spread * spread).sum(axis=0).argmax())
        unit_of[own[np.argsort(spread[:, widest], kind="stable")]] = count + np.arange(len(own)) % n_pieces
        count += n_pieces
    return unit_of


def _blocks(
    points: SuperPoints,
    labels: IntArray,
    centres: FloatArray,
    group: IntArray,
    is_apart: BoolArray,
    n_parts: int,
    settings: PartSettings,
) -> IntArray:
    """Unite units whose cannot-links bind, most binding first, into blocks that are not too large."""
    edges = points.graph.edges
    unit_of_group = np.full(points.size, -1, dtype=np.int64)
    whole = np.flatnonzero(~is_apart[group])
    unit_of_group[group[whole]] = whole
    edges = edges[(unit_of_group[edges] >= 0).all(axis=1)]
    if len(edges) == 0:
        return np.arange(len(group), dtype=np.int64)
    wish = link_wishes(points, labels, centres, edges)
    binding = np.flatnonzero(wish > 0)
    binding = binding[np.argsort(-wish[binding], kind="stable")]
    first, second = unit_of_group[edges[binding]].T
    most = max(1, min(settings.largest_block, points.size // (4 * n_parts)))
    root = _unite(np.ascontiguousarray(first), np.ascontiguousarray(second), len(group), most)
    return np.unique(root, return_inverse=True)[1].astype(np.int64)


def link_wishes(points: SuperPoints, labels: IntArray, centres: FloatArray, edges: IntArray) -> FloatArray:
    """Return how much might be gained without each link, about; a link binds if that is more than nothing.

    An end may gain in the cluster of the other one. Or another super-point may: if it would gain g in a cluster, but
    cannot link with some i there, then i might leave, at a cost below g, unless links keep i from where it would go.
    """
    assert points.vectors is not None  # noqa: S101  # a Gram matrix is never split
    ends, inverse = np.unique(edges, return_inverse=True)
    first, second = inverse.reshape(edges.shape).T
    weights, own = points.weights[ends], labels[ends]
    means = points.vectors[ends] / weights[:, None]
    away = np.column_stack([((means - centre) ** 2).sum(axis=1) for centre in centres])
    gains = weights[:, None] * (away[np.arange(len(ends)), own][:, None] - away)
    there, here = gains[first, own[second]], gains[second, own[first]]
    pushed = np.zeros(len(ends))  # what others would gain if a super-point left
    np.maximum.at(pushed, second, there)
    np.maximum.at(pushed, first, here)
    there += pushed[first]
    here += pushed[second]
    wishes: FloatArray = np.maximum(there, here)
    return wishes


@compiled
def _unite(first: IntArray, second: IntArray, size: int, most: int) -> IntArray:
    """Unite the ends of pairs, in order, unless more than ``most`` would be together; return a name of each block."""
    parent = np.arange(size)
    count = np.ones(size, dtype=np.int64)
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b and count[a] + count[b] <= most:
            parent[b] = a
            count[a] += count[b]
    for i in range(size):
        a = i
        while parent[a] != a:
            a = parent[a]
        parent[i] = a
    return parent
