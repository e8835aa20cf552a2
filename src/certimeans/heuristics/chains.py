"""Kempe chains: all that cannot-links connect to a super-point inside two clusters changes sides.

Where a super-point i of cluster a conflicts with members of b, those move to a when i moves to b, and so on: the swap
keeps every cannot-link, and its change of cost is exact. No swap empties a cluster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.compilation import compiled_inside, compiled_without_allocation, inlined
from certimeans.heuristics.moves import Sweep
from certimeans.heuristics.state import (
    Clusters,
    SmallIntArray,
    Space,
    least_gain,
    most_improvements,
    move_point,
    removal_gain,
)
from certimeans.randomness import RandomState, random_below

# Not for tuning: a relative difference that may be rounding, as when two clusters change sides as a whole.
_ROUNDING = 1e-13


class Chains(NamedTuple):
    """Memory of a sweep of chains: what was looked at since what changed, and room for one chain.

    Time is the number of swaps made. A chain need not be evaluated again before one of its clusters changes, nor from
    another of its members.

    Attributes
    ----------
    changed
        When each cluster changed last.
    evaluated
        When the chain of a super-point (row) with a cluster (column) was evaluated last.
    chain
        Members of the current chain, in the order in which they were found.
    is_in_chain
        Whether a super-point is a member of it; all False between two chains.
    direction
        Coordinates of the current chain's signed sum; without content if there are no coordinates.
    """

    changed: IntArray
    evaluated: SmallIntArray
    chain: IntArray
    is_in_chain: BoolArray
    direction: FloatArray


def make_chains(space: Space) -> Chains:
    """Allocate the memory of a sweep of chains."""
    size, width = space.rows.shape
    k = space.n_clusters
    return Chains(
        changed=np.zeros(k, dtype=np.int64),
        evaluated=np.zeros((size, k), dtype=np.int32),
        chain=np.zeros(size, dtype=np.int64),
        is_in_chain=np.zeros(size, dtype=np.bool_),
        direction=np.zeros(0 if space.by_gram else width),
    )


@inlined
def begin_chains(chains: Chains) -> None:
    """Forget what was known of an earlier clustering."""
    chains.changed[:] = 0
    chains.evaluated[:] = -1


@inlined
def swap_chains(
    space: Space, clusters: Clusters, chains: Chains, order: IntArray, sweep: Sweep, max_work: int
) -> Sweep:
    """Swap the best improving chain of one super-point after the other until none has any.

    Parameters
    ----------
    max_work
        Most visits, where looking at members of chains counts as well: long chains take their time.
    """
    size = len(space.weights)
    position, idle, improvements, gain = sweep.position, sweep.idle, sweep.improvements, sweep.gain
    visits, looked_at = 0, 0
    while idle < size and visits + looked_at < max_work:
        i = order[position]
        position = position + 1 if position + 1 < size else 0
        visits += 1
        idle += 1
        if space.start[i] < space.start[i + 1]:
            gained, b, members = _best_chain(space, clusters, chains, i, improvements)
            looked_at += members
            if b >= 0:
                gain += gained
                improvements += 1
                swap_chain(space, clusters, chains, i, b, improvements)
                idle = 0 if improvements < most_improvements(size) else size
    return Sweep(position, idle, improvements, sweep.visits + visits, sweep.trials + looked_at, gain)


@inlined
def _best_chain(space: Space, clusters: Clusters, chains: Chains, i: int, now: int) -> tuple[float, int, int]:
    """Find the best chain of super-point i.

    Returns
    -------
    tuple
        The gain, the cluster that the chain is with, -1 if none gains, and how many members were looked at.
    """
    a = clusters.labels[i]
    leaving = removal_gain(space, clusters, i) if clusters.members[a] > 1 else 0.0
    best, target = least_gain(space, leaving), -1
    looked_at = 0
    for b in range(space.n_clusters):
        last_change = max(chains.changed[a], chains.changed[b])
        if b != a and clusters.conflicts[i, b] > 0 and chains.evaluated[i, b] < last_change:
            gain, length = chain_gain(space, clusters, chains, i, b, now)
            looked_at += length * length if space.by_gram else length
            if gain > best:
                best, target = gain, b
    return best, target, looked_at


@inlined
def swap_chain(space: Space, clusters: Clusters, chains: Chains, i: int, b: int, now: int) -> None:
    """Let the chain of super-point i with cluster b change sides, and note that both clusters changed."""
    a = clusters.labels[i]
    length = _collect_chain(space, clusters, chains, i, b)
    for position in range(length):
        v = chains.chain[position]
        move_point(space, clusters, v, b if clusters.labels[v] == a else a)
    chains.changed[a] = now
    chains.changed[b] = now


@compiled_inside
def _collect_chain(space: Space, clusters: Clusters, chains: Chains, i: int, b: int) -> int:
    """Gather what is connected to i by cannot-links inside i's cluster and b; return how many they are."""
    a = clusters.labels[i]
    chains.chain[0] = i
    chains.is_in_chain[i] = True
    length, head = 1, 0
    while head < length:
        v = chains.chain[head]
        head += 1
        opposite = b if clusters.labels[v] == a else a
        if clusters.conflicts[v, opposite] == 0:
            continue
        for position in range(space.start[v], space.start[v + 1]):
            u = space.neighbours[position]
            if clusters.labels[u] == opposite and not chains.is_in_chain[u]:
                chains.is_in_chain[u] = True
                chains.chain[length] = u
                length += 1
    for position in range(length):
        chains.is_in_chain[chains.chain[position]] = False
    return length


@compiled_without_allocation
def chain_gain(space: Space, clusters: Clusters, chains: Chains, i: int, b: int, now: int) -> tuple[float, int]:
    """Evaluate the swap of the Kempe chain of i with cluster b.

    Returns
    -------
    tuple
        The decrease of cost, -inf if the swap empties a cluster, and the number of members.
    """
    a = clusters.labels[i]
    length = _collect_chain(space, clusters, chains, i, b)
    net_count, net_weight = 0, 0.0
    for position in range(length):
        v = chains.chain[position]
        leaves_a = clusters.labels[v] == a
        chains.evaluated[v, b if leaves_a else a] = now
        net_count += 1 if leaves_a else -1
        net_weight += space.weights[v] if leaves_a else -space.weights[v]
    if net_count >= clusters.members[a] or -net_count >= clusters.members[b]:
        return -np.inf, length
    left_a, left_b = clusters.weight[a] - net_weight, clusters.weight[b] + net_weight
    if left_a <= 0.0 or left_b <= 0.0:
        return -np.inf, length
    if space.by_gram:
        gain = _chain_gain_by_gram(space, clusters, chains.chain, length, a, b, left_a, left_b)
    else:
        gain = _chain_gain_by_coordinates(space, clusters, chains, length, a, b, left_a, left_b)
    return gain, length


@inlined
def _chain_gain_by_gram(
    space: Space, clusters: Clusters, chain: IntArray, length: int, a: int, b: int, left_a: float, left_b: float
) -> float:
    """Evaluate S'_a / W'_a + S'_b / W'_b - S_a / W_a - S_b / W_b with S = |p|^2 and the chain's sum moved."""
    with_a, with_b, own = 0.0, 0.0, 0.0
    for position in range(length):
        v = chain[position]
        signed = space.weights[v] if clusters.labels[v] == a else -space.weights[v]
        with_a += signed * clusters.sums[a, v]
        with_b += signed * clusters.sums[b, v]
        with_earlier = 0.5 * signed * space.squares[v]
        for earlier in range(position):
            u = chain[earlier]
            other = space.weights[u] if clusters.labels[u] == a else -space.weights[u]
            with_earlier += other * space.rows[v, u]
        own += 2.0 * signed * with_earlier
    square_a, square_b = clusters.square[a], clusters.square[b]
    before = square_a / clusters.weight[a] + square_b / clusters.weight[b]
    after = (square_a - 2.0 * with_a + own) / left_a + (square_b + 2.0 * with_b + own) / left_b
    return after - before if abs(after - before) > _ROUNDING * (abs(after) + abs(before)) else 0.0


@inlined
def _chain_gain_by_coordinates(
    space: Space, clusters: Clusters, chains: Chains, length: int, a: int, b: int, left_a: float, left_b: float
) -> float:
    """Evaluate the same difference with the centre of a as origin, which keeps the digits of nearby clusters."""
    share_a, share_b = 1.0 / clusters.weight[a], 1.0 / clusters.weight[b]
    chains.direction[:] = 0.0
    for position in range(length):
        v = chains.chain[position]
        signed = space.weights[v] if clusters.labels[v] == a else -space.weights[v]
        for t in range(space.rows.shape[1]):
            chains.direction[t] += signed * (space.rows[v, t] - share_a * clusters.sums[a, t])
    moved, apart, after = 0.0, 0.0, 0.0
    for t in range(space.rows.shape[1]):
        between = share_b * clusters.sums[b, t] - share_a * clusters.sums[a, t]
        moved += chains.direction[t] ** 2
        apart += between * between
        after += (clusters.weight[b] * between + chains.direction[t]) ** 2
    gain, before = moved / left_a + after / left_b, clusters.weight[b] * apart
    return gain - before if abs(gain - before) > _ROUNDING * (gain + before) else 0.0


@compiled_without_allocation
def swap_random_chains(space: Space, clusters: Clusters, chains: Chains, count: int, random: RandomState) -> None:
    """Swap chains of random super-points with random clusters: another clustering, as feasible as before."""
    size, k = clusters.conflicts.shape
    for _ in range(count):
        i = random_below(random, size)
        b = random_below(random, k)
        if b != clusters.labels[i] and chain_gain(space, clusters, chains, i, b, 0)[0] > -np.inf:
            swap_chain(space, clusters, chains, i, b, 0)
