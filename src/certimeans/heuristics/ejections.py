"""Ejection trees: a super-point takes the place it wants, and what it conflicts with there looks for new places.

On dense cannot-link graphs two local optima of the other moves often differ in a handful of super-points: one enters a
cluster, the two or three that conflict with it there leave for other clusters, where they may drive out more. A depth-
first search tries the new places, cheap ones first, as long as the moves together still gain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.compilation import compiled_inside, inlined
from certimeans.heuristics.moves import Recency, Sweep, forget_visits, move_freely
from certimeans.heuristics.state import (
    Clusters,
    Space,
    insertion_cost,
    least_gain,
    most_improvements,
    move_point,
    removal_gain,
    set_labels,
)


class Tree(NamedTuple):
    """The moves made so far on the way down a tree; row t belongs to the t-th.

    Attributes
    ----------
    point, source
        What was moved, and from which cluster.
    gain
        Decrease of the cost by all moves before it.
    owed
        What those that conflict with moved ones will lose at least when they leave, before the move.
    is_tried
        Which clusters it was moved to already.
    is_refused
        Clusters that the root of the tree wishes for, but no tree gains.
    is_moved
        Whether a super-point is on the path; such ones stay where they are.
    least_loss
        What a super-point loses at least when it leaves its cluster, as it was when that was computed.
    """

    point: IntArray
    source: IntArray
    gain: FloatArray
    owed: FloatArray
    is_tried: BoolArray
    is_refused: BoolArray
    is_moved: BoolArray
    least_loss: FloatArray


def make_tree(space: Space, longest_path: int) -> Tree:
    """Allocate the memory of trees whose paths have at most ``longest_path`` moves."""
    size, k = len(space.weights), space.n_clusters
    return Tree(
        point=np.zeros(longest_path, dtype=np.int64),
        source=np.zeros(longest_path, dtype=np.int64),
        gain=np.zeros(longest_path + 1),
        owed=np.zeros(longest_path + 1),
        is_tried=np.zeros((longest_path, k), dtype=np.bool_),
        is_refused=np.zeros(k, dtype=np.bool_),
        is_moved=np.zeros(size, dtype=np.bool_),
        least_loss=np.zeros(size),
    )


@inlined
def begin_trees(space: Space, clusters: Clusters, recency: Recency, tree: Tree) -> None:
    """Forget what was known of an earlier clustering."""
    forget_visits(recency)
    for i in range(len(space.weights)):
        if space.start[i] < space.start[i + 1]:
            tree.least_loss[i] = _loss_of_leaving(space, clusters, i)


@inlined
def grow_trees(
    space: Space, clusters: Clusters, recency: Recency, tree: Tree, sweep: Sweep, max_tries: int, max_work: int
) -> Sweep:
    """Improve the place of one super-point after the other until none can be improved.

    Parameters
    ----------
    max_tries
        Most moves tried in one tree.
    max_work
        Most visits, where moves that were undone count as visits.
    """
    size = len(space.weights)
    position, idle, improvements, gain = sweep.position, sweep.idle, sweep.improvements, sweep.gain
    visits, undone = 0, 0
    while idle < size and visits + undone < max_work:
        i = recency.order[position]
        position = position + 1 if position + 1 < size else 0
        visits += 1
        idle += 1
        gained = 0.0
        if space.start[i] == space.start[i + 1]:
            gained = move_freely(space, clusters, recency, i, improvements)
        else:
            tree.least_loss[i] = _loss_of_leaving(space, clusters, i)
            if tree.least_loss[i] < 0.0:
                gained, in_vain = _follow_wishes(space, clusters, recency, tree, i, max_tries, improvements)
                undone += in_vain
        if gained > 0.0:
            gain += gained
            improvements += 1
            idle = 0 if improvements < most_improvements(size) else size
    if idle >= size and sweep.trials + undone > 0:
        set_labels(space, clusters, clusters.labels)  # removes the rounding of many moves
    return Sweep(position, idle, improvements, sweep.visits + visits, sweep.trials + undone, gain)


@compiled_inside
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


@inlined
def _follow_wishes(
    space: Space, clusters: Clusters, recency: Recency, tree: Tree, i: int, max_tries: int, now: int
) -> tuple[float, int]:
    """Grow a tree from each wish of super-point i, the greatest first, until one gains.

    Returns
    -------
    tuple
        The gain, 0 if there is none, and the number of moves that were undone.
    """
    leaving = removal_gain(space, clusters, i)
    worthwhile = least_gain(space, leaving)
    tree.is_refused[:] = False
    tree.is_refused[clusters.labels[i]] = True
    undone = 0
    while True:
        greatest, target = worthwhile, -1
        for b in range(space.n_clusters):
            if not tree.is_refused[b]:
                wish = leaving - insertion_cost(space, clusters, i, b)
                if wish > greatest:
                    greatest, target = wish, b
        if target < 0:
            return 0.0, undone
        gain, in_vain = _grow_tree(space, clusters, recency, tree, i, target, worthwhile, max_tries, now)
        undone += in_vain
        if gain > 0.0:
            return gain, undone
        tree.is_refused[target] = True


@compiled_inside
def _grow_tree(  # noqa: PLR0913  # compiled code takes its state apart
    space: Space,
    clusters: Clusters,
    recency: Recency,
    tree: Tree,
    root: int,
    target: int,
    worthwhile: float,
    max_tries: int,
    now: int,
) -> tuple[float, int]:
    """Move ``root`` to ``target`` and search new places for what it drives out; undo all if no way gains.

    Returns
    -------
    tuple
        The gain, 0 if there is none, and the number of moves that were undone.
    """
    tree.is_tried[0] = True
    tree.is_tried[0, target] = False
    tree.point[0], tree.source[0], tree.is_moved[root] = root, clusters.labels[root], True
    tree.gain[0], tree.owed[0] = 0.0, 0.0
    depth, tries = 0, 0
    while depth >= 0:
        if tries < max_tries and _move_on(space, clusters, tree, depth, worthwhile):
            tries += 1
            depth += 1
            u = _worst_conflict(space, clusters, tree, depth)
            if u < 0:
                _keep(clusters, recency, tree, depth, now)
                return tree.gain[depth], tries - depth
            if depth < len(tree.point):
                tree.is_tried[depth] = False
                tree.is_tried[depth, clusters.labels[u]] = True
                tree.point[depth], tree.source[depth], tree.is_moved[u] = u, clusters.labels[u], True
                tree.owed[depth] -= max(0.0, tree.least_loss[u])
                continue
        else:
            tree.is_moved[tree.point[depth]] = False
        depth -= 1
        if depth >= 0:
            move_point(space, clusters, tree.point[depth], tree.source[depth])
    return 0.0, tries


@inlined
def _keep(clusters: Clusters, recency: Recency, tree: Tree, depth: int, now: int) -> None:
    """Keep the moves of the path and note which clusters changed."""
    for step in range(depth):
        tree.is_moved[tree.point[step]] = False
        recency.changed[tree.source[step]] = now + 1
        recency.changed[clusters.labels[tree.point[step]]] = now + 1


@inlined
def _move_on(space: Space, clusters: Clusters, tree: Tree, depth: int, worthwhile: float) -> bool:
    """Move the super-point at this depth to the most promising cluster not yet tried; False if none promises a gain."""
    v = tree.point[depth]
    if clusters.members[tree.source[depth]] < 2:
        return False
    so_far = tree.gain[depth] + removal_gain(space, clusters, v)
    best, target, gain, owed = worthwhile, -1, 0.0, 0.0
    for c in range(space.n_clusters):
        if not tree.is_tried[depth, c]:
            after = so_far - insertion_cost(space, clusters, v, c)
            if after - tree.owed[depth] > best:
                debt = tree.owed[depth] + _debt(space, clusters, tree, v, c)
                if after - debt > best:
                    best, target, gain, owed = after - debt, c, after, debt
    if target < 0:
        return False
    tree.is_tried[depth, target] = True
    tree.gain[depth + 1], tree.owed[depth + 1] = gain, owed
    move_point(space, clusters, v, target)
    return True


@inlined
def _debt(space: Space, clusters: Clusters, tree: Tree, v: int, c: int) -> float:
    """Sum what those whom v drives out of cluster c lose at least; infinite if one of them was moved there."""
    total = 0.0
    if clusters.conflicts[v, c] > 0:
        for position in range(space.start[v], space.start[v + 1]):
            u = space.neighbours[position]
            if clusters.labels[u] == c:
                if tree.is_moved[u]:
                    return np.inf
                if clusters.conflicts[u, c] == 0:  # else another one drives it out already
                    total += max(0.0, tree.least_loss[u])
    return total


@inlined
def _worst_conflict(space: Space, clusters: Clusters, tree: Tree, depth: int) -> int:
    """Find the super-point that loses most of all that conflict with moved ones; -1 if there is none."""
    worst = -1
    for step in range(depth):
        v = tree.point[step]
        c = clusters.labels[v]
        if clusters.conflicts[v, c] > 0:
            for position in range(space.start[v], space.start[v + 1]):
                u = space.neighbours[position]
                if clusters.labels[u] == c and (worst < 0 or tree.least_loss[u] > tree.least_loss[worst]):
                    worst = u
    return worst
