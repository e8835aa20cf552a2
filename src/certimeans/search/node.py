"""What a worker is given, and what it gives back: plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from certimeans._typing import IntArray
from certimeans.proof.steps import Step
from certimeans.search.settings import NodeSettings
from certimeans.search.statistics import NodeWork


class Decision(NamedTuple):
    """Two original points share a cluster, or do not."""

    i: int
    j: int
    together: bool


class SizeDecision(NamedTuple):
    """The cluster of an original point has a certain one of the different sizes, numbered from the smallest."""

    point: int
    place: int


AnyDecision: TypeAlias = Decision | SizeDecision


class NodeStatus(Enum):
    """What became of a node."""

    PRUNED = "its bound reached the pruning value, or only rounding is left between the two"
    BRANCHED = "its children go on"
    INFEASIBLE = "no clustering satisfies its decisions"
    UNRESOLVED = "it was stopped before it was decided; its bound is valid"


Inheritance: TypeAlias = Any
"""A warm start, made and read by :mod:`certimeans.search.evaluate` only; for everyone else it is opaque."""


@dataclass(frozen=True, eq=False)
class NodeTask:
    """One node of the search tree, to be evaluated anywhere.

    Attributes
    ----------
    number
        The node's number in order of creation; the root is 0. With ``seed`` it determines all random choices.
    decisions
        All decisions on the way from the root.
    inheritance
        What the parent left, or the node itself when it was stopped before; ``None`` if there is nothing.
    lower_bound
        What is proven about the node already, by itself or by an ancestor, in the user's units.
    incumbent_cost
        Cost of the best known clustering, in the user's units; infinite if there is none.
    gap
        A node is pruned if its bound reaches ``incumbent_cost * (1 - gap)``.
    seconds
        Time limit; ``None`` for none.
    """

    number: int
    decisions: tuple[AnyDecision, ...]
    inheritance: Inheritance | None
    lower_bound: float
    incumbent_cost: float
    gap: float
    seed: int
    seconds: float | None
    settings: NodeSettings = field(default_factory=NodeSettings)


@dataclass(frozen=True, eq=False)
class SearchTask:
    """Look for a clustering and prove nothing: what an idle worker does while another one bounds the root.

    Attributes
    ----------
    incumbent_cost
        Cost of the best known clustering, in the user's units; infinite if there is none.
    seconds
        Time limit; ``None`` for none.
    """

    incumbent_cost: float
    seed: int
    seconds: float | None
    settings: NodeSettings = field(default_factory=NodeSettings)


@dataclass(frozen=True, eq=False)
class NodeOutcome:
    """What the evaluation of a node found.

    Attributes
    ----------
    lower_bound
        Proven bound on every clustering that satisfies the node's decisions, in the user's units.
    size
        Number of super-points.
    labels
        A clustering of the original points that is better than the incumbent was, or ``None``.
    steps
        What this evaluation proved: a :class:`~certimeans.proof.steps.MergeStep` if anything was inferred, then at most
        one bound step, which is left out if the task's bound is no worse; or an
        :class:`~certimeans.proof.steps.InfeasibleStep`.
    children
        What distinguishes its children, if the node is to be branched on; between them they cover every clustering.
    inheritance
        What its children start from, or the node itself when it is taken up again.
    cuts
        Cuts at the end.
    remark
        What the user should know, if the node was closed for another reason than its bound; usually empty.
    """

    number: int
    status: NodeStatus
    lower_bound: float
    size: int
    labels: IntArray | None
    steps: tuple[Step, ...]
    children: tuple[AnyDecision, ...]
    inheritance: Inheritance | None
    cuts: int
    work: NodeWork
    seconds: float
    remark: str = ""


@dataclass(frozen=True, eq=False)
class NodeReport:
    """What a node that is still being evaluated has found so far; see :class:`NodeOutcome`.

    ``steps`` prove ``lower_bound``, or are empty if the task's bound is no worse.
    """

    number: int
    lower_bound: float
    labels: IntArray | None
    cuts: int
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, eq=False)
class SearchFindings:
    """What a :class:`SearchTask` found: labels better than the incumbent, or ``None``."""

    labels: IntArray | None


Task: TypeAlias = NodeTask | SearchTask
Outcome: TypeAlias = NodeOutcome | SearchFindings
