"""What a child problem takes over from its parent, as in :mod:`certimeans.bounds.relaxation.inherit`.

With the matrix E that has sqrt(w_i / w_g), column 0 of the lifted matrices carried along, each block of the child is
E'PE, and its multipliers are E'DE. Links of super-points that become one say nothing more and are dropped.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.blocks.model import BlockCuts, Links, SizeBlocks
from certimeans.bounds.relaxation.blocks.solver import BlockIterate


def inherit_blocks(iterate: BlockIterate, parent: FloatArray, child: SizeBlocks, group_of: IntArray) -> BlockIterate:
    """Carry a parent's iterate to a child, whose super-point ``group_of[i]`` contains the parent's i."""
    size, count = len(parent), child.n_blocks
    if child.size == size:
        return iterate
    weights = np.sqrt(parent)
    totals = np.sqrt(np.bincount(group_of, parent))
    expansion = np.zeros((size + 1, child.size + 1))
    expansion[0, 0] = 1.0
    expansion[np.arange(1, size + 1), group_of + 1] = weights / totals[group_of]

    def compress(upper: FloatArray) -> FloatArray:
        full = np.triu(upper) + np.triu(upper, 1).T
        return np.asarray(expansion.T @ full @ expansion)

    primal, dual = (np.stack([compress(matrix) for matrix in part]) for part in (iterate.primal, iterate.dual))
    places = iterate.cuts.links.places.copy()
    places[:, 1:] = np.sort(group_of[places[:, 1:]], axis=1)
    keys, inverse = np.unique(places, axis=0, return_inverse=True)
    links = Links(keys.reshape(-1, 3), _summed(inverse.ravel(), iterate.cuts.links.multipliers, len(keys)))
    links = links.select(links.places[:, 1] != links.places[:, 2])
    with_lifting = np.append(group_of, child.size)
    cuts = tuple(cuts.merged(with_lifting) for cuts in iterate.cuts.cuts)
    sums = np.stack([_summed(group_of, part, child.size) for part in iterate.sums.reshape(2, size)])
    assert len(cuts) == count  # noqa: S101  # the sizes are those of the parent
    return replace(iterate, primal=primal, dual=dual, cuts=BlockCuts(cuts, links), sums=sums.ravel())


def _summed(groups: IntArray, values: FloatArray, size: int) -> FloatArray:
    sums: FloatArray = np.bincount(groups, values, size).astype(np.float64)
    return sums
