"""Assignment to fixed centres within limits: amounts travel along cheapest paths of clusters.

From everything at its nearest centre, what is too much somewhere goes along a cheapest path of clusters to where there
is room: one super-point from the first cluster to the second, another from there to the third, and so on. Where all
amounts are equal this is the method of successive shortest paths, and the assignment is the best one. Otherwise it is
a good one, and may end before all limits are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.compilation import compiled_without_allocation, inlined
from certimeans.heuristics.limited.loads import Loads, match_sizes, set_loads, total_breach
from certimeans.heuristics.starts import costs_of_centre
from certimeans.heuristics.state import Clusters, Space, set_labels


class Network(NamedTuple):
    """Memory of paths between clusters.

    Attributes
    ----------
    cost, item
        Of the cheapest super-point that can go from one cluster (row) to another (column), for each amount.
    is_stale
        Clusters whose rows have to be computed again.
    distance, previous
        Of the cheapest path to each cluster.
    moved
        Super-points on the path that was applied last.
    """

    cost: FloatArray
    item: IntArray
    is_stale: BoolArray
    distance: FloatArray
    previous: IntArray
    moved: IntArray


def make_network(n_clusters: int) -> Network:
    """Allocate the memory of paths."""
    return Network(
        np.zeros((n_clusters, n_clusters)),
        np.zeros((n_clusters, n_clusters), dtype=np.int64),
        np.zeros(n_clusters, dtype=np.bool_),
        np.zeros(n_clusters),
        np.zeros(n_clusters, dtype=np.int64),
        np.zeros(n_clusters + 1, dtype=np.int64),
    )


@compiled_without_allocation
def assign_within(costs: FloatArray, labels: IntArray, loads: Loads, network: Network, is_matched: bool) -> int:
    """Assign super-points (columns) to centres (rows); return by how much loads are outside their limits in the end.

    Which cluster gets which of exact sizes follows from the loads at the nearest centres, unless ``is_matched`` says
    that this is settled.
    """
    k, size = costs.shape
    for i in range(size):
        nearest = 0
        for c in range(1, k):
            if costs[c, i] < costs[nearest, i]:
                nearest = c
        labels[i] = nearest
    set_loads(loads, labels)
    if not is_matched:
        match_sizes(loads)
    network.is_stale[:] = True
    left = total_breach(loads)
    while left > 0:
        _refresh(costs, labels, loads, network)
        end = _cheapest_path(loads, network)
        if end < 0:
            break
        length = _follow(labels, loads, network, end)
        after = total_breach(loads)
        if after >= left:  # only where amounts differ
            _go_back(labels, loads, network, end, length)
            break
        left = after
    return left


@inlined
def _refresh(costs: FloatArray, labels: IntArray, loads: Loads, network: Network) -> None:
    """Find the cheapest super-points to move, out of the clusters that changed."""
    k, size = costs.shape
    for a in range(k):
        if network.is_stale[a]:
            for b in range(k):
                network.cost[a, b] = np.inf
                network.item[a, b] = -1
    for i in range(size):
        a = labels[i]
        if network.is_stale[a] and loads.amount[i] > 0:
            for b in range(k):
                price = (costs[b, i] - costs[a, i]) / loads.amount[i]
                if b != a and price < network.cost[a, b]:
                    network.cost[a, b] = price
                    network.item[a, b] = i
    network.is_stale[:] = False


@inlined
def _cheapest_path(loads: Loads, network: Network) -> int:
    """Find a cheapest path from a cluster that has too much to one with room; return where it ends, -1 without any.

    If no cluster has too much, it leads from one that can give to one that has too little.
    """
    k = len(loads.load)
    has_excess = False
    for c in range(k):
        has_excess |= loads.load[c] > loads.high[c]
    for c in range(k):
        is_source = loads.load[c] > loads.high[c] if has_excess else loads.load[c] > loads.low[c]
        network.distance[c] = 0.0 if is_source else np.inf
        network.previous[c] = -1
    for _ in range(k - 1):
        for a in range(k):
            for b in range(k):
                reached = network.distance[a] + network.cost[a, b]
                is_nearer = a != b and reached < network.distance[b] - 1e-15 * abs(reached)
                if is_nearer and not _is_on_path(network, a, b):
                    network.distance[b] = reached
                    network.previous[b] = a
    end = -1
    for c in range(k):
        is_sink = loads.load[c] < loads.high[c] if has_excess else loads.load[c] < loads.low[c]
        if is_sink and network.previous[c] >= 0 and (end < 0 or network.distance[c] < network.distance[end]):
            end = c
    return end


@inlined
def _is_on_path(network: Network, end: int, c: int) -> bool:
    """Whether a cluster is on the path to another one."""
    while end >= 0:
        if end == c:
            return True
        end = network.previous[end]
    return False


@inlined
def _follow(labels: IntArray, loads: Loads, network: Network, end: int) -> int:
    """Move one super-point along each edge of a path; return how many."""
    length = 0
    b = end
    while network.previous[b] >= 0:
        a = network.previous[b]
        i = network.item[a, b]
        network.moved[length] = i
        length += 1
        labels[i] = b
        loads.load[a] -= loads.amount[i]
        loads.load[b] += loads.amount[i]
        network.is_stale[a] = True
        network.is_stale[b] = True
        b = a
    return length


@inlined
def _go_back(labels: IntArray, loads: Loads, network: Network, end: int, length: int) -> None:
    """Undo that."""
    b = end
    for place in range(length):
        i, a = network.moved[place], network.previous[b]
        labels[i] = a
        loads.load[b] -= loads.amount[i]
        loads.load[a] += loads.amount[i]
        b = a


@compiled_without_allocation
def alternate(
    space: Space,
    clusters: Clusters,
    costs: FloatArray,
    labels: IntArray,
    loads: Loads,
    network: Network,
    rounds: int,
    is_matched: bool,
) -> int:
    """Alternate assignments and centres from given costs, as Lloyd does, until nothing changes.

    Which cluster gets which of exact sizes is settled by the first assignment, or before if ``is_matched``.

    Returns
    -------
    int
        By how much loads are outside their limits in the end.
    """
    left = assign_within(costs, labels, loads, network, is_matched)
    for _ in range(rounds):
        set_labels(space, clusters, labels)
        for c in range(space.n_clusters):
            if clusters.members[c] > 0:
                costs_of_centre(space, clusters.sums[c], clusters.square[c], clusters.weight[c], costs[c])
        left = assign_within(costs, labels, loads, network, True)
        is_same = True
        for i in range(len(labels)):
            is_same &= labels[i] == clusters.labels[i]
        if is_same:
            break
    return left
