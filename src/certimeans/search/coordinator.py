"""The coordinator: owns the queue, the incumbent and the proven bound; hands out nodes, best first."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, replace

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.incumbent import Incumbent
from certimeans.search.checkpoint import CheckpointStore, SavedSearch
from certimeans.search.executors import Workers
from certimeans.search.limits import Limits, Progress, reason_to_stop
from certimeans.search.node import Decision, Inheritance, NodeOutcome, NodeProof, NodeReport, NodeStatus, NodeTask
from certimeans.search.settings import NodeSettings
from certimeans.search.tree import Tree, TreeNode, TreeStatus
from certimeans.status import SolveStatus

_MAX_DEATHS = 3
_ACCIDENT = 0.1  # what an accident counts, as a death
_POLL_SECONDS = 0.1
_GRACE_SECONDS = 0.5
_SECONDS_BETWEEN_SAVES = 2.0


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """What the search ended with; bounds are in the user's units. It is complete if no node is left to evaluate."""

    status: SolveStatus
    lower_bound: float
    root_lower_bound: float
    root_seconds: float
    nodes: int
    rounds: int
    cuts: int
    abandoned: int
    tree: Tree
    is_complete: bool


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
        store: CheckpointStore | None = None,
        settings: NodeSettings | None = None,
    ) -> None:
        self.workers = workers
        self.incumbent = incumbent
        self.limits = limits
        self.deadline = deadline
        self.seed = seed
        self.settings = settings or NodeSettings()
        self.tree = Tree()
        self._on_progress = on_progress
        self._queue: list[tuple[float, int, NodeTask]] = []
        self._running: dict[Future[NodeOutcome], NodeTask] = {}
        self._starting: NodeTask | None = None  # between queue and running; a serial worker evaluates it right there
        self._live_bounds: dict[int, float] = {}  # what running nodes have reported; proven, but not yet in our hands
        self._deaths: dict[int, float] = {}
        self._suspects: set[int] = set()
        self._closed_bound = math.inf  # the least bound of nodes that were pruned or given up
        self._nodes_done = self._rounds = self._root_cuts = self._cuts = self._abandoned = 0
        self._root_lower_bound = self._root_seconds = 0.0
        self._store = store
        self._last_save = -math.inf
        workers.listen(self._hear)
        workers.publish(incumbent.cost)

    def resume(
        self, saved: SavedSearch, inheritance_from: Callable[[tuple[Decision, ...], NodeProof], Inheritance]
    ) -> None:
        """Go on with a saved search, whose incumbent is checked like any other.

        ``inheritance_from`` rebuilds what a node with these decisions starts from, given a proof on the way to it.
        """
        if saved.labels is not None:
            self._offer(saved.labels)
        self.tree = saved.tree
        self._nodes_done, self._rounds, self._root_cuts = saved.nodes_done, saved.rounds, saved.cuts
        self._root_lower_bound, self._root_seconds = saved.root_lower_bound, saved.root_seconds
        for node in self.tree.nodes:
            if node.status in {TreeStatus.OPEN, TreeStatus.GIVEN_UP}:  # perhaps it survives this time
                self.tree.mark(node.number, TreeStatus.OPEN, node.lower_bound)
                proof = self.tree.nearest_proof(node.number)
                decisions = self.tree.decisions(node.number)
                self._enqueue(node, None if proof is None else inheritance_from(decisions, proof))
            elif node.status is TreeStatus.PRUNED:
                self._closed_bound = min(self._closed_bound, node.lower_bound)

    def run(self) -> SearchOutcome:
        """Search until the gap is proven closed, or there is another reason to stop."""
        if not self.tree.nodes:
            self._enqueue(self.tree.add(-1, None, 0.0), None)
            self._announce()
            self._submit()
            self._search_beside_the_root()
        status: SolveStatus | None = None
        while status is None and (self._queue or self._running):
            status = self._stop_reason()
            if status is None:
                self._submit()
                self._collect(_POLL_SECONDS)
        if status is not None and self._running:
            self._collect(_GRACE_SECONDS)  # they were told to stop and return their bounds
        status = self._stop_reason() or status or SolveStatus.INTERRUPTED
        self._live_bounds.clear()
        self._save(force=True)
        return SearchOutcome(
            status,
            self._lower_bound(),
            self._root_lower_bound,
            self._root_seconds,
            self._nodes_done,
            self._rounds,
            self._root_cuts,
            self._abandoned,
            self.tree,
            is_complete=not self._queue and not self._running,
        )

    def _enqueue(self, node: TreeNode, inheritance: Inheritance | None) -> None:
        task = NodeTask(
            number=node.number,
            parent=node.parent,
            decisions=self.tree.decisions(node.number),
            inheritance=inheritance,
            lower_bound=node.lower_bound,
            incumbent_cost=math.inf,  # this and the time limit are filled in when the task is handed out
            gap=self.limits.gap,
            seed=self.seed,
            seconds=None,
            settings=self.settings,
        )
        heapq.heappush(self._queue, (node.lower_bound, node.number, task))

    def _submit(self) -> None:
        while self._queue and len(self._running) < self.workers.capacity:
            if self._node_budget_is_used_up() or self._must_wait(self._queue[0][2]):
                return
            bound, number, task = heapq.heappop(self._queue)
            if bound >= self._pruning_cost():
                self._close(number, TreeStatus.PRUNED, bound)
                continue
            remaining = self.deadline.remaining()
            task = replace(
                task,
                incumbent_cost=self.incumbent.cost,
                seconds=None if math.isinf(remaining) else remaining,
            )
            self._starting = task
            try:
                self._running[self.workers.submit(task)] = task
            except BrokenExecutor:
                self._bury([task])
            self._starting = None

    def _search_beside_the_root(self) -> None:
        """Let a second worker look for a clustering while the first one bounds the root; it proves nothing."""
        if len(self._running) == 1 and self.workers.capacity > 1:
            root = next(iter(self._running.values()))
            search = replace(root, number=-1, only_search=True, lower_bound=math.inf)
            self._running[self.workers.submit(search)] = search

    def _node_budget_is_used_up(self) -> bool:
        limit = self.limits.nodes
        return limit is not None and self._nodes_done + len(self._running) >= limit

    def _collect(self, seconds: float) -> None:
        if not self._running:
            return
        done, _ = wait(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        self.workers.deliver()
        lost, killers = [], False
        for future in done:
            task = self._running.pop(future)
            self._live_bounds.pop(task.number, None)
            try:
                outcome = future.result()
            except self.workers.deaths as error:
                lost.append(task)
                killers |= not isinstance(error, self.workers.accidents)
            else:
                self._take(task, outcome)
        if lost:
            self._bury(lost, may_be_to_blame=killers)

    def _bury(self, lost: list[NodeTask], *, may_be_to_blame: bool = True) -> None:
        """Queue nodes again whose workers died; a node that kills its worker every time is given up.

        When several nodes were lost at once, any of them may be to blame: they are suspects, and evaluated one at a
        time from then on, so that the innocent are cleared. A death counts only if the node died alone. What was lost
        by accident is tried again more often.
        """
        if self.workers.renew():
            lost += self._running.values()
            self._running.clear()
        if len(lost) > 1 and may_be_to_blame:
            self._suspects.update(task.number for task in lost)
        for task in (task for task in lost if not task.only_search):
            blame = _ACCIDENT if not may_be_to_blame else float(len(lost) == 1)
            self._deaths[task.number] = self._deaths.get(task.number, 0.0) + blame
            if self._deaths[task.number] < _MAX_DEATHS:
                heapq.heappush(self._queue, (task.lower_bound, task.number, task))
            else:  # its parent's bound stands
                self._abandoned += 1
                self._close(task.number, TreeStatus.GIVEN_UP, task.lower_bound)

    def _must_wait(self, task: NodeTask) -> bool:
        """Whether a task is a suspect and not alone, or a suspect is running."""
        running = {other.number for other in self._running.values()}
        return bool(running) and (task.number in self._suspects or not running.isdisjoint(self._suspects))

    def _close(self, number: int, status: TreeStatus, bound: float) -> None:
        self.tree.mark(number, status, bound)
        self._closed_bound = min(self._closed_bound, bound)

    def _hear(self, report: NodeReport) -> None:
        """Take over what a running node has found so far."""
        if report.labels is not None:
            self._offer(report.labels)
        if report.number >= 0:
            self._live_bounds[report.number] = report.lower_bound
            self._cuts = report.cuts
        self._announce()

    def _take(self, task: NodeTask, outcome: NodeOutcome) -> None:
        """Take over what a node ended with."""
        if outcome.labels is not None:
            self._offer(outcome.labels)
        if task.only_search:
            return
        self._nodes_done += self.tree.nodes[task.number].size == 0
        self._rounds += len(outcome.rounds)
        self._cuts = outcome.rounds[-1].n_cuts if outcome.rounds else self._cuts
        if task.number == 0:
            self._root_lower_bound, self._root_seconds = outcome.lower_bound, outcome.seconds
            self._root_cuts = self._cuts
        self.tree.settle(outcome)
        if self._store is not None:
            self._store.forget(task.number)
        if outcome.status is NodeStatus.BRANCHED and outcome.branching_pair is not None:
            for together in (True, False):
                decision = Decision(*outcome.branching_pair, together)
                self._enqueue(self.tree.add(task.number, decision, outcome.lower_bound), outcome.inheritance)
        elif outcome.status is NodeStatus.UNRESOLVED:  # it stays open, from where it got to
            self._enqueue(self.tree.nodes[task.number], outcome.inheritance)
        elif outcome.status is NodeStatus.PRUNED:
            self._closed_bound = min(self._closed_bound, outcome.lower_bound)
        self._announce()
        self._save()

    def _offer(self, labels: IntArray | tuple[int, ...]) -> None:
        if self.incumbent.offer(labels):
            self.workers.publish(self.incumbent.cost)

    def _save(self, *, force: bool = False) -> None:
        """Write the checkpoint, if there is one, every few seconds."""
        if self._store is None or (not force and time.perf_counter() - self._last_save < _SECONDS_BETWEEN_SAVES):
            return
        self._last_save = time.perf_counter()
        clustering = self.incumbent.clustering
        self._store.save(
            SavedSearch(
                tree=self.tree,
                labels=None if clustering is None else tuple(clustering.labels.tolist()),
                nodes_done=self._nodes_done,
                rounds=self._rounds,
                cuts=self._root_cuts,
                root_lower_bound=self._root_lower_bound,
                root_seconds=self._root_seconds,
            )
        )

    def _pruning_cost(self) -> float:
        return self.incumbent.cost * (1 - self.limits.gap)

    def _lower_bound(self, *, live: bool = False) -> float:
        """Return the proven bound; no clustering at all costs less than the incumbent if no node is left below it."""
        news = self._live_bounds if live else {}
        waiting = (bound for bound, _, _ in self._queue[:1])
        running = (max(task.lower_bound, news.get(task.number, 0.0)) for task in self._tasks_under_way())
        return min(self._closed_bound, self.incumbent.cost, *waiting, *running, math.inf)

    def _tasks_under_way(self) -> list[NodeTask]:
        return [*self._running.values(), *([] if self._starting is None else [self._starting])]

    def _progress(self, *, live: bool = False) -> Progress:
        phase = "search" if self._nodes_done else "heuristics" if math.isinf(self.incumbent.cost) else "root"
        return Progress(
            self.deadline.elapsed(),
            self.incumbent.cost,
            self._lower_bound(live=live),
            self._nodes_done,
            len(self._queue),
            sum(not task.only_search for task in self._tasks_under_way()),
            self._cuts,
            phase,
        )

    def _announce(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self._progress(live=True))

    def _stop_reason(self) -> SolveStatus | None:
        return reason_to_stop(
            self.limits,
            self._progress(),
            interrupted=self.deadline.stop_requested,
            time_is_up=self.deadline.passed(),
        )
