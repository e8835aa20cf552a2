r"""What limits on the sizes of clusters say about Y.

Let A_i be what super-point i counts, A(C) the sum of a cluster, and let every A(C) be between m and M.

**Amounts proportional to weights** (points are counted and have equal weights, or the capacities are the weights). Then
Y_ij = sqrt(A_i A_j) / A(C) where i and j share the cluster C, so ::

    A_i / M  <=  Y_ii  <=  A_i / m_ii,      Y_ij  <=  sqrt(A_i A_j) / m_ij,

where m_ij is the least sum of a cluster with both: at least m and A_i + A_j, and one of the sizes if these are
prescribed. Moreover the diagonal as a whole obeys the sizes. For any v_1, .., v_s,

    sum_i v_i Y_ii  =  sum over clusters of the mean of v over the cluster, i counted A_i times,

and with sizes s_1 <= s_2 <= .. <= s_k that is least if the smallest v are in the smallest cluster, the next ones in the
next, and so on: sorting gives the least value (:meth:`SizeBox.least_diagonal`). If sizes are limited, not prescribed,
the least value of all belongs to the most unequal ones allowed, m, .., m, x, M, .., M: the sum of the j smallest sizes
is least for these, whatever j, hence sum_{i in S} Y_ii is at most what these allow for every S, and integrating by
parts, sum_i v_i Y_ii is at least what these allow. In other words: the diagonal lies in a permutahedron.

**Any amounts.** For each i, sum_j A_j Z_ij = A(C) / w(C) and Z_ii = 1 / w(C), so with q_ij = sqrt(w_i / w_j) ::

    sum_j (A_j / M) q_ij Y_ij - Y_ii  <=  0,       Y_ii - sum_j (A_j / m) q_ij Y_ij  <=  0.                        (1)

The second one is left out if m is below 2^-60 of all amounts: it says nothing then, and its numbers may be too large.

In both cases Y_ij = 0 if A_i + A_j > M.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.problem.rounding import rounding_factor
from certimeans.problem.sizes import SizeLimits

NEGLIGIBLE = 2**60
"""A lower limit that is smaller than all amounts together by more than this factor is left out."""

_FEW_ULPS = 1 + 2.0**-48  # above all that a handful of roundings can be off


@dataclass(frozen=True, eq=False)
class SizeBox:
    """Limits where amounts are proportional to weights.

    Attributes
    ----------
    amounts, shares
        What each super-point counts, and nearly its share of all.
    profile
        The most unequal sizes allowed, in increasing order.
    lower, upper
        Between what Y_ii is, and at most what Y_ij is; rounded outwards.
    """

    amounts: tuple[int, ...]
    shares: FloatArray
    profile: tuple[int, ...]
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, limits: SizeLimits, n_clusters: int) -> SizeBox:
        """State limits."""
        amounts = tuple(int(amount) for amount in limits.amounts)
        profile = most_unequal_sizes(limits, n_clusters)
        shares = np.array([amount / limits.total for amount in amounts])
        lower = np.array([amount / limits.most for amount in amounts]) / _FEW_ULPS
        together = np.add.outer(limits.amounts, limits.amounts)
        np.fill_diagonal(together, limits.amounts)
        least = np.asarray(least_totals(limits, together, profile[0]) / limits.total, dtype=np.float64)
        upper = np.sqrt(shares[:, None] / least) * np.sqrt(shares / least) * _FEW_ULPS
        return cls(amounts, shares, profile, lower, upper)

    @property
    def has_unequal_sizes(self) -> bool:
        """Whether the diagonal is more than a box."""
        return self.profile[0] < self.profile[-1]

    def least(self, slack: NDArray[np.float32], forbidden: BoolArray) -> tuple[float, float]:
        """Bound <V, Y> from below for the symmetric V whose upper triangle is given; entries on cannot-links are free.

        Returns
        -------
        value, error
            It is at least ``value - error``.
        """
        size = len(slack)
        diagonal = slack.diagonal().astype(np.float64)
        by_sorting = self.least_diagonal(diagonal)
        in_box = self._least_in_box(diagonal)
        value, magnitude = max(by_sorting, in_box)
        above = np.where(forbidden, 0.0, np.minimum(np.triu(slack, 1), 0.0)) * self.upper
        rest = 2.0 * float(above.sum())
        return value + rest, rounding_factor(2 * size + 32) * (magnitude + abs(rest))

    def least_diagonal(self, values: FloatArray) -> tuple[float, float]:
        """Return the least sum_i v_i Y_ii that the sizes allow, and the sum of the absolute values of its terms."""
        terms = []
        cluster, room = 0, self.profile[0]
        for i in np.argsort(values, kind="stable").tolist():
            left, value = self.amounts[i], float(values[i])
            while left > 0:
                if room == 0:
                    cluster += 1
                    room = self.profile[cluster]
                part = min(left, room)
                terms.append(value * (part / self.profile[cluster]))
                left -= part
                room -= part
        return math.fsum(terms), math.fsum(map(abs, terms))

    def _least_in_box(self, values: FloatArray) -> tuple[float, float]:
        terms = values * np.where(values > 0, self.lower, self.upper.diagonal())
        return math.fsum(terms), math.fsum(np.abs(terms))

    @cached_property
    def _cumulated(self) -> tuple[FloatArray, FloatArray]:
        shares = np.array([size / sum(self.profile) for size in self.profile])
        return np.concatenate([[0.0], np.cumsum(shares)]), np.arange(len(self.profile) + 1, dtype=np.float64)

    def most_of_diagonal(self, amount_share: FloatArray) -> FloatArray:
        """Return about how much of the diagonal's sum a set with these shares of all amounts may have."""
        return np.interp(amount_share, *self._cumulated)

    def violated_sets(self, diagonal: FloatArray, threshold: float, limit: int) -> list[IntArray]:
        """Find sets S with sum_{i in S} Y_ii above what the sizes allow by more than a threshold, the worst ones."""
        order = np.argsort(-diagonal / self.shares, kind="stable")
        shares = np.cumsum(self.shares[order])
        excess = np.cumsum(diagonal[order]) - self.most_of_diagonal(shares)
        rises = np.concatenate([[True], excess[1:] >= excess[:-1]])
        falls = np.concatenate([excess[:-1] >= excess[1:], [True]])
        peaks = np.flatnonzero((excess > threshold) & rises & falls)
        peaks = peaks[np.argsort(-excess[peaks], kind="stable")][:limit]
        return [np.sort(order[: peak + 1]) for peak in sorted(peaks.tolist())]


@dataclass(frozen=True, eq=False)
class SizeRows:
    """Limits on any amounts, as the inequalities (1): two multipliers for each super-point.

    Attributes
    ----------
    of_most, of_least
        The matrices (A_j / M) q_ij and (A_j / m) q_ij; the latter 0 if it is left out.
    """

    of_most: FloatArray
    of_least: FloatArray

    @classmethod
    def of(cls, limits: SizeLimits, root_weights: FloatArray) -> SizeRows:
        """State limits."""
        quotients = root_weights[:, None] / root_weights
        most = np.array([int(amount) / max(limits.most, 1) for amount in limits.amounts])
        has_least = limits.least * NEGLIGIBLE >= limits.total > 0
        least = np.array([int(amount) / limits.least if has_least else 0.0 for amount in limits.amounts])
        return cls(most * quotients, least * quotients)

    @property
    def has_least(self) -> bool:
        """Whether there is a lower limit."""
        return bool(self.of_least.any())

    def weighted_sum(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sum of all left sides of (1), each times its multiplier, and the same of absolute values."""
        if not self.has_least:  # there is no second inequality then
            multipliers = multipliers * np.array([1.0, 0.0])
        most, least = multipliers[:, 0, None], multipliers[:, 1, None]
        total = most * self.of_most - least * self.of_least
        sizes = most * self.of_most + least * self.of_least
        total, sizes = 0.5 * (total + total.T), 0.5 * (sizes + sizes.T)
        diagonal = np.diag_indices(len(total))
        total[diagonal] += multipliers[:, 1] - multipliers[:, 0]
        sizes[diagonal] += multipliers[:, 1] + multipliers[:, 0]
        return total, sizes


def most_unequal_sizes(limits: SizeLimits, n_clusters: int) -> tuple[int, ...]:
    """Return m, .., m, x, M, .., M with the right sum, or the sizes that are prescribed; no cluster is empty."""
    if limits.exact is not None:
        return limits.exact
    least = max(limits.least, min(int(amount) for amount in limits.amounts))
    spare = limits.total - n_clusters * least
    if spare <= 0 or limits.most <= least:
        return (least,) * n_clusters
    n_large = min(n_clusters, spare // (limits.most - least))
    sizes = [limits.most] * n_large
    if n_large < n_clusters:
        sizes.append(limits.total - n_large * limits.most - (n_clusters - n_large - 1) * least)
    return (least,) * (n_clusters - len(sizes)) + tuple(sorted(sizes))


def least_totals(limits: SizeLimits, amounts: NDArray[np.int64] | FloatArray, least: int) -> NDArray[np.int64]:
    """Return for each amount the least sum of a cluster that has it; the largest one allowed if there is none."""
    if limits.exact is None:
        totals: NDArray[np.int64] = np.maximum(amounts, least)
        return totals
    exact = np.array(limits.exact, dtype=limits.amounts.dtype)
    found: NDArray[np.int64] = exact[np.minimum(np.searchsorted(exact, amounts), len(exact) - 1)]
    return found


def too_much_together(limits: SizeLimits) -> BoolArray:
    """Say which pairs of super-points no cluster can hold."""
    together: BoolArray = np.asarray(np.add.outer(limits.amounts, limits.amounts) > limits.most, dtype=np.bool_)
    np.fill_diagonal(together, val=False)
    return together
