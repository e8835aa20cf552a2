"""What can be said about limits on sizes in the user's own terms."""

from __future__ import annotations

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.presolve.contract import lift
from certimeans.presolve.graph import Contradiction, Graph, connected
from certimeans.presolve.packing import pack
from certimeans.problem.instance import Instance
from certimeans.problem.sizes import SizeLimits

_STEPS = 20_000


def impossible_sizes(limits: SizeLimits, n_clusters: int) -> str:
    """Say why sizes rule out every clustering, whatever the points are: by their sum, or by a 0; else empty."""
    total = limits.in_words(limits.total)
    there_are = f"there are {total} points" if limits.counts_points else f"the capacities add up to {total}"
    clusters = f"{n_clusters} cluster{'s' if n_clusters > 1 else ''}"
    if limits.exact is not None:
        if limits.counts_points and limits.exact[0] == 0:
            return "sizes has a 0, but no cluster may be empty"
        asked = sum(limits.exact)
        if asked == limits.total:
            return ""
        return f"the sizes add up to {limits.in_words(asked)}, but {there_are}{_difference(limits, asked)}"
    for limit, word, verb, is_wrong in (
        (limits.least, "least", "need", n_clusters * limits.least > limits.total),
        (limits.most, "most", "hold", n_clusters * limits.most < limits.total),
    ):
        if is_wrong:
            each, together = limits.in_words(limit), limits.in_words(n_clusters * limit)
            points = f" point{'' if limit == 1 else 's'}" if limits.counts_points else ""
            return (
                f"{clusters} of at {word} {each}{points} {verb if n_clusters > 1 else f'{verb}s'} {together}, but "
                f"{there_are}{_difference(limits, n_clusters * limit)}"
            )
    return ""


def _difference(limits: SizeLimits, amount: int) -> str:
    """Say by how much an amount differs from the sum of all, if they look alike."""
    if limits.in_words(amount) != limits.in_words(limits.total):
        return ""
    return f" (they differ by {limits.in_words(abs(amount - limits.total))})"


def too_large(limits: SizeLimits, amount: int, n_points: int) -> str:
    """Say that points which are together exceed the largest size."""
    name = "size_max" if limits.exact is None else "the largest of the sizes,"
    if limits.counts_points:
        return f"exceed{'' if n_points > 1 else 's'} {name} {limits.in_words(limits.most)}"
    has = "have a total" if n_points > 1 else "has a"
    return f"{has} capacity of {limits.compared(amount, limits.most).replace('above', f'above {name}', 1)}"


def limits_in_words(instance: Instance) -> str:
    """Write what is asked for."""
    stated = instance.constraints.cluster_sizes
    return "" if stated is None else stated.in_words()


def cannot_pack(
    limits: SizeLimits,
    n_points: int,
    must_link: IntArray,
    cannot_link: IntArray,
    n_clusters: int,
    deadline: Deadline,
) -> bool:
    """Whether points with some links are proven not to fit into clusters of the sizes asked for."""
    group_of = connected(n_points, must_link)
    size = int(group_of.max()) + 1
    try:
        graph = Graph(size, lift(cannot_link, group_of))
        pack(limits.merged(group_of, size), graph, n_clusters, _STEPS, deadline)
    except Contradiction:
        return True
    return False
