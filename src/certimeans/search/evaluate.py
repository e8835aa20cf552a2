"""From a task to its outcome: all that a worker runs. A pure function of instance and task, up to the clock."""

from __future__ import annotations

import time

import numpy as np

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.rounding import round_relaxation
from certimeans.heuristics.search import SearchSettings, search_clustering
from certimeans.presolve.colouring import find_colouring
from certimeans.presolve.contract import SuperPoints, contract
from certimeans.presolve.graph import Contradiction, connected
from certimeans.presolve.reduce import infer
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from certimeans.relaxation.cutting_planes import RelaxationOutcome, StopReason, bound_by_cutting_planes
from certimeans.relaxation.inherit import inherit
from certimeans.relaxation.model import Relaxation
from certimeans.search.branching import branching_pair
from certimeans.search.node import Inheritance, NodeOutcome, NodeStatus, NodeTask
from certimeans.search.units import CostUnits

_ROOT_SEARCH = SearchSettings()
_NODE_SEARCH = SearchSettings(n_searches=10)
_LONG_SEARCH = SearchSettings(n_searches=1000)


def evaluate(instance: Instance, task: NodeTask, deadline: Deadline | None = None) -> NodeOutcome:
    """Bound a node, look for a better clustering in it, and prune it or choose where to branch."""
    return _Evaluation(instance, task, deadline or Deadline(task.seconds)).run()


class _Evaluation:
    def __init__(self, instance: Instance, task: NodeTask, deadline: Deadline) -> None:
        self.instance = instance
        self.task = task
        self.deadline = deadline
        self.units = CostUnits(instance)
        self.best_cost = task.incumbent_cost
        self.best_labels: IntArray | None = None
        self.began = time.perf_counter()

    def run(self) -> NodeOutcome:
        try:
            points = node_super_points(self.instance, self.task, self.deadline)
            colouring = find_colouring(points.graph, points.n_clusters, self.deadline)
        except Contradiction:
            return self._outcome(NodeStatus.INFEASIBLE, np.inf, 0)
        if self.task.only_search:
            self._search(points, _LONG_SEARCH, colouring=colouring)
            return self._outcome(NodeStatus.UNRESOLVED, 0.0, points.size)
        if self.task.number == 0:
            self._search(points, _ROOT_SEARCH, colouring=colouring)
        relaxation = Relaxation.from_super_points(points)
        outcome = self._bound(points, relaxation)
        bound = max(self.task.lower_bound, self.units.to_user(outcome.safe_lower_bound))
        if bound < self._pruning_cost() and outcome.reason is not StopReason.DEADLINE:
            self._round(points, outcome)
        inheritance = Inheritance(points.group_of, points.weights, outcome.best)
        if bound >= self._pruning_cost():
            return self._outcome(NodeStatus.PRUNED, bound, points.size, inheritance, outcome)
        if outcome.reason is StopReason.DEADLINE:
            return self._outcome(NodeStatus.UNRESOLVED, bound, points.size, inheritance, outcome)
        pair = branching_pair(outcome.matrix, relaxation)
        first_point = np.unique(points.group_of, return_index=True)[1]
        branch = (int(first_point[pair[0]]), int(first_point[pair[1]]))
        return self._outcome(NodeStatus.BRANCHED, bound, points.size, inheritance, outcome, branch)

    def _bound(self, points: SuperPoints, relaxation: Relaxation) -> RelaxationOutcome:
        start = None
        parent = self.task.inheritance
        if parent is not None:
            first_point = np.unique(parent.group_of, return_index=True)[1]
            start = inherit(parent.iterate, parent.weights, relaxation, points.group_of[first_point])
        target = self.units.target(self._pruning_cost())
        seed = int(np.random.SeedSequence(self._seed()).generate_state(1)[0])
        return bound_by_cutting_planes(relaxation, target, start=start, seed=seed, deadline=self.deadline)

    def _round(self, points: SuperPoints, outcome: RelaxationOutcome) -> None:
        """Look for a better clustering where the relaxation points to."""
        start = round_relaxation(points, outcome.matrix, seed=self._seed(), deadline=self.deadline)
        self._search(points, _NODE_SEARCH, start=start)

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
        clustering = Clustering.from_labels(self.instance, points.expand_labels(labels))
        if clustering.cost < self.best_cost:
            self.best_cost, self.best_labels = clustering.cost, clustering.labels

    def _pruning_cost(self) -> float:
        return self.best_cost * (1 - self.task.gap)

    def _seed(self) -> tuple[int, int]:
        return self.task.seed, self.task.number + 1  # the search beside the root has number -1

    def _outcome(
        self,
        status: NodeStatus,
        bound: float,
        size: int,
        inheritance: Inheritance | None = None,
        relaxed: RelaxationOutcome | None = None,
        pair: tuple[int, int] | None = None,
    ) -> NodeOutcome:
        rounds = () if relaxed is None else relaxed.rounds
        seconds = time.perf_counter() - self.began
        return NodeOutcome(self.task.number, status, bound, size, self.best_labels, pair, inheritance, rounds, seconds)


def node_super_points(instance: Instance, task: NodeTask, deadline: Deadline | None = None) -> SuperPoints:
    """Contract the instance by the node's decisions and by what they imply.

    Raises
    ------
    Contradiction
        If the decisions contradict the constraints or each other.
    """
    parent = task.inheritance
    groups = connected(instance.n_points, instance.must_link) if parent is None else parent.group_of
    points = contract(instance, groups)
    together = [(groups[d.i], groups[d.j]) for d in task.decisions if d.together]
    apart = [(groups[d.i], groups[d.j]) for d in task.decisions if not d.together]
    merged = connected(points.size, np.array(together, dtype=np.int64).reshape(-1, 2))
    points = points.merge(merged, np.array(apart, dtype=np.int64).reshape(-1, 2))
    if points.size < instance.n_clusters:
        raise Contradiction  # decisions to join leave fewer groups than clusters
    return infer(points, deadline)
