"""The coordinator: decides which node is evaluated next, and when the search ends."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from dataclasses import dataclass, replace

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.errors import InternalError
from certimeans.printing import scientific_up
from certimeans.search.checkpoint import SavedSearch
from certimeans.search.checkpointer import Checkpointer
from certimeans.search.incumbent import Incumbent
from certimeans.search.limits import Limits, Progress, reason_to_stop
from certimeans.search.node import (
    Inheritance,
    NodeOutcome,
    NodeReport,
    NodeStatus,
    NodeTask,
    SearchFindings,
    SearchTask,
    Task,
)
from certimeans.search.open_nodes import OpenNodes
from certimeans.search.recovery import Recovery
from certimeans.search.resume import Resumed
from certimeans.search.running import RunningTasks
from certimeans.search.settings import NodeSettings
from certimeans.search.statistics import RunStatistics, Tally
from certimeans.search.tree import ROOT, Tree, TreeNode, TreeStatus
from certimeans.search.workers import Workers
from certimeans.status import SolveStatus, pruning_cost, relative_gap

_POLL_SECONDS = 0.1
_GRACE_SECONDS = 0.3
"""How long nodes that were told to stop may take to return their bounds."""
_SECONDS_OF_ROOT_ALONE = 1.0
"""Most roots are solved by then, sooner than with a search beside them."""


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """What the search ended with.

    Attributes
    ----------
    lower_bound
        Proven, in the user's units.
    is_complete
        Whether it ended by itself: nothing was left to do.
    message
        What the user should know besides; usually empty.
    """

    status: SolveStatus
    lower_bound: float
    tree: Tree
    statistics: RunStatistics
    is_complete: bool
    message: str


class Coordinator:
    """Best-first branch and bound over any workers.

    The proven bound is the least over open, running, abandoned and pruned nodes, never that of an empty queue.
    """

    def __init__(
        self,
        workers: Workers,
        incumbent: Incumbent,
        limits: Limits,
        deadline: Deadline,
        seed: int,
        on_progress: Callable[[Progress], None] | None = None,
        checkpointer: Checkpointer | None = None,
        settings: NodeSettings | None = None,
    ) -> None:
        self.workers = workers
        self.incumbent = incumbent
        self.limits = limits
        self.deadline = deadline
        self.seed = seed
        self.settings = settings or NodeSettings()
        self.tree = Tree()
        self._root_start: Inheritance | None = None
        self._has_searched = False  # beside the root
        self._on_progress = on_progress
        self._checkpointer = checkpointer or Checkpointer(None)
        self._open = OpenNodes()
        self._running = RunningTasks()
        self._recovery = Recovery()
        self._tally = Tally()
        self._warm_start: Callable[[int], Inheritance | None] = lambda _: None
        self._closed_bound = math.inf  # the least bound of nodes that were pruned or given up
        self._told = ""  # the workers' last message
        self._remarks: dict[str, None] = {}  # of nodes that were closed without reaching the gap, each once
        workers.listen(self._hear)
        workers.publish(incumbent.cost)

    def resume(self, resumed: Resumed, before: RunStatistics, warm_start: Callable[[int], Inheritance | None]) -> None:
        """Go on with a saved search that was proven again.

        Parameters
        ----------
        before
            What was done until it was saved.
        warm_start
            Rebuilds what a node can start from, given its number.
        """
        self.tree = resumed.tree
        self._tally = Tally(replace(before, root_lower_bound=resumed.root_lower_bound))
        self._warm_start = warm_start
        for node in self.tree.nodes:
            if node.status is TreeStatus.OPEN:
                self._enqueue(node, None)
            elif node.status is TreeStatus.PRUNED:
                self._closed_bound = min(self._closed_bound, node.lower_bound)

    def start_from(self, start: Inheritance | None) -> None:
        """Let the root of a new search start from what the bound of a similar problem left."""
        self._root_start = start

    def run(self) -> SearchOutcome:
        """Search until the gap is proven closed, or there is another reason to stop."""
        if not self.tree.nodes:
            self._enqueue(self.tree.add(-1, None, self.incumbent.nothing_proven), self._root_start)
            self._announce()
        status: SolveStatus | None = None
        while status is None and (self._open or self._running.nodes()):
            status = self._stop_reason()
            if status is None:
                self._submit()
                self._search_beside_the_root()
                self._collect(_POLL_SECONDS)
        if status is not None:
            self._wind_down(status)
        status = self._stop_reason() or status or SolveStatus.INTERRUPTED
        self._checkpointer.save(self._snapshot, force=True)
        is_complete = not self._open and not self._running.nodes()
        best = self.incumbent.clustering
        if best is not None and self._tree_bound() > best.cost:  # one node holds it; its bound cannot be above
            raise InternalError("the bounds contradict the best clustering; please report this with the data")
        return SearchOutcome(
            status,
            self._lower_bound(),
            self.tree,
            self._tally.statistics(),
            is_complete,
            self._message(status, is_complete=is_complete),
        )

    def _wind_down(self, status: SolveStatus) -> None:
        """Wait a moment for the nodes that were told to stop; the rest is left behind."""
        end = time.monotonic() + _GRACE_SECONDS
        is_needed = status is not SolveStatus.OPTIMAL or self._running.reports()
        while is_needed and self._running.nodes() and time.monotonic() < end:
            self._collect(max(0.0, end - time.monotonic()))
        for future in self._running.futures:
            future.cancel()

    def _enqueue(self, node: TreeNode, inheritance: Inheritance | None) -> None:
        self._open.push(
            NodeTask(
                number=node.number,
                decisions=self.tree.decisions(node.number),
                inheritance=inheritance,
                lower_bound=node.lower_bound,
                incumbent_cost=math.inf,  # this and the time limit are filled in when the task is handed out
                gap=self.limits.gap,
                seed=self.seed,
                seconds=None,
                settings=self.settings,
            )
        )

    def _submit(self) -> None:
        while (task := self._open.first) is not None and len(self._running) < self.workers.capacity:
            running = [node.number for node in self._running.nodes()]
            if self._node_budget_is_used_up(len(running)) or self._recovery.must_wait(task.number, running):
                return
            self._open.pop()
            if task.lower_bound >= self._pruning_cost():
                self._close(task.number, TreeStatus.PRUNED, task.lower_bound)
                continue
            inheritance = self._warm_start(task.number) if task.inheritance is None else task.inheritance
            self._start(
                replace(task, inheritance=inheritance, incumbent_cost=self.incumbent.cost, seconds=self._seconds_left())
            )

    def _start(self, task: Task) -> None:
        self._running.start(task)
        try:
            self._running.started(self.workers.submit(task))
        except BrokenExecutor:
            self._running.not_started()
            self._recover([task])

    def _search_beside_the_root(self) -> None:
        """Let a second worker look for a clustering while the first one bounds the root, if that takes long enough."""
        is_only_the_root = len(self._running) == 1 and len(self.tree.nodes) == 1 and self._tally.nodes == 0
        if self._has_searched or not is_only_the_root or self.workers.capacity == 1:
            return
        if self.deadline.elapsed() >= _SECONDS_OF_ROOT_ALONE:
            self._has_searched = True
            self._start(SearchTask(self.incumbent.cost, self.seed, self._seconds_left(), self.settings))

    def _seconds_left(self) -> float | None:
        remaining = self.deadline.remaining()
        return None if math.isinf(remaining) else remaining

    def _node_budget_is_used_up(self, running: int) -> bool:
        limit = self.limits.nodes
        return limit is not None and self._tally.nodes + running >= limit

    def _collect(self, seconds: float) -> None:
        if not len(self._running):
            return
        done, _ = wait(self._running.futures, timeout=seconds, return_when=FIRST_COMPLETED)
        self.workers.deliver()
        if self.workers.message != self._told:
            self._told = self.workers.message
            self._announce()
        lost: list[Task] = []
        may_be_the_cause = False
        for future in done:
            task = self._running.finish(future)
            try:
                outcome = future.result()
            except self.workers.failures as error:
                lost.append(task)
                may_be_the_cause |= not isinstance(error, self.workers.failures_elsewhere)
            else:
                self._take(task, outcome)
        if lost:
            self._recover(lost, may_be_the_cause=may_be_the_cause)

    def _recover(self, lost: list[Task], *, may_be_the_cause: bool = True) -> None:
        """Queue the nodes again whose workers failed, but for those that were lost too often."""
        if self.workers.renew():
            lost += self._running.lose_all()
        nodes = {task.number: task for task in lost if isinstance(task, NodeTask)}
        verdict = self._recovery.requeue_lost(list(nodes), may_be_the_cause=may_be_the_cause)
        for number in verdict.requeue:
            self._open.push(replace(nodes[number], lower_bound=self.tree.nodes[number].lower_bound))
        for number in verdict.give_up:  # what is proven about it already stands
            self._tally.count_abandoned()
            self._close(number, TreeStatus.GIVEN_UP, self.tree.nodes[number].lower_bound)

    def _close(self, number: int, status: TreeStatus, bound: float) -> None:
        self.tree.mark(number, status, bound)
        self._closed_bound = min(self._closed_bound, bound)

    def _hear(self, report: NodeReport) -> None:
        """Take over what a running node has found so far."""
        self._offer(report.labels, _source(report.number, report.cuts))
        if self._running.hear(report) and report.steps:
            self.tree.add_steps(report.number, report.steps)
            self.tree.mark(report.number, TreeStatus.OPEN, report.lower_bound)
            if report.number == ROOT:
                self._tally.note_root(report.lower_bound, report.cuts, self.deadline.elapsed())
        self._tally.cuts = report.cuts
        self._checkpointer.save(self._snapshot)
        self._announce()

    def _take(self, task: Task, outcome: NodeOutcome | SearchFindings) -> None:
        """Take over what a task ended with."""
        cuts = outcome.cuts if isinstance(outcome, NodeOutcome) else 0
        self._offer(outcome.labels, _source(task.number if isinstance(task, NodeTask) else ROOT, cuts))
        if isinstance(task, NodeTask) and isinstance(outcome, NodeOutcome):
            self._tally.count_node(outcome.work, is_new=self.tree.nodes[task.number].is_new)
            self._tally.cuts = outcome.cuts or self._tally.cuts
            if task.number == ROOT:
                self._tally.note_root(outcome.lower_bound, outcome.cuts, outcome.seconds)
            self._settle(task.number, outcome)
        self._checkpointer.save(self._snapshot)
        self._announce()

    def _settle(self, number: int, outcome: NodeOutcome) -> None:
        self.tree.settle(outcome)
        if outcome.status is NodeStatus.BRANCHED:
            for decision in outcome.children:
                self._enqueue(self.tree.add(number, decision, outcome.lower_bound), outcome.inheritance)
        elif outcome.status is NodeStatus.UNRESOLVED:  # it stays open, from where it got to
            self._enqueue(self.tree.nodes[number], outcome.inheritance)
        elif outcome.status is NodeStatus.PRUNED:
            self._closed_bound = min(self._closed_bound, outcome.lower_bound)
            if outcome.remark:
                self._remarks[outcome.remark] = None

    def _offer(self, labels: IntArray | None, source: str) -> None:
        if labels is not None and self.incumbent.offer(labels, source):
            self.workers.publish(self.incumbent.cost)

    def _snapshot(self) -> SavedSearch:
        clustering = self.incumbent.clustering
        labels = None if clustering is None else tuple(clustering.labels.tolist())
        return SavedSearch(self.tree, labels, self._tally.statistics())

    def _pruning_cost(self) -> float:
        return pruning_cost(self.incumbent.cost, self.limits.gap)

    def _lower_bound(self) -> float:
        """Return the proven bound, which is not above the incumbent's cost even if there is no node left."""
        return min(self._tree_bound(), self.incumbent.cost)

    def _tree_bound(self) -> float:
        """Return the least bound of all nodes that were not branched on; between them they hold every clustering."""
        return min(self._closed_bound, self._open.lower_bound, self._running.lower_bound)

    def _progress(self) -> Progress:
        phase = "search" if self._tally.nodes else "heuristics" if math.isinf(self.incumbent.cost) else "root"
        return Progress(
            self.deadline.elapsed(),
            self.incumbent.cost,
            self._lower_bound(),
            self._tally.nodes,
            len(self._open),
            len(self._running.nodes()),
            self._tally.cuts,
            phase,
            self.workers.message,
            source=self.incumbent.source,
            next_save=self._checkpointer.seconds_to_next,
        )

    def _announce(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self._progress())

    def _stop_reason(self) -> SolveStatus | None:
        return reason_to_stop(
            self.limits,
            self._progress(),
            interrupted=self.deadline.stop_requested,
            time_is_up=self.deadline.passed(),
        )

    def _message(self, status: SolveStatus, *, is_complete: bool) -> str:
        abandoned, parts = self._tally.statistics().abandoned, []
        if abandoned:
            parts.append(f"{abandoned} nodes given up after their workers died")
        elif status is not SolveStatus.OPTIMAL and self._remarks:
            parts += self._remarks
        elif status is SolveStatus.INTERRUPTED and is_complete:
            gap = relative_gap(self.incumbent.cost, self._lower_bound())
            proven = f"a gap of {scientific_up(gap)} is proven" if math.isfinite(gap) else "no finite gap is proven"
            parts.append(f"the search is complete: {proven}, and double precision cannot prove a smaller one")
        if status is not SolveStatus.OPTIMAL and self.workers.message:
            parts.append(self.workers.message)
        if self._checkpointer.message:
            parts.append(self._checkpointer.message)
        return "; ".join(parts)


def _source(number: int, cuts: int) -> str:
    """Say where a clustering comes from: the root is searched before its relaxation has any cuts."""
    return "search" if number == ROOT and cuts == 0 else "relaxation"
