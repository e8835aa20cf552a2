"""Identical points that no link touches become one weighted point.

Why some best clustering keeps them together: take any clustering and its centres, and move all points of each such
place to the centre nearest to it. At these centres no point costs more than before, and with new centres all together
cost even less. No constraint breaks, for none mentions these points. Clusters may have become empty. But while fewer
than k are left, and there are at least k groups, some cluster has two of them, and one of these gets a cluster of its
own, which costs nothing and breaks nothing. So for every clustering there is one, not more expensive, in which each
place is whole, as long as at least k groups are left.

Limits on the sizes of clusters forbid it: they mention every point. And it needs points: with a Gram matrix that
is not positive semidefinite the nearest centre may not be the cheapest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray
from certimeans.problem.clustering import by_first_appearance
from certimeans.problem.instance import Instance

# Not for tuning: 64 bits that spread well (2**64 divided by the golden ratio), and how far to fold the upper half down.
_MULTIPLIER, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


def unite_identical(instance: Instance, group_of: IntArray) -> IntArray:
    """Unite the points that no link touches and that are equal in every coordinate.

    Parameters
    ----------
    group_of
        The groups that must-links form.

    Returns
    -------
    IntArray
        The new groups, numbered by first appearance; the old ones for a Gram matrix, with limits on sizes, or if fewer
        than k were left.
    """
    if instance.geometry != "points" or instance.limits is not None:
        return group_of
    is_free = np.ones(instance.n_points, dtype=np.bool_)
    is_free[instance.must_link.ravel()] = False
    is_free[instance.cannot_link.ravel()] = False
    free = np.flatnonzero(is_free)
    if len(free) < 2:
        return group_of
    leader = free[first_equal_rows(instance.points[free])]
    n_united = len(free) - int((leader == free).sum())
    if n_united == 0 or int(group_of.max()) + 1 - n_united < instance.n_clusters:
        return group_of
    united = group_of.copy()
    united[free] = group_of[leader]
    return by_first_appearance(united)


def first_equal_rows(rows: FloatArray) -> IntArray:
    """Return, for each row, the number of the first row that equals it; 0.0 and -0.0 are equal."""
    keys = _mixed(rows)
    order = np.argsort(keys, kind="stable")
    is_first = np.concatenate([[True], keys[order[1:]] != keys[order[:-1]]])
    leader = np.empty(len(rows), dtype=np.int64)
    leader[order] = order[is_first][np.cumsum(is_first) - 1]
    if all((column[leader] == column).all() for column in rows.T):
        return leader
    # Different rows with one key, which practically never happens: sort the rows themselves, which takes longer.
    _, first, inverse = np.unique(rows + 0.0, axis=0, return_index=True, return_inverse=True)
    exact: IntArray = first[inverse.reshape(-1)].astype(np.int64)
    return exact


def _mixed(rows: FloatArray) -> NDArray[np.uint64]:
    """Mix the bits of each row into one number; equal rows get equal numbers."""
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        keys ^= (column + 0.0).view(np.uint64)
        keys *= _MULTIPLIER
        keys ^= keys >> _HALF
    return keys
