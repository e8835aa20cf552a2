"""Colourability by counting: inclusion and exclusion over all vertex subsets, with no search at all."""

from __future__ import annotations

from collections.abc import Sequence

Pair = tuple[int, int]


def count_colourings(n_vertices: int, edges: Sequence[Pair], k: int) -> int:
    """Count the ways to cover the vertices with k independent sets; zero exactly if there is no k-colouring.

    The number is the sum over vertex sets S of (-1)^(n - |S|) i(S)^k, where i(S) counts the independent subsets of S
    (Björklund, Husfeldt, Koivisto 2009). For up to about 12 vertices.
    """
    closed = [1 << v for v in range(n_vertices)]
    for a, b in edges:
        closed[a] |= 1 << b
        closed[b] |= 1 << a
    independent = [1] * (1 << n_vertices)
    for subset in range(1, 1 << n_vertices):
        v = subset.bit_length() - 1
        independent[subset] = independent[subset & ~(1 << v)] + independent[subset & ~closed[v]]
    return sum(
        (-1) ** (n_vertices - subset.bit_count()) * independent[subset] ** k for subset in range(1 << n_vertices)
    )
