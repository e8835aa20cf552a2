"""From a task to its outcome: all that a worker runs. A pure function of problem and task, up to the clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.admm import Iterate
from certimeans.bounds.relaxation.cuts.pool import MAX_SUPPORT, Cuts
from certimeans.bounds.relaxation.cutting_planes import (
    RelaxationOutcome,
    RoundStatistics,
    StopReason,
    bound_by_cutting_planes,
)
from certimeans.bounds.relaxation.inherit import inherit
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.proof import Proof
from certimeans.deadline import Deadline
from certimeans.heuristics.rounding import round_relaxation
from certimeans.heuristics.search import SearchSettings, search_clustering
from certimeans.presolve.colouring import find_colouring
from certimeans.presolve.contract import SuperPoints, contract
from certimeans.presolve.graph import Contradiction, connected
from certimeans.presolve.reduce import Presolved, infer
from certimeans.problem.clustering import Clustering
from certimeans.proof.steps import InfeasibleStep, MergeStep, RelaxationStep, Step
from certimeans.search.branching import branching_pair
from certimeans.search.node import (
    Decision,
    NodeOutcome,
    NodeReport,
    NodeStatus,
    NodeTask,
    SearchFindings,
    SearchTask,
)
from certimeans.search.replay import check_groups, proven_groups
from certimeans.search.statistics import NodeWork
from certimeans.search.units import CostUnits


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


@dataclass(frozen=True)
class Surroundings:
    """What a node may know of the world while it is evaluated.

    Attributes
    ----------
    deadline
        When to stop; the task's own time limit if not given.
    incumbent_cost
        Asked for the cost of the best known clustering, which others may improve meanwhile.
    report
        Told what was found so far.
    """

    deadline: Deadline | None = None
    incumbent_cost: Callable[[], float] | None = None
    report: Callable[[NodeReport], None] | None = None


def evaluate(presolved: Presolved, task: NodeTask, surroundings: Surroundings | None = None) -> NodeOutcome:
    """Bound a node, look for a better clustering in it, and prune it or choose where to branch."""
    return _Evaluation(presolved, task, surroundings or Surroundings()).run()


def search_only(presolved: Presolved, task: SearchTask, surroundings: Surroundings | None = None) -> SearchFindings:
    """Look for a clustering beside the root."""
    surroundings = surroundings or Surroundings()
    settings, random = task.settings.long_search, (task.seed, 0)  # nodes use their numbers from 1 on
    deadline = surroundings.deadline or Deadline(task.seconds)
    points = presolved.super_points
    found = search_clustering(points, colouring=presolved.colouring, seed=random, deadline=deadline, settings=settings)
    labels = None if found is None else _checked_labels(presolved, points.expand_labels(found))
    if labels is None or labels.cost >= task.incumbent_cost:
        return SearchFindings(None)
    return SearchFindings(labels.labels)


class _Evaluation:
    def __init__(self, presolved: Presolved, task: NodeTask, surroundings: Surroundings) -> None:
        self.presolved = presolved
        self.task = task
        self.surroundings = surroundings
        self.settings = task.settings
        self.deadline = surroundings.deadline or Deadline(task.seconds)
        self.units = CostUnits(presolved.instance)
        self.best_cost = task.incumbent_cost
        self.best_labels: IntArray | None = None
        self.untold_labels: IntArray | None = None
        self.merges = np.empty((0, presolved.instance.n_clusters + 1), dtype=np.int64)
        self.began = time.perf_counter()

    def run(self) -> NodeOutcome:
        try:
            points, self.merges, colouring = self._restrict()
        except Contradiction:
            return self._outcome(NodeStatus.INFEASIBLE, np.inf, 0, InfeasibleStep())
        if self.task.number == 0 and self.task.inheritance is None:
            self._search(points, self.settings.root_search, colouring=colouring)
        self.group_of = points.group_of
        relaxation = Relaxation.from_super_points(points)
        outcome = self._bound(points, relaxation)
        own_bound = self.units.to_user(outcome.safe_lower_bound)
        bound = max(self.task.lower_bound, own_bound)
        proof = self._step(outcome.proof) if own_bound > self.task.lower_bound else None
        if bound < self._pruning_cost() and outcome.reason is not StopReason.DEADLINE:
            self._round(points, outcome)
        is_single = points.n_clusters in {1, points.size}  # one clustering is left: only rounding keeps the gap open
        if bound >= self._pruning_cost() or is_single:
            return self._outcome(NodeStatus.PRUNED, bound, points.size, proof, outcome)
        inheritance = Inheritance(points.group_of, points.weights, outcome.best)
        if outcome.reason is StopReason.DEADLINE:
            return self._outcome(NodeStatus.UNRESOLVED, bound, points.size, proof, outcome, inheritance)
        pair = points.first_points[list(branching_pair(outcome.matrix, relaxation))]
        branch = (int(pair[0]), int(pair[1]))
        return self._outcome(NodeStatus.BRANCHED, bound, points.size, proof, outcome, inheritance, branch)

    def _restrict(self) -> tuple[SuperPoints, IntArray, IntArray | None]:
        """Return the node's super-points, the inference behind them, and a colouring, which may not be known."""
        if not self.task.decisions:
            return self.presolved.super_points, self.presolved.merges, self.presolved.colouring
        points, merges = node_super_points(self.presolved, self.task, self.deadline)
        return points, merges, find_colouring(points.graph, points.n_clusters, self.deadline)

    def _bound(self, points: SuperPoints, relaxation: Relaxation) -> RelaxationOutcome:
        start = None
        parent = self.task.inheritance
        if parent is not None:
            first_point = np.unique(parent.group_of, return_index=True)[1]
            start = inherit(parent.iterate, parent.weights, relaxation, points.group_of[first_point])
        return bound_by_cutting_planes(
            relaxation,
            lambda: self.units.target(self._pruning_cost()),
            start=start,
            settings=self.settings.cutting_planes,
            seed=int(np.random.SeedSequence(self._seed()).generate_state(1)[0]),
            deadline=self.deadline,
            on_round=self._tell,
        )

    def _round(self, points: SuperPoints, outcome: RelaxationOutcome) -> None:
        """Look for a better clustering where the relaxation points to."""
        start = round_relaxation(points, outcome.matrix, seed=self._seed(), deadline=self.deadline)
        self._search(points, self.settings.node_search, start=start)

    def _search(
        self,
        points: SuperPoints,
        settings: SearchSettings,
        *,
        colouring: IntArray | None = None,
        start: IntArray | None = None,
    ) -> None:
        """Search for a clustering, and keep it if it is better than the best known one."""
        labels = search_clustering(
            points, colouring=colouring, start=start, seed=self._seed(), deadline=self.deadline, settings=settings
        )
        if labels is None:
            return
        clustering = _checked_labels(self.presolved, points.expand_labels(labels))
        if clustering is not None and clustering.cost < self.best_cost:
            self.best_cost, self.best_labels = clustering.cost, clustering.labels
            self.untold_labels = clustering.labels
            self._tell(None)

    def _tell(self, round_: RoundStatistics | None, proof: Proof | None = None) -> None:
        if self.surroundings.report is None:
            return
        bound, cuts = self.task.lower_bound, 0
        steps: tuple[Step, ...] = ()
        if round_ is not None and proof is not None:
            cuts = round_.n_cuts
            own_bound = self.units.to_user(round_.safe_lower_bound)
            if own_bound > bound:
                bound, steps = own_bound, self._steps(self._step(proof))
        self.surroundings.report(NodeReport(self.task.number, bound, self.untold_labels, cuts, steps))
        self.untold_labels = None

    def _step(self, proof: Proof) -> RelaxationStep:
        return relaxation_step(self.group_of, proof, self.units.scatter)

    def _steps(self, last: Step | None) -> tuple[Step, ...]:
        inferred: tuple[Step, ...] = (MergeStep(self.merges),) if len(self.merges) else ()
        return inferred if last is None else (*inferred, last)

    def _pruning_cost(self) -> float:
        elsewhere = self.surroundings.incumbent_cost
        cost = self.best_cost if elsewhere is None else min(self.best_cost, elsewhere())
        return cost * (1 - self.task.gap)

    def _seed(self) -> tuple[int, int]:
        return self.task.seed, self.task.number + 1  # the search beside the root uses 0

    def _outcome(
        self,
        status: NodeStatus,
        bound: float,
        size: int,
        last: Step | None = None,
        relaxed: RelaxationOutcome | None = None,
        inheritance: Inheritance | None = None,
        pair: tuple[int, int] | None = None,
    ) -> NodeOutcome:
        return NodeOutcome(
            number=self.task.number,
            status=status,
            lower_bound=bound,
            size=size,
            labels=self.best_labels,
            branching_pair=pair,
            inheritance=inheritance,
            steps=self._steps(last),
            cuts=0 if relaxed is None or not relaxed.rounds else relaxed.rounds[-1].n_cuts,
            work=NodeWork() if relaxed is None else _work(relaxed.rounds),
            seconds=time.perf_counter() - self.began,
        )


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
    groups = presolved.super_points.group_of if parent is None else parent.group_of
    points = contract(instance, groups)
    merged = connected(points.size, _decided_pairs(task.decisions, groups, together=True))
    points = points.merge(merged, _decided_pairs(task.decisions, groups, together=False))
    if points.size < instance.n_clusters:
        raise Contradiction  # decisions to join leave fewer groups than clusters
    return infer(points, deadline)


def resumed_inheritance(
    presolved: Presolved, decisions: tuple[Decision, ...], steps: tuple[Step, ...]
) -> Inheritance | None:
    """Rebuild what a node starts from, given what proves a bound on the way to it; the primal matrix starts afresh.

    Parameters
    ----------
    decisions
        Those of the node itself.
    steps
        As for :func:`prove_again`, which accepted them with the decisions of the node that they belong to.
    """
    step = steps[-1]
    if not isinstance(step, RelaxationStep):
        return None
    try:
        relaxation, proof, points = _stated(presolved, decisions, step)
    except Contradiction:  # the evaluation will see that, too
        return None
    iterate = Iterate(Iterate.cold(relaxation).primal, proof.dual(relaxation), proof.cuts)
    return Inheritance(step.group_of, points.weights, iterate)


def prove_again(presolved: Presolved, decisions: tuple[Decision, ...], steps: tuple[Step, ...]) -> float:
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
    if not isinstance(step, RelaxationStep):
        raise ValueError(f"a step of kind {step.kind!r} proves no bound")  # noqa: TRY004  # a file's fault
    check_groups(step.group_of, proven_groups(instance, decisions, steps[:-1]), instance.n_clusters)
    try:
        relaxation, proof, _ = _stated(presolved, decisions, step)
    except Contradiction:
        raise ValueError("the decisions contradict the constraints") from None
    return CostUnits(instance).to_user(proof.bound(relaxation).safe_lower_bound)


def _stated(
    presolved: Presolved, decisions: tuple[Decision, ...], step: RelaxationStep
) -> tuple[Relaxation, Proof, SuperPoints]:
    points = contract(presolved.instance, step.group_of)
    points = points.merge(np.arange(points.size), _decided_pairs(decisions, step.group_of, together=False))
    return Relaxation.from_super_points(points), relaxation_proof(step), points


def relaxation_step(group_of: IntArray, proof: Proof, scatter: float) -> RelaxationStep:
    """State a relaxation's proof as a step."""
    used = proof.cuts.members >= 0
    return RelaxationStep(
        group_of=group_of,
        cut_start=np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64),
        cut_member=proof.cuts.members[used],
        cut_coefficient=proof.cuts.coefficients[used],
        cut_multiplier=proof.cuts.multipliers,
        slack=proof.slack,
        unit=scatter if scatter > 0 else 1.0,
        weight_unit=1.0,
    )


def relaxation_proof(step: RelaxationStep) -> Proof:
    """Take a step apart again.

    Raises
    ------
    ValueError
        If its arrays do not fit each other.
    """
    size = int(step.group_of.max()) + 1
    counts = np.diff(step.cut_start)
    if (
        step.cut_start.shape != (len(step.cut_multiplier) + 1,)
        or step.cut_start[0] != 0
        or not ((counts >= 0) & (counts <= MAX_SUPPORT)).all()
        or not step.cut_member.shape == step.cut_coefficient.shape == (step.cut_start[-1],)
        or step.slack.shape != (size * (size + 1) // 2,)
        or (step.cut_member.size and not (step.cut_member.min() >= 0 and step.cut_member.max() < size))
    ):
        raise ValueError("multipliers of another shape")
    used = np.arange(MAX_SUPPORT) < counts[:, None]
    members = np.full(used.shape, -1, dtype=np.int32)
    coefficients = np.zeros(used.shape, dtype=np.int8)
    members[used], coefficients[used] = step.cut_member, step.cut_coefficient
    increasing = (np.diff(members, axis=1) > 0) | ~used[:, 1:]
    if not (increasing.all() and coefficients[used].all() and (step.cut_multiplier >= 0).all()):
        raise ValueError("cuts that are not in their standard form")
    return Proof(Cuts(members, coefficients, step.cut_multiplier), step.slack)


def _work(rounds: tuple[RoundStatistics, ...]) -> NodeWork:
    return NodeWork(
        len(rounds),
        sum(r.iterations for r in rounds),
        sum(r.spectral_seconds for r in rounds),
        sum(r.polyhedral_seconds for r in rounds),
        sum(r.separation_seconds for r in rounds),
        sum(r.bound_seconds for r in rounds),
    )


def _checked_labels(presolved: Presolved, labels: IntArray) -> Clustering | None:
    """Evaluate what a heuristic returned; labels that break a constraint do not count."""
    clustering = Clustering.from_labels(presolved.instance, labels)
    return clustering if clustering.satisfies(presolved.instance) else None


def _decided_pairs(decisions: tuple[Decision, ...], group_of: IntArray, *, together: bool) -> IntArray:
    """Return the pairs of groups that decisions put together, or apart."""
    pairs = [(group_of[d.i], group_of[d.j]) for d in decisions if d.together == together]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
