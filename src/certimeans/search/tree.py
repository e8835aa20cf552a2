"""The search tree as it is reported: one plain record a node."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from certimeans.search.node import Decision


class TreeStatus(StrEnum):
    """Where a node stands."""

    OPEN = "open"
    BRANCHED = "branched"
    PRUNED = "pruned"
    INFEASIBLE = "infeasible"
    GIVEN_UP = "given up"


@dataclass(frozen=True)
class TreeNode:
    """One node of the search tree.

    Attributes
    ----------
    number, parent
        Order of creation; the root is 0 and has parent -1.
    decision
        What tells it from its parent; ``None`` for the root.
    lower_bound
        Proven, in the user's units; infinite if the node is infeasible.
    size
        Number of super-points.
    """

    number: int
    parent: int
    decision: Decision | None
    status: TreeStatus
    lower_bound: float
    size: int
    seconds: float
