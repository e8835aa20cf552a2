"""Kempe chains: all that cannot-links connect to a super-point inside two clusters changes sides.

Where a super-point i of cluster a conflicts with members of b, those move to a when i moves to b, and so on: the swap
keeps every cannot-link, and its change of cost is exact. No swap empties a cluster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_without_allocation, inlined
from certimeans.heuristics.state import MOST_MOVES_PER_POINT, Clusters, Space, least_gain, move_point, removal_gain
from certimeans.randomness import RandomState, random_below, shuffle


class Workspace(NamedTuple):
    """Memory of a local search: what was looked at since what changed, and room for a chain.

    Time is the number of swaps made. A chain need not be evaluated again before one of its clusters changes, nor from
    another of its members.

    Attributes
    ----------
    changed
        When each cluster changed last.
    chain_seen
        When the chain of a super-point (row) with a cluster (column) was evaluated last.
    chain, mark, stamp
        Members of the current chain; ``mark`` equals ``stamp[0]`` for them.
    direction
        Coordinates of the current chain's signed sum.
    order
        The random cyclic order of the visits.
    progress
        The position of the next visit, visits since the last swap, swaps made.
    forbidden_until
        Step until which a super-point (row) must not return to a cluster (column); used by :mod:`.penalty`.
    """

    changed: IntArray
    chain_seen: IntArray
    chain: IntArray
    mark: IntArray
    stamp: IntArray
    direction: FloatArray
    order: IntArray
    progress: IntArray
    forbidden_until: IntArray


def make_workspace(space: Space) -> Workspace:
    """Allocate the memory of a local search."""
    size, width = space.rows.shape
    k = space.n_clusters
    return Workspace(
        np.zeros(k, dtype=np.int64),
        np.full((size, k), -1, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1 if space.by_gram else width),
        np.arange(size, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
        np.zeros((size, k), dtype=np.int64),
    )


@compiled_without_allocation
def begin_chains(work: Workspace, random: RandomState) -> None:
    """Forget what was known of an earlier clustering and draw an order."""
    work.changed[:] = 0
    work.chain_seen[:] = -1
    work.progress[:] = 0
    shuffle(random, work.order)


@compiled_without_allocation
def swap_chains(space: Space, clusters: Clusters, work: Workspace, max_visits: int) -> int:
    """Swap the best improving chain of one super-point after the other until none has any.

    Returns
    -------
    int
        The number of visits; less than ``max_visits`` if and only if no chain gains any more. ``work.progress`` says
        how many swaps there were since :func:`begin_chains`.
    """
    size = len(space.weights)
    most_swaps = MOST_MOVES_PER_POINT * (size + 10)
    position, idle, swaps = work.progress[0], work.progress[1], work.progress[2]
    visits = 0
    while visits < max_visits and idle < size and swaps < most_swaps:
        i = work.order[position]
        position = position + 1 if position + 1 < size else 0
        visits += 1
        idle += 1
        b = _best_chain(space, clusters, work, i, swaps) if space.start[i] < space.start[i + 1] else -1
        if b >= 0:
            swaps += 1
            idle = 0
            swap_chain(space, clusters, work, i, b, swaps)
    work.progress[0], work.progress[1], work.progress[2] = position, idle, swaps
    return visits


@inlined
def _best_chain(space: Space, clusters: Clusters, work: Workspace, i: int, now: int) -> int:
    """Find the cluster with which the chain of super-point i gains most; -1 if none gains."""
    a = clusters.labels[i]
    leaving = removal_gain(space, clusters, i) if clusters.members[a] > 1 else 0.0
    best, target = least_gain(space, leaving), -1
    for b in range(space.n_clusters):
        if b != a and clusters.conflicts[i, b] > 0 and work.chain_seen[i, b] < max(work.changed[a], work.changed[b]):
            gain = chain_gain(space, clusters, work, i, b, now)
            if gain > best:
                best, target = gain, b
    return target


@compiled_without_allocation
def swap_chain(space: Space, clusters: Clusters, work: Workspace, i: int, b: int, now: int) -> None:
    """Let the chain of super-point i with cluster b change sides, and note that both clusters changed."""
    a = clusters.labels[i]
    length = _collect_chain(space, clusters, work, i, b)
    for position in range(length):
        v = work.chain[position]
        move_point(space, clusters, v, b if clusters.labels[v] == a else a)
    work.changed[a] = now
    work.changed[b] = now


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
    """Swap chains of random super-points with random clusters: another clustering, as feasible as before."""
    size, k = clusters.conflicts.shape
    for _ in range(count):
        i = random_below(random, size)
        b = random_below(random, k)
        if b != clusters.labels[i] and chain_gain(space, clusters, work, i, b, 0) > -np.inf:
            swap_chain(space, clusters, work, i, b, 0)
