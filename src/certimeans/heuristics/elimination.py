"""Exact assignment on a cannot-link graph of small width: dynamic programming over an elimination order.

Vertices are eliminated one after the other, cheapest neighbourhood first. Eliminating v tabulates, for each choice of
clusters of v's remaining neighbours (its *scope*), the least cost of v and of all that was eliminated before and
depends on v. Going back, each vertex reads its best cluster off its table. Time and memory are the sum over all
vertices of k to the power of the scope, known before anything is computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled


class EliminationPlan(NamedTuple):
    """How to eliminate the vertices of a graph, whatever their costs.

    Attributes
    ----------
    order
        Vertices in order of elimination; arrays below follow this order.
    scope_start, scope
        Compressed lists of the vertices in each scope.
    is_linked
        For each entry of ``scope``, whether it is a neighbour in the graph itself.
    table_start
        Where the table of each vertex begins; the last entry is the total size.
    message_start, message
        Compressed lists of the earlier positions whose tables depend on each vertex.
    message_strides
        For each message, the stride of the vertex itself (column 0) and of each entry of its scope in that table.
    """

    order: IntArray
    scope_start: IntArray
    scope: IntArray
    is_linked: IntArray
    table_start: IntArray
    message_start: IntArray
    message: IntArray
    message_strides: IntArray


def plan_elimination(neighbours: dict[int, set[int]], k: int, max_table: int) -> EliminationPlan | None:
    """Eliminate vertices of least remaining degree first; ``None`` if a table would exceed ``max_table`` entries."""
    remaining = {v: set(adjacent) for v, adjacent in neighbours.items()}
    order: list[int] = []
    scopes: list[list[int]] = []
    # Vertices by degree, each in the bucket of its current degree.
    buckets: dict[int, set[int]] = {}
    for v, adjacent in remaining.items():
        buckets.setdefault(len(adjacent), set()).add(v)
    while remaining:
        degree = next(d for d in range(len(neighbours) + 1) if buckets.get(d))
        if k ** (degree + 1) > max_table:
            return None
        v = min(buckets[degree])
        buckets[degree].discard(v)
        scope = sorted(remaining.pop(v))
        for u in scope:
            buckets[len(remaining[u])].discard(u)
            remaining[u] |= set(scope)
            remaining[u] -= {u, v}
            buckets.setdefault(len(remaining[u]), set()).add(u)
        order.append(v)
        scopes.append(scope)
    return _lay_out(order, scopes, neighbours, k)


def _lay_out(order: list[int], scopes: list[list[int]], neighbours: dict[int, set[int]], k: int) -> EliminationPlan:
    """Flatten the plan for compiled code: a table is indexed by its scope's clusters, first vertex slowest."""
    position = {v: p for p, v in enumerate(order)}
    strides = [{u: k ** (len(scope) - 1 - rank) for rank, u in enumerate(scope)} for scope in scopes]
    messages: list[list[int]] = [[] for _ in order]
    for p, scope in enumerate(scopes):
        if scope:
            messages[min(position[u] for u in scope)].append(p)
    widest = max(len(scope) for scope in scopes)
    rows = [
        [strides[sender].get(u, 0) for u in [order[p], *scopes[p]]] + [0] * (widest - len(scopes[p]))
        for p in range(len(order))
        for sender in messages[p]
    ]
    flat = [(v, u) for v, scope in zip(order, scopes, strict=True) for u in scope]
    return EliminationPlan(
        np.array(order, dtype=np.int64),
        _offsets([len(scope) for scope in scopes]),
        np.array([u for _, u in flat], dtype=np.int64),
        np.array([u in neighbours[v] for v, u in flat], dtype=np.int64),
        _offsets([k ** len(scope) for scope in scopes]),
        _offsets([len(senders) for senders in messages]),
        np.array([p for senders in messages for p in senders], dtype=np.int64),
        np.array(rows, dtype=np.int64).reshape(-1, widest + 1),
    )


def _offsets(lengths: list[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@compiled
def eliminate(plan: EliminationPlan, costs: FloatArray, labels: IntArray) -> bool:
    """Find labels of least total cost for the vertices of the plan; False if no labels keep the cannot-links."""
    n, k = len(plan.order), costs.shape[1]
    table = np.empty(plan.table_start[n])
    choice = np.empty(plan.table_start[n], dtype=np.int64)
    for p in range(n):
        width = plan.scope_start[p + 1] - plan.scope_start[p]
        digits = np.zeros(width, dtype=np.int64)
        for entry in range(plan.table_start[p], plan.table_start[p + 1]):
            table[entry], choice[entry] = np.inf, -1
            for c in range(k):
                cost = _cost_of_choice(plan, p, c, digits, costs, table)
                if cost < table[entry]:
                    table[entry], choice[entry] = cost, c
            _count_up(digits, k)
        if width == 0 and choice[plan.table_start[p]] < 0:
            return False
    for p in range(n - 1, -1, -1):
        entry = 0
        for position in range(plan.scope_start[p], plan.scope_start[p + 1]):
            entry = entry * k + labels[plan.scope[position]]
        labels[plan.order[p]] = choice[plan.table_start[p] + entry]
    return True


@compiled
def _cost_of_choice(
    plan: EliminationPlan, p: int, c: int, digits: IntArray, costs: FloatArray, table: FloatArray
) -> float:
    """Cost of the vertex at position p in cluster c and of what depends on it, its scope in clusters ``digits``."""
    for rank in range(len(digits)):
        if digits[rank] == c and plan.is_linked[plan.scope_start[p] + rank]:
            return np.inf
    cost = costs[plan.order[p], c]
    for m in range(plan.message_start[p], plan.message_start[p + 1]):
        index = plan.table_start[plan.message[m]] + plan.message_strides[m, 0] * c
        for rank in range(len(digits)):
            index += plan.message_strides[m, rank + 1] * digits[rank]
        cost += table[index]
    return float(cost)


@compiled
def _count_up(digits: IntArray, k: int) -> None:
    """Go to the next choice of clusters, last vertex fastest."""
    for rank in range(len(digits) - 1, -1, -1):
        digits[rank] += 1
        if digits[rank] < k:
            return
        digits[rank] = 0
