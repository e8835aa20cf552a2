"""Improvements between two clusters that keep limits and cannot-links: moves, swaps, exchanges of one for several.

Two clusters are looked at again only after one of them changed. A swap of i in A for j in B, with w the weights, m the
means, c the centres and u = w_i (m_i - c_A) - w_j (m_j - c_A), takes ::

    |u|^2 / W'_A + |W_B (c_B - c_A) + u|^2 / W'_B - W_B |c_B - c_A|^2

from the cost, where W' are the weights after it. What depends on i and on j alone ranks the candidates; only the best
few of each cluster are paired.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_without_allocation, inlined
from certimeans.heuristics.limited.loads import Loads, may_move
from certimeans.heuristics.limited.mending import shift
from certimeans.heuristics.state import (
    Clusters,
    Space,
    distance_to_centre,
    insertion_cost,
    least_gain,
    removal_gain,
)

CANDIDATES = 24
"""Super-points of each cluster that are paired with those of another."""

LONGEST_EXCHANGE = 16
"""Most super-points that are given for one."""

_ROUNDING = 1e-13


class Exchanges(NamedTuple):
    """What was looked at since what changed, and room for candidates.

    Attributes
    ----------
    changed
        When each cluster changed last; time is the number of improvements.
    looked
        When each pair of clusters was looked at last.
    item, score
        The best candidates of two clusters, and how good they are.
    given
        Super-points that were given for another one.
    """

    changed: IntArray
    looked: IntArray
    item: IntArray
    score: FloatArray
    given: IntArray


def make_exchanges(n_clusters: int) -> Exchanges:
    """Allocate the memory of exchanges."""
    return Exchanges(
        np.zeros(n_clusters, dtype=np.int64),
        np.zeros((n_clusters, n_clusters), dtype=np.int64),
        np.zeros((2, CANDIDATES), dtype=np.int64),
        np.zeros((2, CANDIDATES)),
        np.zeros(LONGEST_EXCHANGE, dtype=np.int64),
    )


@compiled_without_allocation
def exchange(
    space: Space, clusters: Clusters, loads: Loads, exchanges: Exchanges, now: int, max_work: int
) -> tuple[int, int]:
    """Improve pairs of clusters until none can be improved, or for about ``max_work`` distances.

    Returns
    -------
    tuple
        The number of improvements so far, ``now`` at the beginning, and the work; less than ``max_work`` if the
        clustering is a local optimum.
    """
    k = space.n_clusters
    work = 0
    is_done = False
    while not is_done:
        is_done = True
        for a in range(k):
            for b in range(a + 1, k):
                if work >= max_work:
                    return now, work
                if exchanges.looked[a, b] > max(exchanges.changed[a], exchanges.changed[b]):
                    continue
                is_improved, spent = _improve_pair(space, clusters, loads, exchanges, a, b)
                work += spent
                if is_improved:
                    now += 1
                    exchanges.changed[a] = now
                    exchanges.changed[b] = now
                    is_done = False
                else:
                    exchanges.looked[a, b] = now + 1
    return now, work


@inlined
def forget_exchanges(exchanges: Exchanges) -> None:
    """Begin with another clustering."""
    exchanges.changed[:] = 0
    exchanges.looked[:] = -1


@compiled_without_allocation
def _improve_pair(
    space: Space, clusters: Clusters, loads: Loads, exchanges: Exchanges, a: int, b: int
) -> tuple[bool, int]:
    """Make the best move or swap between two clusters, or else some exchange of one for several, if it gains."""
    best, mover, partner = 0.0, -1, -1
    exchanges.item[:] = -1
    work = 0
    for i in range(len(clusters.labels)):
        own = clusters.labels[i]
        if own not in (a, b):
            continue
        other = b if own == a else a
        if clusters.conflicts[i, other] > 1 or clusters.weight[own] <= space.weights[i]:
            continue
        work += 2
        near, far = distance_to_centre(space, clusters, i, own), distance_to_centre(space, clusters, i, other)
        _enter(exchanges, 0 if own == a else 1, i, space.weights[i] * (near - far))
        is_free = clusters.members[own] > 1 and clusters.conflicts[i, other] == 0
        if is_free and may_move(loads, loads.amount[i], own, other):
            leaving = removal_gain(space, clusters, i)
            gain = leaving - insertion_cost(space, clusters, i, other)
            if gain > least_gain(space, leaving) and gain > best:
                best, mover = gain, i
    gain, i, j = _best_swap(space, clusters, loads, exchanges, a, b)
    work += CANDIDATES * CANDIDATES
    if gain > best:
        best, mover, partner = gain, i, j
    if mover >= 0:
        if partner >= 0:
            shift(space, clusters, loads, partner, a)
        shift(space, clusters, loads, mover, b if clusters.labels[mover] == a else a)
        return True, work
    is_improved, spent = _exchange_one_for_several(space, clusters, loads, exchanges, a, b)
    return is_improved, work + spent


@inlined
def _enter(exchanges: Exchanges, side: int, i: int, score: float) -> None:
    """Keep a candidate if it is among the best of its cluster."""
    item, scores = exchanges.item[side], exchanges.score[side]
    place = CANDIDATES - 1
    if item[place] >= 0 and scores[place] >= score:
        return
    while place > 0 and (item[place - 1] < 0 or scores[place - 1] < score):
        item[place], scores[place] = item[place - 1], scores[place - 1]
        place -= 1
    item[place], scores[place] = i, score


@inlined
def _best_swap(
    space: Space, clusters: Clusters, loads: Loads, exchanges: Exchanges, a: int, b: int
) -> tuple[float, int, int]:
    """Find the best swap among the candidates: its gain, and what changes places; -1 if none gains."""
    best, first, second = 0.0, -1, -1
    for p in range(CANDIDATES):
        i = exchanges.item[0, p]
        if i < 0:
            break
        for q in range(CANDIDATES):
            j = exchanges.item[1, q]
            if j < 0:
                break
            if not may_move(loads, loads.amount[i] - loads.amount[j], a, b):
                continue
            conflicts = clusters.conflicts[i, b] + clusters.conflicts[j, a]
            if conflicts > 0 and not (conflicts == 2 and _are_linked(space, i, j)):
                continue
            gain = swap_gain(space, clusters, i, j, a, b)
            if gain > best and gain > least_gain(space, space.weights[i] * abs(exchanges.score[0, p])):
                best, first, second = gain, i, j
    return best, first, second


@inlined
def _are_linked(space: Space, i: int, j: int) -> bool:
    """Whether two super-points cannot link."""
    found = False
    for position in range(space.start[i], space.start[i + 1]):
        found |= space.neighbours[position] == j
    return found


@compiled_without_allocation
def swap_gain(space: Space, clusters: Clusters, i: int, j: int, a: int, b: int) -> float:
    """Return what a swap of i in cluster a for j in cluster b takes from the cost."""
    wi, wj = space.weights[i], space.weights[j]
    left_a, left_b = clusters.weight[a] - wi + wj, clusters.weight[b] + wi - wj
    if left_a <= 0.0 or left_b <= 0.0:
        return -np.inf
    if space.by_gram:
        moved_a = wi * clusters.sums[a, i] - wj * clusters.sums[a, j]
        moved_b = wi * clusters.sums[b, i] - wj * clusters.sums[b, j]
        own = wi * wi * space.squares[i] + wj * wj * space.squares[j] - 2.0 * wi * wj * space.rows[i, j]
        after = (clusters.square[a] - 2.0 * moved_a + own) / left_a + (
            clusters.square[b] + 2.0 * moved_b + own
        ) / left_b
        before = clusters.square[a] / clusters.weight[a] + clusters.square[b] / clusters.weight[b]
        return after - before if abs(after - before) > _ROUNDING * (abs(after) + abs(before)) else 0.0
    share_a, share_b = 1.0 / clusters.weight[a], 1.0 / clusters.weight[b]
    apart, moved, both = 0.0, 0.0, 0.0
    for t in range(space.rows.shape[1]):
        centre = share_a * clusters.sums[a, t]
        between = share_b * clusters.sums[b, t] - centre
        u = wi * (space.rows[i, t] - centre) - wj * (space.rows[j, t] - centre)
        apart += between * between
        moved += u * u
        both += (clusters.weight[b] * between + u) ** 2
    after, before = moved / left_a + both / left_b, clusters.weight[b] * apart
    return after - before if abs(after - before) > _ROUNDING * (after + before) else 0.0


@inlined
def _exchange_one_for_several(
    space: Space, clusters: Clusters, loads: Loads, exchanges: Exchanges, a: int, b: int
) -> tuple[bool, int]:
    """Move a super-point and take others back until the limits are kept, each the best one; undo what does not gain."""
    work = 0
    for side in range(2):
        own, other = (a, b) if side == 0 else (b, a)
        for p in range(CANDIDATES):
            i = exchanges.item[side, p]
            if i < 0:
                break
            if clusters.members[own] < 2 or clusters.conflicts[i, other] > 0:
                continue
            if loads.amount[i] == loads.smallest:  # at most one comes back: a swap, and these were tried
                continue
            leaving = removal_gain(space, clusters, i)
            gain = leaving - insertion_cost(space, clusters, i, other)
            shift(space, clusters, loads, i, other)
            count, back, spent = take_back(space, clusters, loads, exchanges.given, i, other, own)
            work += spent
            if count >= 0 and gain + back > least_gain(space, leaving):
                return True, work
            undo(space, clusters, loads, exchanges.given, -1 - count if count < 0 else count, other)
            shift(space, clusters, loads, i, own)
    return False, work


@compiled_without_allocation
def take_back(
    space: Space, clusters: Clusters, loads: Loads, given: IntArray, kept: int, source: int, target: int
) -> tuple[int, float, int]:
    """Move super-points but ``kept`` from a cluster that has too much, to one that has too little, until neither is so.

    Returns
    -------
    tuple
        How many were moved, or -1 less that many if the limits are not kept; the gain, mostly negative; and the work.
    """
    count, gain, work = 0, 0.0, 0
    while True:
        excess = max(loads.load[source] - loads.high[source], loads.low[target] - loads.load[target])
        if loads.load[target] > loads.high[target] or loads.load[source] < loads.low[source]:
            return -1 - count, gain, work
        if excess <= 0:
            return count, gain, work
        if count == len(given) or clusters.members[source] < 3:
            return -1 - count, gain, work
        most = min(loads.load[source] - loads.low[source], loads.high[target] - loads.load[target])
        best, chosen = -np.inf, -1
        for j in range(len(clusters.labels)):
            amount = loads.amount[j]
            if clusters.labels[j] != source or j == kept or amount == 0 or amount > most:
                continue
            if clusters.conflicts[j, target] > 0:
                continue
            work += 2
            change = removal_gain(space, clusters, j) - insertion_cost(space, clusters, j, target)
            if change / min(amount, excess) > best:
                best, chosen = change / min(amount, excess), j
        if chosen < 0:
            return -1 - count, gain, work
        gain += removal_gain(space, clusters, chosen) - insertion_cost(space, clusters, chosen, target)
        given[count] = chosen
        count += 1
        shift(space, clusters, loads, chosen, target)


@inlined
def undo(space: Space, clusters: Clusters, loads: Loads, given: IntArray, count: int, source: int) -> None:
    """Move back what was taken from a cluster."""
    for place in range(count):
        shift(space, clusters, loads, given[place], source)
