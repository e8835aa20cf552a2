"""Exact k-colourability: whether cannot-links leave room for k clusters.

A floating-point solver's "infeasible" is not a proof; this search is our own and works on integers.
"""

from __future__ import annotations

import numpy as np

from certimeans._typing import IntArray
from certimeans.compilation import compiled, compiled_without_allocation
from certimeans.deadline import Deadline
from certimeans.presolve.graph import Contradiction, Graph

_STEPS_PER_CALL = 10_000
_VERTICES_PER_CALL = 20_000_000  # a step of a large graph looks at all its vertices: the clock waits no longer


def find_colouring(graph: Graph, k: int, deadline: Deadline | None = None) -> IntArray | None:
    """Colour the vertices with k colours so that neighbours differ.

    Vertices with fewer than k neighbours always find a free colour, so they are put aside, one after the other, and
    coloured last; each connected component of what remains is searched on its own.

    Returns
    -------
    IntArray or None
        A colour in 0..k-1 for each vertex (not every colour need be used), or ``None`` if the deadline passed first.

    Raises
    ------
    Contradiction
        If no such colouring exists.
    """
    if len(graph.edges) == 0 and k > 0:
        return np.zeros(graph.n_vertices, dtype=np.int64)
    deadline = deadline or Deadline()
    removed, core = graph.peel(k)
    colour = np.full(graph.n_vertices, -1, dtype=np.int64)
    core_vertices = np.flatnonzero(core)
    if core_vertices.size:
        core_graph = graph.subgraph(core_vertices)
        for part in _parts(core_graph.components):
            painted = _colour_connected(core_graph.subgraph(part), k, deadline)
            if painted is None:
                return None
            colour[core_vertices[part]] = painted
    taken_by = np.full(len(colour) + 1, -1, dtype=np.int64)  # the last vertex that found a colour taken
    _colour_greedily(*graph.adjacency, removed[::-1].copy(), colour, taken_by)
    return colour


def find_clique(
    graph: Graph, size: int, max_steps: int = 100_000, deadline: Deadline | None = None
) -> list[int] | None:
    """Search for a clique of the given size; ``None`` if there is none or it was not found in the steps or the time."""
    deadline = deadline or Deadline()
    _, core = graph.peel(size - 1)
    vertices = np.flatnonzero(core)
    grown = _greedy_clique(graph.subgraph(vertices), size - 1, deadline)
    if len(grown) >= size:
        return [int(v) for v in vertices[grown[:size]]]
    neighbours = graph.neighbour_sets(vertices)
    stack: list[tuple[list[int], set[int]]] = []
    unvisited = set(neighbours)
    for v in sorted(neighbours, key=lambda v: (len(neighbours[v]), v)):
        unvisited.discard(v)
        stack.append(([v], neighbours[v] & unvisited))
        while stack:
            max_steps -= 1
            if max_steps < 0 or deadline.passed():
                return None
            clique, candidates = stack.pop()
            if len(clique) == size:
                return clique
            if len(clique) + len(candidates) < size:
                continue
            # The candidate with most neighbours among the others is explored first, as it is on top of the stack.
            ordered = sorted(candidates, key=lambda u: (len(neighbours[u] & candidates), u))
            for position, u in enumerate(ordered):
                stack.append(([*clique, u], neighbours[u] & set(ordered[:position])))
    return None


def _parts(components: IntArray) -> list[IntArray]:
    """List the vertices of each component."""
    order = np.argsort(components, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(components[order])) + 1)


def _colour_connected(graph: Graph, k: int, deadline: Deadline) -> IntArray | None:
    """Alternate an exact search with a tabu search, each round with twice the steps and another order.

    The exact search alone can say no, and its doubled rounds make it complete; the tabu search is the better one at
    finding a colouring where there are few.
    """
    # Compiled code is loaded only where it is needed: most instances have an empty core.
    from certimeans.presolve.dsatur import COLOURED, IMPOSSIBLE, SearchState  # noqa: PLC0415
    from certimeans.presolve.tabu import TabuState  # noqa: PLC0415

    start, neighbours = graph.adjacency
    # A greedy clique comes first: its colours are forced up to renaming, and a clique larger than k ends the search.
    clique = _greedy_clique(graph, k, deadline)
    if len(clique) > k:
        raise Contradiction
    steps = max(1, min(_STEPS_PER_CALL, _VERTICES_PER_CALL // graph.n_vertices))
    random = np.random.default_rng(0)
    tabu = TabuState(graph.n_vertices, k, seed=0)
    calls = 1
    noise = np.zeros(graph.n_vertices, dtype=np.int64)
    while True:
        priority = graph.degrees + noise
        priority[clique] = 2 * graph.n_vertices
        exact = SearchState(graph.n_vertices, k)
        for _ in range(calls):
            verdict = exact.advance(start, neighbours, priority, steps)
            if verdict == IMPOSSIBLE:
                raise Contradiction
            if verdict == COLOURED:
                return exact.colour
            if deadline.passed():
                return None
        for _ in range(calls):
            if tabu.advance(start, neighbours, steps):
                return tabu.colour
            if deadline.passed():
                return None
        calls *= 2
        noise = random.integers(0, 1 + int(graph.degrees.max()), size=graph.n_vertices)


def _greedy_clique(graph: Graph, k: int, deadline: Deadline) -> list[int]:
    """Grow a clique from the vertex of largest degree, and from its best alternatives; keep the largest.

    One of more than k vertices is large enough.
    """
    best: list[int] = []
    for first in np.argsort(-graph.degrees, kind="stable")[:20].tolist():
        best = max(best, _grow_clique(*graph.adjacency, first).tolist(), key=len)
        if len(best) > k or deadline.passed():
            break
    return best


@compiled
def _grow_clique(start: IntArray, neighbours: IntArray, first: int) -> IntArray:
    """Add to a vertex, again and again, the common neighbour that has most neighbours among the others.

    Every edge is looked at a few times only: counts are kept while candidates drop out.
    """
    n = len(start) - 1
    near = neighbours[start[first] : start[first + 1]]
    is_candidate = np.zeros(n, dtype=np.bool_)
    is_candidate[near] = True
    count = np.zeros(n, dtype=np.int64)  # neighbours among the candidates
    for v in near:
        for position in range(start[v], start[v + 1]):
            count[v] += is_candidate[neighbours[position]]
    last_joined = np.full(n, -1, dtype=np.int64)  # the latest member of the clique that a vertex is linked to
    clique = np.empty(len(near) + 1, dtype=np.int64)
    clique[0] = first
    size = 1
    while True:
        best = -1
        for v in near:
            if is_candidate[v] and (best < 0 or count[v] > count[best]):
                best = v
        if best < 0:
            return clique[:size]
        clique[size] = best
        size += 1
        for position in range(start[best], start[best + 1]):
            last_joined[neighbours[position]] = best
        for v in near:
            if is_candidate[v] and last_joined[v] != best:
                is_candidate[v] = False
                for position in range(start[v], start[v + 1]):
                    count[neighbours[position]] -= 1


@compiled_without_allocation
def _colour_greedily(
    start: IntArray, neighbours: IntArray, order: IntArray, colour: IntArray, taken_by: IntArray
) -> None:
    """Give each vertex the first colour that no coloured neighbour has."""
    for v in order:
        for position in range(start[v], start[v + 1]):
            c = colour[neighbours[position]]
            if c >= 0:
                taken_by[c] = v
        free = 0
        while taken_by[free] == v:
            free += 1
        colour[v] = free
