"""Descent by single moves, Kempe chains and ejections to a clustering that none of them improves."""

from __future__ import annotations

from certimeans._compiled import compiled_without_allocation
from certimeans.heuristics.moves import NONE, Workspace, apply_move, best_move
from certimeans.heuristics.state import Clusters, Space
from certimeans.randomness import RandomState, shuffle

# Every move lowers the cost, so a descent ends; this guards against rounding that would feign gains for ever.
_MOST_MOVES_PER_POINT = 200


@compiled_without_allocation
def begin_descent(work: Workspace, random: RandomState) -> None:
    """Forget what was known of an earlier clustering and draw an order."""
    work.changed[:] = 0
    work.visited[:] = -1
    work.chain_seen[:] = -1
    work.progress[:] = 0
    shuffle(random, work.order)


@compiled_without_allocation
def descend(space: Space, clusters: Clusters, work: Workspace, max_visits: int) -> int:
    """Take the best improving move of one super-point after the other until none has any.

    Returns
    -------
    int
        The number of visits; less than ``max_visits`` if and only if the descent ended.
    """
    size = len(space.weights)
    most_moves = _MOST_MOVES_PER_POINT * (size + 10)
    position, idle, moves = work.progress[0], work.progress[1], work.progress[2]
    visits = 0
    while visits < max_visits and idle < size and moves < most_moves:
        i = work.order[position]
        position = position + 1 if position + 1 < size else 0
        visits += 1
        idle += 1
        move = best_move(space, clusters, work, i, moves)
        if move[1] != NONE:
            moves += 1
            idle = 0
            apply_move(space, clusters, work, i, move, moves)
    work.progress[0], work.progress[1], work.progress[2] = position, idle, moves
    return visits
