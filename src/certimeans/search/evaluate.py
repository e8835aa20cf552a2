"""From a task to its outcome: all that a worker runs. A pure function of problem and task, up to the clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certimeans._typing import IntArray
from certimeans.bounds.relaxation.admm import Iterate
from certimeans.bounds.relaxation.cutting_planes import (
    RelaxationOutcome,
    RoundStatistics,
    StopReason,
    bound_by_cutting_planes,
)
from certimeans.bounds.relaxation.inherit import inherit
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.deadline import Deadline
from certimeans.heuristics.rounding import round_relaxation
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.colouring import find_colouring
from certimeans.presolve.contract import SuperPoints, contract
from certimeans.presolve.graph import Contradiction, connected
from certimeans.presolve.reduce import Presolved, infer
from certimeans.problem.clustering import Clustering
from certimeans.search.branching import branching_pair
from certimeans.search.node import Decision, Inheritance, NodeOutcome, NodeProof, NodeReport, NodeStatus, NodeTask
from certimeans.search.units import CostUnits


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
            return self._outcome(NodeStatus.INFEASIBLE, np.inf, 0)
        if self.task.only_search:
            self._search(points, self.settings.long_search, colouring=colouring)
            return self._outcome(NodeStatus.UNRESOLVED, 0.0, points.size)
        if self.task.number == 0 and self.task.inheritance is None:
            self._search(points, self.settings.root_search, colouring=colouring)
        relaxation = Relaxation.from_super_points(points)
        outcome = self._bound(points, relaxation)
        own_bound = self.units.to_user(outcome.safe_lower_bound)
        bound = max(self.task.lower_bound, own_bound)
        proof = NodeProof(points.group_of, outcome.proof) if own_bound > self.task.lower_bound else None
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
        clustering = Clustering.from_labels(self.presolved.instance, points.expand_labels(labels))
        if clustering.cost < self.best_cost:
            self.best_cost, self.best_labels = clustering.cost, clustering.labels
            self.untold_labels = clustering.labels
            self._tell(None)

    def _tell(self, round_: RoundStatistics | None) -> None:
        if self.surroundings.report is not None:
            bound, cuts = self.task.lower_bound, 0
            if round_ is not None:
                bound, cuts = max(bound, self.units.to_user(round_.safe_lower_bound)), round_.n_cuts
            self.surroundings.report(NodeReport(self.task.number, bound, self.untold_labels, cuts))
            self.untold_labels = None

    def _pruning_cost(self) -> float:
        elsewhere = self.surroundings.incumbent_cost
        cost = self.best_cost if elsewhere is None else min(self.best_cost, elsewhere())
        return cost * (1 - self.task.gap)

    def _seed(self) -> tuple[int, int]:
        return self.task.seed, self.task.number + 1  # the search beside the root has number -1

    def _outcome(
        self,
        status: NodeStatus,
        bound: float,
        size: int,
        proof: NodeProof | None = None,
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
            proof=proof,
            merges=self.merges,
            rounds=() if relaxed is None else relaxed.rounds,
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


def resumed_inheritance(presolved: Presolved, decisions: tuple[Decision, ...], proof: NodeProof) -> Inheritance:
    """Rebuild from a proof on the way to a node what the node starts from; the primal matrix starts afresh."""
    points = contract(presolved.instance, proof.group_of)
    points = points.merge(np.arange(points.size), _decided_pairs(decisions, proof.group_of, together=False))
    relaxation = Relaxation.from_super_points(points)
    iterate = Iterate(Iterate.cold(relaxation).primal, proof.proof.dual(relaxation), proof.proof.cuts)
    return Inheritance(proof.group_of, points.weights, iterate)


def _decided_pairs(decisions: tuple[Decision, ...], group_of: IntArray, *, together: bool) -> IntArray:
    """Return the pairs of groups that decisions put together, or apart."""
    pairs = [(group_of[d.i], group_of[d.j]) for d in decisions if d.together == together]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
