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

**Decided sizes.** If sizes are prescribed and amounts proportional to weights, the search may decide that the cluster
of a super-point a has the size s_a. Then Y_aa = A_a / s_a, Y_aj <= sqrt(A_a A_j) / s_a, and Y_aj = 0 if A_a + A_j >
s_a. Let T be some such super-points, *anchors*, no two of which share a cluster, and let the sizes that theirs leave
over lie between m' and M'. Then for every j, with q_ja = sqrt(A_j / A_a) ::

    A_j / M'  <=  Y_jj + sum over T of (s_a / M' - 1) q_ja Y_ja,      Y_jj + sum over T of (s_a / m' - 1) q_ja Y_ja  <=
    A_j / m'.                                                                                                       (2)

For if j is in the cluster of an anchor a, then Y_jj = q_ja Y_ja = A_j / s_a, the other Y_jb are 0, and both sums are
A_j / M' and A_j / m'. Otherwise the sums are Y_jj, and the cluster of j has a size between m' and M'. With k - 1
anchors m' = M', and both hold with equality: the relaxation then knows which cluster has which size.
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
    decided
        Super-points whose clusters are known to have certain sizes.
    """

    amounts: tuple[int, ...]
    shares: FloatArray
    profile: tuple[int, ...]
    lower: FloatArray
    upper: FloatArray
    decided: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, limits: SizeLimits, n_clusters: int) -> SizeBox:
        """State limits."""
        amounts = tuple(int(amount) for amount in limits.amounts)
        profile = most_unequal_sizes(limits, n_clusters)
        shares = np.array([amount / limits.total for amount in amounts])
        lower = np.array([amount / limits.most for amount in amounts]) / _FEW_ULPS
        together = np.add.outer(limits.amounts, limits.amounts)
        np.fill_diagonal(together, limits.amounts)
        totals = least_totals(limits, together, profile[0])
        for i, size in limits.decided:
            totals[i, :] = totals[:, i] = size
            lower[i] = amounts[i] / size / _FEW_ULPS
        least = np.asarray(totals / limits.total, dtype=np.float64)
        upper = np.sqrt(shares[:, None] / least) * np.sqrt(shares / least) * _FEW_ULPS
        return cls(amounts, shares, profile, lower, upper, limits.decided)

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
        value, magnitude = max(self.least_diagonal(diagonal), self._least_in_box(diagonal))
        if self.decided:
            value, magnitude = max((value, magnitude), self._least_of_both(diagonal))
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

    def _least_of_both(self, values: FloatArray) -> tuple[float, float]:
        """Take the entries whose sizes are decided as they are, and the others by sorting."""
        known = [i for i, _ in self.decided]
        others = values.copy()
        others[known] = 0.0
        value, magnitude = self.least_diagonal(others)
        in_box, more = self._least_in_box(values - others)
        return value + in_box, magnitude + more

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
    """Limits as inequalities, with two multipliers for each super-point.

    ::

        sum_j F_ij Y_ij - Y_ii  <=  f_i,       Y_ii - sum_j H_ij Y_ij  <=  h_i.

    For any amounts these are (1), with f = h = 0; with decided sizes they are (2).

    Attributes
    ----------
    of_most, of_least
        The matrices F and H.
    right_sides
        The numbers f_i and h_i, two for each super-point.
    has_least
        Whether there is a second inequality.
    anchors
        The super-points of T in (2); empty for (1).
    """

    of_most: FloatArray
    of_least: FloatArray
    right_sides: FloatArray
    has_least: bool = True
    anchors: tuple[int, ...] = ()

    @classmethod
    def of(cls, limits: SizeLimits, root_weights: FloatArray) -> SizeRows:
        """State limits."""
        quotients = root_weights[:, None] / root_weights
        most = np.array([int(amount) / max(limits.most, 1) for amount in limits.amounts])
        has_least = limits.least * NEGLIGIBLE >= limits.total > 0
        least = np.array([int(amount) / limits.least if has_least else 0.0 for amount in limits.amounts])
        return cls(most * quotients, least * quotients, np.zeros((len(most), 2)), bool(least.any()))

    @classmethod
    def of_anchors(cls, limits: SizeLimits, apart: BoolArray) -> SizeRows | None:
        """State (2) for the decided super-points of which ``apart`` says that no two share a cluster."""
        anchors: dict[int, int] = {}
        rest = list(limits.exact or ())
        for i, size in limits.decided:
            if len(rest) > 1 and i not in anchors and size in rest and all(apart[i, other] for other in anchors):
                anchors[i] = size
                rest.remove(size)
        if not anchors:
            return None
        amounts = [int(amount) for amount in limits.amounts]
        tables, sides = [], []
        for bound in (rest[-1], rest[0]):
            table = np.zeros((len(amounts), len(amounts)))
            for a, size in anchors.items():
                table[:, a] = [(bound - size) / bound * math.sqrt(amount / amounts[a]) for amount in amounts]
            tables.append(table)
            sides.append([amount / bound for amount in amounts])
        right_sides = np.column_stack([-np.array(sides[0]), np.array(sides[1])])
        return cls(tables[0], tables[1], right_sides, anchors=tuple(anchors))

    def right_side(self, multipliers: FloatArray) -> tuple[float, float]:
        """Return the sum of all right sides, each times its multiplier, and the sum of absolute values."""
        terms = (self.right_sides * multipliers).ravel()
        return math.fsum(terms), math.fsum(np.abs(terms))

    def weighted_sum(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sum of all left sides, each times its multiplier, and the same of absolute values."""
        if not self.has_least:  # there is no second inequality then
            multipliers = multipliers * np.array([1.0, 0.0])
        most, least = multipliers[:, 0, None], multipliers[:, 1, None]
        total = most * self.of_most - least * self.of_least
        sizes = most * np.abs(self.of_most) + least * np.abs(self.of_least)
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
    sums = np.add.outer(limits.amounts, limits.amounts)
    together: BoolArray = np.asarray(sums > limits.most, dtype=np.bool_)
    for i, size in limits.decided:
        together[i] |= sums[i] > size
        together[:, i] = together[i]
    np.fill_diagonal(together, val=False)
    return together
