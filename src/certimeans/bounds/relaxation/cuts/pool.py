"""Cuts as data: integer vectors b, and what becomes of them when super-points merge.

**The family.** For every integer vector b on the super-points, every clustering satisfies ::

    b'Zb - sum_i b_i Z_ii  >=  r(b).

With beta the sum of b over a cluster C, the left side is the sum over clusters of (beta^2 - beta) / w(C), and
beta^2 >= beta for every integer. So r(b) = 0 is always valid: these are the *hypermetric* cuts. If no b_i is negative
and their sum exceeds k, some cluster has beta >= 2, so r(b) = 2 / (largest cluster weight) is valid too: the *clique*
cuts.

Pairs, triangles and stars of the literature are b with one -1 and one, two, or several +1. When super-points merge,
their entries of b add up to the same inequality on the merged points: cuts are inherited exactly, in either family.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import BoolArray, FloatArray, IntArray

MAX_SUPPORT = 10
"""A cut has at most that many non-zero entries."""

Members = NDArray[np.int32]
Coefficients = NDArray[np.int8]

_HASH_FACTORS = np.random.default_rng(1).integers(1, 2**62, size=MAX_SUPPORT, dtype=np.uint64) * 2 + 1


@dataclass(frozen=True, eq=False)
class Cuts:
    """A list of cuts with their multipliers.

    Attributes
    ----------
    members
        Super-points with non-zero entries, in increasing order, one row per cut; -1 fills the rest of the row.
    coefficients
        The entries b at the members, 0 in the rest.
    multipliers
        Non-negative multiplier of each inequality, as written in the module's docstring.
    """

    members: Members
    coefficients: Coefficients
    multipliers: FloatArray

    def __len__(self) -> int:
        return len(self.multipliers)

    @classmethod
    def none(cls) -> Cuts:
        """Return an empty list."""
        return cls(np.empty((0, MAX_SUPPORT), dtype=np.int32), np.empty((0, MAX_SUPPORT), dtype=np.int8), np.empty(0))

    @classmethod
    def new(cls, members: IntArray | Members, coefficients: IntArray | Coefficients) -> Cuts:
        """Bring rows into their standard form, with multiplier 0; unused places have coefficient 0."""
        count, width = members.shape
        padded_members = np.full((count, MAX_SUPPORT), -1, dtype=np.int32)
        padded_coefficients = np.zeros((count, MAX_SUPPORT), dtype=np.int8)
        used = coefficients != 0
        order = np.argsort(np.where(used, members, np.iinfo(np.int32).max), axis=1, kind="stable")
        used = np.take_along_axis(used, order, axis=1)
        padded_members[:, :width] = np.where(used, np.take_along_axis(members, order, axis=1), -1)
        padded_coefficients[:, :width] = np.where(used, np.take_along_axis(coefficients, order, axis=1), 0)
        return cls(padded_members, padded_coefficients, np.zeros(count))

    def select(self, chosen: BoolArray | IntArray) -> Cuts:
        """Keep some cuts."""
        return Cuts(self.members[chosen], self.coefficients[chosen], self.multipliers[chosen])

    def with_multipliers(self, multipliers: FloatArray) -> Cuts:
        """Replace the multipliers."""
        return Cuts(self.members, self.coefficients, multipliers)

    def purged(self) -> Cuts:
        """Keep the cuts that have a multiplier."""
        return self.select(self.multipliers > 0)

    def extended(self, new: Cuts) -> Cuts:
        """Add cuts that are not in the list yet, each once."""
        new_keys = new.keys()
        _, first = np.unique(new_keys, return_index=True)
        first = np.sort(first)
        return self.followed_by(new.select(first[~np.isin(new_keys[first], self.keys())]))

    def followed_by(self, others: Cuts) -> Cuts:
        """Put two lists together as they are."""
        return Cuts(
            np.vstack([self.members, others.members]),
            np.vstack([self.coefficients, others.coefficients]),
            np.concatenate([self.multipliers, others.multipliers]),
        )

    def keys(self) -> NDArray[np.uint64]:
        """Return one number for each cut: equal for equal cuts, and for others only by a rare accident.

        An accident drops a cut, which weakens a bound but never falsifies it.
        """
        members, coefficients = self.members.astype(np.uint64), self.coefficients.astype(np.uint64)
        with np.errstate(over="ignore"):
            mixed = (members + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) ^ coefficients * np.uint64(
                0xC2B2AE3D27D4EB4F
            )
            mixed ^= mixed >> np.uint64(29)
            keys: NDArray[np.uint64] = ((mixed * mixed + mixed) * _HASH_FACTORS).sum(axis=1)
        return keys

    def merged(self, group_of: IntArray) -> Cuts:
        """State the same inequalities after super-points with one number in ``group_of`` became one.

        Entries of merged members add up; multipliers stay. Equal cuts become one with the sum of their multipliers, and
        cuts without entries say nothing and are dropped.
        """
        groups = np.where(self.members >= 0, group_of[self.members], -1)
        coefficients = self.coefficients.astype(np.int64)
        # Add each entry to the first place in its row that has the same group.
        for place in range(1, MAX_SUPPORT):
            earlier = groups[:, :place] == groups[:, place, None]
            same = earlier.any(axis=1) & (groups[:, place] >= 0)
            target = earlier.argmax(axis=1)
            coefficients[same, target[same]] += coefficients[same, place]
            coefficients[same, place] = 0
            groups[same, place] = -1
        merged = Cuts.new(groups, coefficients)
        keys, first, inverse = np.unique(merged.keys(), return_index=True, return_inverse=True)
        multipliers = np.zeros(len(keys))
        np.add.at(multipliers, inverse, self.multipliers)
        result = merged.select(first).with_multipliers(multipliers)
        return result.select(result.members[:, 0] >= 0)


def right_sides(cuts: Cuts, n_clusters: int, max_cluster_weight: float) -> FloatArray:
    """Return r(b) of each cut: the rule that says what is valid."""
    is_clique = (cuts.coefficients >= 0).all(axis=1) & (cuts.coefficients.sum(axis=1, dtype=np.int64) > n_clusters)
    return np.where(is_clique, 2.0 / max_cluster_weight, 0.0)
