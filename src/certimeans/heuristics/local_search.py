"""Descent by single moves, Kempe chains and ejections to a clustering that none of them improves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._compiled import compiled
from certimeans._typing import IntArray
from certimeans.heuristics.moves import NONE, Workspace, apply_move, best_move, make_workspace
from certimeans.heuristics.randomness import RandomState, shuffle
from certimeans.heuristics.state import Clusters, Space

# Every move lowers the cost, so a descent ends; this guards against rounding that would feign gains for ever.
_MOST_MOVES_PER_POINT = 200


class Descent(NamedTuple):
    """Where a descent stands, so that it can pause and go on.

    Attributes
    ----------
    order
        The random cyclic order of the visits.
    position, idle, moves
        One number each: the next visit, visits since the last move, moves made.
    """

    work: Workspace
    order: IntArray
    position: IntArray
    idle: IntArray
    moves: IntArray


def make_descent(space: Space) -> Descent:
    """Allocate a descent; :func:`begin_descent` starts it."""
    size = len(space.weights)
    cells = (np.zeros(1, dtype=np.int64) for _ in range(3))
    return Descent(make_workspace(space), np.arange(size, dtype=np.int64), *cells)


@compiled
def begin_descent(descent: Descent, random: RandomState) -> None:
    """Forget what was known of an earlier clustering and draw an order."""
    work = descent.work
    work.changed[:] = 0
    work.visited[:] = -1
    work.chain_seen[:] = -1
    shuffle(random, descent.order)
    descent.position[0] = 0
    descent.idle[0] = 0
    descent.moves[0] = 0


@compiled
def descend(space: Space, clusters: Clusters, descent: Descent, max_visits: int) -> int:
    """Take the best improving move of one super-point after the other until none has any.

    Returns
    -------
    int
        The number of visits; less than ``max_visits`` if and only if the descent ended.
    """
    size = len(descent.order)
    most_moves = _MOST_MOVES_PER_POINT * (size + 10)
    position, idle, moves = descent.position[0], descent.idle[0], descent.moves[0]
    visits = 0
    while visits < max_visits and idle < size and moves < most_moves:
        i = descent.order[position]
        position = position + 1 if position + 1 < size else 0
        visits += 1
        idle += 1
        move = best_move(space, clusters, descent.work, i, moves)
        if move[1] != NONE:
            moves += 1
            idle = 0
            apply_move(space, clusters, descent.work, i, move, moves)
    descent.position[0], descent.idle[0], descent.moves[0] = position, idle, moves
    return visits
