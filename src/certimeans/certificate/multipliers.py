"""What a certificate stores of relaxations, in the types in which it is computed with."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, IntArray


class Multipliers(NamedTuple):
    """The multipliers of one relaxation. ``members``, ``coefficients``: entries of all cuts, one after another."""

    groups: IntArray
    size: int
    unit: Fraction
    weight_unit: Fraction
    start: IntArray
    members: IntArray
    coefficients: IntArray
    multipliers: FloatArray
    slack: FloatArray
    size_multipliers: FloatArray | None = None
    anchors: tuple[int, ...] = ()

    @classmethod
    def none(cls, groups: IntArray, size: int, unit: Fraction) -> Multipliers:
        """Return a relaxation without any multipliers, not even a matrix of zeros for the slack."""
        nothing = np.zeros(0, dtype=np.int64)
        none = np.zeros(0)
        return cls(groups, size, unit, Fraction(1), np.zeros(1, dtype=np.int64), nothing, nothing, none, none)


class BlockMultipliers(NamedTuple):
    """The multipliers of a relaxation with blocks; cuts ``block_start[g]:block_start[g + 1]`` are those of block g."""

    groups: IntArray
    size: int
    unit: Fraction
    block_start: IntArray
    start: IntArray
    members: IntArray
    coefficients: IntArray
    multipliers: FloatArray
    links: IntArray
    link_multipliers: FloatArray
    rows: FloatArray
    slack: FloatArray
