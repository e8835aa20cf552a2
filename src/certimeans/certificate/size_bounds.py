r"""What limits on sizes add to the bound of a relaxation; docs/certificate.md has the rules.

**Amounts proportional to weights.** <V, Y> is bounded from below although V may be negative. The diagonal's part is
rational and computed as such. The rest, the sum of 2 V_ab sqrt(A_a A_b) / m_ab over negative V_ab, is computed in
floats: every quotient and root has fewer than eight roundings, and a sum over rows and then over columns has fewer
than 2 s.

**Any amounts.** The matrix of the two rows of each super-point, in floats: an entry is a sum of four products of at
most four floats, each of which has fewer than 10 roundings.
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
    """

    amounts: list[int]
    slots: list[tuple[int, int]]
    is_proportional: bool

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
        result: BoolArray = np.asarray(np.add.outer(amounts, amounts) > self.most, dtype=np.bool_)
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
        """Bound the sum of V_aa Y_aa from below: the better of two bounds, exactly."""
        values, exponent = as_integers(slack)
        unit = power(exponent)
        by_sorting = Fraction(0)
        cluster, room = 0, profile[0]
        inside = 0
        for a in sorted(range(len(values)), key=lambda a: int(values[a])):
            left = self.amounts[a]
            while left:
                if room == 0:
                    by_sorting += Fraction(inside, profile[cluster])
                    cluster, inside = cluster + 1, 0
                    room = profile[cluster]
                part = min(left, room)
                inside += int(values[a]) * part
                left, room = left - part, room - part
        by_sorting += Fraction(inside, profile[cluster])
        sums: defaultdict[int, int] = defaultdict(int)
        for value, amount in zip(values.tolist(), self.amounts, strict=True):
            sums[self.most if value > 0 else self._least_total(amount, profile[0])] += value * amount
        in_box = sum((Fraction(numerator, size) for size, numerator in sums.items()), Fraction(0))
        return max(by_sorting, in_box) * unit

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
        return sizes[np.minimum(np.searchsorted(sizes, together), len(sizes) - 1)]

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
