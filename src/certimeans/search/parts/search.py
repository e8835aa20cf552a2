"""The search by parts: a clustering of the whole, a split that follows it, bounds of parts, then larger parts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

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
from certimeans.search.parts.account import budget_for, short_parts, time_reserved, usual_effort, worth_another_time
from certimeans.search.parts.choice import PartSize
from certimeans.search.parts.clustering import ClusteringSearch
from certimeans.search.parts.cover import Cover, Known
from certimeans.search.parts.dispatch import Dispatcher
from certimeans.search.parts.fresh_split import First, FreshSplit, Splitter
from certimeans.search.parts.outcome import Proven, Rest
from certimeans.search.parts.passes import Budget, Pass, PassTasks
from certimeans.search.parts.plan import QuickPilots
from certimeans.search.parts.resuming import describe_saving, proofs_to_repeat
from certimeans.search.parts.sizing import Sizing
from certimeans.search.parts.splits import Splits, StoppedError
from certimeans.search.parts.store import PartStore, Plan, StoredProof
from certimeans.search.parts.tasks import Key, PartOutcome, PartTask, Stored, perform_parts
from certimeans.search.parts.uniting import unite_worst
from certimeans.search.parts.workers import PartWorkers
from certimeans.search.settings import NodeSettings
from certimeans.search.statistics import NodeWork
from certimeans.status import SolveStatus

_NEGLIGIBLE = 0.02  # of the gap: what splitting may cost without anybody noticing
_LITTLE = 0.05  # of the gap: what splitting may cost for parts to be made of small ones
_LEAST_GAIN = 0.1  # of what is missing: parts that gained less were bounded again in vain
_FEW_PARTS, _SECONDS_BETWEEN_NEWS = 200, 0.1  # each of a few parts is announced; more come in by the hundred


class PartsSearch:
    """Bounds a large problem by parts; see :mod:`certimeans.bounds.parts.problem` for why that is a bound."""

    def __init__(  # noqa: PLR0913  # all that a run depends on
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
        self._own_loss = 0.0  # what parts lose by clusterings of their own, relatively, about
        self._before = -math.inf  # what was proven when parts were last bounded again
        self._first: First | None = None  # small parts that were bounded quickly, before all others
        self._pieces: list[list[Known]] = []  # what is proven about pieces of each part
        self._piloted: list[PartOutcome] = []  # parts that are bounded already, because they were pilots
        self._is_passing = False  # whether parts are bounded that others will take the place of
        self._rest: Rest | None = None
        self._useful_seconds = 0.0  # what a pilot took
        self._quick: QuickPilots | None = None  # if time is short
        self._told = -math.inf  # when the parts that came in were last announced
        self._n_cuts = 0
        self._reserve = time_reserved(presolved.instance.n_points, deadline.remaining())
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
            self._clusterings().find(self._announce)
        if plan is not None and self.part_size == "auto" and not any(self._stored(plan)):
            plan = None  # nothing is lost, and today's time and gap may ask for parts of another size
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
        n_stored = 0 if plan is None else sum(1 for _ in self._stored(plan))
        message = describe_saving(folder, plan, n_stored, self.incumbent.cost)
        self._on_progress(replace(self._progress(), phase="presolve", message=message))

    def _stored(self, plan: Plan) -> Iterator[StoredProof]:
        return self.store.stored(plan.split.n_parts, self.limits.gap)

    def _cheap_bound(self) -> float:
        return CovarianceBounder().bound(Question(self.presolved.super_points, lambda: math.inf)).bound.value

    def _clusterings(self) -> ClusteringSearch:
        settings, must_stop, n_threads = self.settings.root_search, self._must_stop, self.n_threads
        return ClusteringSearch(
            self.presolved, self.incumbent, self.deadline, settings, self.seed, must_stop, n_threads
        )

    def _bound(self, plan: Plan | None) -> None:
        """Bound parts, and larger ones after them, until there is a reason to stop or nothing left to do."""
        points = self.presolved.super_points
        if plan is None:
            self.store.clear()
            fresh = self._split_anew(self._sizing())
            split, iterations = fresh.split, None if fresh.quick is None else fresh.quick.iterations
            self.store.begin(Plan(split, points.expand_labels(fresh.labels), iterations))
        else:
            split = plan.split
            self._labels = plan.labels[points.first_points]
            if plan.iterations is not None:
                count = plan.iterations
                self._quick = QuickPilots(points.size // split.n_parts, count, count, {count: 0.0})
            else:
                sizing = self._sizing()
                done = {p for proof in self._stored(plan) for p in proof.key}
                if self.part_size == "auto" and len(done) < split.n_parts:
                    chosen = sizing.choose_quickly(sizing.split_roughly(self._labels), self._labels)
                    if chosen.is_ample:
                        self._first_pass(sizing, chosen)  # as the earlier run did, whose bound must not be lost
                self._own_loss = sizing.splits.try_split(split, self._labels).own_loss
        self._split, self._cover = split, Cover(split.n_parts)
        for p, pieces in enumerate(self._pieces):
            self._cover.put_inside((p,), pieces)
        for outcome in self._piloted:
            self._cover.take(outcome.key, self.store.save(outcome, self.limits.gap))
        if plan is not None:
            self._prove_stored(plan)
        todo, quick, shares_time = [key for key in self._cover.tops if key not in self._cover.known], self._quick, True
        while self._pass(todo, quick, shares_time=shares_time) and not self._must_stop():
            again, quick = self._again(), None
            todo, shares_time = again or self._unite(), bool(again)
            if not todo:
                return

    def _split_anew(self, sizing: Sizing) -> FreshSplit:
        """Choose a size, and split."""
        self._labels = self._clusterings().labels_to_follow()
        splitter = Splitter(
            self.presolved,
            sizing,
            _LITTLE * self.limits.gap * self.incumbent.cost,
            self.incumbent.clustering is not None,
            self._must_stop,
            self._first_pass,
            self._better_labels,
        )
        fresh = splitter.split(self._labels, self.part_size)
        if fresh.pieces:
            self._first = None  # its parts are pieces of the new ones
        self._labels, self._quick, self._own_loss = fresh.labels, fresh.quick, fresh.own_loss
        self._template, self._useful_seconds = fresh.template, fresh.useful_seconds
        self._pieces, self._piloted = fresh.pieces, fresh.piloted
        return fresh

    def _first_pass(self, sizing: Sizing, quick: QuickPilots) -> First:
        """Bound small parts with few iterations, which takes next to no time: a bound to begin with."""
        assert self._labels is not None  # noqa: S101  # set before
        quick = quick.to_begin_with(self.deadline.remaining())
        self._split = sizing.splits.split(self._labels, sizing.number_of_parts(quick.size))
        self._cover, self._is_passing = Cover(self._split.n_parts), True
        self._pass(self._cover.tops, quick)
        self._first = First(self._split, self._cover)
        self._split = self._cover = self._now = None
        self._is_passing = False
        if self._must_stop():
            raise StoppedError
        return self._first

    def _better_labels(self, sizing: Sizing) -> IntArray | None:
        """Offer what centres of parts lead to; if it is better than the clustering, return what parts follow then."""
        clusterings = self._clusterings()
        if not clusterings.extend(sizing.splits.centres):
            return None
        self._announce()
        return clusterings.labels_to_follow()

    def _effort(self, *, is_patient: bool = False) -> Effort:
        has_clustering = self.incumbent.clustering is not None
        return usual_effort(self.settings, self.limits.gap, has_clustering=has_clustering, is_patient=is_patient)

    def _is_patient(self) -> bool:
        """Whether parts have no more than their share of the time, or cannot be united."""
        return math.isfinite(self.deadline.remaining()) or isinstance(self.part_size, int)

    def _sizing(self) -> Sizing:
        cost = self.incumbent.cost
        splits = Splits(
            self.presolved,
            self.deadline,
            self.settings,
            self.seed,
            self._effort(is_patient=self._is_patient()),
            _NEGLIGIBLE * self.limits.gap * cost if math.isfinite(cost) else 0.0,
            self._must_stop,
            self.n_threads,
        )
        return Sizing(splits, self.workers)

    def _prove_stored(self, plan: Plan) -> None:
        """Prove again what an earlier run stored; what cannot be proven is bounded anew."""
        assert self._cover is not None  # noqa: S101  # set before
        stored = list(self._stored(plan))
        effort = self._effort()
        for keys, proving in proofs_to_repeat(stored, self._cover, self._part, effort, self._announce):
            self._now = Pass(len(keys))
            if not Dispatcher(self.workers, proving.take, self._must_stop).run(keys, proving.make, proving.batch):
                return

    def _pass(self, todo: list[Key], quick: QuickPilots | None, *, shares_time: bool = True) -> bool:
        """Bound parts, those first that come first; say whether all were done."""
        assert self._split is not None and self._cover is not None  # noqa: S101, PT018  # set before
        overrun = 0.0 if self._now is None else self._now.longest_overrun
        cost = self.incumbent.cost
        now = self._now = Pass(len(todo), self._split.loss / cost if cost > 0 else 0.0, longest_overrun=overrun)
        tasks = self._tasks = PassTasks(
            now,
            self._part,
            self._effort(is_patient=self._is_patient()),
            self._budget(todo),
            lambda: self.workers.capacity,
            lambda: max(0.0, self.deadline.remaining() - self._reserve),
            self.settings.parts.seconds_per_task if self.workers.takes_batches else 0.0,
            self.seed,
            self._useful_seconds,
            shares_time,
            quick,
            self._template,
            self._proof_of,
        )
        is_done = self._dispatcher.run(todo, tasks.make, tasks.batch, tasks.at_a_time)
        self._template = tasks.template
        if self._first is not None and self._cover.total() >= self._first.cover.total():
            self.store.discard(self._first.cover.known.values())
            self._first = None
        self._announce()
        return is_done

    def _budget(self, todo: list[Key]) -> Budget:
        assert self._split is not None and self._cover is not None  # noqa: S101, PT018  # set before
        cost, gap, settings = self.incumbent.cost, self.limits.gap, self.settings.parts
        return budget_for(todo, self._cover, self._split.loss, cost, gap, self._own_loss, settings)

    def _proof_of(self, key: Key) -> Stored | None:
        """Return what is proven about a part already, to go on from there."""
        known = None if self._cover is None else self._cover.known.get(key)
        with suppress(OSError):  # another start will do
            return None if known is None else known.proof
        return None

    def _again(self) -> list[Key]:
        """Return parts with whose bounds to go on, unless that gained nothing the last time."""
        assert self._cover is not None  # noqa: S101  # set before
        if short := short_parts(self._cover, self._dispatcher.given_up):
            return short
        before, self._before = self._before, self._cover.total()
        cost, gap = self.incumbent.cost, self.settings.parts.margin * self.limits.gap
        missing = cost - self._before - gap * cost
        has_gained = self._before - before > _LEAST_GAIN * missing
        return worth_another_time(self._cover, cost, gap) if has_gained else []

    def _bound_rest(self) -> None:
        """Give the parts that nothing is known about, all of them together, the bound that costs nothing."""
        rest = [] if self._cover is None else [key for key in self._cover.tops if self._cover.value(key) == 0.0]
        if self._cover is None or not rest or len(rest) == len(self._cover.tops) or self._covariance <= 0:
            return
        leaves = tuple(sorted(p for key in rest for p in key))
        (outcome,) = perform_parts(
            PartTask((leaves,), (self._part(leaves),), self._effort(), seconds=0.0), self.deadline.within(0.0)
        )
        if outcome.value > 0:
            key = self._cover.unite([rest])[0] if len(rest) > 1 else rest[0]
            self._rest = Rest(key, len(rest))
            self._cover.take(key, self.store.save(outcome, is_final=False))

    def _part(self, key: Key) -> Part:
        assert self._split is not None and self._labels is not None  # noqa: S101, PT018  # set before
        return make_part(self.presolved, self._split, self._labels, key)

    def _take(self, outcome: PartOutcome) -> None:
        """Keep what was proven about a part."""
        assert self._cover is not None and self._now is not None  # noqa: S101, PT018  # set before
        before = self._cover.known.get(outcome.key)
        if before is None or outcome.value > before.value:
            self._cover.take(outcome.key, self.store.save(outcome, self.limits.gap, is_final=not self._is_passing))
        else:
            self._cover.learn(outcome)
        self.store.discard(self._cover.take_out(outcome.key))
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
        if isinstance(self.part_size, int) or len(self._cover.tops) == 1 or self._dispatcher.given_up:
            return []
        seconds = self.deadline.remaining()
        each = self._now.mean_seconds if self._now.done else math.inf  # nothing was left to do for a resumed run
        new, self._own_loss = unite_worst(self._cover, self._sizing(), self._part, self.limits.gap, seconds, each)
        self._before = -math.inf
        return new

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
        cost, message = self.incumbent.cost, self.workers.message
        phase = "heuristics" if math.isinf(cost) else "parts"
        bound = min(self._proven().bound, cost)
        seconds, source = self.deadline.elapsed(), self.incumbent.source
        progress = Progress(seconds, cost, bound, 0, 0, 0, self._n_cuts, phase, message, source=source)
        return progress if self._now is None else self._now.shown_in(progress)

    def _announce(self) -> None:
        self._told = time.monotonic()
        if self._on_progress is not None:
            self._on_progress(self._progress())

    def _outcome(self, status: SolveStatus) -> SearchOutcome:
        if self._on_progress is not None:
            self._on_progress(replace(self._progress(), nodes_done=1))
        proven = self._proven()
        given_up = len(self._dispatcher.given_up)
        is_stopped = self.deadline.stop_requested
        said = (proven.message(status, given_up, self.workers.message, is_stopped=is_stopped), self.store.message)
        return proven.outcome(status, self.store, "; ".join(filter(None, said)), is_stopped=is_stopped)

    def _proven(self) -> Proven:
        split, cover, rest = self._split, self._cover, self._rest
        if self._first is not None and (cover is None or cover.total() < self._first.cover.total()):
            split, cover, rest = self._first.split, self._first.cover, None
        return Proven(
            self.presolved,
            self.incumbent,
            self._covariance,
            split,
            cover,
            rest,
            self._n_cuts,
            self._work,
            self._root_seconds,
        )
