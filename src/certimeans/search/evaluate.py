"""From a task to its outcome: all that a worker runs. A pure function of problem and task, up to the clock."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from certimeans._typing import IntArray
from certimeans.bounds.covariance import CovarianceBounder
from certimeans.bounds.protocol import Answer, Bound, Bounder, Question, RoundStatistics, StopReason, nothing_proven
from certimeans.bounds.relaxation.blocks.bounder import BlockBounder, BlockStart
from certimeans.bounds.relaxation.blocks.model import has_blocks
from certimeans.bounds.relaxation.bounder import LARGEST_SIZE, RelaxationBounder, WarmStart
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings
from certimeans.deadline import Deadline
from certimeans.heuristics.rounding import round_relaxation
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.plugins import load_plugin
from certimeans.presolve.colouring import find_colouring
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.graph import Contradiction, Graph
from certimeans.presolve.packing import find_packing
from certimeans.presolve.reduce import Presolved
from certimeans.problem.clustering import Clustering
from certimeans.proof.steps import IdenticalStep, InfeasibleStep, MergeStep, Step
from certimeans.search.background import LARGE_SIZE
from certimeans.search.branching import branches
from certimeans.search.memory import memory_limit
from certimeans.search.node import (
    AnyDecision,
    NodeOutcome,
    NodeReport,
    NodeStatus,
    NodeTask,
    SearchFindings,
    SearchTask,
)
from certimeans.search.node_problem import node_super_points, prove_again
from certimeans.search.outside import start_from
from certimeans.search.statistics import NodeWork
from certimeans.status import pruning_cost

_LOGGER = logging.getLogger("certimeans")
_SECONDS_BETWEEN_REPORTS = 10.0
_PACKING_STEPS = 20_000
"""How long an exact search looks for a clustering of a node within limits on sizes: some tenths of a second."""
_NEAR = 4.0
"""A bound that misses the cost by no more than so many times what rounding takes is not worth any branching."""


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
    n_threads
        How many threads may work on this node.
    """

    deadline: Deadline | None = None
    incumbent_cost: Callable[[], float] | None = None
    report: Callable[[NodeReport], None] | None = None
    n_threads: int = 1


def evaluate(presolved: Presolved, task: NodeTask, surroundings: Surroundings | None = None) -> NodeOutcome:
    """Bound a node, look for a better clustering in it, and prune it or choose where to branch."""
    return _Evaluation(presolved, task, surroundings or Surroundings()).run()


def search_only(presolved: Presolved, task: SearchTask, surroundings: Surroundings | None = None) -> SearchFindings:
    """Look for a clustering beside the root."""
    surroundings = surroundings or Surroundings()
    points = presolved.super_points
    found = search_clustering(
        points,
        colouring=presolved.colouring,
        seed=(task.seed, 0),  # nodes use their numbers from 1 on
        deadline=surroundings.deadline or Deadline(task.seconds),
        settings=task.settings.long_search,
    )
    clustering = None if found is None else _checked(presolved, points.expand_labels(found))
    if clustering is None or clustering.cost >= task.incumbent_cost:
        return SearchFindings(None)
    return SearchFindings(clustering.labels)


class _Evaluation:
    """The evaluation of one node: first what is cheap, then what is strong."""

    def __init__(self, presolved: Presolved, task: NodeTask, surroundings: Surroundings) -> None:
        self.presolved = presolved
        self.task = task
        self.surroundings = surroundings
        self.settings = task.settings
        self.deadline = surroundings.deadline or Deadline(task.seconds)
        self.best_cost = task.incumbent_cost
        self.best_labels: IntArray | None = None
        self.untold_labels: IntArray | None = None
        self.bound = Bound(task.lower_bound, None)  # with a step if it is this node's own
        self.merges = np.empty((0, presolved.instance.n_clusters + 1), dtype=np.int64)
        self.size = 0
        self.rounds: tuple[RoundStatistics, ...] = ()
        self.began = time.perf_counter()

    def run(self) -> NodeOutcome:
        try:
            points, self.merges, colouring = self._restrict()
        except Contradiction:
            return self._outcome(NodeStatus.INFEASIBLE, lower_bound=np.inf)
        return self._decide(points, colouring)

    def _decide(self, points: SuperPoints, colouring: IntArray | None) -> NodeOutcome:
        """Bound and search until the node can be pruned, or it is clear that it must be branched on."""
        self.size = points.size
        if points.limits is not None and colouring is not None and np.isinf(self.best_cost):
            self._take(points, colouring)  # heuristics may miss what an exact search has found
        if self.task.number == 0 and self.task.inheritance is None:
            self._ask(CovarianceBounder(), points)
            self._search(points, self.settings.root_search, colouring=colouring)
            self._ask_others(points)
        if self._is_done():
            return self._outcome(NodeStatus.PRUNED)
        allowed = memory_limit(self.settings.memory_limit)
        bounder = _relaxation_of(points, self.settings.cutting_planes, allowed)
        needed = bounder.bytes_needed(points)
        if needed > allowed or points.size > LARGEST_SIZE:
            self._search(points, self.settings.long_search, colouring=colouring)
            return self._outcome(NodeStatus.PRUNED, remark=_too_large(points.size, needed, allowed))
        answer = self._ask(bounder, points)
        self.rounds = answer.rounds
        if not self._is_done() and answer.reason is not StopReason.DEADLINE:
            self._round(points, answer)
        # If one clustering is left, or the bound is as good as rounding allows, no branching helps.
        is_single = points.n_clusters in {1, points.size}
        if self._is_done() or is_single or answer.reason is StopReason.ROUNDING:
            return self._outcome(NodeStatus.PRUNED)
        if answer.reason is StopReason.DEADLINE:
            return self._outcome(NodeStatus.UNRESOLVED, answer)
        return self._branch(points, answer)

    def _ask_others(self, points: SuperPoints) -> None:
        """Let heuristics and bounders from outside the package help; nothing that they return is believed."""
        seed = int(np.random.SeedSequence(self._seed()).generate_state(1)[0])
        for heuristic in self.settings.heuristics:
            if self._is_done():
                return
            start = start_from(heuristic, points, seed, self.deadline)
            if start is not None:
                self._search(points, self.settings.node_search, start=start)
        for bounder in self.settings.bounders:
            made: Bounder = load_plugin(bounder, "bounders")()
            if not self._is_done() and made.bytes_needed(points) <= memory_limit(self.settings.memory_limit):
                self._ask(made, points, self._proven_again)

    def _proven_again(self, bound: Bound) -> Bound:
        """Return what the step of a bound from outside really proves."""
        if bound.step is None:
            return bound
        try:
            return replace(bound, value=prove_again(self.presolved, self.task.decisions, self._steps(bound.step)))
        except ValueError as error:
            _LOGGER.warning("a bound from outside was dropped: %s", error)
            return nothing_proven(self.presolved.super_points)

    def _branch(self, points: SuperPoints, answer: Answer) -> NodeOutcome:
        assert answer.matrix is not None  # noqa: S101  # the relaxation always has one
        children = branches(answer.matrix, points, answer.sizes)
        status = NodeStatus.BRANCHED if children else NodeStatus.PRUNED
        return self._outcome(status, answer if children else None, children=children)

    def _restrict(self) -> tuple[SuperPoints, IntArray, IntArray | None]:
        """Return the node's super-points, the inference behind them, and a colouring, which may not be known."""
        if not self.task.decisions and self._starts_at_the_root():
            return self.presolved.super_points, self.presolved.merges, self.presolved.colouring
        points, merges = node_super_points(self.presolved, self.task, self.deadline)
        colouring = find_colouring(points.graph, points.n_clusters, self.deadline)
        if points.limits is not None:
            colouring = find_packing(points, _PACKING_STEPS, self.deadline)
        return points, merges, colouring

    def _starts_at_the_root(self) -> bool:
        """Whether the node's super-points are those of presolve: nothing is inherited, or only multipliers are."""
        start, groups = self.task.inheritance, self.presolved.super_points.group_of
        return start is None or (isinstance(start, (WarmStart, BlockStart)) and np.array_equal(start.group_of, groups))

    def _ask(
        self, bounder: Bounder, points: SuperPoints, checked: Callable[[Bound], Bound] = lambda bound: bound
    ) -> Answer:
        """Let a bounder work until the node can be pruned; its bounds count as ``checked`` returns them."""
        descent = replace(self.settings.node_search, n_searches=1)
        question = Question(
            points,
            target=self._pruning_cost,
            deadline=self.deadline,
            seed=int(np.random.SeedSequence(self._seed()).generate_state(1)[0]),
            start=self.task.inheritance,
            labels=None if self.best_labels is None else self.best_labels[points.first_points],
            on_bound=lambda bound: self._improve(checked(bound)),
            on_labels=lambda labels: self._search(points, descent, start=labels),
            n_threads=self.surroundings.n_threads,
        )
        answer = bounder.bound(question)
        self._improve(checked(answer.bound))
        return answer

    def _improve(self, bound: Bound) -> None:
        """Take over a bound that is better than what was known."""
        if bound.value > self.bound.value and bound.step is not None:
            self.bound = bound
            self._tell()

    def _round(self, points: SuperPoints, answer: Answer) -> None:
        """Look for a better clustering where the relaxation points to."""
        assert answer.matrix is not None  # noqa: S101  # the relaxation always has one
        whole = self.presolved.super_points
        if len(whole.graph.edges) > 0 or whole.limits is not None or len(points.graph.edges) == 0:
            start = round_relaxation(points, answer.matrix, seed=self._seed(), deadline=self.deadline)
            self._search(points, self.settings.node_search, start=start)
            return
        # Cannot-links of decisions alone: a clustering need not keep them, and a search without them is faster.
        free = replace(points, graph=Graph(points.size, np.empty((0, 2), dtype=np.int64)))
        start = round_relaxation(free, answer.matrix, seed=self._seed(), deadline=self.deadline)
        if start is not None:
            start = points.expand_labels(start)[whole.first_points]
        self._search(whole, self.settings.node_search, start=start)

    def _search(
        self,
        points: SuperPoints,
        settings: SearchSettings,
        *,
        colouring: IntArray | None = None,
        start: IntArray | None = None,
    ) -> None:
        """Search for a clustering, and keep it if it is better than the best known one."""
        told = [-math.inf]

        def on_improvement(labels: IntArray) -> None:
            # One search may take all the time there is, and be left behind.
            if points.size >= LARGE_SIZE and time.monotonic() - told[0] > _SECONDS_BETWEEN_REPORTS:
                self._take(points, labels)
                told[0] = time.monotonic()

        labels = search_clustering(
            points,
            colouring=colouring,
            start=start,
            seed=self._seed(),
            deadline=self.deadline,
            settings=settings,
            on_improvement=on_improvement,
        )
        if labels is not None:
            self._take(points, labels)

    def _take(self, points: SuperPoints, labels: IntArray) -> None:
        """Keep a clustering if it is better than the best known one, and tell."""
        clustering = _checked(self.presolved, points.expand_labels(labels))
        if clustering is not None and clustering.cost < self.best_cost:
            self.best_cost, self.best_labels = clustering.cost, clustering.labels
            self.untold_labels = clustering.labels
            self._tell()

    def _tell(self) -> None:
        if self.surroundings.report is not None:
            steps = () if self.bound.step is None else self._steps(self.bound.step)
            report = NodeReport(self.task.number, self.bound.value, self.untold_labels, self.bound.n_cuts, steps)
            self.surroundings.report(report)
            self.untold_labels = None

    def _steps(self, last: Step | None) -> tuple[Step, ...]:
        united = self.task.number == 0 and self.presolved.n_identical > 0
        inferred: tuple[Step, ...] = (IdenticalStep(),) if united else ()
        inferred += (MergeStep(self.merges),) if len(self.merges) else ()
        return inferred if last is None else (*inferred, last)

    def _is_done(self) -> bool:
        return self.bound.value >= self._pruning_cost() or self._only_rounding_is_left()

    def _only_rounding_is_left(self) -> bool:
        """Whether rounding hides the gap that was asked for, and the bound is about as good as it can get."""
        cost = self._incumbent_cost()
        provable = self.presolved.super_points.scale.provable(cost)
        return provable < self._pruning_cost() and self.bound.value >= cost - _NEAR * (cost - provable)

    def _incumbent_cost(self) -> float:
        elsewhere = self.surroundings.incumbent_cost
        return self.best_cost if elsewhere is None else min(self.best_cost, elsewhere())

    def _pruning_cost(self) -> float:
        return pruning_cost(self._incumbent_cost(), self.task.gap)

    def _seed(self) -> tuple[int, int]:
        return self.task.seed, self.task.number + 1  # the search beside the root uses 0

    def _outcome(
        self,
        status: NodeStatus,
        answer: Answer | None = None,
        *,
        lower_bound: float | None = None,
        children: tuple[AnyDecision, ...] = (),
        remark: str = "",
    ) -> NodeOutcome:
        infeasible = status is NodeStatus.INFEASIBLE
        return NodeOutcome(
            number=self.task.number,
            status=status,
            lower_bound=self.bound.value if lower_bound is None else lower_bound,
            size=self.size,
            labels=self.best_labels,
            steps=self._steps(InfeasibleStep() if infeasible else self.bound.step),
            children=children,
            inheritance=None if answer is None else answer.start,
            cuts=self.rounds[-1].n_cuts if self.rounds else 0,
            work=_work(self.rounds),
            seconds=time.perf_counter() - self.began,
            remark=remark,
        )


def _relaxation_of(points: SuperPoints, settings: CuttingPlaneSettings, allowed: float) -> Bounder:
    """Choose the relaxation: with a block for each prescribed size if sizes are unequal and memory allows it."""
    blocks = BlockBounder(settings)
    if has_blocks(points) and 1 < points.n_clusters < points.size and blocks.bytes_needed(points) <= allowed:
        return blocks
    return RelaxationBounder(settings)


def _checked(presolved: Presolved, labels: IntArray) -> Clustering | None:
    """Evaluate what a heuristic returned; labels that break a constraint do not count."""
    clustering = Clustering.from_labels(presolved.instance, labels)
    return clustering if clustering.satisfies(presolved.instance) else None


def _work(rounds: tuple[RoundStatistics, ...]) -> NodeWork:
    return NodeWork(
        len(rounds),
        sum(r.iterations for r in rounds),
        sum(r.spectral_seconds for r in rounds),
        sum(r.polyhedral_seconds for r in rounds),
        sum(r.separation_seconds for r in rounds),
        sum(r.bound_seconds for r in rounds),
    )


def _too_large(size: int, needed: int, allowed: int) -> str:
    if needed <= allowed:
        return (
            f"a certificate has room for relaxations of {LARGEST_SIZE:,} super-points, not of {size:,}; "
            "the lower bound is the covariance bound"
        )
    return (
        f"the relaxation of {size:,} super-points would take {needed / 2**30:.1f} GB of memory, more than the "
        f"{allowed / 2**30:.1f} GB allowed; the lower bound is the covariance bound"
    )
