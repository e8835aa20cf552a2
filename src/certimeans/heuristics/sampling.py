"""Samples of super-points that keep their cannot-links: a small problem that looks like the large one."""

from __future__ import annotations

import numpy as np

from certimeans._typing import BoolArray, IntArray
from certimeans.compilation import compiled_without_allocation
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.graph import Graph

# Not for tuning: most super-points gathered around one that was drawn. A sample of single ones would lose nearly all
# links; a sample of one large component would not be one of all points.
_LARGEST_BALL = 30


def draw_sample(
    super_points: SuperPoints, size: int, random: np.random.Generator, *, with_links: bool
) -> tuple[SuperPoints, IntArray]:
    """Draw about ``size`` super-points, with the links between them if asked for.

    With links, what is linked to a drawn super-point comes along, and what is linked to that, up to some dozens: a
    component that is small enough comes whole.

    Returns
    -------
    tuple
        The sample, whose coordinates are those of the whole, and the numbers of its super-points.
    """
    n_all = super_points.size
    assert super_points.vectors is not None  # noqa: S101  # callers look
    if with_links and len(super_points.graph.edges):
        start, neighbours = super_points.graph.adjacency
        chosen = np.empty(size, dtype=np.int64)
        is_chosen = np.zeros(n_all, dtype=np.bool_)
        gather(start, neighbours, random.permutation(n_all), chosen, is_chosen)
        chosen.sort()
        graph = super_points.graph.subgraph(chosen)
    else:
        chosen = np.sort(random.choice(n_all, size, replace=False))
        graph = Graph(size, np.empty((0, 2), dtype=np.int64))
    sample = SuperPoints(
        super_points.weights[chosen],
        super_points.vectors[chosen],
        graph,
        super_points.n_clusters,
        np.arange(size),
        super_points.scale,
    )
    return sample, chosen


@compiled_without_allocation
def gather(start: IntArray, neighbours: IntArray, order: IntArray, chosen: IntArray, is_chosen: BoolArray) -> None:
    """Fill ``chosen`` with super-points in a given order, each followed by what is linked to it, nearest first."""
    count = 0
    for seed in order:
        if is_chosen[seed]:
            continue
        if count == len(chosen):
            break
        chosen[count] = seed
        is_chosen[seed] = True
        head, end = count, min(len(chosen), count + _LARGEST_BALL)
        count += 1
        while head < count < end:
            v = chosen[head]
            head += 1
            for position in range(start[v], start[v + 1]):
                u = neighbours[position]
                if not is_chosen[u] and count < end:
                    chosen[count] = u
                    is_chosen[u] = True
                    count += 1
