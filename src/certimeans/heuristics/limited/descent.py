"""Descents within limits and cannot-links: exchanges of two clusters, Kempe chains, evictions, until none helps."""

from __future__ import annotations

from typing import NamedTuple

from certimeans.compilation import compiled_without_allocation, inlined
from certimeans.heuristics.chains import Chains, begin_chains, chain_gain, swap_chain
from certimeans.heuristics.limited.evictions import evict_some
from certimeans.heuristics.limited.exchanges import Exchanges, exchange, forget_exchanges, take_back, undo
from certimeans.heuristics.limited.loads import Loads, set_loads
from certimeans.heuristics.state import Clusters, Space, least_gain, most_improvements, removal_gain, set_labels


class Progress(NamedTuple):
    """How far a descent got: improvements, work in distances, whether it has ended."""

    improvements: int
    work: int
    is_done: bool


BEGIN = Progress(0, 0, is_done=False)


@compiled_without_allocation
def begin(space: Space, clusters: Clusters, loads: Loads, exchanges: Exchanges) -> None:
    """Take labels that keep everything for the start of a descent; exact sizes are then those that clusters have."""
    set_labels(space, clusters, clusters.labels)
    set_loads(loads, clusters.labels)
    if len(loads.exact) > 0:
        for c in range(len(loads.load)):
            loads.low[c] = loads.load[c]
            loads.high[c] = loads.load[c]
    forget_exchanges(exchanges)


@compiled_without_allocation
def descend_within(
    space: Space,
    clusters: Clusters,
    loads: Loads,
    exchanges: Exchanges,
    chains: Chains,
    at: Progress,
    max_work: int,
) -> Progress:
    """Improve a clustering for about ``max_work`` distances; go on where ``at`` says."""
    most = most_improvements(len(clusters.labels))
    improvements, work = exchange(space, clusters, loads, exchanges, at.improvements, max_work)
    if work >= max_work and improvements < most:
        return Progress(improvements, at.work + work, False)
    is_done = True
    if len(space.neighbours) > 0 and improvements < most:
        gained, spent = _swap_some_chain(space, clusters, loads, exchanges, chains)
        work += spent
        if not gained:
            gained, spent = evict_some(space, clusters, loads, max_work)
            work += spent
        if gained:
            improvements += 1
            exchanges.changed[:] = improvements
            is_done = False
    return Progress(improvements, at.work + work, is_done)


@inlined
def _swap_some_chain(
    space: Space, clusters: Clusters, loads: Loads, exchanges: Exchanges, chains: Chains
) -> tuple[bool, int]:
    """Swap a Kempe chain that gains, with what has to go back for the limits' sake; say whether there was one."""
    begin_chains(chains)
    work = 0
    for i in range(len(clusters.labels)):
        if space.start[i] == space.start[i + 1]:
            continue
        a = clusters.labels[i]
        for b in range(space.n_clusters):
            if b == a or clusters.conflicts[i, b] == 0 or chains.evaluated[i, b] >= 0:
                continue
            gain, length = chain_gain(space, clusters, chains, i, b, 0)
            work += length * length if space.by_gram else length
            worthwhile = least_gain(space, removal_gain(space, clusters, i) if clusters.members[a] > 1 else 0.0)
            if not gain > worthwhile:
                continue
            if _swap_within(space, clusters, loads, exchanges, chains, i, a, b, length, gain, worthwhile):
                return True, work
    return False, work


@inlined
def _swap_within(  # noqa: PLR0913  # compiled code takes its state apart
    space: Space,
    clusters: Clusters,
    loads: Loads,
    exchanges: Exchanges,
    chains: Chains,
    i: int,
    a: int,
    b: int,
    length: int,
    gain: float,
    worthwhile: float,
) -> bool:
    """Swap a chain, take back what the limits demand, and undo all of it if that does not gain."""
    net = 0
    for position in range(length):
        v = chains.chain[position]
        net += loads.amount[v] if clusters.labels[v] == a else -loads.amount[v]
    swap_chain(space, clusters, chains, i, b, 0)
    loads.load[a] -= net
    loads.load[b] += net
    source, target = (b, a) if net > 0 else (a, b)
    count, back, _ = take_back(space, clusters, loads, exchanges.given, -1, source, target)
    if count >= 0 and gain + back > worthwhile:
        return True
    undo(space, clusters, loads, exchanges.given, -1 - count if count < 0 else count, source)
    swap_chain(space, clusters, chains, i, a, 0)
    loads.load[a] += net
    loads.load[b] -= net
    return False
