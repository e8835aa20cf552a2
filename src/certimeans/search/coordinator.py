"""The coordinator: owns the queue, the incumbent and the proven bound; hands out nodes, best first."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, replace

from certimeans.deadline import Deadline
from certimeans.heuristics.incumbent import Incumbent
from certimeans.result import SolveStatus
from certimeans.search.checkpoint import CheckpointStore, OpenNode, SavedSearch
from certimeans.search.executors import Workers
from certimeans.search.limits import Limits, Progress, reason_to_stop
from certimeans.search.node import Decision, Inheritance, NodeOutcome, NodeStatus, NodeTask

_MAX_DEATHS = 3
_POLL_SECONDS = 0.2
_GRACE_SECONDS = 0.5
_SECONDS_BETWEEN_SAVES = 2.0


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """What the search ended with; bounds are in the user's units."""

    status: SolveStatus
    lower_bound: float
    root: NodeOutcome | None
    root_lower_bound: float
    root_seconds: float
    nodes: int
    rounds: int
    abandoned: int


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
    ) -> None:
        self.workers = workers
        self.incumbent = incumbent
        self.limits = limits
        self.deadline = deadline
        self.seed = seed
        self._on_progress = on_progress
        self._began = time.perf_counter()
        self._queue: list[tuple[float, int, NodeTask]] = []
        self._running: dict[Future[NodeOutcome], NodeTask] = {}
        self._deaths: dict[int, int] = {}
        self._suspects: set[int] = set()
        self._created = 0
        self._closed_bound = math.inf  # the least bound of nodes that were pruned or given up
        self._root: NodeOutcome | None = None
        self._nodes_done = 0
        self._rounds = 0
        self._cuts = 0
        self._abandoned = 0
        self._store = store
        self._last_save = -math.inf
        self._root_lower_bound = self._root_seconds = 0.0

    def resume(self, saved: SavedSearch) -> None:
        """Go on with a saved search, whose incumbent is checked like any other."""
        if saved.labels is not None:
            self.incumbent.offer(saved.labels)
        self._created = saved.nodes_created
        self._nodes_done, self._rounds = saved.nodes_done, saved.rounds
        self._closed_bound = saved.closed_bound
        self._root_lower_bound, self._root_seconds = saved.root_lower_bound, saved.root_seconds
        for node in saved.open_nodes:
            self._queue_node(node.number, node.parent, node.decisions, None, node.lower_bound)

    def run(self) -> SearchOutcome:
        """Search until the gap is proven closed, or there is another reason to stop."""
        if self._created == 0:
            self._push(parent=-1, decisions=(), inheritance=None, bound=0.0)
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
        self._save(force=True)
        return SearchOutcome(
            status,
            self._lower_bound(),
            self._root,
            self._root_lower_bound,
            self._root_seconds,
            self._nodes_done,
            self._rounds,
            self._abandoned,
        )

    def _push(
        self, parent: int, decisions: tuple[Decision, ...], inheritance: Inheritance | None, bound: float
    ) -> None:
        self._queue_node(self._created, parent, decisions, inheritance, bound)
        self._created += 1

    def _queue_node(
        self,
        number: int,
        parent: int,
        decisions: tuple[Decision, ...],
        inheritance: Inheritance | None,
        bound: float,
    ) -> None:
        # Incumbent and time limit are filled in when the task is handed out.
        task = NodeTask(
            number, parent, decisions, inheritance, bound, math.inf, self.limits.gap, self.seed, seconds=None
        )
        heapq.heappush(self._queue, (bound, number, task))

    def _submit(self) -> None:
        while self._queue and len(self._running) < self.workers.capacity:
            if self._node_budget_is_used_up() or self._must_wait(self._queue[0][2]):
                return
            bound, _, task = heapq.heappop(self._queue)
            if bound >= self._pruning_cost():
                self._closed_bound = min(self._closed_bound, bound)
                continue
            remaining = self.deadline.remaining()
            task = replace(
                task,
                incumbent_cost=self.incumbent.cost,
                seconds=None if math.isinf(remaining) else remaining,
            )
            try:
                self._running[self.workers.submit(task)] = task
            except BrokenExecutor:
                self._bury([task])

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
        lost = []
        for future in done:
            task = self._running.pop(future)
            try:
                outcome = future.result()
            except self.workers.deaths:
                lost.append(task)
            else:
                self._take(task, outcome)
        if lost:
            self._bury(lost)

    def _bury(self, lost: list[NodeTask]) -> None:
        """Queue nodes again whose workers died; a node that kills its worker every time is given up.

        When several nodes were lost at once, any of them may be to blame: they are suspects, and evaluated one at a
        time from then on, so that the innocent are cleared. A death counts only if the node died alone.
        """
        if self.workers.renew():
            lost += self._running.values()
            self._running.clear()
        if len(lost) > 1:
            self._suspects.update(task.number for task in lost)
        for task in (task for task in lost if not task.only_search):
            self._deaths[task.number] = self._deaths.get(task.number, 0) + (len(lost) == 1)
            if self._deaths[task.number] < _MAX_DEATHS:
                heapq.heappush(self._queue, (task.lower_bound, task.number, task))
            else:  # its parent's bound stands
                self._abandoned += 1
                self._closed_bound = min(self._closed_bound, task.lower_bound)

    def _must_wait(self, task: NodeTask) -> bool:
        """Whether a task is a suspect and not alone, or a suspect is running."""
        running = {other.number for other in self._running.values()}
        return bool(running) and (task.number in self._suspects or not running.isdisjoint(self._suspects))

    def _take(self, task: NodeTask, outcome: NodeOutcome) -> None:
        if outcome.labels is not None:
            self.incumbent.offer(outcome.labels)
        if task.only_search:
            return
        self._nodes_done += 1
        self._rounds += len(outcome.rounds)
        self._cuts = outcome.rounds[-1].n_cuts if outcome.rounds else self._cuts
        if task.number == 0:
            self._root = outcome
            self._root_lower_bound, self._root_seconds = outcome.lower_bound, outcome.seconds
        if outcome.status is NodeStatus.BRANCHED and outcome.branching_pair is not None:
            i, j = outcome.branching_pair
            for together in (True, False):
                decisions = (*task.decisions, Decision(i, j, together))
                self._push(task.number, decisions, outcome.inheritance, outcome.lower_bound)
        elif outcome.status is NodeStatus.UNRESOLVED:  # it stays open, from where it got to
            self._queue_node(task.number, task.parent, task.decisions, outcome.inheritance, outcome.lower_bound)
        elif outcome.status is NodeStatus.PRUNED:
            self._closed_bound = min(self._closed_bound, outcome.lower_bound)
        if self._on_progress is not None:
            self._on_progress(self._progress())
        self._save()

    def _save(self, *, force: bool = False) -> None:
        """Write the checkpoint, if there is one, every few seconds."""
        if self._store is None or (not force and time.perf_counter() - self._last_save < _SECONDS_BETWEEN_SAVES):
            return
        self._last_save = time.perf_counter()
        waiting = [task for _, _, task in self._queue]
        clustering = self.incumbent.clustering
        self._store.save(
            SavedSearch(
                open_nodes=tuple(
                    OpenNode(task.number, task.parent, task.decisions, task.lower_bound)
                    for task in (*waiting, *self._running.values())
                    if not task.only_search
                ),
                closed_bound=self._closed_bound,
                labels=None if clustering is None else tuple(clustering.labels.tolist()),
                nodes_created=self._created,
                nodes_done=self._nodes_done,
                rounds=self._rounds,
                root_lower_bound=self._root_lower_bound,
                root_seconds=self._root_seconds,
            )
        )

    def _pruning_cost(self) -> float:
        return self.incumbent.cost * (1 - self.limits.gap)

    def _lower_bound(self) -> float:
        """Return the proven bound; no clustering at all costs less than the incumbent if no node is left below it."""
        waiting = (bound for bound, _, _ in self._queue)
        running = (task.lower_bound for task in self._running.values())
        return min(self._closed_bound, self.incumbent.cost, *waiting, *running, math.inf)

    def _progress(self) -> Progress:
        return Progress(
            time.perf_counter() - self._began,
            self.incumbent.cost,
            self._lower_bound(),
            self._nodes_done,
            len(self._queue),
            len(self._running),
            self._cuts,
        )

    def _stop_reason(self) -> SolveStatus | None:
        return reason_to_stop(
            self.limits,
            self._progress(),
            interrupted=self.deadline.stop_requested,
            time_is_up=self.deadline.passed(),
        )
