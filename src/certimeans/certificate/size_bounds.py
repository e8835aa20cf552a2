r"""What limits on sizes add to the bound of a relaxation; docs/certificate.md has the rules.

**Amounts proportional to weights.** <V, Y> is bounded from below although V may be negative. The diagonal's part is
rational and computed as such. The rest, the sum of 2 V_ab sqrt(A_a A_b) / m_ab over negative V_ab, is computed in
floats: every quotient and root has fewer than eight roundings, and a sum over rows and then over columns has fewer
than 2 s.

**Any amounts, and decided sizes.** The matrix of the two rows of each super-point, in floats: an entry is a sum of
products of at most four floats, each of which has fewer than 10 roundings; four of them, and four for each anchor.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from certimeans._typing import BoolArray, FloatArray
from certimeans.certificate.exact import as_integers, power
from certimeans.certificate.geometry import TINY, factor


class SizeTerms(NamedTuple):
    """Limits on the super-points of a relaxation.

    Attributes
    ----------
    amounts
        What each super-point counts.
    slots
        The least and the most of each cluster; exact sizes in increasing order.
    is_proportional
        Whether amounts are proportional to weights.
    decided
        Super-points whose cluster has a certain one of the prescribed sizes, and that size.
    anchors
        Some of these, no two of them in one cluster.
    """

    amounts: list[int]
    slots: list[tuple[int, int]]
    is_proportional: bool
    decided: dict[int, int]
    anchors: list[int]

    @property
    def most(self) -> int:
        """The largest sum of a cluster."""
        return self.slots[-1][1]

    @property
    def is_exact(self) -> bool:
        """Whether every sum is prescribed."""
        return all(low == high for low, high in self.slots)

    def least_of_rows(self) -> int:
        """Return the least sum of a cluster, as the rows have it; 0 if it is too small to be one."""
        least = self.slots[0][0]
        return least if least * 2**60 >= sum(self.amounts) else 0

    def forbidden(self) -> BoolArray:
        """Say which super-points do not fit into one cluster together."""
        amounts = np.array(self.amounts, dtype=object)
        together = np.add.outer(amounts, amounts)
        result: BoolArray = np.asarray(together > self.most, dtype=np.bool_)
        for a, size in self.decided.items():
            result[a] |= np.asarray(together[a] > size, dtype=np.bool_)
            result[:, a] = result[a]
        np.fill_diagonal(result, val=False)
        return result

    def profile(self) -> list[int]:
        """Return the most unequal sums allowed, in increasing order; empty if none are."""
        total, k = sum(self.amounts), len(self.slots)
        if self.is_exact:
            return [low for low, _ in self.slots] if sum(low for low, _ in self.slots) == total else []
        least, most = max(self.slots[0][0], min(self.amounts)), self.most
        if not k * least <= total <= k * most:
            return []
        sizes: list[int] = []
        for place in range(k):  # the largest ones first, as large as the others allow
            sizes.append(min(most, total - sum(sizes) - (k - place - 1) * least))
        return sizes[::-1]

    def least_diagonal(self, slack: FloatArray, profile: list[int]) -> Fraction:
        """Bound the sum of V_aa Y_aa from below: the best of three bounds, exactly."""
        integers, exponent = as_integers(slack)
        values: list[int] = integers.tolist()
        known = [value if a in self.decided else 0 for a, value in enumerate(values)]
        others = [0 if a in self.decided else value for a, value in enumerate(values)]
        mixed = self._in_box(known, profile) + self._by_sorting(others, profile)
        return max(self._by_sorting(values, profile), self._in_box(values, profile), mixed) * power(exponent)

    def _by_sorting(self, values: list[int], profile: list[int]) -> Fraction:
        total = Fraction(0)
        cluster, room = 0, profile[0]
        inside = 0
        for a in sorted(range(len(values)), key=values.__getitem__):
            left = self.amounts[a]
            while left:
                if room == 0:
                    total += Fraction(inside, profile[cluster])
                    cluster, inside = cluster + 1, 0
                    room = profile[cluster]
                part = min(left, room)
                inside += values[a] * part
                left, room = left - part, room - part
        return total + Fraction(inside, profile[cluster])

    def _in_box(self, values: list[int], profile: list[int]) -> Fraction:
        sums: defaultdict[int, int] = defaultdict(int)
        for a, (value, amount) in enumerate(zip(values, self.amounts, strict=True)):
            size = self.most if value > 0 else self._least_total(amount, profile[0])
            sums[self.decided.get(a, size)] += value * amount
        return sum((Fraction(numerator, size) for size, numerator in sums.items()), Fraction(0))

    def _least_total(self, amount: int, least: int) -> int:
        """Return the least sum of a cluster that has an amount; the largest one allowed if there is none."""
        if self.is_exact:
            return next((low for low, _ in self.slots if low >= amount), self.most)
        return max(least, amount)

    def least_totals(self, profile: list[int]) -> Any:
        """Return the least sum of a cluster with two super-points, for each two."""
        amounts = np.array(self.amounts, dtype=object)
        together = np.add.outer(amounts, amounts)
        if not self.is_exact:
            return np.maximum(together, profile[0])
        sizes = np.array(profile, dtype=object)
        totals = sizes[np.minimum(np.searchsorted(sizes, together), len(sizes) - 1)]
        for a, size in self.decided.items():
            totals[a, :] = totals[:, a] = size
        return totals

    def least_rest(self, slack: FloatArray, forbidden: BoolArray, profile: list[int]) -> Fraction:
        """Bound the sum of V_ab Y_ab over a != b from below, in floats."""
        negative = np.where(forbidden, 0.0, np.minimum(slack, 0.0))
        np.fill_diagonal(negative, 0.0)
        if not negative.any():
            return Fraction(0)
        totals = self.least_totals(profile)
        amounts = np.array(self.amounts, dtype=object)
        first = np.sqrt(np.asarray(amounts[:, None] / totals, dtype=np.float64))
        second = np.sqrt(np.asarray(amounts / totals, dtype=np.float64))
        value = float((negative * (first * second)).sum(axis=1).sum())
        allowance = factor(2 * len(slack) + 64) * abs(value) + TINY
        return Fraction(value - 2 * allowance) if np.isfinite(value) else Fraction(-(10**400))

    def rows(self, multipliers: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted sum of the two rows of each super-point, and a bound on its error, entry by entry."""
        if self.anchors:
            return self._rows_of_anchors(multipliers)
        quotients = direction[:, None] / direction
        least = self.least_of_rows()
        if not least:  # there is no second inequality then
            multipliers = multipliers * np.array([1.0, 0.0])
        most = np.array([amount / self.most if self.most else 0.0 for amount in self.amounts])
        of_least = np.array([amount / least if least else 0.0 for amount in self.amounts])
        upper, lower = multipliers[:, 0, None] * (most * quotients), multipliers[:, 1, None] * (of_least * quotients)
        total, sizes = upper - lower, upper + lower
        total, sizes = 0.5 * (total + total.T), 0.5 * (sizes + sizes.T)
        diagonal = np.diag_indices(len(total))
        total[diagonal] += multipliers[:, 1] - multipliers[:, 0]
        sizes[diagonal] += multipliers[:, 1] + multipliers[:, 0]
        return total, factor(64) * sizes + TINY

    def rest(self) -> list[int]:
        """Return the sizes that the clusters of the anchors leave to the others, in increasing order."""
        sizes = [low for low, _ in self.slots]
        for a in self.anchors:
            sizes.remove(self.decided[a])
        return sizes

    def coefficients(self) -> list[list[tuple[int, Fraction]]]:
        """Return for the first and for the second row of super-points the factors (s_a / M' - 1) of their anchors."""
        sizes = self.rest()
        return [[(a, Fraction(self.decided[a], bound) - 1) for a in self.anchors] for bound in (sizes[-1], sizes[0])]

    def right_side(self, multipliers: FloatArray) -> Fraction:
        """Return the sum of the right sides of the rows, each times its multiplier, exactly."""
        if not self.anchors:
            return Fraction(0)
        sizes = self.rest()
        total = Fraction(0)
        for column, sign, bound in ((0, -1, sizes[-1]), (1, 1, sizes[0])):
            integers, exponent = as_integers(np.ascontiguousarray(multipliers[:, column]))
            inside = sum(value * amount for value, amount in zip(integers.tolist(), self.amounts, strict=True))
            total += sign * Fraction(inside, bound) * power(exponent)
        return total

    def _rows_of_anchors(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        size = len(self.amounts)
        total, sizes = np.zeros((size, size)), np.zeros((size, size))
        for column, sign in ((0, -1.0), (1, 1.0)):
            for a, factor_ in self.coefficients()[column]:
                quotients = np.sqrt(np.array([amount / self.amounts[a] for amount in self.amounts]))
                terms = 0.5 * sign * float(factor_) * quotients * multipliers[:, column]
                for matrix, values in ((total, terms), (sizes, np.abs(terms))):
                    matrix[a] += values
                    matrix[:, a] += values
        diagonal = np.diag_indices(size)
        total[diagonal] += multipliers[:, 1] - multipliers[:, 0]
        sizes[diagonal] += multipliers[:, 1] + multipliers[:, 0]
        return total, factor(64 + 4 * len(self.anchors)) * sizes + TINY
