"""Turn every kind of constraint into must-link and cannot-link pairs, and not into more of them than needed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints, PartialLabels, as_pairs
from certimeans.problem.cost import exponent_of

MAX_DIAMETER_PAIRS = 20_000_000
"""A diameter that forbids more pairs than this is refused: they would not fit in memory any more."""

_BLOCK_ENTRIES = 4_000_000
_DENSE_NEIGHBOURS = 50


class Pairs(NamedTuple):
    """Links between points, each pair once with the smaller number first."""

    must_link: IntArray
    cannot_link: IntArray


def expand(constraints: Constraints, points: FloatArray) -> Pairs:
    """List the pairs that say the same as ``constraints`` about ``points``."""
    must_link, cannot_link = [constraints.must_link], [constraints.cannot_link]
    if constraints.partial_labels is not None:
        same, different = pairs_from_labels(constraints.partial_labels)
        must_link.append(same)
        cannot_link.append(different)
    if constraints.split is not None or constraints.diameter is not None:
        # Scaled by a power of two, squares cannot overflow or vanish and distances keep all their digits.
        exponent = exponent_of(points)
        scaled = np.ldexp(points, -exponent)
        if constraints.split is not None:
            must_link.append(pairs_closer_than(scaled, _scale_distance(constraints.split, exponent)))
        if constraints.diameter is not None:
            cannot_link.append(pairs_farther_than(scaled, _scale_distance(constraints.diameter, exponent)))
    if len(must_link) == 1 and len(cannot_link) == 1:
        return Pairs(constraints.must_link, constraints.cannot_link)
    return Pairs(as_pairs(np.vstack(must_link), "must_link"), as_pairs(np.vstack(cannot_link), "cannot_link"))


def pairs_from_labels(labels: PartialLabels) -> Pairs:
    """Link each class to its first point, and forbid each pair of first points.

    n labelled points of c classes give n - c must-links and c (c - 1) / 2 cannot-links; the others follow from them.
    """
    known = np.flatnonzero(labels.codes >= 0)
    _, first, codes = np.unique(labels.codes[known], return_index=True, return_inverse=True)  # some may have no point
    leader = known[first]
    same = np.column_stack([leader[codes], known])
    a, b = np.triu_indices(len(leader), k=1)
    return Pairs(same[same[:, 0] != same[:, 1]], np.column_stack([leader[a], leader[b]]))


def pairs_closer_than(points: FloatArray, distance: float) -> IntArray:
    """Return a spanning forest of the graph that joins points closer than ``distance``: at most n - 1 pairs."""
    if distance == 0.0:
        return np.empty((0, 2), dtype=np.int64)
    from scipy.sparse import coo_array  # noqa: PLC0415  # slow to import, and not always needed
    from scipy.sparse.csgraph import minimum_spanning_tree  # noqa: PLC0415
    from scipy.spatial import KDTree  # noqa: PLC0415

    tree = KDTree(points)
    radius = distance * (1 + 1e-9)  # a little too far; the strict comparison follows on our own distances
    if tree.count_neighbors(tree, radius) > _DENSE_NEIGHBOURS * len(points):
        return _forest_by_levels(points, distance)
    pairs = tree.query_pairs(radius, output_type="ndarray").astype(np.int64)
    pairs = pairs[_distances(points, pairs) < distance]
    ends = pairs.astype(np.int32)  # scipy's graphs take these as they are
    graph = coo_array((np.ones(len(pairs)), (ends[:, 0], ends[:, 1])), shape=(len(points), len(points)))
    forest = minimum_spanning_tree(graph.tocsr()).tocoo()
    return np.column_stack([forest.row, forest.col]).astype(np.int64)


def _forest_by_levels(points: FloatArray, distance: float) -> IntArray:
    """Do the same breadth-first: never lists all close pairs, so it suits dense graphs, whose levels are few."""
    from scipy.spatial import KDTree  # noqa: PLC0415

    unvisited = np.arange(len(points))
    found: list[IntArray] = []
    while unvisited.size:
        frontier, unvisited = unvisited[:1], unvisited[1:]
        while frontier.size and unvisited.size:
            _, nearest = KDTree(points[frontier]).query(points[unvisited])
            candidates = np.column_stack([frontier[nearest], unvisited])
            reached = _distances(points, candidates) < distance
            found.append(candidates[reached])
            frontier, unvisited = unvisited[reached], unvisited[~reached]
    return np.vstack(found) if found else np.empty((0, 2), dtype=np.int64)


def pairs_farther_than(points: FloatArray, distance: float) -> IntArray:
    """List the pairs farther apart than ``distance``; only points far from the middle can belong to one."""
    from scipy.spatial.distance import cdist  # noqa: PLC0415

    radius = cdist(points, [0.5 * (points.min(axis=0) + points.max(axis=0))])[:, 0]
    candidates = np.flatnonzero(radius + radius.max() > distance * (1 - 1e-9))
    block = max(1, _BLOCK_ENTRIES // max(1, len(candidates)))
    found: list[IntArray] = []
    total = 0
    for start in range(0, len(candidates), block):
        rows = candidates[start : start + block]
        columns = candidates[start:]
        a, b = np.nonzero(cdist(points[rows], points[columns]) > distance)
        later = b > a
        found.append(np.column_stack([rows[a[later]], columns[b[later]]]))
        total += len(found[-1])
        if total > MAX_DIAMETER_PAIRS:
            raise InputError(
                f"diameter forbids more than {MAX_DIAMETER_PAIRS:,} pairs of points; "
                "give a larger diameter or fewer points"
            )
    return np.vstack(found) if found else np.empty((0, 2), dtype=np.int64)


def _distances(points: FloatArray, pairs: IntArray) -> FloatArray:
    difference = points[pairs[:, 0]] - points[pairs[:, 1]]
    distances: FloatArray = np.sqrt((difference * difference).sum(axis=1))
    return distances


def _scale_distance(distance: float, exponent: int) -> float:
    with np.errstate(over="ignore"):
        return float(np.ldexp(distance, -exponent))
