r"""The relaxation with one matrix for each different size, stated once.

Let sizes be prescribed, amounts proportional to weights, and the different sizes shares pi_1 < pi_2 < .. of all, of
which pi_g occurs m_g times. Let a_i^2 be the share of super-point i, so that the vector a has length 1. A clustering
is a family of matrices Y^g, with Y^g_ij = a_i a_j / pi_g where i and j share a cluster of that size and 0 elsewhere.
Their sum is the Y of :mod:`~certimeans.bounds.relaxation.model`, and cost = scatter + sum_g <C, Y^g>. With
x^g_i = pi_g Y^g_ii / a_i^2, which is 1 if the cluster of i has that size and 0 otherwise, ::

    0 <= Y^g <= I (as matrices),   trace Y^g = m_g,   Y^g_ij >= 0,   Y^g_ij <= a_i a_j / pi_g,
    sum_j a_j Y^g_ij = a_i x^g_i,         for the amounts in the cluster of i add up to pi_g                      (1)
    sum_g x^g_i = 1.                                                                                              (2)

Y^g_ij = 0 where i and j cannot link, count more than the size together, or one of them is decided to be in a cluster of
another size. Every hypermetric cut holds for each Y^g alone, since it holds cluster by cluster. If m_g = 1, *links*
hold, too, with X^g_ij = pi_g Y^g_ij / (a_i a_j), which is 1 if i and j share a cluster of that size::

    x^g_i + x^g_j - X^g_ij + sum_{h != g} X^h_ij  <=  1.                                                          (3)

For if i and j are both in the one cluster of the size pi_g, then all is 1 + 1 - 1 + 0; if one of them is, 1; if none
is, they share at most one other cluster.

**The point 0.** Think of a point that is in all m_g clusters of a block: X_0i = x_i, and m_g in place of x_0. Cuts in
which it has the integer b_0 are as true: sum over clusters of (beta + b_0)^2 - (beta + b_0) >= 0, with beta the sum of
b over the cluster, or ::

    b'Xb - sum_i b_i x_i + 2 b_0 sum_i b_i x_i + m_g (b_0^2 - b_0)  >=  0.                                        (4)

Where many x_i are near 1/2, as in a cluster of half of the points, these are the violated ones. In lists of cuts the
point 0 has the number s.

**Lifted.** The solver has (1) in the space where it lives: with the row and column 0 of (m_g, a_i x^g_i) Y^g becomes a
sum of squares of vectors that are all orthogonal to one known vector, and (1) says that column 0 is the diagonal, up to
known factors: see :mod:`.solver`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.presolve.contract import SuperPoints
from certimeans.problem.rounding import UNIT_ROUNDOFF, rounding_factor
from certimeans.problem.sizes import SizeLimits

_NO_CLIQUES = 2**40  # a block has hypermetric cuts only: no sum of coefficients exceeds this


@dataclass(frozen=True, eq=False)
class SizeBlocks:
    """The relaxation of one clustering problem with prescribed unequal sizes.

    Attributes
    ----------
    relaxation
        The same problem with one matrix, around the mean: objective and constants are those.
    roots
        a, with relative errors of at most two roundings.
    sizes
        The shares pi_g in increasing order, rounded.
    counts
        The numbers m_g.
    closed
        Where Y^g_ij = 0: one matrix for each size.
    """

    relaxation: Relaxation
    roots: FloatArray
    sizes: FloatArray
    counts: tuple[int, ...]
    closed: BoolArray

    @property
    def size(self) -> int:
        """Number of super-points."""
        return len(self.roots)

    @property
    def n_blocks(self) -> int:
        """Number of different sizes."""
        return len(self.counts)

    @property
    def scatter(self) -> float:
        """The cost's constant."""
        return self.relaxation.scatter

    @property
    def is_open(self) -> BoolArray:
        """Which sizes the cluster of each super-point may have: a row for each size."""
        return ~self.closed.diagonal(axis1=1, axis2=2)

    @property
    def most(self) -> FloatArray:
        """The largest Y^g_ij, nearly."""
        return np.multiply.outer(1.0 / self.sizes, np.outer(self.roots, self.roots))

    @classmethod
    def from_super_points(cls, points: SuperPoints) -> SizeBlocks:
        """State the relaxation of a contracted problem for which :func:`has_blocks` is true."""
        assert points.limits is not None  # noqa: S101  # the caller looks
        relaxation, limits = Relaxation.from_super_points(points), points.limits
        exact = limits.exact or ()
        roots = np.sqrt([int(amount) / limits.total for amount in limits.amounts])
        return cls(
            _centred(relaxation, roots),
            roots,
            np.array([size / limits.total for size in limits.choices]),
            tuple(exact.count(size) for size in limits.choices),
            _closed(limits, relaxation.forbidden),
        )

    def block(self, g: int) -> Relaxation:
        """Return what cuts have to know of one block."""
        return replace(
            self.relaxation, root_weights=self.roots, forbidden=self.closed[g], n_clusters=_NO_CLIQUES, box=None
        )


def has_blocks(points: SuperPoints) -> bool:
    """Whether sizes are prescribed and unequal, and amounts proportional to weights."""
    limits = points.limits
    return limits is not None and limits.follows_weights and len(limits.choices) > 1 and limits.choices[0] > 0


def _centred(relaxation: Relaxation, roots: FloatArray) -> Relaxation:
    """Return the relaxation of points around their mean: blocks alone, unlike Y, do not map a to itself.

    For every vector h, <C, Y> = <C - ah' - ha', Y> + 2 h'a, since Ya = a. The h that makes a an eigenvector of value 0
    belongs to the mean. It is a float, and any one will do; beside it, only rounding counts: <E, Y> <= sqrt(k) |E|.
    """
    objective, size = relaxation.objective, relaxation.size
    image = objective @ roots
    half = image - 0.5 * float(roots @ image) * roots
    centred = objective - np.outer(roots, half) - np.outer(half, roots)
    norm, length = float(np.linalg.norm(objective)), float(np.linalg.norm(half))
    root_error = 4 * UNIT_ROUNDOFF  # of each a_i, relatively
    forming = 4 * UNIT_ROUNDOFF * norm + (8 * UNIT_ROUNDOFF + 2 * root_error) * length
    moved = 2.0 * float(half @ roots)
    error = np.sqrt(relaxation.n_clusters) * forming + 2 * (root_error + rounding_factor(size + 4)) * length
    return replace(
        relaxation,
        objective=0.5 * (centred + centred.T),
        scatter=relaxation.scatter + moved,
        objective_error=relaxation.objective_error
        + 2.0 * (error + 4 * UNIT_ROUNDOFF * (abs(relaxation.scatter) + abs(moved))),
    )


def _closed(limits: SizeLimits, forbidden: BoolArray) -> BoolArray:
    together = np.add.outer(limits.amounts, limits.amounts)
    np.fill_diagonal(together, limits.amounts)
    closed = np.stack([forbidden | np.asarray(together > size, dtype=np.bool_) for size in limits.choices])
    for i, size in limits.decided:
        for g, other in enumerate(limits.choices):
            if other != size:
                closed[g, i, i] = True
    for matrix in closed:
        never = matrix.diagonal().copy()
        matrix[never] = True
        matrix[:, never] = True
    return closed


def without_lifting(cuts: Cuts, size: int) -> tuple[Cuts, IntArray]:
    """Return cuts without the point 0 of the lifting, which has the number ``size``, and its entry b_0 in each."""
    is_lifted = cuts.members == size
    lifted = np.where(is_lifted, cuts.coefficients, 0).sum(axis=1, dtype=np.int64)
    members, coefficients = np.where(is_lifted, -1, cuts.members), np.where(is_lifted, 0, cuts.coefficients)
    return Cuts(members, coefficients, cuts.multipliers), lifted


@dataclass(frozen=True, eq=False)
class Links:
    """Inequalities (3) with their multipliers.

    Attributes
    ----------
    places
        Rows of three numbers: g, i and j, where i < j.
    multipliers
        One for each, none negative.
    """

    places: np.ndarray[tuple[int, int], np.dtype[np.int32]]
    multipliers: FloatArray

    def __len__(self) -> int:
        return len(self.multipliers)

    @classmethod
    def none(cls) -> Links:
        """Return an empty list."""
        return cls(np.empty((0, 3), dtype=np.int32), np.empty(0))

    def select(self, chosen: BoolArray | np.ndarray[tuple[int], np.dtype[np.intp]]) -> Links:
        """Keep some."""
        return Links(self.places[chosen], self.multipliers[chosen])

    def extended(self, places: np.ndarray[tuple[int, int], np.dtype[np.int32]]) -> Links:
        """Add those that are not in the list yet, with multiplier 0."""
        known = {tuple(place) for place in self.places.tolist()}
        new = [place for place in places.tolist() if tuple(place) not in known]
        added = np.array(new, dtype=np.int32).reshape(-1, 3)
        return Links(np.vstack([self.places, added]), np.concatenate([self.multipliers, np.zeros(len(added))]))

    def table(self, n_blocks: int, size: int) -> FloatArray:
        """Return the multipliers as a symmetric matrix for each block."""
        table = np.zeros((n_blocks, size, size))
        g, i, j = self.places.T
        np.add.at(table, (g, i, j), self.multipliers)
        return table + table.transpose(0, 2, 1)


@dataclass(frozen=True, eq=False)
class BlockCuts:
    """All inequalities of the blocks beside (1) and (2), with their multipliers.

    Attributes
    ----------
    cuts
        Hypermetric cuts for each block.
    links
        The inequalities (3).
    """

    cuts: tuple[Cuts, ...]
    links: Links

    def __len__(self) -> int:
        return sum(map(len, self.cuts)) + len(self.links)

    @classmethod
    def none(cls, n_blocks: int) -> BlockCuts:
        """Return an empty list."""
        return cls((Cuts.none(),) * n_blocks, Links.none())

    def purged(self) -> BlockCuts:
        """Keep those that have a multiplier."""
        return BlockCuts(tuple(cuts.purged() for cuts in self.cuts), self.links.select(self.links.multipliers > 0))
