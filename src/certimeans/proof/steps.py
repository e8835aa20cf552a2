"""Proof steps: what makes a statement true, as plain data with a ``kind``.

A proof is a tree. Each entry of it is a list of steps that are applied one after the other to what is known at that
entry; docs/certificate.md says, kind by kind, what a step proves. Nothing here computes anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class MergeStep:
    """Groups that every feasible clustering puts together, with reasons.

    Attributes
    ----------
    rows
        One row per union, in order: two points whose groups are united, then k - 1 points whose groups are linked to
        each other and to both by cannot-links, so that the two must share the one cluster that is left.
    """

    kind: ClassVar[str] = "merge"
    rows: IntArray


@dataclass(frozen=True)
class IdenticalStep:
    """Points that are alone in their group, without cannot-links, and equal in every coordinate are united.

    Not every clustering keeps them together, but one of least cost does, as long as k groups are left. Needs no data.
    It stands at the root, before all others: what follows is about the united points.
    """

    kind: ClassVar[str] = "identical"


@dataclass(frozen=True, eq=False)
class CovarianceStep:
    """The scatter less the k - 1 largest eigenvalues of the covariance of the groups; needs no data."""

    kind: ClassVar[str] = "covariance"


@dataclass(frozen=True, eq=False)
class RelaxationStep:
    """Multipliers of the semidefinite relaxation.

    Attributes
    ----------
    group_of
        The super-point of each point.
    cut_start, cut_member, cut_coefficient, cut_multiplier
        Cut q has the integers ``cut_coefficient`` at the super-points ``cut_member``, both in
        ``cut_start[q]:cut_start[q + 1]``.
    slack
        The upper triangle of V, row by row, diagonal included.
    unit, weight_unit
        Positive numbers: costs are counted in ``unit``, weights in ``weight_unit``.
    size_multiplier
        Two numbers for each super-point, of the upper and of the lower limit on sizes; ``None`` if there are no limits,
        or if the amounts that they count are proportional to the weights and there are no anchors.
    anchors
        Super-points whose clusters are known to have certain sizes, no two of them in one cluster; the multipliers are
        then those of the inequalities that follow from it.
    """

    kind: ClassVar[str] = "relaxation"
    group_of: IntArray
    cut_start: IntArray
    cut_member: NDArray[np.int32]
    cut_coefficient: NDArray[np.int8]
    cut_multiplier: FloatArray
    slack: NDArray[np.float32]
    unit: float
    weight_unit: float
    size_multiplier: FloatArray | None = None
    anchors: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class BlockStep:
    """Multipliers of the relaxation that has a block for each different one of the prescribed sizes.

    Attributes
    ----------
    group_of
        The super-point of each point.
    block_start
        The cuts of block g are those number ``block_start[g]:block_start[g + 1]``.
    cut_start, cut_member, cut_coefficient, cut_multiplier
        As in :class:`RelaxationStep`.
    links, link_multiplier
        Rows of a block and two super-points, the smaller one first, and a multiplier for each.
    row_multiplier
        For each block a number for each super-point.
    slack
        For each block the upper triangle of V, row by row, diagonal included.
    unit
        Costs are counted in this.
    """

    kind: ClassVar[str] = "size_blocks"
    group_of: IntArray
    block_start: IntArray
    cut_start: IntArray
    cut_member: NDArray[np.int32]
    cut_coefficient: NDArray[np.int8]
    cut_multiplier: FloatArray
    links: NDArray[np.int32]
    link_multiplier: FloatArray
    row_multiplier: FloatArray
    slack: NDArray[np.float32]
    unit: float


@dataclass(frozen=True, eq=False)
class InfeasibleStep:
    """No clustering satisfies what is known here; a reader has to decide it again."""

    kind: ClassVar[str] = "infeasible"


@dataclass(frozen=True)
class BranchStep:
    """Two points are together in one entry, and apart in the other: between them they cover every clustering."""

    kind: ClassVar[str] = "branch"
    i: int
    j: int
    together: int
    apart: int


@dataclass(frozen=True)
class SizeBranchStep:
    """The cluster of a point has one of the prescribed sizes: an entry for each different one, in increasing order."""

    kind: ClassVar[str] = "branch_sizes"
    point: int
    entries: tuple[int, ...]


BoundStep: TypeAlias = CovarianceStep | RelaxationStep | BlockStep


@dataclass(frozen=True)
class StoredPart:
    """The proof of a part, which stays on disk: there may be thousands.

    Attributes
    ----------
    entries
        Its steps as plain data, see :mod:`certimeans.proof.store`.
    file
        The archive with its points, their weights and the arrays of the steps, as certificates have it; its contents if
        it could not be written.
    """

    entries: list[list[dict[str, Any]]]
    file: Path | bytes


@dataclass(frozen=True, eq=False)
class PartsStep:
    """What the parts of the points cost at least adds up.

    Attributes
    ----------
    parts
        A proof for each part. No point has more weight in all of them than it has.
    keep
        What owns the files: they may be temporary, and end with it.
    """

    kind: ClassVar[str] = "parts"
    parts: tuple[StoredPart, ...]
    keep: object = None


@dataclass(frozen=True, eq=False)
class RegionProof:
    """What a region costs at least with a certain number of clusters, as a problem of its own.

    Attributes
    ----------
    region, n_clusters
        The region, and how many clusters it has.
    proof
        About the points of the region, numbered from 0 in their order, and that many clusters.
    """

    region: int
    n_clusters: int
    proof: Proof


@dataclass(frozen=True, eq=False)
class RegionsStep:
    """The points lie in regions: a cluster with points of two of them costs more than the bound.

    So every other clustering is one of each region, for some numbers of clusters that add up to k.

    Attributes
    ----------
    region_of
        The region of each point, 0, 1, ...
    proofs
        For some regions and numbers of clusters, at most one each.
    """

    kind: ClassVar[str] = "regions"
    region_of: IntArray
    proofs: tuple[RegionProof, ...]


Inference: TypeAlias = IdenticalStep | MergeStep
Step: TypeAlias = (
    IdenticalStep
    | MergeStep
    | CovarianceStep
    | RelaxationStep
    | BlockStep
    | InfeasibleStep
    | BranchStep
    | SizeBranchStep
    | PartsStep
    | RegionsStep
)
Proof: TypeAlias = tuple[tuple[Step, ...], ...]
"""One tuple of steps per entry; entry 0 is the root."""
