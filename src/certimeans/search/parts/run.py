"""The search by parts: a clustering of the whole, a split that follows it, bounds of parts, then larger parts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from certimeans._typing import IntArray
from certimeans.bounds.covariance import CovarianceBounder
from certimeans.bounds.parts.bounding import Effort, own_loss
from certimeans.bounds.parts.matching import Template
from certimeans.bounds.parts.problem import Part
from certimeans.bounds.parts.splitting import Split, make_part
from certimeans.bounds.protocol import Question
from certimeans.deadline import Deadline
from certimeans.errors import InternalError
from certimeans.presolve.reduce import Presolved
from certimeans.printing import percent_up
from certimeans.proof.steps import CovarianceStep, IdenticalStep, MergeStep, PartsStep, Step
from certimeans.search.background import in_background
from certimeans.search.coordinator import SearchOutcome
from certimeans.search.incumbent import Incumbent
from certimeans.search.limits import Limits, Progress, reason_to_stop
from certimeans.search.parts.choice import PartSize
from certimeans.search.parts.clustering import find_clustering
from certimeans.search.parts.cover import Cover, Known
from certimeans.search.parts.dispatch import Dispatcher
from certimeans.search.parts.plan import union_factor
from certimeans.search.parts.sizing import Sizing, StoppedError
from certimeans.search.parts.store import PartStore, Plan
from certimeans.search.parts.tasks import Key, PartOutcome, PartTask, perform_parts
from certimeans.search.parts.workers import PartWorkers, make_part_workers
from certimeans.search.settings import NodeSettings
from certimeans.search.statistics import NodeWork, PartsStatistics, RunStatistics
from certimeans.search.tree import ROOT, Tree, TreeNode, TreeStatus
from certimeans.status import SolveStatus, relative_gap

_NEGLIGIBLE = 0.02  # of the gap: what splitting may cost without anybody noticing
_ROOM = 0.85  # of its share of the time that is left may be taken by a part: the first pass must not be cut short
_LEAST_SHARE = 0.5  # of what a pilot took: with less, a part proves hardly anything
_LARGEST_BATCH = 20
_MOST_RESERVE, _SHARE_RESERVED, _SECONDS_PER_POINT = 0.5, 0.04, 2e-6


def search_by_parts(  # noqa: PLR0913  # all that a run depends on
    presolved: Presolved,
    incumbent: Incumbent,
    limits: Limits,
    deadline: Deadline,
    *,
    part_size: PartSize = "auto",
    seed: int = 0,
    n_jobs: int = 1,
    executor: Any = None,
    folder: Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    settings: NodeSettings | None = None,
) -> SearchOutcome:
    """Bound a problem by parts, here or on a cluster.

    Parameters
    ----------
    folder
        Where to keep what is proven, and to go on with what was kept there; ``None`` to keep it as long as the result.
    """
    store = PartStore(folder, presolved.instance)
    store.prepare()
    workers = make_part_workers(n_jobs, executor, deadline)
    try:
        search = PartsSearch(
            presolved, workers, store, incumbent, limits, deadline, seed, part_size, on_progress, settings
        )
        search.n_threads = n_jobs
        return search.run()
    finally:
        workers.close()


@dataclass
class _Pass:
    """How a pass over parts goes: for the log, and for what comes next."""

    n_parts: int
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    cost: float = 0.0
    value: float = 0.0
    seconds: float = 0.0
    overrun: float = 0.0

    @property
    def mean_overrun(self) -> float:
        return self.overrun / max(1, self.done)

    @property
    def mean_seconds(self) -> float:
        return self.seconds / max(1, self.done)


class PartsSearch:
    """Bounds a large problem by parts; see :mod:`certimeans.bounds.parts.problem` for why that is a bound."""

    def __init__(  # noqa: PLR0913  # the same
        self,
        presolved: Presolved,
        workers: PartWorkers,
        store: PartStore,
        incumbent: Incumbent,
        limits: Limits,
        deadline: Deadline,
        seed: int,
        part_size: PartSize = "auto",
        on_progress: Callable[[Progress], None] | None = None,
        settings: NodeSettings | None = None,
    ) -> None:
        self.presolved = presolved
        self.workers = workers
        self.store = store
        self.incumbent = incumbent
        self.limits = limits
        self.deadline = deadline
        self.seed = seed
        self.part_size = part_size
        self.settings = settings or NodeSettings()
        self.n_threads = 1  # of the search for a clustering, before the workers have anything to do
        self._on_progress = on_progress
        self._covariance = incumbent.nothing_proven
        self._cover: Cover | None = None
        self._split: Split | None = None
        self._labels: IntArray | None = None  # of super-points: what the split follows
        self._template: Template | Path | None = None
        self._now: _Pass | None = None
        self._work = NodeWork()
        self._rest: Key | None = None  # parts that nothing was known about in the end, together
        self._useful_seconds = 0.0  # what a pilot took
        self._n_cuts = 0
        at_the_end = _MOST_RESERVE + _SECONDS_PER_POINT * presolved.instance.n_points
        self._reserve = min(at_the_end, _SHARE_RESERVED * deadline.remaining())  # to put everything away
        self._root_seconds = 0.0
        self._dispatcher = Dispatcher(workers, self._take, self._must_stop)

    def run(self) -> SearchOutcome:
        """Search until the gap is proven closed, or there is another reason to stop."""
        self._covariance = self._cheap_bound()
        plan = self.store.load_plan()
        if plan is not None:
            self.incumbent.offer(plan.labels, "the checkpoint")
        self._announce()
        if plan is None or self.incumbent.clustering is None:
            self._search()
        if self._stop_reason() is None:
            with suppress(StoppedError):
                self._bound(plan)
        status = self._stop_reason() or SolveStatus.INTERRUPTED
        self._bound_rest()
        return self._outcome(status)

    def _cheap_bound(self) -> float:
        points = self.presolved.super_points
        return CovarianceBounder().bound(Question(points, lambda: math.inf)).bound.value

    def _search(self) -> None:
        """Look for a clustering of the whole."""
        find_clustering(
            self.presolved,
            self.incumbent,
            self.deadline,
            self.settings.root_search,
            self.seed,
            self._must_stop,
            self._announce,
            self.n_threads,
        )

    def _bound(self, plan: Plan | None) -> None:
        """Bound parts, and larger ones after them, until there is a reason to stop or nothing left to do."""
        points = self.presolved.super_points
        if plan is None:
            self._labels = self._labels_to_follow()
            sizing = self._sizing()
            size = self.part_size if isinstance(self.part_size, int) else sizing.choose(self._labels)
            self._template = sizing.templates.get(size)
            self._useful_seconds = sizing.seconds.get(size, 0.0)
            if self._must_stop():
                return
            split, is_tuned = sizing.split_well(self._labels, max(1, -(-points.size // size)))
            if is_tuned:
                self._template = None  # parts look otherwise than pilots did
            self.store.begin(Plan(split, points.expand_labels(self._labels)))
        else:
            split = plan.split
            self._labels = plan.labels[points.first_points]
        self._split, self._cover = split, Cover(split.n_parts)
        if plan is not None:
            self._prove_stored()
        todo = [key for key in self._cover.tops if key not in self._cover.known]
        is_first = True
        while self._pass(todo, is_first=is_first):
            is_first = False
            todo = self._unite()
            if not todo:
                return

    def _labels_to_follow(self) -> IntArray:
        clustering = self.incumbent.clustering
        points = self.presolved.super_points
        if clustering is not None:
            return clustering.labels[points.first_points]
        colouring = self.presolved.colouring
        return np.zeros(points.size, dtype=np.int64) if colouring is None else colouring

    def _effort(self, split_loss: float) -> Effort:
        settings, gap = self.settings.parts, self.limits.gap
        return Effort(
            max(settings.margin * gap - split_loss, 0.1 * gap),
            settings.relaxation_share,
            settings.searches,
            follows_clustering=self.incumbent.clustering is not None,
            cutting_planes=self.settings.cutting_planes,
        )

    def _sizing(self) -> Sizing:
        cost = self.incumbent.cost
        return Sizing(
            self.presolved,
            self.workers,
            self.deadline,
            self.settings,
            self.seed,
            self._effort(0.0),
            _NEGLIGIBLE * self.limits.gap * cost if math.isfinite(cost) else 0.0,
            self._must_stop,
            self.n_threads,
        )

    def _prove_stored(self) -> None:
        """Prove again what an earlier run stored; what cannot be proven is bounded anew."""
        assert self._split is not None and self._cover is not None  # noqa: S101, PT018  # set before
        cover = self._cover
        latest = {key: (entries, path) for key, entries, path in self.store.stored(self._split.n_parts)}

        def make_task(keys: tuple[Key, ...]) -> PartTask:
            stored = tuple((latest[key][0], latest[key][1].read_bytes()) for key in keys)
            return PartTask(keys, tuple(map(self._part, keys)), self._effort(0.0), stored=stored)

        def take(outcome: PartOutcome) -> None:
            entries, path = latest[outcome.key]
            cover.take(outcome.key, Known(outcome.value, outcome.cost, entries, path))
            self._announce()

        dispatcher = Dispatcher(self.workers, take, self._must_stop)
        for length in sorted({len(key) for key in latest}):
            keys = [key for key in latest if len(key) == length and (length == 1 or cover.restore(key))]
            self._now = _Pass(len(keys))
            if not dispatcher.run(keys, make_task, lambda: 1 if length > 1 else 10):  # noqa: B023  # used at once
                return

    def _pass(self, todo: list[Key], *, is_first: bool) -> bool:
        """Bound parts, those first that come first; say whether all were done."""
        assert self._split is not None and self._cover is not None  # noqa: S101, PT018  # set before
        now = self._now = _Pass(len(todo))
        cost = self.incumbent.cost
        effort = self._effort(self._split.loss / cost if math.isfinite(cost) and cost > 0 else 0.0)
        capacity = self.workers.capacity

        def make_task(keys: tuple[Key, ...]) -> PartTask:
            remaining = max(0.0, self.deadline.remaining() - self._reserve)
            share = _ROOM * remaining * capacity / max(1, now.n_parts - now.done) - now.mean_overrun
            return PartTask(
                keys,
                tuple(map(self._part, keys)),
                effort,
                self._template,
                self.seed,
                max(share, _LEAST_SHARE * self._useful_seconds) if is_first and math.isfinite(share) else None,
                None if math.isinf(remaining) else remaining,
                wants_template=self._template is None,
            )

        def batch() -> int:
            if now.done < capacity:
                return 1
            fitting = self.settings.parts.seconds_per_task / max(now.mean_seconds, 1e-3)
            return max(1, min(int(fitting), _LARGEST_BATCH, (now.n_parts - now.done) // (3 * capacity)))

        return self._dispatcher.run(todo, make_task, batch)

    def _bound_rest(self) -> None:
        """Give the parts that nothing is known about, all of them together, the bound that costs nothing."""
        rest = [] if self._cover is None else [key for key in self._cover.tops if self._cover.value(key) == 0.0]
        if self._cover is None or not rest or len(rest) == len(self._cover.tops) or self._covariance <= 0:
            return
        leaves = tuple(sorted(p for key in rest for p in key))
        (outcome,) = perform_parts(
            PartTask((leaves,), (self._part(leaves),), self._effort(0.0), seconds=0.0), self.deadline.within(0.0)
        )
        if outcome.value > 0:
            self._rest = self._cover.unite([rest])[0] if len(rest) > 1 else rest[0]
            self._cover.take(self._rest, self.store.save(outcome, is_final=False))

    def _part(self, key: Key) -> Part:
        assert self._split is not None and self._labels is not None  # noqa: S101, PT018  # set before
        return make_part(self.presolved, self._split, self._labels, key)

    def _take(self, outcome: PartOutcome) -> None:
        """Keep what was proven about a part."""
        assert self._cover is not None and self._now is not None  # noqa: S101, PT018  # set before
        self._cover.take(outcome.key, self.store.save(outcome))
        if self._template is None and outcome.template is not None:
            self._template = self.workers.send(outcome.template)
        now = self._now
        now.done += 1
        now.seconds += outcome.seconds
        now.overrun += outcome.overrun
        now.cost += outcome.cost
        now.value += outcome.value
        self._n_cuts += outcome.n_cuts
        self._work += NodeWork(rounds=outcome.rounds)
        self._root_seconds = self.deadline.elapsed()
        self._announce()

    def _unite(self) -> list[Key]:
        """Put parts together, those first that lose most; return the new ones, or nothing if that cannot be done."""
        assert self._split is not None and self._cover is not None and self._now is not None  # noqa: S101, PT018
        cover, points = self._cover, self.presolved.super_points
        if isinstance(self.part_size, int) or len(cover.tops) == 1 or self._dispatcher.given_up:
            return []
        sizing = self._sizing()
        largest = sizing.largest()
        size = -(-points.size // len(cover.tops))
        tops = sorted(cover.tops, key=lambda key: -cover.loss(key))
        takes = self._now.mean_seconds * len(tops) / self.workers.capacity
        factor = union_factor(
            size, largest, self.limits.gap, self.deadline.remaining(), takes, lambda f: self._own_loss(tops, f)
        )
        if factor == 1 and sizing.has_room_for_all():
            factor = len(tops)
        if factor == 1:
            return []
        self._template = None
        return cover.unite([tops[i : i + factor] for i in range(0, len(tops) - 1, factor)])

    def _own_loss(self, tops: list[Key], factor: int) -> float:
        """Estimate how much cheaper the own clusterings of united parts are than the whole's, relatively."""
        middle = len(tops) // 2
        chosen = tops[max(0, middle - factor) : max(0, middle - factor) + factor]
        part = self._part(tuple(sorted(p for key in chosen for p in key)))
        task = in_background(own_loss, part, self._effort(0.0), self.seed, self.deadline)
        while not wait([task], timeout=0.1).done:
            if self._must_stop():
                return 0.0
        return task.result()

    def _must_stop(self) -> bool:
        return self._stop_reason() is not None

    def _stop_reason(self) -> SolveStatus | None:
        return reason_to_stop(
            self.limits,
            self._progress(),
            interrupted=self.deadline.stop_requested,
            time_is_up=self.deadline.remaining() <= self._reserve,
        )

    def _lower_bound(self) -> float:
        parts = self.incumbent.nothing_proven if self._cover is None else self._cover.total()
        return max(self._covariance, parts)

    def _progress(self) -> Progress:
        now, cost = self._now, self.incumbent.cost
        progress = Progress(
            self.deadline.elapsed(),
            cost,
            min(self._lower_bound(), cost),
            0,
            0,
            0,
            self._n_cuts,
            "heuristics" if math.isinf(cost) else "parts",
            self.workers.message,
        )
        if now is None or now.done == 0:
            return replace(progress, parts=0 if now is None else now.n_parts)
        left = (now.n_parts - now.done) * (time.monotonic() - now.began) / now.done
        expected = 1 - now.value / now.cost if now.cost > 0 else 0.0
        return replace(progress, parts=now.n_parts, parts_done=now.done, expected_gap=expected, seconds_left=left)

    def _announce(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self._progress())

    def _outcome(self, status: SolveStatus) -> SearchOutcome:
        bound = self._lower_bound()
        if bound > self.incumbent.cost:
            raise InternalError("the bounds contradict the best clustering; please report this with the data")
        steps: list[Step] = [IdenticalStep()] if self.presolved.n_identical else []
        steps += [MergeStep(self.presolved.merges)] if len(self.presolved.merges) else []
        proofs = () if self._cover is None else self._cover.proofs()
        is_by_parts = self._cover is not None and self._cover.total() > self._covariance
        if is_by_parts:
            steps.append(PartsStep(proofs, keep=self.store))
        elif bound > self.incumbent.nothing_proven:
            steps.append(CovarianceStep())
        tree_status = TreeStatus.PRUNED if status is SolveStatus.OPTIMAL else TreeStatus.OPEN
        size = self.presolved.super_points.size
        node = TreeNode(ROOT, -1, None, tree_status, bound, size, self._root_seconds)
        statistics = RunStatistics(
            nodes=1,
            cuts=self._n_cuts,
            root_lower_bound=bound,
            root_seconds=self._root_seconds,
            work=self._work,
            parts=self._parts_statistics(len(proofs)),
        )
        if self._on_progress is not None:
            self._on_progress(replace(self._progress(), nodes_done=1))
        tree = Tree.of([node], {ROOT: tuple(steps)} if steps else {})
        return SearchOutcome(status, min(bound, self.incumbent.cost), tree, statistics, False, self._message(status))

    def _parts_statistics(self, n_proofs: int) -> PartsStatistics | None:
        if self._cover is None or self._split is None:
            return None
        group_of = self.presolved.super_points.group_of
        return PartsStatistics(
            count=len(self._cover.tops),
            bounded=n_proofs,
            size=max(self._split.size_of(key, group_of) for key in self._cover.tops if key != self._rest),
            shared=len(self._split.shared),
            links=len(self.presolved.super_points.graph.edges),
            links_left_out=self._split.left_out(self.presolved, self._cover.tops),
        )

    def _message(self, status: SolveStatus) -> str:
        said = []
        if self._dispatcher.given_up:
            said.append(f"{len(self._dispatcher.given_up)} parts given up after their workers died")
        elif status is SolveStatus.INTERRUPTED and not self.deadline.stop_requested:
            gap = percent_up(relative_gap(self.incumbent.cost, min(self._lower_bound(), self.incumbent.cost)))
            more = "only larger parts could prove less"
            if self.presolved.super_points.limits is not None:
                more = "parts know nothing of the limits on sizes, which may be what is missing"
            said.append(f"all parts are bounded: a gap of {gap} is proven, and {more}")
        if status is not SolveStatus.OPTIMAL and self.workers.message:
            said.append(self.workers.message)
        if self.store.message:
            said.append(self.store.message)
        return "; ".join(said)
