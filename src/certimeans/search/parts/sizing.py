"""Pilot parts: split roughly, bound a few parts of several sizes, and choose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from certimeans._typing import IntArray
from certimeans.bounds.parts.exchange import GROUP_SIZE
from certimeans.bounds.parts.matching import Template
from certimeans.bounds.parts.splitting import Split, make_part
from certimeans.bounds.relaxation.bounder import LARGEST_SIZE
from certimeans.presolve.reduce import Presolved
from certimeans.search.memory import memory_limit
from certimeans.search.parts.dispatch import Dispatcher
from certimeans.search.parts.plan import (
    Circumstances,
    Pilot,
    QuickPilots,
    allowance,
    choose_quickly,
    choose_size,
    first_size,
)
from certimeans.search.parts.splits import (
    PARTS_TO_SEARCH,
    SHARE_FOR_FINAL_REDEALING,
    Splits,
    StoppedError,
    Trial,
    unavoidable,
)
from certimeans.search.parts.tasks import Key, PartOutcome, PartTask
from certimeans.search.parts.workers import PartWorkers

_BYTES_PER_ENTRY = 120  # of a part's relaxation, divided by the square of its size
_SHARE_FOR_PARTS = 0.7  # of the time that is left: a first pass has to be over before it ends
_SHARE_FOR_QUICK_PARTS = 0.8  # splitting takes less then, and so does each part if it has to
_QUICK_MARGIN = 0.9  # of the gap: a few pilots say no more about all parts
_SECONDS_TO_HAND_OVER = 1e-3  # a part and its proof
_SHARE_FOR_PILOT = 0.08
_MOST_SHARES = 4.0  # of the time of a part may be taken by the first pilot
_SHARE_FOR_PILOTS = 0.15  # after that no further sizes are looked at
_NEARLY = 1.04  # what pilots aim at is reached if they are as close as that
_SHARE_FOR_ITERATIONS = 0.6  # of the time for a pilot: the rest is for proving a bound and putting it away
_MOST_FOR_PROVING = 0.1
_PILOTS_PER_WORKER, _PARTS_PER_PILOT = 4, 4  # no more pilots than that share of all parts, if they are few
_MORE_FOR_FINAL_PILOTS = 1.2  # times the share: what is proven about them counts, and to go on with it later costs more
_FEW_PARTS = 150  # of so many, pilots are a share worth keeping, and a split that matches well is made in no time
_SECONDS_TO_LOAD = 1.0  # a pilot that takes longer is believed at once


@dataclass(frozen=True, eq=False)
class Sizing:
    """Finds out how large the parts of a problem should be.

    Attributes
    ----------
    splits
        Makes the splits, and tries them.
    templates, trials, seconds
        What parts may start from, what they lose by clusterings of their own, and how long they take, by size.
    rough_trials, final_trials
        What they lose without tuning.
    proven
        What was proven about pilots of final splits, by size.
    """

    splits: Splits
    workers: PartWorkers
    templates: dict[int, Template | Path] = field(default_factory=dict)
    trials: dict[int, Trial] = field(default_factory=dict)
    rough_trials: dict[int, Trial] = field(default_factory=dict)
    final_trials: dict[int, Trial] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    proven: dict[int, list[PartOutcome]] = field(default_factory=dict)

    @property
    def presolved(self) -> Presolved:
        """The problem."""
        return self.splits.presolved

    def largest(self) -> int:
        """Return the largest part that memory has room for, as many at a time as there are workers."""
        return max(2, min(self.splits.settings.parts.largest, self._fitting(self.workers.capacity)))

    def has_room_for_all(self) -> bool:
        """Whether the whole could be bounded at once, as a last resort: a certificate and memory have room for it."""
        return self.presolved.super_points.size <= min(LARGEST_SIZE, self._fitting(1))

    def _fitting(self, at_a_time: int) -> int:
        allowed = memory_limit(self.splits.settings.memory_limit) / max(1, at_a_time)
        return int(math.sqrt(allowed / _BYTES_PER_ENTRY))

    def choose_quickly(self, rough: Split, labels: IntArray) -> QuickPilots:
        """Choose how many super-points and iterations parts without cuts have; say whether there is time for more."""
        seconds = _SHARE_FOR_QUICK_PARTS * self.splits.deadline.remaining()
        given = replace(self._circumstances(), seconds=seconds, gap=_QUICK_MARGIN * self.splits.effort.gap)
        end = self.splits.deadline.elapsed() + _SHARE_FOR_PILOTS * self.splits.deadline.remaining()
        return choose_quickly(
            given,
            lambda *chosen: self._quick_pilot(rough, labels, *chosen),
            lambda: self.splits.deadline.elapsed() < end,
        )

    def choose(self, rough: Split, labels: IntArray, quick: QuickPilots | None = None) -> int:
        """Return how many super-points a part should have; quick pilots say which sizes take too long."""
        given = self._circumstances()
        if quick is not None:
            largest = int(max(given.smallest, min(given.largest, quick.largest_in_time(given.seconds))))
            given = replace(given, largest=largest, first=min(given.first, largest))
        end = self.splits.deadline.elapsed() + _SHARE_FOR_PILOTS * self.splits.deadline.remaining()
        return choose_size(
            given,
            lambda size, seconds: self._pilot(self._best_trial(rough, labels, size), size, seconds),
            lambda size: self._plain_trial(rough, labels, size).unavoidable,
            lambda size: self.trial(rough, labels, size).unavoidable,
            lambda: self.splits.deadline.elapsed() < end,
            lambda size, seconds: self._pilot(self._plain_trial(rough, labels, size), size, seconds),
            lambda: _SHARE_FOR_PARTS * self.splits.deadline.remaining(),
        )

    def split_roughly(self, labels: IntArray) -> Split:
        """Split into the smallest parts, to make pilots of."""
        points, leaf = self.presolved.super_points, self._circumstances().smallest
        return self.splits.split(labels, max(1, points.size // leaf), is_sample=True)

    def _circumstances(self) -> Circumstances:
        settings, points = self.splits.settings.parts, self.presolved.super_points
        largest = min(self.largest(), points.size)
        first = first_size(points.n_clusters, settings, largest)
        seconds = _SHARE_FOR_PARTS * self.splits.deadline.remaining()
        return Circumstances(
            points.size,
            first,
            min(settings.smallest, first),
            largest,
            _NEARLY * self.splits.effort.gap,
            seconds,
            self.workers.capacity,
        )

    def trial(self, rough: Split, labels: IntArray, size: int) -> Trial:
        """Find out what parts of a size lose whatever bounds they have; points are shared and tuned if that is much."""
        if size not in self.trials:
            found = self._plain_trial(rough, labels, size)
            if self.splits.loses_much(found):
                n_parts = self.number_of_parts(size)
                found = min(self._final_trial(labels, size), self.splits.tuned(labels, n_parts), key=unavoidable)
            self.trials[size] = found
        return self.trials[size]

    def _best_trial(self, rough: Split, labels: IntArray, size: int) -> Trial:
        """Spend more time on a split whose parts are going to be bounded."""
        found = self.trial(rough, labels, size)
        if found.is_final:
            found = self.trials[size] = self.splits.redealt(found, labels, SHARE_FOR_FINAL_REDEALING)
        return found

    def _plain_trial(self, rough: Split, labels: IntArray, size: int) -> Trial:
        """Do without tuning. Of few parts, each pilot is worth keeping: the split is final then."""
        if self.number_of_parts(size) <= _FEW_PARTS:
            return self._final_trial(labels, size)
        if size not in self.rough_trials:
            count = max(1 + self.workers.capacity, min(PARTS_TO_SEARCH, GROUP_SIZE // size))
            keys = self._some_keys(rough, size, count)
            loss = self.splits.means_loss(rough, labels, keys)
            self.rough_trials[size] = self.splits.try_parts(rough, labels, keys, loss, is_final=False)
        return self.rough_trials[size]

    def _final_trial(self, labels: IntArray, size: int) -> Trial:
        if size not in self.final_trials:
            split = self.splits.split(labels, self.number_of_parts(size))
            self.final_trials[size] = self.splits.redealt(self.splits.try_split(split, labels), labels)
        return self.final_trials[size]

    def number_of_parts(self, size: int) -> int:
        """Return how many parts of a size there are."""
        return max(1, -(-self.presolved.super_points.size // size))

    def _pilot(self, trial: Trial, size: int, seconds: float) -> Pilot:
        """Bound parts of a size, each within so many seconds, from where another one ended.

        Parts of a final split have a little longer.
        """
        gap = allowance(self.splits.effort.gap, trial.unavoidable, self.splits.settings.parts.relaxation_share)
        effort = replace(self.splits.effort, gap=gap)
        keys = list(trial.parts)[: 1 + _PILOTS_PER_WORKER * self.workers.capacity]
        pilots = [PartTask((key,), (trial.parts[key],), effort, seed=self.splits.seed) for key in keys]
        start, proven = self._nearest_template(size), list[PartOutcome]()
        if start is None or not trial.is_final:
            begun = self._first_pilot(pilots[0], start, seconds)
            if begun is None or begun.template is None:
                return Pilot(math.inf, math.inf, is_cut_short=True)
            start = self.templates[size] = self.workers.send(begun.template)
            proven, pilots = [replace(begun, template=None)], pilots[1:] or pilots
        longest = seconds * (_MORE_FOR_FINAL_PILOTS if trial.is_final else 1.0)
        limit = max(_SHARE_FOR_ITERATIONS * longest, longest - _MOST_FOR_PROVING) if math.isfinite(seconds) else None
        tasks = {task.keys[0]: replace(task, template=start, seconds=limit) for task in pilots}
        waiting, capacity = list(tasks), self.workers.capacity
        latest = self._bounded(waiting[:capacity], tasks)
        if latest and min(outcome.seconds for outcome in latest) < _SECONDS_TO_LOAD:
            # They may have waited for code to be loaded; others are more like what will come, and take little time.
            proven += latest
            latest = self._bounded(waiting[capacity:], tasks) or latest
        if trial.is_final:
            self.proven[size] = [*proven, *latest]
        if not latest:
            return Pilot(math.inf, math.inf, is_cut_short=True)
        loss = _loss(latest)
        # Parts differ in what they lose by clusterings of their own: a few bounds say little about it, searches more.
        usual, here = trial.unavoidable, sum(trial.own_losses[outcome.key] for outcome in latest) / len(latest)
        self.seconds[size] = sum(outcome.seconds for outcome in latest) / len(latest)
        is_cut_short = self.seconds[size] > seconds or any(outcome.is_cut_short for outcome in latest)
        return Pilot(max(usual, loss + usual - here), self.seconds[size], is_cut_short, usual)

    def _nearest_template(self, size: int) -> Template | Path | None:
        """Return what parts of another size may start from, if anything is known."""
        known = sorted(self.templates, key=lambda other: abs(math.log(other / size)))
        return self.templates[known[0]] if known else None

    def _quick_pilot(self, rough: Split, labels: IntArray, size: int, iterations: int) -> Pilot:
        """Bound parts of a size with so many iterations each; as many before them, to have all code loaded."""
        count = max(self.workers.capacity, self.number_of_parts(size) // _PARTS_PER_PILOT)
        keys = self._some_keys(rough, size, min(_PILOTS_PER_WORKER * self.workers.capacity, count))
        effort = replace(self.splits.effort, iterations=iterations)
        tasks = {
            key: PartTask((key,), (make_part(self.presolved, rough, labels, key),), effort, seed=self.splits.seed)
            for key in keys
        }
        latest: list[PartOutcome] = []
        for repeated in (keys[: self.workers.capacity], keys):
            latest = self._bounded(repeated, tasks)
        if not latest:
            raise StoppedError
        seconds = sum(outcome.seconds for outcome in latest) / len(latest)
        loss = _loss(latest) + self.splits.means_loss(rough, labels, keys)
        return Pilot(loss, seconds + _SECONDS_TO_HAND_OVER)

    def _some_keys(self, rough: Split, size: int, count: int) -> list[Key]:
        """Return names of some parts of a size, united from the first ones of a rough split, which are matched."""
        count = min(count, max(1, GROUP_SIZE // size))
        united = min(rough.n_parts, max(1, round(size * rough.n_parts / self.presolved.super_points.size)))
        return [tuple(range(i, i + united)) for i in range(0, rough.n_parts - united + 1, united)][:count]

    def _bounded(self, keys: Sequence[Key], tasks: Mapping[Key, PartTask]) -> list[PartOutcome]:
        """Bound some pilots; fewer outcomes if there is a reason to stop."""
        found: list[PartOutcome] = []
        Dispatcher(self.workers, found.append, self.splits.must_stop).run(keys, lambda own, _: tasks[own[0]], _one)
        return found

    def _first_pilot(self, task: PartTask, start: Template | Path | None, share: float) -> PartOutcome | None:
        """Bound a part, from one of another size or from nothing, that others may start from.

        Parameters
        ----------
        share
            Seconds that each part of this size has.
        """
        seconds = min(_SHARE_FOR_PILOT * self.splits.deadline.remaining(), _MOST_SHARES * share)
        task = replace(task, template=start, seconds=seconds if math.isfinite(seconds) else None, wants_template=True)
        found = self._bounded(task.keys, {task.keys[0]: task})
        return found[0] if found else None


def _loss(outcomes: Sequence[PartOutcome]) -> float:
    """Return what bounds lose, relatively, different means not included."""
    cost = sum(outcome.cost for outcome in outcomes)
    return 1 - sum(outcome.value for outcome in outcomes) / cost if cost > 0 else 0.0


def _one() -> int:
    return 1
