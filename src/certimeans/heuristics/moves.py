"""Moves that keep every cannot-link, with their exact change of cost.

For a super-point i of cluster a and another cluster b:

- *single*: i moves to b, where nothing conflicts with it;
- *Kempe chain*: all that is linked to i by cannot-links inside a and b changes sides, a to b and b to a;
- *ejection*: i moves to b and its only conflict there, j, moves on to a third cluster that accepts it.

No move empties a cluster.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from certimeans._compiled import compiled_without_allocation, inlined
from certimeans._typing import FloatArray, IntArray
from certimeans.heuristics.state import (
    Clusters,
    Space,
    distance_between,
    distance_to_centre,
    insertion_cost,
    move_point,
    removal_gain,
)
from certimeans.randomness import RandomState, random_below

NONE, SINGLE, KEMPE, EJECTION = 0, 1, 2, 3

Move: TypeAlias = tuple[float, int, int, int, int]
"""Gain (decrease of cost), kind, target cluster, ejected super-point and its new cluster (-1 without ejection)."""

# Below these gains a difference may be rounding: relative to the cost that the moved point has in its cluster, and
# absolute, in units of the total scatter (inner products of the Gram matrix lose the digits of nearby points).
_RELATIVE_TOLERANCE = 1e-9
_ABSOLUTE_TOLERANCE = 1e-18
_GRAM_TOLERANCE = 1e-13


class Workspace(NamedTuple):
    """Memory of a local search: what was looked at since what changed, and room for a chain.

    Time is the number of moves made. A super-point need not look again at clusters that did not change since its
    last visit, and a chain that was evaluated from one of its members need not be from another.

    Attributes
    ----------
    changed
        When each cluster changed last.
    visited
        When each super-point was visited last.
    chain_seen
        When the chain of a super-point (row) with a cluster (column) was evaluated last.
    chain, mark, stamp
        Members of the current chain; ``mark`` equals ``stamp[0]`` for them.
    direction
        Coordinates of the current chain's signed sum.
    order
        The random cyclic order of the visits.
    progress
        The position of the next visit, visits since the last move, moves made.
    forbidden_until
        Step until which a super-point (row) must not return to a cluster (column); used by :mod:`.penalty`.
    best_labels
        The best clustering met on a walk; used by :mod:`.penalty`.
    """

    changed: IntArray
    visited: IntArray
    chain_seen: IntArray
    chain: IntArray
    mark: IntArray
    stamp: IntArray
    direction: FloatArray
    order: IntArray
    progress: IntArray
    forbidden_until: IntArray
    best_labels: IntArray


def make_workspace(space: Space) -> Workspace:
    """Allocate the memory of a local search."""
    size, width = space.rows.shape
    k = space.n_clusters
    return Workspace(
        np.zeros(k, dtype=np.int64),
        np.full(size, -1, dtype=np.int64),
        np.full((size, k), -1, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1 if space.by_gram else width),
        np.arange(size, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
        np.zeros((size, k), dtype=np.int64),
        np.zeros(size, dtype=np.int64),
    )


@inlined
def best_move(space: Space, clusters: Clusters, work: Workspace, i: int, now: int) -> Move:
    """Find the most improving move of super-point i among those that changed since its last visit."""
    a = clusters.labels[i]
    since = work.visited[i]
    work.visited[i] = now
    own_is_new = work.changed[a] > since
    leaving = removal_gain(space, clusters, i) if clusters.members[a] > 1 else -np.inf
    floor = _GRAM_TOLERANCE if space.by_gram else _ABSOLUTE_TOLERANCE
    best_gain = floor + _RELATIVE_TOLERANCE * max(leaving, 0.0)
    target = -1
    for b in range(space.n_clusters):
        if (own_is_new or work.changed[b] > since) and b != a and clusters.conflicts[i, b] == 0:
            gain = leaving - insertion_cost(space, clusters, i, b)
            if gain > best_gain:
                best_gain, target = gain, b
    best = (best_gain, SINGLE if target >= 0 else NONE, target, -1, -1)
    if space.start[i] == space.start[i + 1]:
        return best
    return _best_conflicting_move(space, clusters, work, i, leaving, since, now, best)


@inlined
def _best_conflicting_move(
    space: Space, clusters: Clusters, work: Workspace, i: int, leaving: float, since: int, now: int, best: Move
) -> Move:
    """Improve on ``best`` by Kempe chains and ejections, for each cluster that holds a conflict of i."""
    a = clusters.labels[i]
    for b in range(space.n_clusters):
        if b == a or clusters.conflicts[i, b] == 0:
            continue
        last_change = max(work.changed[a], work.changed[b])
        if work.chain_seen[i, b] < last_change:
            gain = chain_gain(space, clusters, work, i, b, now)
            if gain > best[0]:
                best = (gain, KEMPE, b, -1, -1)
        if clusters.conflicts[i, b] == 1 and leaving > -np.inf and space.n_clusters > 2:
            best = _best_ejection(space, clusters, work, i, b, leaving, since, best)
    return best


@compiled_without_allocation
def apply_move(space: Space, clusters: Clusters, work: Workspace, i: int, move: Move, now: int) -> None:
    """Carry out a move of super-point i and note which clusters changed."""
    _, kind, b, j, third = move
    a = clusters.labels[i]
    if kind == KEMPE:
        length = _collect_chain(space, clusters, work, i, b)
        for position in range(length):
            v = work.chain[position]
            move_point(space, clusters, v, b if clusters.labels[v] == a else a)
    else:
        if kind == EJECTION:
            move_point(space, clusters, j, third)
            work.changed[third] = now
        move_point(space, clusters, i, b)
    work.changed[a] = now
    work.changed[b] = now


@inlined
def _best_ejection(
    space: Space, clusters: Clusters, work: Workspace, i: int, b: int, leaving: float, since: int, best: Move
) -> Move:
    """Improve on ``best`` by moving i to b and its only conflict there to a third cluster."""
    a = clusters.labels[i]
    j = -1
    for position in range(space.start[i], space.start[i + 1]):
        if clusters.labels[space.neighbours[position]] == b:
            j = space.neighbours[position]
            break
    fresh = work.changed[a] > since or work.changed[b] > since
    exchange = np.nan
    for third in range(space.n_clusters):
        if third in (a, b) or clusters.conflicts[j, third] > 0 or not (fresh or work.changed[third] > since):
            continue
        if np.isnan(exchange):
            exchange = leaving + _replacement_gain(space, clusters, i, j)
        gain = exchange - insertion_cost(space, clusters, j, third)
        if gain > best[0]:
            best = (gain, EJECTION, b, j, third)
    return best


@inlined
def _replacement_gain(space: Space, clusters: Clusters, i: int, j: int) -> float:
    """Decrease of the cost of j's cluster b when i takes the place of j.

    Without j, the centre of b is alpha * centre + (1 - alpha) * m_j with alpha = W_b / (W_b - w_j); the squared
    distance of i to it follows from the three distances between i, j and the centre.
    """
    b = clusters.labels[j]
    if clusters.members[b] == 1:
        return 0.0
    rest = clusters.weight[b] - space.weights[j]
    if rest <= 0.0:
        return -np.inf
    alpha = clusters.weight[b] / rest
    to_j = distance_between(space, i, j)
    from_i = distance_to_centre(space, clusters, i, b)
    from_j = distance_to_centre(space, clusters, j, b)
    to_rest = alpha * from_i + (1.0 - alpha) * (to_j - alpha * from_j)
    w = space.weights[i]
    return float(space.weights[j] * alpha * from_j - w * rest / (rest + w) * to_rest)


@inlined
def _collect_chain(space: Space, clusters: Clusters, work: Workspace, i: int, b: int) -> int:
    """Gather what is connected to i by cannot-links inside i's cluster and b; return how many they are."""
    a = clusters.labels[i]
    work.stamp[0] += 1
    stamp = work.stamp[0]
    work.chain[0] = i
    work.mark[i] = stamp
    length, head = 1, 0
    while head < length:
        v = work.chain[head]
        head += 1
        opposite = b if clusters.labels[v] == a else a
        if clusters.conflicts[v, opposite] == 0:
            continue
        for position in range(space.start[v], space.start[v + 1]):
            u = space.neighbours[position]
            if clusters.labels[u] == opposite and work.mark[u] != stamp:
                work.mark[u] = stamp
                work.chain[length] = u
                length += 1
    return length


@compiled_without_allocation
def chain_gain(space: Space, clusters: Clusters, work: Workspace, i: int, b: int, now: int) -> float:
    """Decrease of cost when the Kempe chain of i with cluster b changes sides; -inf if that empties a cluster."""
    a = clusters.labels[i]
    length = _collect_chain(space, clusters, work, i, b)
    net_count, net_weight = 0, 0.0
    for position in range(length):
        v = work.chain[position]
        leaves_a = clusters.labels[v] == a
        work.chain_seen[v, b if leaves_a else a] = now
        net_count += 1 if leaves_a else -1
        net_weight += space.weights[v] if leaves_a else -space.weights[v]
    if net_count >= clusters.members[a] or -net_count >= clusters.members[b]:
        return -np.inf
    left_a, left_b = clusters.weight[a] - net_weight, clusters.weight[b] + net_weight
    if left_a <= 0.0 or left_b <= 0.0:
        return -np.inf
    if space.by_gram:
        return _chain_gain_by_gram(space, clusters, work, length, a, b, left_a, left_b)
    return _chain_gain_by_coordinates(space, clusters, work, length, a, b, left_a, left_b)


@inlined
def _chain_gain_by_gram(
    space: Space, clusters: Clusters, work: Workspace, length: int, a: int, b: int, left_a: float, left_b: float
) -> float:
    """Evaluate S'_a / W'_a + S'_b / W'_b - S_a / W_a - S_b / W_b with S = |p|^2 and the chain's sum moved."""
    with_a, with_b, own = 0.0, 0.0, 0.0
    for position in range(length):
        v = work.chain[position]
        signed = space.weights[v] if clusters.labels[v] == a else -space.weights[v]
        with_a += signed * clusters.sums[a, v]
        with_b += signed * clusters.sums[b, v]
        with_earlier = 0.5 * signed * space.squares[v]
        for earlier in range(position):
            u = work.chain[earlier]
            other = space.weights[u] if clusters.labels[u] == a else -space.weights[u]
            with_earlier += other * space.rows[v, u]
        own += 2.0 * signed * with_earlier
    square_a, square_b = clusters.square[a], clusters.square[b]
    return float(
        (square_a - 2.0 * with_a + own) / left_a
        - square_a / clusters.weight[a]
        + (square_b + 2.0 * with_b + own) / left_b
        - square_b / clusters.weight[b]
    )


@inlined
def _chain_gain_by_coordinates(
    space: Space, clusters: Clusters, work: Workspace, length: int, a: int, b: int, left_a: float, left_b: float
) -> float:
    """Evaluate the same difference with the centre of a as origin, which keeps the digits of nearby clusters."""
    share_a, share_b = 1.0 / clusters.weight[a], 1.0 / clusters.weight[b]
    work.direction[:] = 0.0
    for position in range(length):
        v = work.chain[position]
        signed = space.weights[v] if clusters.labels[v] == a else -space.weights[v]
        for t in range(space.rows.shape[1]):
            work.direction[t] += signed * (space.rows[v, t] - share_a * clusters.sums[a, t])
    moved, apart, after = 0.0, 0.0, 0.0
    for t in range(space.rows.shape[1]):
        between = share_b * clusters.sums[b, t] - share_a * clusters.sums[a, t]
        moved += work.direction[t] ** 2
        apart += between * between
        after += (clusters.weight[b] * between + work.direction[t]) ** 2
    return float(moved / left_a + after / left_b - clusters.weight[b] * apart)


@compiled_without_allocation
def swap_random_chains(space: Space, clusters: Clusters, work: Workspace, count: int, random: RandomState) -> None:
    """Swap Kempe chains of random super-points with random clusters: another clustering, as feasible as before."""
    size, k = clusters.conflicts.shape
    for _ in range(count):
        i = random_below(random, size)
        b = random_below(random, k)
        if b != clusters.labels[i] and chain_gain(space, clusters, work, i, b, 0) > -np.inf:
            apply_move(space, clusters, work, i, (0.0, KEMPE, b, -1, -1), 0)
