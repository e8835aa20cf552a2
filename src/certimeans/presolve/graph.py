"""The graph whose edges are the cannot-links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from certimeans._typing import BoolArray, IntArray
from certimeans.compilation import compiled_without_allocation
from certimeans.problem.clustering import by_first_appearance


class Contradiction(Exception):  # noqa: N818  # a finding, not a fault: callers catch it and explain or prune
    """Raised where the constraints are proven to contradict each other; :mod:`.conflicts` finds out why."""


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph on vertices 0..n_vertices-1.

    Attributes
    ----------
    edges
        Each edge once, smaller vertex first, sorted.
    """

    n_vertices: int
    edges: IntArray

    @cached_property
    def adjacency(self) -> tuple[IntArray, IntArray]:
        """Compressed neighbour lists: those of v are ``neighbours[start[v]:start[v + 1]]``, in increasing order."""
        both = np.vstack([self.edges, self.edges[:, ::-1]])
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        start = np.searchsorted(both[:, 0], np.arange(self.n_vertices + 1)).astype(np.int64)
        return start, np.ascontiguousarray(both[:, 1])

    @cached_property
    def degrees(self) -> IntArray:
        """Number of neighbours of each vertex."""
        return np.bincount(self.edges.ravel(), minlength=self.n_vertices).astype(np.int64)

    @cached_property
    def components(self) -> IntArray:
        """Number of the connected component of each vertex."""
        return connected(self.n_vertices, self.edges)

    def neighbour_sets(self, vertices: IntArray) -> dict[int, set[int]]:
        """Neighbours of each of ``vertices`` among ``vertices``."""
        inside = np.zeros(self.n_vertices, dtype=np.bool_)
        inside[vertices] = True
        sets: dict[int, set[int]] = {v: set() for v in vertices.tolist()}
        for a, b in self.edges[inside[self.edges].all(axis=1)].tolist():
            sets[a].add(b)
            sets[b].add(a)
        return sets

    def subgraph(self, vertices: IntArray) -> Graph:
        """Return the graph on ``vertices`` alone, which are renumbered 0, 1, ... in the given order."""
        number = np.full(self.n_vertices, -1, dtype=np.int64)
        number[vertices] = np.arange(len(vertices))
        edges = number[self.edges]
        return Graph(len(vertices), unique_edges(edges[(edges >= 0).all(axis=1)]))

    def peel(self, degree: int) -> tuple[IntArray, BoolArray]:
        """Remove vertices with fewer than ``degree`` neighbours left, one after the other.

        Returns
        -------
        removed
            The removed vertices, in order of removal.
        core
            Mask of the vertices that remain: each has at least ``degree`` neighbours among them.
        """
        core = self.degrees >= degree
        n_left = int(np.count_nonzero(core))
        removed = np.concatenate([np.flatnonzero(~core), np.zeros(n_left, dtype=np.int64)])
        count = len(core) - n_left
        if n_left > 0:
            count = _peel(*self.adjacency, self.degrees.copy(), degree, core, removed, count)
        return removed[:count], core


@compiled_without_allocation
def _peel(
    start: IntArray, neighbours: IntArray, left: IntArray, degree: int, core: BoolArray, removed: IntArray, count: int
) -> int:
    """Remove what loses too many neighbours; ``removed`` begins with ``count`` vertices that go first."""
    head = 0
    while head < count:
        v = removed[head]
        head += 1
        for position in range(start[v], start[v + 1]):
            u = neighbours[position]
            left[u] -= 1
            if core[u] and left[u] < degree:
                core[u] = False
                removed[count] = u
                count += 1
    return count


def unique_edges(pairs: IntArray) -> IntArray:
    """Sort edges, smaller vertex first, and drop repetitions."""
    if len(pairs) == 0:
        return np.empty((0, 2), dtype=np.int64)
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    size = int(high.max()) + 1  # one number an edge sorts much faster than rows do
    keys = np.unique(low * size + high)
    return np.column_stack([keys // size, keys % size])


def connected(n_vertices: int, pairs: IntArray) -> IntArray:
    """Find the connected component of each vertex, numbered by first appearance."""
    if len(pairs) == 0:
        return np.arange(n_vertices, dtype=np.int64)
    from scipy.sparse import coo_array  # noqa: PLC0415  # slow to import, and not always needed
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    ones = np.ones(len(pairs), dtype=np.int8)
    matrix = coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n_vertices, n_vertices))
    _, labels = connected_components(matrix, directed=False)
    return by_first_appearance(labels)


def spanning_forest(n_vertices: int, pairs: IntArray) -> IntArray:
    """Return the places of pairs that connect as much as all of them, and close no circle; in increasing order."""
    if len(pairs) == 0:
        return np.empty(0, dtype=np.int64)
    from scipy.sparse import coo_array  # noqa: PLC0415  # slow to import, and not always needed
    from scipy.sparse.csgraph import minimum_spanning_tree  # noqa: PLC0415

    # Entries that are there twice would be added up: of equal pairs, the first stays.
    _, first = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    a, b = pairs[first].T
    weights = 1.0 + first  # no two are equal, and none is 0, which would be no edge
    tree = minimum_spanning_tree(coo_array((weights, (a, b)), shape=(n_vertices, n_vertices)).tocsr())
    places: IntArray = np.sort(tree.data.astype(np.int64) - 1)
    return places
