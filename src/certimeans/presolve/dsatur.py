"""The compiled part of the colouring search: DSATUR with conflict-directed backjumping.

Vertices are coloured in the order of their number of forbidden colours (saturation). The search keeps, for each level
of its stack, the set of earlier levels that are to blame for the colours that failed there. When no colour is left it
jumps to the latest of those levels, whose set inherits the blame; levels in between had no part in the failure. When
that set is empty, no colouring exists. Everything is integer arithmetic, so that verdict is a proof.

Colours that no vertex uses yet are interchangeable, so only the first of them is tried: a proof that it fails names
levels that use neither it nor any other unused colour, and holds for each of these by renaming.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import IntArray
from certimeans.compilation import compiled

RUNNING, COLOURED, IMPOSSIBLE = 0, 1, 2


class SearchState:
    """All that the search needs to go on where it paused."""

    def __init__(self, n_vertices: int, k: int) -> None:
        self.depth = np.zeros(1, dtype=np.int64)
        self.colour = np.full(n_vertices, -1, dtype=np.int64)
        self.times_blocked = np.zeros((n_vertices, k), dtype=np.int64)
        self.saturation = np.zeros(n_vertices, dtype=np.int64)
        self.level_of = np.zeros(n_vertices, dtype=np.int64)
        self.vertex_at = np.full(n_vertices, -1, dtype=np.int64)
        self.next_colour = np.zeros(n_vertices, dtype=np.int64)
        self.colours_used = np.zeros(n_vertices + 1, dtype=np.int64)
        self.blame = np.zeros((n_vertices, (n_vertices + 63) // 64), dtype=np.uint64)

    def advance(self, start: IntArray, neighbours: IntArray, priority: IntArray, max_steps: int) -> int:
        """Search on for at most ``max_steps`` steps; say whether it is RUNNING, COLOURED or IMPOSSIBLE."""
        return _advance(
            start,
            neighbours,
            priority,
            max_steps,
            self.depth,
            self.colour,
            self.times_blocked,
            self.saturation,
            self.level_of,
            self.vertex_at,
            self.next_colour,
            self.colours_used,
            self.blame,
        )


@compiled
def _advance(  # noqa: PLR0913  # the arrays of SearchState, which compiled code takes one by one
    start: IntArray,
    neighbours: IntArray,
    priority: IntArray,
    max_steps: int,
    depth_cell: IntArray,
    colour: IntArray,
    times_blocked: IntArray,
    saturation: IntArray,
    level_of: IntArray,
    vertex_at: IntArray,
    next_colour: IntArray,
    colours_used: IntArray,
    blame: NDArray[np.uint64],
) -> int:
    n, k = times_blocked.shape
    depth = depth_cell[0]
    for _ in range(max_steps):
        if depth == n:
            depth_cell[0] = depth
            return COLOURED
        if vertex_at[depth] < 0:
            vertex_at[depth] = _most_saturated(colour, saturation, priority)
            next_colour[depth] = 0
            blame[depth, :] = 0
        v = vertex_at[depth]
        used = colours_used[depth]
        c = next_colour[depth]
        while c < min(used + 1, k) and times_blocked[v, c] > 0:
            c += 1
        if c < min(used + 1, k):
            _paint(v, c, start, neighbours, colour, times_blocked, saturation)
            level_of[v] = depth
            next_colour[depth] = c + 1
            colours_used[depth + 1] = max(used, c + 1)
            depth += 1
            continue
        _blame_blocking_neighbours(v, k, depth, start, neighbours, colour, level_of, blame)
        target = _latest_level(blame[depth], depth)
        if target < 0:
            depth_cell[0] = depth
            return IMPOSSIBLE
        for word in range(blame.shape[1]):
            blame[target, word] |= blame[depth, word]
        blame[target, target // 64] &= ~(np.uint64(1) << np.uint64(target % 64))
        vertex_at[depth] = -1
        while depth > target:
            depth -= 1
            _unpaint(vertex_at[depth], start, neighbours, colour, times_blocked, saturation)
            if depth > target:
                vertex_at[depth] = -1
    depth_cell[0] = depth
    return RUNNING


@compiled
def _most_saturated(colour: IntArray, saturation: IntArray, priority: IntArray) -> int:
    best = -1
    for v in range(len(colour)):
        if colour[v] < 0 and (
            best < 0
            or saturation[v] > saturation[best]
            or (saturation[v] == saturation[best] and priority[v] > priority[best])
        ):
            best = v
    return best


@compiled
def _paint(
    v: int,
    c: int,
    start: IntArray,
    neighbours: IntArray,
    colour: IntArray,
    times_blocked: IntArray,
    saturation: IntArray,
) -> None:
    colour[v] = c
    for position in range(start[v], start[v + 1]):
        u = neighbours[position]
        if times_blocked[u, c] == 0:
            saturation[u] += 1
        times_blocked[u, c] += 1


@compiled
def _unpaint(
    v: int, start: IntArray, neighbours: IntArray, colour: IntArray, times_blocked: IntArray, saturation: IntArray
) -> None:
    c = colour[v]
    colour[v] = -1
    for position in range(start[v], start[v + 1]):
        u = neighbours[position]
        times_blocked[u, c] -= 1
        if times_blocked[u, c] == 0:
            saturation[u] -= 1


@compiled
def _blame_blocking_neighbours(
    v: int,
    k: int,
    depth: int,
    start: IntArray,
    neighbours: IntArray,
    colour: IntArray,
    level_of: IntArray,
    blame: NDArray[np.uint64],
) -> None:
    """Blame, for each colour that a neighbour blocks, the earliest neighbour that does."""
    earliest = np.full(k, depth, dtype=np.int64)
    for position in range(start[v], start[v + 1]):
        u = neighbours[position]
        if colour[u] >= 0:
            earliest[colour[u]] = min(earliest[colour[u]], level_of[u])
    for level in earliest:
        if level < depth:
            blame[depth, level // 64] |= np.uint64(1) << np.uint64(level % 64)


@compiled
def _latest_level(levels: NDArray[np.uint64], depth: int) -> int:
    for level in range(depth - 1, -1, -1):
        if (levels[level // 64] >> np.uint64(level % 64)) & np.uint64(1):
            return level
    return -1
