"""The search tree: what became of each node, and what proves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from certimeans.proof.steps import (
    BlockStep,
    BranchStep,
    CovarianceStep,
    IdenticalStep,
    InfeasibleStep,
    MergeStep,
    PartsStep,
    Proof,
    RegionsStep,
    RelaxationStep,
    SizeBranchStep,
    Step,
)
from certimeans.search.node import AnyDecision, Decision, NodeOutcome, NodeStatus, SizeDecision

Steps = tuple[Step, ...]
ROOT = 0


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
        What distinguishes it from its siblings; ``None`` for the root.
    lower_bound
        Proven, in the user's units; infinite if infeasible.
    size
        Number of super-points; 0 if not evaluated, or infeasible.
    seconds
        How long its evaluation took; 0 if not evaluated.
    """

    number: int
    parent: int
    decision: AnyDecision | None
    status: TreeStatus
    lower_bound: float
    size: int = 0
    seconds: float = 0.0

    @property
    def is_new(self) -> bool:
        """Whether it was never evaluated to an end."""
        return self.seconds == 0


_STATUS = {
    NodeStatus.PRUNED: TreeStatus.PRUNED,
    NodeStatus.BRANCHED: TreeStatus.BRANCHED,
    NodeStatus.INFEASIBLE: TreeStatus.INFEASIBLE,
    NodeStatus.UNRESOLVED: TreeStatus.OPEN,
}


def is_bound(step: Step) -> bool:
    """Whether a step proves a bound."""
    return isinstance(step, (CovarianceStep, RelaxationStep, BlockStep, PartsStep, RegionsStep))


def is_inference(step: Step) -> bool:
    """Whether a step unites points, which what follows rests on."""
    return isinstance(step, (IdenticalStep, MergeStep))


def followed_by(earlier: Steps, later: Steps) -> Steps:
    """Join the steps of two evaluations of one node.

    Inference is kept, each step once. A later bound or proof of infeasibility replaces an earlier bound, and an
    earlier bound stays before the later inference, which it does not rest on.
    """
    replaced = any(not is_inference(step) for step in later)
    kept = tuple(step for step in earlier if is_inference(step) or not replaced)
    return kept + tuple(step for step in later if not any(_is_same_inference(step, known) for known in kept))


def _is_same_inference(step: Step, other: Step) -> bool:
    if isinstance(step, MergeStep) and isinstance(other, MergeStep):
        return np.array_equal(step.rows, other.rows)
    return isinstance(step, IdenticalStep) and isinstance(other, IdenticalStep)


@dataclass(eq=False)
class Tree:
    """All nodes, with the steps that prove what is known about them.

    Attributes
    ----------
    steps
        By node, in the order in which they apply. The bound step of a branched node is dropped once all its children
        are proven without it; only the root's is always kept.
    """

    nodes: list[TreeNode] = field(default_factory=list)
    steps: dict[int, Steps] = field(default_factory=dict)
    _children: dict[int, list[int]] = field(default_factory=dict)
    _proven: set[int] = field(default_factory=set)  # infeasible, or bounded by their own steps or their children's

    @classmethod
    def of(cls, nodes: Sequence[TreeNode], steps: dict[int, Steps] | None = None, n_sizes: int = 0) -> Tree:
        """Build a tree again from its nodes and steps.

        Parameters
        ----------
        n_sizes
            How many different sizes are prescribed.

        Raises
        ------
        ValueError
            If nodes are not numbered from 0 on, parents first, or have children that do not cover them: these have to
            be none; or one with two points together and one with the same two apart; or one for each size that the
            cluster of a point may have. Or if the root has a decision: nothing would cover the rest.
        """
        tree = cls()
        for number, node in enumerate(nodes):
            if node.number != number or not (-1 <= node.parent < number) or (node.parent < 0) != (number == ROOT):
                raise ValueError("not a tree")
            if (node.decision is None) != (number == ROOT):
                raise ValueError("a root with a decision, or another node without one")
            tree.nodes.append(node)
            tree._children.setdefault(node.parent, []).append(number)
        for parent, children in tree._children.items():
            if parent >= 0 and not _is_split([nodes[child].decision for child in children], n_sizes):
                raise ValueError(f"the children of node {parent} do not cover it")
        for number in sorted(steps or {}, reverse=True):  # children first
            if not 0 <= number < len(nodes):
                raise ValueError(f"steps of a node {number} that does not exist")
            tree._set_steps(number, (steps or {})[number])
        return tree

    def add(self, parent: int, decision: AnyDecision | None, lower_bound: float) -> TreeNode:
        """Create an open node."""
        self._children.setdefault(parent, []).append(len(self.nodes))
        self.nodes.append(TreeNode(len(self.nodes), parent, decision, TreeStatus.OPEN, lower_bound))
        return self.nodes[-1]

    def settle(self, outcome: NodeOutcome) -> None:
        """Record what became of a node that was evaluated."""
        number = outcome.number
        self.mark(number, _STATUS[outcome.status], outcome.lower_bound)
        self.nodes[number] = replace(self.nodes[number], size=outcome.size, seconds=outcome.seconds)
        self.add_steps(number, outcome.steps)

    def add_steps(self, number: int, steps: Steps) -> None:
        """Add what another evaluation of a node proved to what is known about it."""
        self._set_steps(number, followed_by(self.steps.get(number, ()), steps))

    def drop_bound(self, number: int) -> None:
        """Forget the bound step of a node."""
        self.steps[number] = tuple(step for step in self.steps[number] if not is_bound(step))

    def mark(self, number: int, status: TreeStatus, lower_bound: float) -> None:
        """Change where a node stands."""
        self.nodes[number] = replace(self.nodes[number], status=status, lower_bound=lower_bound)

    def children(self, number: int) -> tuple[int, ...]:
        """Return the numbers of a node's children."""
        return tuple(self._children.get(number, ()))

    def path(self, number: int) -> tuple[int, ...]:
        """Return the numbers of the nodes from the root to a node."""
        path: list[int] = []
        while number >= 0:
            path.append(number)
            number = self.nodes[number].parent
        return tuple(reversed(path))

    def decisions(self, number: int) -> tuple[AnyDecision, ...]:
        """Return all decisions from the root to a node."""
        made = (self.nodes[n].decision for n in self.path(number))
        return tuple(decision for decision in made if decision is not None)

    def argument(self, number: int) -> Steps:
        """Return what proves a node's own bound: all inference on the way to it, then its bound step.

        Empty if it has no bound step of its own.
        """
        inferred: list[Step] = []
        for n in self.path(number):
            for step in self.steps.get(n, ()):
                if is_inference(step):
                    inferred.append(step)
                elif n == number and is_bound(step):
                    return (*inferred, step)
        return ()

    def nearest_bounded(self, number: int) -> int | None:
        """Return the node whose bound step is the last on the way to a node, or ``None``."""
        bounded = (n for n in reversed(self.path(number)) if any(is_bound(step) for step in self.steps.get(n, ())))
        return next(bounded, None)

    def proof(self) -> Proof:
        """Return all steps as one proof, whose entries are numbered like the nodes; open nodes have no branch."""
        return tuple((*self.steps.get(node.number, ()), *self._branch(node.number)) for node in self.nodes)

    def _branch(self, number: int) -> Steps:
        made = {child: self.nodes[child].decision for child in self.children(number)}
        by_place = {decision.place: child for child, decision in made.items() if isinstance(decision, SizeDecision)}
        by_side = {decision.together: child for child, decision in made.items() if isinstance(decision, Decision)}
        decision = next(iter(made.values()), None)
        if isinstance(decision, SizeDecision):
            return (SizeBranchStep(decision.point, tuple(by_place[place] for place in sorted(by_place))),)
        if decision is None:
            return ()
        return (BranchStep(decision.i, decision.j, together=by_side[True], apart=by_side[False]),)

    def _set_steps(self, number: int, steps: Steps) -> None:
        if steps:
            self.steps[number] = steps
        if any(is_bound(step) or isinstance(step, InfeasibleStep) for step in steps):
            self.note_proven(number)

    def note_proven(self, number: int) -> None:
        """Note that a node no longer needs its ancestors' bounds, and drop the bound steps that are not needed."""
        while number not in self._proven:
            self._proven.add(number)
            number = self.nodes[number].parent
            if number < 0 or not all(child in self._proven for child in self._children[number]):
                return
            if number != ROOT and number in self.steps:
                self.drop_bound(number)


def _is_split(decisions: Sequence[AnyDecision | None], n_sizes: int) -> bool:
    """Whether decisions cover every case: two points together and apart, or every size of a point's cluster once."""
    sizes = [decision for decision in decisions if isinstance(decision, SizeDecision)]
    pairs = [decision for decision in decisions if isinstance(decision, Decision)]
    if sizes:
        places = sorted(decision.place for decision in sizes)
        return not pairs and places == list(range(n_sizes)) and len({decision.point for decision in sizes}) == 1
    if len(pairs) != 2:
        return False
    first, second = pairs
    if first.i == first.j or first.together == second.together:
        return False
    return {first.i, first.j} == {second.i, second.j}
