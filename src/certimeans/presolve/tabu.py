"""The compiled tabu search for a proper colouring (TabuCol: Hertz and de Werra 1987, Galinier and Hao 1999).

It proves nothing, but near the edge of colourability it finds colourings that a systematic search would take years
for. Every vertex has a colour; each step recolours one vertex that has a neighbour of its own colour, so that as few
such conflicts as possible remain, and forbids its old colour for a while.
"""

from __future__ import annotations

import numpy as np

from certimeans._typing import IntArray
from certimeans.compilation import compiled
from certimeans.randomness import RandomState, random_below, random_state

# How long a colour stays forbidden: up to _RANDOM_TENURE steps, and 0.6 steps for each conflict. These are the values
# of Galinier and Hao (1999), which later work confirms on all kinds of graphs. ``conflicts`` counts each one twice.
_RANDOM_TENURE = 10
_TENURE_PER_TEN_ENDS = 3


class TabuState:
    """All that the search needs to go on where it paused."""

    def __init__(self, n_vertices: int, k: int, seed: int) -> None:
        self.colour = np.random.default_rng(seed).integers(0, k, size=n_vertices)
        self.random = random_state(seed)
        self.iteration = np.zeros(1, dtype=np.int64)
        self.forbidden_until = np.zeros((n_vertices, k), dtype=np.int64)

    def advance(self, start: IntArray, neighbours: IntArray, max_steps: int) -> bool:
        """Search on for at most ``max_steps`` steps; say whether ``colour`` is proper now."""
        return _advance(start, neighbours, max_steps, self.colour, self.forbidden_until, self.iteration, self.random)


@compiled
def _advance(
    start: IntArray,
    neighbours: IntArray,
    max_steps: int,
    colour: IntArray,
    forbidden_until: IntArray,
    iteration: IntArray,
    random: RandomState,
) -> bool:
    n, k = forbidden_until.shape
    same = np.zeros((n, k), dtype=np.int64)  # neighbours of each vertex in each colour
    for v in range(n):
        for position in range(start[v], start[v + 1]):
            same[v, colour[neighbours[position]]] += 1
    conflicts = 0
    for v in range(n):
        conflicts += same[v, colour[v]]
    fewest = conflicts
    for _ in range(max_steps):
        if conflicts == 0:
            return True
        iteration[0] += 1
        vertex, new = _best_move(colour, same, forbidden_until, iteration[0], fewest - conflicts, random)
        if vertex < 0:
            continue  # everything is forbidden for now; time passes
        old = colour[vertex]
        forbidden_until[vertex, old] = iteration[0] + _tenure(conflicts, random)
        colour[vertex] = new
        conflicts += 2 * (same[vertex, new] - same[vertex, old])
        fewest = min(fewest, conflicts)
        for position in range(start[vertex], start[vertex + 1]):
            u = neighbours[position]
            same[u, old] -= 1
            same[u, new] += 1
    return conflicts == 0


@compiled
def _tenure(conflicts: int, random: RandomState) -> int:
    """Draw for how many steps a colour is forbidden."""
    return random_below(random, _RANDOM_TENURE) + (_TENURE_PER_TEN_ENDS * conflicts) // 10


@compiled
def _best_move(
    colour: IntArray,
    same: IntArray,
    forbidden_until: IntArray,
    now: int,
    record_change: int,
    random: RandomState,
) -> tuple[int, int]:
    """Choose a vertex with conflicts and its new colour; among equally good ones at random.

    A forbidden move is allowed if it beats the record, that is if it changes the conflicts by less than
    ``record_change``.
    """
    n, k = same.shape
    best_change, best_vertex, best_colour, ties = n * n, -1, -1, 0
    for v in range(n):
        conflicts_here = same[v, colour[v]]
        if conflicts_here == 0:
            continue
        for c in range(k):
            change = 2 * (same[v, c] - conflicts_here)
            allowed = forbidden_until[v, c] <= now or change < record_change
            if c == colour[v] or not allowed or change > best_change:
                continue
            ties = ties + 1 if change == best_change else 1
            if ties == 1 or random_below(random, ties) == 0:
                best_change, best_vertex, best_colour = change, v, c
    return best_vertex, best_colour
