"""The search by regions: which region is worked on next with how many clusters, and when it ends.

With c_r clusters in region r, a clustering that joins no two regions costs the sum over regions of what region r costs
with c_r clusters; the others cost at least what joining costs. So the bound is the least over all allocations of k
clusters to the regions of the sum of what is proven for each. Most allocations are excluded by bounds that cost next to
nothing. In the cheapest one that is left, the region with most room between its bound and its best clustering is
searched, by branch and bound as any other problem, until its own gap is closed or its bound excludes all allocations
that it is part of.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from certimeans.bounds.covariance import CovarianceBounder
from certimeans.bounds.protocol import Question
from certimeans.deadline import Deadline
from certimeans.errors import InputError, InternalError
from certimeans.presolve.reduce import Presolved
from certimeans.printing import regions_in_words, scientific_up
from certimeans.proof.steps import CovarianceStep, Step
from certimeans.search.branch_and_bound import branch_and_bound
from certimeans.search.checkpoint import CheckpointStore, SavedSearch
from certimeans.search.checkpointer import Checkpointer
from certimeans.search.coordinator import SearchOutcome
from certimeans.search.history import History
from certimeans.search.incumbent import Incumbent
from certimeans.search.limits import Limits, Progress, reason_to_stop
from certimeans.search.regions.account import Account, Pair
from certimeans.search.regions.finding import Regions
from certimeans.search.regions.problem import RegionProblem
from certimeans.search.replay import inference_of_presolve
from certimeans.search.settings import NodeSettings
from certimeans.search.statistics import RunStatistics
from certimeans.search.tree import ROOT, Tree, TreeNode, TreeStatus
from certimeans.status import SolveStatus, pruning_cost, relative_gap

FOLDER = "regions"
"""Where each problem of a region has a folder of its own."""
_LEAST_SECONDS = 0.5
"""The least time for one search, where several share what is left."""


def search_by_regions(  # noqa: PLR0913  # all that a run depends on
    presolved: Presolved,
    regions: Regions,
    incumbent: Incumbent,
    limits: Limits,
    deadline: Deadline,
    history: History,
    *,
    seed: int = 0,
    n_jobs: int = 1,
    executor: Any = None,
    store: CheckpointStore | None = None,
    saved: SavedSearch | None = None,
    settings: NodeSettings | None = None,
) -> SearchOutcome:
    """Search a problem whose points lie in regions; see :func:`certimeans.search.branch_and_bound.branch_and_bound`."""
    if saved is not None and saved.labels is not None:
        incumbent.offer(saved.labels, "checkpoint")
    how = {"seed": seed, "n_jobs": n_jobs, "executor": executor, "settings": settings or NodeSettings()}
    return _RegionsSearch(presolved, regions, incumbent, limits, deadline, history, store, how).run()


class _RegionsSearch:
    """Bounds a problem whose points lie in regions that no better clustering joins."""

    def __init__(
        self,
        presolved: Presolved,
        regions: Regions,
        incumbent: Incumbent,
        limits: Limits,
        deadline: Deadline,
        history: History,
        store: CheckpointStore | None,
        how: dict[str, Any],
    ) -> None:
        self.presolved, self.regions, self.incumbent = presolved, regions, incumbent
        self.limits, self.deadline, self.history = limits, deadline, history
        self.account = Account(presolved, regions, how["seed"], deadline, how["settings"])
        self._how = how
        self._store, self._checkpointer = store, Checkpointer(store)
        self._unsaved = ""
        whole = CovarianceBounder().bound(Question(presolved.super_points, lambda: incumbent.cost, deadline))
        self._covariance = whole.bound.value

    def run(self) -> SearchOutcome:
        """Search until the gap is closed, or there is another reason to stop."""
        self._begin()
        while self._stop_reason() is None and (pair := self._next()) is not None:
            self._work_on(pair, self.account.problem(pair))
            cost, labels = self.account.best_clustering()
            if labels is not None and cost < self.incumbent.cost:
                self.incumbent.offer(labels, "regions")
            self.history.add(self._progress())
            self._checkpointer.save(self._snapshot)
        self.history.add(replace(self._progress(), nodes_done=max(1, self.account.count_nodes())))
        self._checkpointer.save(self._snapshot, force=True)
        status = self._stop_reason()
        return self._outcome(status or SolveStatus.INTERRUPTED, is_complete=status is None)

    def _begin(self) -> None:
        elapsed = self.deadline.elapsed()
        self.history.say(f"regions:  {regions_in_words([len(m) for m in self.account.members])}", elapsed)
        if self._store is not None:
            self.history.say(f"saved:    every few seconds in {self._store.folder}", elapsed)
        self._checkpointer.save(self._snapshot, force=True)
        assert self.incumbent.clustering is not None  # noqa: S101  # there are no regions without one
        self.account.take_apart(self.incumbent.clustering.labels)

    def _next(self) -> Pair | None:
        """Return the pair to work on, or ``None`` if nothing more can be proven."""
        while True:
            if self.account.bound() >= min(self._target(), self.regions.least_join):
                return None
            chosen = list(enumerate(self.account.cheapest().counts))
            if all(pair in self.account.problems for pair in chosen):
                return max(filter(self._is_open, chosen), key=self.account.room, default=None)
            for pair in chosen:
                if self.deadline.passed():  # many clusters in many dimensions take a while to begin with
                    return None
                self.account.problem(pair)

    def _is_open(self, pair: Pair) -> bool:
        problem = self.account.problem(pair)
        return not problem.is_closed and self.account.lower(pair) < pruning_cost(problem.cost, self.limits.gap)

    def _target(self) -> float:
        return pruning_cost(self.incumbent.cost, self.limits.gap)

    def _work_on(self, pair: Pair, problem: RegionProblem) -> None:
        """Search one problem for a while."""
        assert problem.presolved is not None  # noqa: S101  # others are closed
        gap, nodes, store = self.limits.gap, self.limits.nodes, self._open_store(problem)
        # A bound that misses the cutoff by the gap is enough.
        aim = self.account.aim(pair, self.account.cheapest().counts, self._target())
        problem.incumbent.cutoff = aim / (1 - gap) * (1 + 2.0**-45)
        if nodes is not None:
            nodes = max(1, nodes - self.account.count_nodes(but=pair))
        outcome = branch_and_bound(
            problem.presolved,
            problem.incumbent,
            Limits(gap, None, nodes),
            self.deadline.nested(self._seconds()),
            History(lambda progress: self._hear(pair, progress)),
            store=store,
            saved=problem.saved,
            **self._how,
        )
        problem.take(outcome)

    def _open_store(self, problem: RegionProblem) -> CheckpointStore | None:
        """Return where a problem is saved; that this is impossible now is no reason to lose what was proven."""
        if self._store is None:
            return None
        store = CheckpointStore(self._store.folder / FOLDER / problem.instance.fingerprint[:16], problem.instance)
        try:
            problem.saved = store.open() if problem.saved is None else problem.saved
        except InputError as error:
            self._unsaved = f"a region is searched without being saved: {error}"
            self.history.say(self._unsaved, self.deadline.elapsed())
            return None
        return store

    def _seconds(self) -> float:
        """Return how long one search may take: without a limit, as long as it likes."""
        remaining = self.deadline.remaining()
        if math.isinf(remaining):
            return math.inf
        n_open = sum(map(self._is_open, enumerate(self.account.cheapest().counts)))
        return max(_LEAST_SECONDS, remaining / max(1, n_open))

    def _hear(self, pair: Pair, progress: Progress) -> None:
        """Tell of the whole what a search tells of its region."""
        if progress.phase == "presolve":
            return  # where it is saved: that was told of the whole
        own = self._progress((pair, progress.lower_bound))
        told = replace(
            progress,
            seconds=own.seconds,
            incumbent_cost=own.incumbent_cost,
            lower_bound=own.lower_bound,
            nodes_done=self.account.count_nodes(but=pair) + progress.nodes_done,
            source=own.source,
        )
        self.history.add(told)

    def _bound(self, running: tuple[Pair, float] | None = None) -> float:
        return max(self._covariance, self.account.bound(running))

    def _progress(self, running: tuple[Pair, float] | None = None) -> Progress:
        cost = self.incumbent.cost
        return Progress(
            self.deadline.elapsed(),
            cost,
            min(self._bound(running), cost),
            self.account.count_nodes(),
            0,
            0,
            0,
            "search",
            source=self.incumbent.source,
            next_save=self._checkpointer.seconds_to_next,
        )

    def _stop_reason(self) -> SolveStatus | None:
        return reason_to_stop(
            self.limits,
            self._progress(),
            interrupted=self.deadline.stop_requested,
            time_is_up=self.deadline.passed(),
        )

    def _snapshot(self) -> SavedSearch:
        """Save the incumbent; what is proven is in the folders of the regions."""
        best = self.incumbent.clustering
        root = TreeNode(ROOT, -1, None, TreeStatus.OPEN, 0.0)
        return SavedSearch(Tree.of([root]), None if best is None else tuple(best.labels.tolist()), RunStatistics())

    def _outcome(self, status: SolveStatus, *, is_complete: bool) -> SearchOutcome:
        best = self.incumbent.clustering
        assert best is not None  # noqa: S101  # there are no regions without one
        bound = self._bound()
        if bound > best.cost:
            raise InternalError("the bounds contradict the best clustering; please report this with the data")
        bound = min(bound, best.cost)
        tree_status = TreeStatus.PRUNED if status is SolveStatus.OPTIMAL else TreeStatus.OPEN
        size, seconds = self.presolved.super_points.size, self.deadline.elapsed()
        steps: tuple[Step, ...] = inference_of_presolve(self.presolved)
        if bound > self.incumbent.nothing_proven:
            steps += (self.account.step() if self.account.bound() > self._covariance else CovarianceStep(),)
        tree = Tree.of([TreeNode(ROOT, -1, None, tree_status, bound, size, seconds)], {ROOT: steps} if steps else {})
        statistics = self.account.statistics(best.labels)
        statistics = replace(statistics, root_lower_bound=max(self._covariance, statistics.root_lower_bound))
        message = self._message(status, bound, is_complete=is_complete)
        return SearchOutcome(status, bound, tree, statistics, is_complete, message)

    def _message(self, status: SolveStatus, bound: float, *, is_complete: bool) -> str:
        said = []
        if is_complete:
            gap = scientific_up(relative_gap(self.incumbent.cost, bound))
            said.append(
                f"all regions are searched: a gap of {gap} is proven, and double precision cannot prove a smaller one"
            )
        elif status is not SolveStatus.OPTIMAL:
            told = dict.fromkeys(problem.message for problem in self.account.problems.values())
            said += [message for message in told if message]
        return "; ".join([*said, *filter(None, [self._checkpointer.message, self._unsaved])])
