"""Why an instance is infeasible, told in as few of the user's own pairs as possible."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.presolve.colouring import find_clique, find_colouring
from certimeans.presolve.conflict import Conflict, ConflictKind, Link, Pair
from certimeans.presolve.contract import lift
from certimeans.presolve.graph import Contradiction, Graph, connected
from certimeans.presolve.infer import implied_groups
from certimeans.presolve.size_checks import cannot_pack, impossible_sizes, limits_in_words, too_large
from certimeans.problem.constraints import LinkKind
from certimeans.problem.expand import expand
from certimeans.problem.instance import Instance
from certimeans.problem.sizes import SizeLimits

Item = TypeVar("Item")

EXPLANATION_SECONDS = 10.0
"""How long to look for a small explanation; infeasibility itself is already proven by then."""

_MAX_SOURCES = 200
_MAX_CENTRES = 20
_MOST_REMEDIES_TRIED = 200
_MOST_LINKS_TO_SHRINK = 5_000  # looking at more than that once takes longer than one waits


def explain(instance: Instance, deadline: Deadline | None = None) -> Conflict:
    """Find a small contradiction among the constraints of an infeasible instance.

    The kinds are tried from the simplest to the hardest: sizes that do not add up, a path of must-links against a
    cannot-link, too few groups, an odd cycle (two clusters), a clique of k + 1 groups, and finally a subset found by
    deleting what is not needed. The subset is as small as the time allows; what is returned contradicts itself in any
    case.
    """
    deadline = deadline or Deadline(EXPLANATION_SECONDS)
    conflict = _explain(instance, deadline)
    return replace(conflict, remedies=find_remedies(instance, conflict.links, deadline))


def find_remedies(instance: Instance, links: Sequence[Link], deadline: Deadline) -> tuple[Link, ...] | None:
    """Return the links of a contradiction of which each, given up alone, leaves a clustering; ``None`` if unknown.

    A link outside the contradiction cannot be one: the contradiction would remain.
    """
    if instance.limits is not None:
        return None  # a clustering would have to keep the limits on sizes, too
    stated = instance.constraints
    has_others = stated.partial_labels is not None or stated.split is not None or stated.diameter is not None
    if len(links) > _MOST_REMEDIES_TRIED or len(instance.must_link) + len(instance.cannot_link) > _MOST_LINKS_TO_SHRINK:
        return None
    found = []
    candidates = [link for link in links if not has_others or stated.reason(*link) == link[0]]
    if not candidates:
        return None
    for link in candidates:
        kind, i, j = link
        pair = (min(i, j), max(i, j))
        must_link, cannot_link = (
            pairs[(pairs != pair).any(axis=1)] if own == kind else pairs
            for own, pairs in (("must-link", instance.must_link), ("cannot-link", instance.cannot_link))
        )
        if has_others and _follows_anyway(instance, kind, pair):
            continue
        is_feasible = has_clustering(instance.n_points, must_link, cannot_link, instance.n_clusters, deadline)
        if is_feasible is None:
            return None
        if is_feasible:
            found.append(link)
    return tuple(found)


def _follows_anyway(instance: Instance, kind: LinkKind, pair: Pair) -> bool:
    """Whether classes or distances state a pair, too."""
    only = replace(instance.constraints, must_link=_pairs([], kind), cannot_link=_pairs([], kind))
    points = instance.positions(instance.points) if instance.geometry == "points" else np.empty((instance.n_points, 0))
    must_link, cannot_link = expand(only, points)
    others = must_link if kind == "must-link" else cannot_link
    return bool((others == pair).all(axis=1).any())


def has_clustering(
    n_points: int, must_link: IntArray, cannot_link: IntArray, k: int, deadline: Deadline | None = None
) -> bool | None:
    """Whether k non-empty clusters can keep all links; ``None`` if the deadline passes first."""
    group_of = connected(n_points, must_link)
    if int(group_of.max()) + 1 < k:
        return False
    try:
        edges = lift(cannot_link, group_of)
        graph = Graph(int(group_of.max()) + 1, edges)
        merged = implied_groups(graph, k, deadline).group_of
        colouring = find_colouring(Graph(int(merged.max()) + 1, lift(edges, merged)), k, deadline)
    except Contradiction:
        return False
    return None if colouring is None else True  # k or more groups: colours can be split until there are k


def _explain(instance: Instance, deadline: Deadline) -> Conflict:
    k = instance.n_clusters
    if instance.limits is not None:
        about_sizes = explain_sizes(instance, instance.limits, deadline)
        if about_sizes is not None:
            return about_sizes
    group_of = connected(instance.n_points, instance.must_link)
    if k == 1:
        i, j = instance.cannot_link[0].tolist()
        return _conflict(instance, "one cluster", [("cannot-link", i, j)])
    inside = instance.cannot_link[group_of[instance.cannot_link[:, 0]] == group_of[instance.cannot_link[:, 1]]]
    candidates = []
    if len(inside):
        candidates.append(_must_link_path(instance, inside, deadline))
    if int(group_of.max()) + 1 < k:
        candidates.append(_conflict(instance, "too few groups", _merging_links(instance)))
    if candidates:
        return min(candidates, key=lambda conflict: len(conflict.links))
    if k == 2:
        return _conflict(instance, "odd cycle", _shortest_odd_cycle(instance, deadline))
    return _uncolourable_subset(instance, group_of, deadline)


def explain_sizes(instance: Instance, limits: SizeLimits, deadline: Deadline) -> Conflict | None:
    """Say why clusters cannot have the sizes asked for; ``None`` if the links contradict each other without them."""
    words = impossible_sizes(limits, instance.n_clusters)
    if words:
        return _conflict(instance, "size", [], sizes=words)
    group_of = connected(instance.n_points, instance.must_link)
    totals = limits.totals(group_of, int(group_of.max()) + 1)
    largest = max(range(len(totals)), key=totals.__getitem__)
    if totals[largest] > limits.most:
        group = np.flatnonzero(group_of == largest).tolist()
        tree = sorted(_connecting_links(_neighbour_lists(instance.must_link), group))
        words = too_large(limits, totals[largest], len(group))
        return _conflict(instance, "group size", tree, (tuple(group),), is_minimal=False, sizes=words)
    k = instance.n_clusters
    links: list[Link] = [("must-link", i, j) for i, j in instance.must_link.tolist()]
    links += [("cannot-link", i, j) for i, j in instance.cannot_link.tolist()]
    if len(totals) < k or contradicts(instance.n_points, links, k, deadline):
        return None
    few = deadline.within(min(EXPLANATION_SECONDS, deadline.remaining()) / 2)

    def do_not_fit(kept: list[Link]) -> bool:
        return cannot_pack(limits, instance.n_points, _pairs(kept, "must-link"), _pairs(kept, "cannot-link"), k, few)

    if do_not_fit([]):
        links = []
    elif len(links) <= _MOST_LINKS_TO_SHRINK:
        links = _shrink(links, do_not_fit, few)
    words = f"no way to form {k} clusters keeps the {limits_in_words(instance)}"
    words += " and these constraints" if links else ""
    words += "; an exhaustive search decided that"
    return _conflict(instance, "sizes", links, is_minimal=bool(links) and not few.passed(), sizes=words)


def no_clustering_within(instance: Instance) -> Conflict:
    """Say that a search over all clusterings found none that keeps the limits on sizes."""
    links = len(instance.must_link) + len(instance.cannot_link) > 0
    words = f"no way to form {instance.n_clusters} clusters keeps the {limits_in_words(instance)}"
    words += " and the links" if links else ""
    return _conflict(
        instance, "sizes", [], is_minimal=False, sizes=f"{words}; the search over all of them decided that"
    )


def contradicts(n_points: int, links: Iterable[Link], k: int, deadline: Deadline | None = None) -> bool:
    """Whether links are proven to leave no proper partition into at most k clusters."""
    links = list(links)
    must_link = _pairs(links, "must-link")
    group_of = connected(n_points, must_link)
    try:
        edges = lift(_pairs(links, "cannot-link"), group_of)
        graph = Graph(int(group_of.max()) + 1, edges)
        merged = implied_groups(graph, k, deadline).group_of
        find_colouring(Graph(int(merged.max()) + 1, lift(edges, merged)), k, deadline)
    except Contradiction:
        return True
    return False


def _conflict(
    instance: Instance,
    sort: ConflictKind,
    links: Sequence[Link],
    groups: tuple[tuple[int, ...], ...] = (),
    *,
    is_minimal: bool = True,
    sizes: str = "",
) -> Conflict:
    stated = instance.constraints
    reasons: tuple[str, ...] = tuple(kind for kind, _, _ in links)
    if stated.partial_labels is not None or stated.split is not None or stated.diameter is not None:
        reasons = tuple(stated.reason(kind, i, j) for kind, i, j in links)
    return Conflict(sort, instance.n_clusters, tuple(links), reasons, groups, is_minimal, sizes)


def _merging_links(instance: Instance) -> list[Link]:
    """Pick must-links that each merge two groups, just enough to leave fewer than k of them."""
    root = list(range(instance.n_points))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    links: list[Link] = []
    for i, j in instance.must_link.tolist():
        a, b = find(i), find(j)
        if a != b:
            root[a] = b
            links.append(("must-link", i, j))
        if instance.n_points - len(links) < instance.n_clusters:
            break
    return links


def _must_link_path(instance: Instance, inside: IntArray, deadline: Deadline) -> Conflict:
    """Of the cannot-links whose ends are must-linked, take one with a shortest path between its ends."""
    neighbours = _neighbour_lists(instance.must_link)
    best: list[int] | None = None
    for i, j in inside[:_MAX_SOURCES].tolist():
        path = _shortest_path(neighbours, i, j)
        if best is None or len(path) < len(best):
            best = path
        if len(best) == 2 or deadline.passed():
            break
    assert best is not None  # noqa: S101  # inside is not empty
    links: list[Link] = [("must-link", a, b) for a, b in pairwise(best)]
    return _conflict(instance, "must-link path", [*links, ("cannot-link", best[-1], best[0])])


def _shortest_odd_cycle(instance: Instance, deadline: Deadline) -> list[Link]:
    """Find a short cycle with an odd number of cannot-links: a path from v to v on the other side.

    A shortest one, as long as the deadline allows to look from everywhere.
    """
    n = instance.n_points
    same, other = instance.must_link, instance.cannot_link
    steps = [same, same + n, other + np.array([0, n]), other + np.array([n, 0])]
    neighbours = _neighbour_lists(np.vstack(steps))
    cover = connected(2 * n, np.vstack(steps))
    sources = np.unique(other)
    sources = sources[cover[sources] == cover[sources + n]]
    path: list[int] = []
    for v in sources[:_MAX_SOURCES].tolist():
        other_path = _shortest_path(neighbours, v, v + n)
        path = min(path or other_path, other_path, key=len)
        if deadline.passed():
            break
    return [("must-link" if (a < n) == (b < n) else "cannot-link", a % n, b % n) for a, b in pairwise(path)]


def _uncolourable_subset(instance: Instance, group_of: IntArray, deadline: Deadline) -> Conflict:
    """Find a clique of k + 1 groups, or else groups and links of which none can be spared."""
    k = instance.n_clusters
    graph = Graph(int(group_of.max()) + 1, lift(instance.cannot_link, group_of))
    clique = find_clique(graph, k + 1, deadline=deadline)
    vertices = _few_uncolourable_vertices(graph, k, deadline) if clique is None else clique
    links = _links_between(instance, group_of, vertices)
    is_minimal = len(links) <= _MOST_LINKS_TO_SHRINK
    if is_minimal:
        links = _shrink(links, lambda kept: contradicts(instance.n_points, kept, k, deadline), deadline)
        is_minimal = not deadline.passed()
    if clique is not None:
        return _conflict(instance, "clique", links, _groups_of_links(links, group_of), is_minimal=is_minimal)
    return _conflict(instance, "subset", links, is_minimal=is_minimal)


def _few_uncolourable_vertices(graph: Graph, k: int, deadline: Deadline) -> list[int]:
    """Delete vertices from the far end towards a centre, for several centres; keep the smallest result.

    What remains around one place is usually much smaller than what remains of a deletion in any other order.
    """
    _, core = graph.peel(k)
    vertices = np.flatnonzero(core)
    neighbours = graph.neighbour_sets(vertices)
    best: list[int] = vertices.tolist()
    enough = deadline.within(min(EXPLANATION_SECONDS, deadline.remaining()) / 5)
    for centre in vertices[np.argsort(-graph.degrees[vertices], kind="stable")][:_MAX_CENTRES].tolist():
        if deadline.passed():
            break
        nearest_first = _by_distance(neighbours, centre)
        if _is_uncolourable(graph, nearest_first, k, deadline):  # else the conflict is in another component
            kept = _shrink(nearest_first[::-1], lambda rest: _is_uncolourable(graph, rest, k, deadline), deadline)
            best = min(best, kept, key=len)
        if enough.passed():
            break
    return best


def _by_distance(neighbours: dict[int, set[int]], centre: int) -> list[int]:
    """List the vertices connected to a centre, the nearest first."""
    reached, queue = {centre}, [centre]
    for v in queue:  # grows while we walk along it
        new = sorted(neighbours[v] - reached)
        reached.update(new)
        queue.extend(new)
    return queue


def _is_uncolourable(graph: Graph, vertices: list[int], k: int, deadline: Deadline) -> bool:
    part = graph.subgraph(np.array(vertices))
    return contradicts(part.n_vertices, [("cannot-link", a, b) for a, b in part.edges.tolist()], k, deadline)


def _shrink(items: list[Item], contradict: Callable[[list[Item]], bool], deadline: Deadline) -> list[Item]:
    """Delete items, first in large blocks, then one by one, while the rest still contradicts itself."""
    block = max(1, len(items) // 2)
    while True:
        position = 0
        while position < len(items) and not deadline.passed():
            rest = items[:position] + items[position + block :]
            if rest and contradict(rest):
                items = rest
            else:
                position += block
        if block == 1 or deadline.passed():
            return items
        block = max(1, block // 2)


def _links_between(instance: Instance, group_of: IntArray, groups: list[int]) -> list[Link]:
    """State the cannot-links between groups in the user's pairs, with the must-links that hold each group together.

    Each pair of groups may be forbidden by several cannot-links; one is chosen whose ends are in use already, if
    possible, so that fewer must-links are needed.
    """
    wanted = np.isin(group_of, groups)
    pairs = instance.cannot_link[wanted[instance.cannot_link].all(axis=1)]
    waiting = list(zip(pairs.tolist(), group_of[pairs].tolist(), strict=True))
    used: dict[int, set[int]] = {g: set() for g in groups}
    chosen: dict[Pair, Pair] = {}
    for new_ends_allowed in (0, 1, 2):
        later = []
        for (i, j), (g, h) in waiting:
            new_ends = (bool(used[g]) and i not in used[g]) + (bool(used[h]) and j not in used[h])
            if new_ends > new_ends_allowed:
                later.append(((i, j), (g, h)))
            elif (min(g, h), max(g, h)) not in chosen:
                chosen[min(g, h), max(g, h)] = (i, j)
                used[g].add(i)
                used[h].add(j)
        waiting = later
    neighbours = _neighbour_lists(instance.must_link)
    trees = {link for ends in used.values() for link in _connecting_links(neighbours, sorted(ends))}
    return [*sorted(trees), *(("cannot-link", i, j) for i, j in sorted(chosen.values()))]


def _connecting_links(neighbours: dict[int, list[int]], ends: list[int]) -> set[Link]:
    """Connect points of one group by shortest paths of must-links to the first of them."""
    links: set[Link] = set()
    for end in ends[1:]:
        path = _shortest_path(neighbours, ends[0], end)
        links |= {("must-link", min(a, b), max(a, b)) for a, b in pairwise(path)}
    return links


def _groups_of_links(links: list[Link], group_of: IntArray) -> tuple[tuple[int, ...], ...]:
    members: dict[int, set[int]] = {}
    for end in {end for _, i, j in links for end in (i, j)}:
        members.setdefault(int(group_of[end]), set()).add(end)
    return tuple(sorted(tuple(sorted(points)) for points in members.values()))


def _neighbour_lists(pairs: IntArray) -> dict[int, list[int]]:
    neighbours: dict[int, list[int]] = {}
    for a, b in pairs.tolist():
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    return neighbours


def _shortest_path(neighbours: dict[int, list[int]], source: int, target: int) -> list[int]:
    """Search breadth-first; the two are known to be connected."""
    came_from = {source: source}
    queue = deque([source])
    while target not in came_from:
        v = queue.popleft()
        for u in neighbours[v]:
            if u not in came_from:
                came_from[u] = v
                queue.append(u)
    path = [target]
    while path[-1] != source:
        path.append(came_from[path[-1]])
    return path[::-1]


def _pairs(links: list[Link], kind: LinkKind) -> IntArray:
    return np.array([(i, j) for link_kind, i, j in links if link_kind == kind], dtype=np.int64).reshape(-1, 2)
