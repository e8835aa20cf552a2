"""What cannot-links imply: groups that every feasible clustering puts into one cluster.

One rule covers every k: *all common neighbours of a clique of k - 1 vertices share a cluster*, because the clique
uses up k - 1 clusters and leaves a single one. For k = 2 the clique is a single vertex, so the rule is two-colouring:
what is at even distance in the cannot-link graph belongs together. It is applied to the graph in which merged groups
are single vertices that inherit their members' cannot-links, until nothing more follows. Each step is recorded with its
clique, so that it can be checked without searching.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.presolve.graph import Contradiction, Graph, connected, spanning_forest
from certimeans.problem.clustering import by_first_appearance

_MAX_CLIQUES = 20_000
"""Cliques looked at before we stop to infer: what is found is right at any time, only perhaps not all."""


class Implied(NamedTuple):
    """What the rule implies, and why.

    Attributes
    ----------
    group_of
        The group of each vertex, numbered by first appearance.
    merges
        One row a step, in order: two vertices whose groups were united, then the clique of k - 1 vertices, or rather of
        their groups, whose common neighbours they are.
    """

    group_of: IntArray
    merges: IntArray


def implied_groups(graph: Graph, k: int, deadline: Deadline | None = None) -> Implied:
    """Group the vertices that every proper colouring with at most k colours colours alike.

    Complete for k <= 2. For larger k, exactly what the rule above implies, unless the deadline passes or there are too
    many cliques; colourings may well agree on more.

    Raises
    ------
    Contradiction
        If the rule proves that no such colouring exists.
    """
    if len(graph.edges) == 0 and k > 1:
        return Implied(np.arange(graph.n_vertices, dtype=np.int64), np.empty((0, k + 1), dtype=np.int64))
    if k == 1:
        if len(graph.edges):
            raise Contradiction
        vertices = np.arange(graph.n_vertices, dtype=np.int64)
        return Implied(np.zeros_like(vertices), np.column_stack([vertices[:-1], vertices[1:]]))
    if k == 2:
        return Implied(_sides_of_two_colouring(graph), _common_neighbours(graph))
    return _CliqueMerging(graph, k).run(deadline or Deadline())


def _sides_of_two_colouring(graph: Graph) -> IntArray:
    """Two-colour each component at once: vertex v becomes the nodes "v on the left" and "v on the right"."""
    n, (a, b) = graph.n_vertices, graph.edges.T
    cover = connected(2 * n, np.vstack([np.column_stack([a, b + n]), np.column_stack([a + n, b])]))
    left, right = cover[:n], cover[n:]
    if (left == right).any():
        raise Contradiction  # an odd cycle connects a vertex with itself on the other side
    # Vertices at even distance have their left copies in one component of the cover, those at odd distance never.
    return by_first_appearance(left)


def _common_neighbours(graph: Graph) -> IntArray:
    """Return pairs of neighbours of a vertex, with it, that join all neighbours of each vertex.

    Chains of successive neighbours do; of these, the pairs that close no circle are enough: fewer than vertices.
    """
    ends = np.vstack([graph.edges, graph.edges[:, ::-1]])
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    same = ends[:-1, 0] == ends[1:, 0]
    chained: IntArray = np.column_stack([ends[:-1, 1], ends[1:, 1], ends[:-1, 0]])[same]
    return chained[spanning_forest(graph.n_vertices, chained[:, :2])]


class _CliqueMerging:
    """The rule for k > 2 on neighbour sets that shrink as vertices merge.

    Only the part of the graph where every vertex has k - 1 neighbours can contain a k-clique, or a vertex that joins
    one; merging never moves a vertex into that part.
    """

    def __init__(self, graph: Graph, k: int) -> None:
        self.k = k
        self.n_vertices = graph.n_vertices
        _, core = graph.peel(k - 1)
        self.neighbours = graph.neighbour_sets(np.flatnonzero(core))
        self.merged_into: dict[int, int] = {}
        self.merges: list[list[int]] = []
        self.finished: set[int] = set()

    def run(self, deadline: Deadline) -> Implied:
        """Look at the k-cliques through each vertex, and again through each vertex that grew."""
        queue = deque(sorted(self.neighbours, key=lambda v: (len(self.neighbours[v]), v)))
        grown: set[int] = set()
        looked_at = 0
        while queue and looked_at < _MAX_CLIQUES and not deadline.passed():
            v = queue.popleft()
            if v in self.merged_into or (v in self.finished and v not in grown):
                continue
            # Cliques through finished vertices were seen with those; only a grown vertex can be in new ones.
            candidates = self.neighbours[v] if v in grown else self.neighbours[v] - self.finished
            grown.discard(v)
            changed: set[int] = set()
            for clique in self._cliques([v], candidates):
                looked_at += 1
                changed = self._let_others_join(clique)
                if changed or looked_at >= _MAX_CLIQUES or deadline.passed():
                    break  # after a merge the candidates are stale: start again from the grown vertices
            if changed:
                grown |= changed
                queue.extendleft(changed)
                if v not in changed:
                    queue.append(v)
            else:
                self.finished.add(v)
        return Implied(self._groups(), np.array(self.merges, dtype=np.int64).reshape(-1, self.k + 1))

    def _cliques(self, clique: list[int], candidates: set[int]) -> Iterator[list[int]]:
        """Extend a clique by its common neighbours to all cliques of size k."""
        missing = self.k - len(clique)
        if missing == 0:
            yield clique
            return
        remaining = set(candidates)
        for v in sorted(candidates):
            if len(remaining) < missing:
                return
            remaining.discard(v)
            yield from self._cliques([*clique, v], remaining & self.neighbours[v])

    def _let_others_join(self, clique: list[int]) -> set[int]:
        """Merge into each clique vertex what conflicts with all the others; return the vertices that grew."""
        members = set(clique)
        grown: set[int] = set()
        while True:
            conflicts = Counter(u for v in members for u in self.neighbours[v] if u not in members)
            joining = [u for u, count in conflicts.items() if count >= self.k - 1]
            if not joining:
                return grown
            for u in joining:
                free = [v for v in members if v not in self.neighbours[u]]
                if not free:
                    raise Contradiction  # u conflicts with all k classes
                self._merge(u, free[0])
                self.merges.append([u, free[0], *sorted(members - {free[0]})])
                grown.add(free[0])

    def _merge(self, v: int, into: int) -> None:
        if v in self.neighbours[into]:
            raise Contradiction
        for u in self.neighbours.pop(v):
            self.neighbours[u].discard(v)
            self.neighbours[u].add(into)
            self.neighbours[into].add(u)
        self.merged_into[v] = into

    def _groups(self) -> IntArray:
        root = np.arange(self.n_vertices, dtype=np.int64)
        for v in self.merged_into:
            into = v
            while into in self.merged_into:
                into = self.merged_into[into]
            root[v] = into
        return by_first_appearance(root)
