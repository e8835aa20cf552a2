"""The search by parts: a clustering of the whole, a split that follows it, bounds of parts, then larger parts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from certimeans._typing import IntArray
from certimeans.bounds.covariance import CovarianceBounder
from certimeans.bounds.parts.bounding import Effort
from certimeans.bounds.parts.matching import Template
from certimeans.bounds.parts.problem import Part
from certimeans.bounds.parts.splitting import Split, make_part
from certimeans.bounds.protocol import Question
from certimeans.deadline import Deadline
from certimeans.presolve.reduce import Presolved
from certimeans.search.coordinator import SearchOutcome
from certimeans.search.incumbent import Incumbent
from certimeans.search.limits import Limits, Progress, reason_to_stop
from certimeans.search.parts.choice import PartSize
from certimeans.search.parts.clustering import extend_centres, find_clustering
from certimeans.search.parts.cover import Cover
from certimeans.search.parts.dispatch import Dispatcher
from certimeans.search.parts.outcome import Proven
from certimeans.search.parts.passes import Pass, PassTasks
from certimeans.search.parts.plan import QuickPilots, union_factor
from certimeans.search.parts.resuming import proofs_to_repeat
from certimeans.search.parts.sizing import Sizing, StoppedError
from certimeans.search.parts.store import PartStore, Plan
from certimeans.search.parts.tasks import Key, PartOutcome, PartTask, perform_parts
from certimeans.search.parts.workers import PartWorkers
from certimeans.search.settings import NodeSettings
from certimeans.search.statistics import NodeWork
from certimeans.status import SolveStatus

_NEGLIGIBLE = 0.02  # of the gap: what splitting may cost without anybody noticing
_FEW_PARTS, _SECONDS_BETWEEN_NEWS = 200, 0.1  # each of a few parts is announced; more come in by the hundred
_MOST_RESERVE, _SHARE_RESERVED, _SECONDS_PER_POINT = 0.5, 0.04, 2e-6


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
        self._now: Pass | None = None
        self._tasks: PassTasks | None = None
        self._work = NodeWork()
        self._rest: Key | None = None  # parts that nothing was known about in the end, together
        self._useful_seconds = 0.0  # what a pilot took
        self._quick: QuickPilots | None = None  # if time is short
        self._told = -math.inf  # when the parts that came in were last announced
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
            self.incumbent.offer(plan.labels, "checkpoint")
        self._say_where_it_is_saved(plan)
        self._announce()
        if plan is None or self.incumbent.clustering is None:
            self._search()
        if self._stop_reason() is None:
            with suppress(StoppedError):
                self._bound(plan)
        status = self._stop_reason() or SolveStatus.INTERRUPTED
        self._bound_rest()
        return self._outcome(status)

    def _say_where_it_is_saved(self, plan: Plan | None) -> None:
        folder = self.store.checkpoint
        if folder is None or self._on_progress is None:
            return
        message = f"saved:    each part in {folder} as soon as it is done"
        if plan is not None:
            n_stored = sum(1 for _ in self.store.stored(plan.split.n_parts))
            cost = self.incumbent.cost
            found = f"incumbent {cost:.8g}" if cost < math.inf else "no clustering yet"
            message = f"resumed:  from {folder}, {plan.split.n_parts} parts ({n_stored} proofs to repeat), {found}"
        self._on_progress(replace(self._progress(), phase="presolve", message=message))

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
            size = self._choose_size(sizing)
            self._template = sizing.templates.get(size)
            self._useful_seconds = sizing.seconds.get(size, 0.0)
            if self._must_stop():
                return
            n_parts = max(1, -(-points.size // size))
            if self._quick is None and sizing.centres:
                self._search_from(sizing)
            if self._quick is not None:
                split = sizing.split_quickly(self._labels, n_parts)
            else:
                split, is_tuned = sizing.split_well(self._labels, n_parts)
                if is_tuned:
                    self._template = None  # parts look otherwise than pilots did
            iterations = None if self._quick is None else self._quick.iterations
            self.store.begin(Plan(split, points.expand_labels(self._labels), iterations))
        else:
            split = plan.split
            self._labels = plan.labels[points.first_points]
            if plan.iterations is not None:
                count = plan.iterations
                self._quick = QuickPilots(points.size // split.n_parts, count, count, {count: 0.0})
        self._split, self._cover = split, Cover(split.n_parts)
        if plan is not None:
            self._prove_stored()
        todo = [key for key in self._cover.tops if key not in self._cover.known]
        is_first = True
        while self._pass(todo, is_first=is_first) and not self._must_stop():
            is_first = False
            todo = self._unite()
            if not todo:
                return

    def _search_from(self, sizing: Sizing) -> None:
        """Offer what centres of parts lead to, if they are better than the clustering's; parts follow it then."""
        if extend_centres(
            self.presolved,
            self.incumbent,
            self.deadline,
            self.settings.root_search,
            self.seed,
            self._must_stop,
            sizing.centres,
            self.n_threads,
        ):
            self._labels = self._labels_to_follow()
            self._announce()

    def _choose_size(self, sizing: Sizing) -> int:
        if isinstance(self.part_size, int):
            return self.part_size
        assert self._labels is not None  # noqa: S101  # set before
        chosen = sizing.choose(self._labels)
        if isinstance(chosen, int):
            return chosen
        self._quick = chosen
        return chosen.size

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
        stored = list(self.store.stored(self._split.n_parts))
        effort = self._effort(0.0)
        for keys, proving in proofs_to_repeat(stored, self._cover, self._part, effort, self._announce):
            self._now = Pass(len(keys))
            if not Dispatcher(self.workers, proving.take, self._must_stop).run(keys, proving.make, proving.batch):
                return

    def _pass(self, todo: list[Key], *, is_first: bool) -> bool:
        """Bound parts, those first that come first; say whether all were done."""
        assert self._split is not None and self._cover is not None  # noqa: S101, PT018  # set before
        now = self._now = Pass(len(todo))
        cost = self.incumbent.cost
        tasks = self._tasks = PassTasks(
            now,
            self._part,
            self._effort(self._split.loss / cost if math.isfinite(cost) and cost > 0 else 0.0),
            self.workers.capacity,
            lambda: max(0.0, self.deadline.remaining() - self._reserve),
            self.settings.parts.seconds_per_task,
            self.seed,
            self._useful_seconds,
            is_first,
            self._quick if is_first else None,
            self._template,
        )
        is_done = self._dispatcher.run(todo, tasks.make, tasks.batch)
        self._announce()
        return is_done

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
        if self._tasks is not None and self._tasks.template is None and outcome.template is not None:
            self._tasks.template = self.workers.send(outcome.template)
        self._now.add(outcome)
        self._n_cuts += outcome.n_cuts
        self._work += NodeWork(rounds=outcome.rounds)
        self._root_seconds = self.deadline.elapsed()
        if self._now.n_parts <= _FEW_PARTS or time.monotonic() - self._told > _SECONDS_BETWEEN_NEWS:
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

        def own_loss(factor: int) -> float:
            """Estimate how much cheaper the own clusterings of united parts are than the whole's, relatively."""
            middle = max(0, len(tops) // 2 - factor)
            together = tuple(sorted(p for key in tops[middle : middle + factor] for p in key))
            return sizing.own_losses({together: self._part(together)})[together]

        takes = self._now.mean_seconds * len(tops) / self.workers.capacity
        factor = union_factor(size, largest, self.limits.gap, self.deadline.remaining(), takes, own_loss)
        if factor == 1 and sizing.has_room_for_all():
            factor = len(tops)
        if factor == 1:
            return []
        self._template = None
        return cover.unite([tops[i : i + factor] for i in range(0, len(tops) - 1, factor)])

    def _must_stop(self) -> bool:
        return self._stop_reason() is not None

    def _stop_reason(self) -> SolveStatus | None:
        return reason_to_stop(
            self.limits,
            self._progress(),
            interrupted=self.deadline.stop_requested,
            time_is_up=self.deadline.remaining() <= self._reserve,
        )

    def _progress(self) -> Progress:
        now, cost = self._now, self.incumbent.cost
        progress = Progress(
            self.deadline.elapsed(),
            cost,
            min(self._proven().bound, cost),
            0,
            0,
            0,
            self._n_cuts,
            "heuristics" if math.isinf(cost) else "parts",
            self.workers.message,
            source=self.incumbent.source,
        )
        if now is None or now.done == 0:
            return replace(progress, parts=0 if now is None else now.n_parts)
        progress = replace(progress, parts=now.n_parts, parts_done=now.done)
        return replace(progress, expected_gap=now.expected_gap, seconds_left=now.seconds_left)

    def _announce(self) -> None:
        self._told = time.monotonic()
        if self._on_progress is not None:
            self._on_progress(self._progress())

    def _outcome(self, status: SolveStatus) -> SearchOutcome:
        if self._on_progress is not None:
            self._on_progress(replace(self._progress(), nodes_done=1))
        proven = self._proven()
        return proven.outcome(status, self.store, self._message(status, proven))

    def _proven(self) -> Proven:
        return Proven(
            self.presolved,
            self.incumbent,
            self._covariance,
            self._split,
            self._cover,
            self._rest,
            self._n_cuts,
            self._work,
            self._root_seconds,
        )

    def _message(self, status: SolveStatus, proven: Proven) -> str:
        said = []
        if self._dispatcher.given_up:
            said.append(f"{len(self._dispatcher.given_up)} parts given up after their workers died")
        elif status is SolveStatus.INTERRUPTED and not self.deadline.stop_requested:
            said.append(proven.all_is_done())
        if status is not SolveStatus.OPTIMAL and self.workers.message:
            said.append(self.workers.message)
        if self.store.message:
            said.append(self.store.message)
        return "; ".join(said)
