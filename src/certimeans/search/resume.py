"""From a saved search to one that goes on: everything is proven again, and what cannot be is opened again.

A file can be edited. So no bound, no status and no proof in it is believed: bounds are recomputed from the steps that
are said to prove them, a pruned node stays pruned only if its recomputed bound justifies that now (with today's gap and
incumbent), and nodes that were infeasible are evaluated again, which is cheap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from certimeans.deadline import Deadline
from certimeans.presolve.reduce import Presolved
from certimeans.proof.steps import MergeStep, Step
from certimeans.search.background import LARGE_SIZE, in_background, result_before
from certimeans.search.node import AnyDecision
from certimeans.search.node_problem import prove_again
from certimeans.search.replay import inference_of_presolve, proven_groups
from certimeans.search.tree import ROOT, Steps, Tree, TreeNode, TreeStatus, followed_by, is_bound

Prove = Callable[[Presolved, tuple[AnyDecision, ...], Steps], float]


@dataclass(frozen=True, eq=False)
class Resumed:
    """A saved search whose claims were proven again.

    Attributes
    ----------
    tree
        Its nodes are branched, pruned, or open; their bounds are proven.
    root_lower_bound
        What the root's own steps prove.
    """

    tree: Tree
    root_lower_bound: float


def prove_tree(
    saved: Tree, presolved: Presolved, pruning_cost: float, deadline: Deadline, prove: Prove = prove_again
) -> Resumed:
    """Prove a saved tree again.

    Parameters
    ----------
    pruning_cost
        A node may stay pruned if its bound reaches this.
    deadline
        When it passes, the bounds that were not recomputed by then do not count.
    prove
        See :func:`certimeans.search.node_problem.prove_again`.
    """
    limits = presolved.instance.limits
    tree = Tree.of(saved.nodes, n_sizes=0 if limits is None else len(limits.choices))
    nothing = presolved.super_points.scale.nothing_proven
    root_bound = nothing
    for node in saved.nodes:
        number = node.number
        inherited = nothing if node.parent < 0 else tree.nodes[node.parent].lower_bound
        tree.steps[number] = _believable(tree, presolved, number, saved.steps.get(number, ()))
        own = _own_bound(tree, presolved, number, inherited, deadline, prove)
        if number == ROOT:
            root_bound = own
        tree.nodes[number] = _settled(node, max(inherited, own), pruning_cost, has_children=bool(tree.children(number)))
    return Resumed(tree, root_bound)


def _settled(node: TreeNode, bound: float, pruning_cost: float, *, has_children: bool) -> TreeNode:
    status = TreeStatus.OPEN
    if has_children:
        status = TreeStatus.BRANCHED
    elif node.status is TreeStatus.PRUNED and bound >= pruning_cost:
        status = TreeStatus.PRUNED
    return replace(node, status=status, lower_bound=bound)


def _believable(tree: Tree, presolved: Presolved, number: int, saved: Steps) -> Steps:
    """Return the inference of a node, if every row of it has a reason, and its bound step, to be proven.

    The root begins with what presolve infers now, on which nodes without a warm start rest: that points are united
    because they are identical is not believed to a file, and nowhere but there.
    """
    presolve = inference_of_presolve(presolved)
    merges = tuple(step for step in saved if isinstance(step, MergeStep))
    kept = tuple(step for step in saved if isinstance(step, MergeStep) or is_bound(step))
    if merges:
        before = [step for n in tree.path(number)[:-1] for step in tree.steps.get(n, ())] or list(presolve)
        try:
            proven_groups(presolved.instance, tree.decisions(number), (*before, *merges))
        except ValueError:
            kept = ()
    return followed_by(presolve, kept) if number == ROOT else kept


def _own_bound(
    tree: Tree, presolved: Presolved, number: int, inherited: float, deadline: Deadline, prove: Prove
) -> float:
    """Recompute a node's own bound; nothing is proven without one.

    A step that proves no more than what is inherited is dropped, for the ancestor's step is the one to keep: once all
    children of a node have bounds of their own, the node's is dropped, and nothing would prove what they inherited.
    """
    nothing = presolved.super_points.scale.nothing_proven
    argument = tree.argument(number)
    if not argument or deadline.passed():
        return nothing
    decisions = tree.decisions(number)
    try:
        if presolved.super_points.size < LARGE_SIZE:
            bound = prove(presolved, decisions, argument)
        else:
            bound = result_before(in_background(prove, presolved, decisions, argument), deadline)
    except TimeoutError:
        return nothing
    except (ValueError, ArithmeticError, LookupError):
        bound = -math.inf
    if math.isfinite(bound) and bound > nothing and bound >= inherited:
        tree.note_proven(number)
        return bound
    tree.drop_bound(number)
    return nothing


def warm_start_steps(tree: Tree, number: int) -> tuple[Step, ...]:
    """Return what proves the last bound on the way to a node: what it can start from. Empty if there is none."""
    bounded = tree.nearest_bounded(number)
    return () if bounded is None else tree.argument(bounded)
