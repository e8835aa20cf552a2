"""The problem of a node: the instance with its decisions, what steps prove about it, and what it starts from."""

from __future__ import annotations

import numpy as np

from certimeans._typing import IntArray
from certimeans.bounds.covariance import covariance_bound
from certimeans.bounds.relaxation.blocks.bounder import BlockStart
from certimeans.bounds.relaxation.blocks.proof import prove_blocks_again
from certimeans.bounds.relaxation.bounder import WarmStart
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.proof import prove_again as prove_relaxation_again
from certimeans.deadline import Deadline
from certimeans.presolve.contract import SuperPoints, contract
from certimeans.presolve.graph import Contradiction, connected
from certimeans.presolve.reduce import Presolved, infer
from certimeans.problem.clustering import by_first_appearance
from certimeans.proof.steps import BlockStep, CovarianceStep, RelaxationStep, Step
from certimeans.search.decisions import as_pairs, pairs_of_groups, with_decided_sizes
from certimeans.search.node import AnyDecision, NodeTask
from certimeans.search.replay import check_groups, proven_groups


def node_super_points(
    presolved: Presolved, task: NodeTask, deadline: Deadline | None = None
) -> tuple[SuperPoints, IntArray]:
    """Contract the instance by the node's decisions and by what they imply; return the steps of that, too.

    Raises
    ------
    Contradiction
        If the decisions contradict the constraints or each other.
    """
    instance, parent = presolved.instance, task.inheritance
    groups = parent.group_of if isinstance(parent, (WarmStart, BlockStart)) else presolved.super_points.group_of
    points = with_decided_sizes(contract(instance, groups), task.decisions)
    pairs = as_pairs(task.decisions, instance.limits)
    merged = connected(points.size, pairs_of_groups(pairs, groups, together=True))
    points = points.merge(merged, pairs_of_groups(pairs, groups, together=False))
    if points.size < instance.n_clusters:
        raise Contradiction  # decisions to join leave fewer groups than clusters
    return infer(points, deadline)


def prove_again(presolved: Presolved, decisions: tuple[AnyDecision, ...], steps: tuple[Step, ...]) -> float:
    """Prove the bound of a saved node again, in the user's units.

    Parameters
    ----------
    decisions
        All decisions on the way to the node.
    steps
        All merge steps on the way to the node, in order, and last its bound step.

    Raises
    ------
    ValueError
        If they prove nothing.
    """
    step, instance = steps[-1], presolved.instance
    proven = proven_groups(instance, decisions, steps[:-1])
    if isinstance(step, CovarianceStep):
        points = _stated(presolved, decisions, by_first_appearance(proven))
        return points.scale.to_user(covariance_bound(points))
    if not isinstance(step, (RelaxationStep, BlockStep)):
        raise ValueError(f"a step of kind {step.kind!r} proves no bound")  # noqa: TRY004  # a file's fault
    check_groups(step.group_of, proven, instance.n_clusters)
    points = _stated(presolved, decisions, step.group_of)
    weight_unit = step.weight_unit if isinstance(step, RelaxationStep) else points.scale.weight_unit
    if (step.unit, weight_unit) != (points.scale.unit, points.scale.weight_unit):
        raise ValueError("multipliers in other units")
    if isinstance(step, BlockStep):
        return points.scale.to_user(prove_blocks_again(step, points).safe_lower_bound)
    bound = prove_relaxation_again(step, Relaxation.from_super_points(points))
    return points.scale.to_user(bound.safe_lower_bound)


def resumed_inheritance(
    presolved: Presolved, decisions: tuple[AnyDecision, ...], steps: tuple[Step, ...]
) -> WarmStart | BlockStart | None:
    """Rebuild what a node starts from, given what proves a bound on the way to it; ``None`` if that does not fit it.

    Parameters
    ----------
    decisions
        Those of the node itself.
    steps
        As for :func:`prove_again`, which accepted them with the decisions of the node that they belong to.
    """
    step = steps[-1]
    if not isinstance(step, (RelaxationStep, BlockStep)):
        return None
    try:
        points = _stated(presolved, decisions, step.group_of)
        if isinstance(step, BlockStep):
            return BlockStart.from_step(points, step)
        return WarmStart.from_step(points, step)
    except ValueError:  # decisions of an edited file may part what the step has in one group
        return None


def _stated(presolved: Presolved, decisions: tuple[AnyDecision, ...], group_of: IntArray) -> SuperPoints:
    """Contract the instance to given groups, and add what decisions put apart.

    Raises
    ------
    ValueError
        If a cannot-link has both ends in one group.
    """
    try:
        points = with_decided_sizes(contract(presolved.instance, group_of), decisions)
        pairs = as_pairs(decisions, presolved.instance.limits)
        return points.merge(np.arange(points.size), pairs_of_groups(pairs, group_of, together=False))
    except Contradiction:
        raise ValueError("the decisions contradict the constraints") from None
