"""Ejection trees: a super-point takes the place it wants, and what it conflicts with there looks for new places.

On dense cannot-link graphs two local optima of the other moves often differ in a handful of super-points: one enters a
cluster, the two or three that conflict with it there leave for other clusters, where they may drive out more. A depth-
first search tries the new places, cheap ones first, as long as the moves together still gain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_without_allocation, inlined
from certimeans.heuristics.state import (
    MOST_MOVES_PER_POINT,
    Clusters,
    Space,
    insertion_cost,
    least_gain,
    move_point,
    removal_gain,
    set_labels,
)

MOST_MOVES = 12  # of one path down a tree
QUICK, THOROUGH = 100, 10_000  # moves tried in one tree


class Path(NamedTuple):
    """The moves made so far on the way down a tree; row t belongs to the t-th.

    Attributes
    ----------
    point, source
        What was moved, and from which cluster.
    gain
        Decrease of the cost by all moves before it; in row 0, what the last improvement gained.
    owed
        What those that conflict with moved ones will lose at least when they leave, before the move.
    tried
        Which clusters it was moved to already.
    refused
        Clusters that a super-point wishes for, but no tree gains.
    is_moved
        Whether a super-point is on the path; such ones stay where they are.
    least_loss
        What a super-point loses at least when it leaves its cluster, as it was when that was computed.
    changed, visited
        The number of improvements when each cluster changed last, and when each super-point was visited last.
    progress
        The position of the next visit, visits since the last improvement, improvements, moves that were undone.
    max_tries
        How many moves may be tried in one tree.
    """

    point: IntArray
    source: IntArray
    gain: FloatArray
    owed: FloatArray
    tried: IntArray
    refused: IntArray
    is_moved: IntArray
    least_loss: FloatArray
    changed: IntArray
    visited: IntArray
    progress: IntArray
    max_tries: IntArray


def make_path(space: Space) -> Path:
    """Allocate the memory of a search."""
    size = len(space.weights)
    return Path(
        np.zeros(MOST_MOVES, dtype=np.int64),
        np.zeros(MOST_MOVES, dtype=np.int64),
        np.zeros(MOST_MOVES + 1),
        np.zeros(MOST_MOVES + 1),
        np.zeros((MOST_MOVES, space.n_clusters), dtype=np.int64),
        np.zeros(space.n_clusters, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
        np.zeros(space.n_clusters, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(4, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@compiled_without_allocation
def begin_trees(space: Space, clusters: Clusters, path: Path, max_tries: int) -> None:
    """Forget what was known of an earlier clustering, and set how many moves may be tried in one tree."""
    path.progress[:] = 0
    path.max_tries[0] = max_tries
    path.changed[:] = 0
    path.visited[:] = -1
    for i in range(len(space.weights)):
        if space.start[i] < space.start[i + 1]:
            path.least_loss[i] = _loss_of_leaving(space, clusters, i)


@compiled_without_allocation
def grow_trees(space: Space, clusters: Clusters, order: IntArray, path: Path, max_visits: int) -> int:
    """Improve the place of one super-point after the other until none can be improved.

    Returns
    -------
    int
        The number of visits, where moves that were undone count as visits; less than ``max_visits`` if and only if
        nothing can be improved. ``path.progress`` says how many improvements there were since :func:`begin_trees`.
    """
    size = len(space.weights)
    most_improvements = MOST_MOVES_PER_POINT * (size + 10)
    position, idle, undone = path.progress[0], path.progress[1], path.progress[3]
    visits = 0
    while idle < size and visits < max_visits and path.progress[2] < most_improvements:
        i = order[position]
        position = position + 1 if position + 1 < size else 0
        visits += 1
        idle += 1
        before, undone_before = path.progress[2], path.progress[3]
        if space.start[i] == space.start[i + 1]:
            _move_freely(space, clusters, path, i)
        else:
            path.least_loss[i] = _loss_of_leaving(space, clusters, i)
            if path.least_loss[i] < 0.0:
                _follow_wishes(space, clusters, path, i)
        if path.progress[2] > before:
            idle = 0
        visits += path.progress[3] - undone_before
    if idle >= size and path.progress[3] > undone:
        set_labels(space, clusters, clusters.labels)  # removes the rounding of many moves
    path.progress[0], path.progress[1] = position, idle
    return visits


@inlined
def _move_freely(space: Space, clusters: Clusters, path: Path, i: int) -> None:
    """Move a super-point without cannot-links to the best of the clusters that changed since its last visit."""
    a = clusters.labels[i]
    since = path.visited[i]
    path.visited[i] = path.progress[2]
    if clusters.members[a] < 2:
        return
    own_is_new = path.changed[a] > since
    leaving = removal_gain(space, clusters, i)
    most, target = least_gain(space, leaving), -1
    for b in range(space.n_clusters):
        if (own_is_new or path.changed[b] > since) and b != a:
            gain = leaving - insertion_cost(space, clusters, i, b)
            if gain > most:
                most, target = gain, b
    if target >= 0:
        move_point(space, clusters, i, target)
        path.gain[0] = most
        path.progress[2] += 1
        path.changed[a] = path.progress[2]
        path.changed[target] = path.progress[2]


@compiled_without_allocation
def _follow_wishes(space: Space, clusters: Clusters, path: Path, i: int) -> None:
    """Grow a tree from each wish of super-point i, the greatest first, until one gains."""
    leaving = removal_gain(space, clusters, i)
    worthwhile = least_gain(space, leaving)
    path.refused[:] = 0
    path.refused[clusters.labels[i]] = 1
    while True:
        greatest, target = worthwhile, -1
        for b in range(space.n_clusters):
            if path.refused[b] == 0:
                wish = leaving - insertion_cost(space, clusters, i, b)
                if wish > greatest:
                    greatest, target = wish, b
        if target < 0 or _grow_tree(space, clusters, path, i, target, worthwhile):
            return
        path.refused[target] = 1


@compiled_without_allocation
def _loss_of_leaving(space: Space, clusters: Clusters, i: int) -> float:
    """Return what super-point i loses at least when it leaves its cluster; infinite if it is alone there."""
    a = clusters.labels[i]
    if clusters.members[a] < 2:
        return np.inf
    cheapest = np.inf
    for b in range(space.n_clusters):
        if b != a:
            cheapest = min(cheapest, insertion_cost(space, clusters, i, b))
    return cheapest - removal_gain(space, clusters, i)


@compiled_without_allocation
def _grow_tree(space: Space, clusters: Clusters, path: Path, root: int, target: int, worthwhile: float) -> bool:
    """Move ``root`` to ``target`` and search new places for what it drives out; undo all if no way gains."""
    path.tried[0] = 1
    path.tried[0, target] = 0
    path.point[0], path.source[0], path.is_moved[root] = root, clusters.labels[root], 1
    path.gain[0], path.owed[0] = 0.0, 0.0
    depth, tries = 0, 0
    while depth >= 0:
        if tries < path.max_tries[0] and _move_on(space, clusters, path, depth, worthwhile):
            tries += 1
            depth += 1
            u = _worst_conflict(space, clusters, path, depth)
            if u < 0:
                _keep(clusters, path, depth)
                path.progress[3] += tries - depth
                return True
            if depth < MOST_MOVES:
                path.tried[depth] = 0
                path.tried[depth, clusters.labels[u]] = 1
                path.point[depth], path.source[depth], path.is_moved[u] = u, clusters.labels[u], 1
                path.owed[depth] -= max(0.0, path.least_loss[u])
                continue
        else:
            path.is_moved[path.point[depth]] = 0
        depth -= 1
        if depth >= 0:
            move_point(space, clusters, path.point[depth], path.source[depth])
    path.progress[3] += tries
    return False


@compiled_without_allocation
def _keep(clusters: Clusters, path: Path, depth: int) -> None:
    """Keep the moves of the path and note which clusters changed."""
    path.progress[2] += 1
    path.gain[0] = path.gain[depth]
    for step in range(depth):
        path.is_moved[path.point[step]] = 0
        path.changed[path.source[step]] = path.progress[2]
        path.changed[clusters.labels[path.point[step]]] = path.progress[2]


@compiled_without_allocation
def _move_on(space: Space, clusters: Clusters, path: Path, depth: int, worthwhile: float) -> bool:
    """Move the super-point at this depth to the most promising cluster not yet tried; False if none promises a gain."""
    v = path.point[depth]
    if clusters.members[path.source[depth]] < 2:
        return False
    so_far = path.gain[depth] + removal_gain(space, clusters, v)
    best, target, gain, owed = worthwhile, -1, 0.0, 0.0
    for c in range(space.n_clusters):
        if path.tried[depth, c] == 0:
            after = so_far - insertion_cost(space, clusters, v, c)
            if after - path.owed[depth] > best:
                debt = path.owed[depth] + _debt(space, clusters, path, v, c)
                if after - debt > best:
                    best, target, gain, owed = after - debt, c, after, debt
    if target < 0:
        return False
    path.tried[depth, target] = 1
    path.gain[depth + 1], path.owed[depth + 1] = gain, owed
    move_point(space, clusters, v, target)
    return True


@compiled_without_allocation
def _debt(space: Space, clusters: Clusters, path: Path, v: int, c: int) -> float:
    """Sum what those whom v drives out of cluster c lose at least; infinite if one of them was moved there."""
    total = 0.0
    if clusters.conflicts[v, c] > 0:
        for position in range(space.start[v], space.start[v + 1]):
            u = space.neighbours[position]
            if clusters.labels[u] == c:
                if path.is_moved[u] == 1:
                    return np.inf
                if clusters.conflicts[u, c] == 0:  # else another one drives it out already
                    total += max(0.0, path.least_loss[u])
    return total


@compiled_without_allocation
def _worst_conflict(space: Space, clusters: Clusters, path: Path, depth: int) -> int:
    """Find the super-point that loses most of all that conflict with moved ones; -1 if there is none."""
    worst = -1
    for step in range(depth):
        v = path.point[step]
        c = clusters.labels[v]
        if clusters.conflicts[v, c] > 0:
            for position in range(space.start[v], space.start[v + 1]):
                u = space.neighbours[position]
                if clusters.labels[u] == c and (worst < 0 or path.least_loss[u] > path.least_loss[worst]):
                    worst = u
    return worst
