"""What a worker is given, and what it gives back: plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.admm import Iterate
from certimeans.bounds.relaxation.cutting_planes import RoundStatistics
from certimeans.bounds.relaxation.proof import Proof
from certimeans.search.settings import NodeSettings


class Decision(NamedTuple):
    """Two original points share a cluster, or do not."""

    i: int
    j: int
    together: bool


class NodeStatus(Enum):
    """What became of a node."""

    PRUNED = "its bound reached the pruning value, or a single clustering is left in it"
    BRANCHED = "its children go on"
    INFEASIBLE = "no clustering satisfies its decisions"
    UNRESOLVED = "it was stopped before it was decided; its bound is valid"


@dataclass(frozen=True, eq=False)
class Inheritance:
    """What a node leaves to its children.

    Attributes
    ----------
    group_of
        The super-point of each original point.
    weights
        The super-points' weights.
    iterate
        The multipliers that prove the node's bound, and the primal matrix that goes with them.
    """

    group_of: IntArray
    weights: FloatArray
    iterate: Iterate


@dataclass(frozen=True, eq=False)
class NodeProof:
    """What proves a node's bound: multipliers on its super-points, ``group_of`` each original point."""

    group_of: IntArray
    proof: Proof


@dataclass(frozen=True, eq=False)
class NodeTask:
    """One node of the search tree, to be evaluated anywhere.

    Attributes
    ----------
    number
        The node's number in order of creation; the root is 0. With ``seed`` it determines all random choices.
    parent
        The parent's number; -1 for the root.
    decisions
        All decisions on the way from the root.
    inheritance
        What the parent left; ``None`` for the root.
    lower_bound
        Proven bound of the parent, in the user's units.
    incumbent_cost
        Cost of the best known clustering, in the user's units; infinite if there is none.
    gap
        A node is pruned if its bound reaches ``incumbent_cost * (1 - gap)``.
    seconds
        Time limit; ``None`` for none.
    only_search
        Look for a clustering and prove nothing: what an idle worker does beside the root.
    """

    number: int
    parent: int
    decisions: tuple[Decision, ...]
    inheritance: Inheritance | None
    lower_bound: float
    incumbent_cost: float
    gap: float
    seed: int
    seconds: float | None
    only_search: bool = False
    settings: NodeSettings = field(default_factory=NodeSettings)


@dataclass(frozen=True, eq=False)
class NodeOutcome:
    """What the evaluation of a node found.

    Attributes
    ----------
    lower_bound
        Proven bound on every clustering that satisfies the node's decisions, in the user's units.
    labels
        A clustering of the original points that is better than the incumbent was, or ``None``.
    branching_pair
        Two points to decide on, if the node is to be branched on.
    inheritance
        What its children start from, or the node itself when it is taken up again.
    proof
        What proves the bound; ``None`` if the parent's bound is no worse, and for infeasible nodes.
    merges
        Groups that inference united, with reasons; see :func:`certimeans.presolve.reduce.infer`.
    """

    number: int
    status: NodeStatus
    lower_bound: float
    size: int
    labels: IntArray | None
    branching_pair: tuple[int, int] | None
    inheritance: Inheritance | None
    proof: NodeProof | None
    merges: IntArray
    rounds: tuple[RoundStatistics, ...]
    seconds: float


@dataclass(frozen=True, eq=False)
class NodeReport:
    """What a node that is still being evaluated has found so far; see :class:`NodeOutcome`."""

    number: int
    lower_bound: float
    labels: IntArray | None
    cuts: int
