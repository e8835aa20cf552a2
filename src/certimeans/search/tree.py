"""The search tree: what became of each node, and what proves it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from certimeans._typing import IntArray
from certimeans.search.node import Decision, NodeOutcome, NodeProof, NodeStatus


class TreeStatus(StrEnum):
    """Where a node stands."""

    OPEN = "open"
    """Not decided: waiting, running, or stopped by a limit. Its bound is proven by itself or by an ancestor."""
    BRANCHED = "branched"
    PRUNED = "pruned"
    """No clustering below it is better than the incumbent by more than the gap, or by more than rounding hides."""
    INFEASIBLE = "infeasible"
    GIVEN_UP = "given up"
    """No worker survived it; an ancestor's bound stands."""


@dataclass(frozen=True)
class TreeNode:
    """One node.

    Attributes
    ----------
    number, parent
        Numbers in order of creation; the root is 0 and has the parent -1.
    decision
        What distinguishes it from its sibling; ``None`` for the root.
    lower_bound
        Proven, in the user's units; infinite if infeasible.
    size
        Number of super-points; 0 if not evaluated.
    """

    number: int
    parent: int
    decision: Decision | None
    status: TreeStatus
    lower_bound: float
    size: int = 0
    seconds: float = 0.0


_STATUS = {
    NodeStatus.PRUNED: TreeStatus.PRUNED,
    NodeStatus.BRANCHED: TreeStatus.BRANCHED,
    NodeStatus.INFEASIBLE: TreeStatus.INFEASIBLE,
    NodeStatus.UNRESOLVED: TreeStatus.OPEN,
}


@dataclass(eq=False)
class Tree:
    """All nodes, with the proofs that are still needed.

    Attributes
    ----------
    proofs
        Multipliers by node. Those of a branched node are dropped once both children have their own, or are infeasible.
    merges
        Steps of inference by node, where there were any.
    proven
        Nodes that are infeasible, or have a proof now or had one before.
    """

    nodes: list[TreeNode] = field(default_factory=list)
    proofs: dict[int, NodeProof] = field(default_factory=dict)
    merges: dict[int, IntArray] = field(default_factory=dict)
    proven: set[int] = field(default_factory=set)
    _children: dict[int, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, nodes: Sequence[TreeNode], proven: Iterable[int]) -> Tree:
        """Build a tree again from its nodes, without proofs.

        Raises
        ------
        ValueError
            If they are not numbered from 0 on, parents first.
        """
        tree = cls(proven=set(proven))
        for number, node in enumerate(nodes):
            if node.number != number or not (-1 <= node.parent < number) or (node.parent < 0) != (number == 0):
                raise ValueError("not a tree")
            tree.nodes.append(node)
            tree._children.setdefault(node.parent, []).append(number)
        return tree

    def add(self, parent: int, decision: Decision | None, lower_bound: float) -> TreeNode:
        """Create an open node."""
        self._children.setdefault(parent, []).append(len(self.nodes))
        self.nodes.append(TreeNode(len(self.nodes), parent, decision, TreeStatus.OPEN, lower_bound))
        return self.nodes[-1]

    def settle(self, outcome: NodeOutcome) -> None:
        """Record what became of a node that was evaluated."""
        number = outcome.number
        self.mark(number, _STATUS[outcome.status], outcome.lower_bound)
        self.nodes[number] = replace(self.nodes[number], size=outcome.size, seconds=outcome.seconds)
        if outcome.proof is not None:
            self.proofs[number] = outcome.proof
        if outcome.proof is not None or outcome.status is NodeStatus.INFEASIBLE:
            self.proven.add(number)
        if len(outcome.merges):
            self.merges[number] = outcome.merges
        self._drop_what_children_prove(self.nodes[number].parent)

    def mark(self, number: int, status: TreeStatus, lower_bound: float) -> None:
        """Change where a node stands."""
        self.nodes[number] = replace(self.nodes[number], status=status, lower_bound=lower_bound)

    def decisions(self, number: int) -> tuple[Decision, ...]:
        """Return all decisions from the root to a node."""
        path: list[Decision] = []
        while number >= 0:
            node = self.nodes[number]
            if node.decision is not None:
                path.append(node.decision)
            number = node.parent
        return tuple(reversed(path))

    def nearest_proof(self, number: int) -> NodeProof | None:
        """Return the proof that holds for a node: its own or the nearest ancestor's."""
        while number >= 0:
            if number in self.proofs:
                return self.proofs[number]
            number = self.nodes[number].parent
        return None

    def _drop_what_children_prove(self, parent: int) -> None:
        if all(child in self.proven for child in self._children[parent]):
            self.proofs.pop(parent, None)
