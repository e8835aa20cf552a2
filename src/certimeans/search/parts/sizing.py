"""Pilot parts: split roughly, bound a few parts of several sizes, and choose."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.parts.bounding import Effort, own_clustering
from certimeans.bounds.parts.exchange import GROUP_SIZE
from certimeans.bounds.parts.matching import Template
from certimeans.bounds.parts.problem import Part, cost_of
from certimeans.bounds.parts.splitting import Split, make_part, split_into_parts
from certimeans.bounds.parts.tuning import tune_shares
from certimeans.bounds.parts.units import centres_of
from certimeans.bounds.relaxation.bounder import LARGEST_SIZE
from certimeans.deadline import Deadline
from certimeans.presolve.contract import sum_by_group
from certimeans.presolve.reduce import Presolved
from certimeans.search.background import in_background
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
from certimeans.search.parts.tasks import Key, PartOutcome, PartTask
from certimeans.search.parts.workers import PartWorkers
from certimeans.search.settings import NodeSettings

_BYTES_PER_ENTRY = 120  # of a part's relaxation, divided by the square of its size
_SHARE_FOR_PARTS = 0.7  # of the time that is left: a first pass has to be over before it ends
_SHARE_FOR_QUICK_PARTS = 0.8  # splitting takes less then, and so does each part if it has to
_QUICK_MARGIN = 0.9  # of the gap: a few pilots say no more about all parts
_SHARE_FOR_SPLIT = 0.15
_FEW_SWEEPS = 3
_SECONDS_TO_HAND_OVER = 1e-3  # a part and its proof
_SHARE_FOR_PILOT = 0.08
_MOST_SHARES = 4.0  # of the time of a part may be taken by the first pilot
_SHARE_FOR_PILOTS = 0.15  # after that no further sizes are looked at
_SHARE_FOR_TUNING = 0.04
_NEARLY = 1.04  # what pilots aim at is reached if they are as close as that
_TUNING = 60.0  # seconds, without a time limit
_SHARE_FOR_ITERATIONS = 0.6  # of the time for a pilot: the rest is for proving a bound and putting it away
_MOST_FOR_PROVING = 0.1
_PILOTS_PER_WORKER = 4
_FEW_PARTS = 40  # of so many, pilots are a share worth keeping
_PARTS_TO_SEARCH = 16  # what parts can lose by clusterings of their own is searched for in so many
_SECONDS_TO_LOAD = 1.0  # a pilot that takes longer is believed at once
_POLL_SECONDS = 0.05


_Result = TypeVar("_Result")


class StoppedError(Exception):
    """There is a reason to stop; whoever asked knows which."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A split, and what some of its parts lose whatever bounds they have.

    Attributes
    ----------
    own_losses, parts
        Of these: how much cheaper their own clusterings are than the whole's, relatively, and the parts.
    means_loss
        What different means cost, relatively.
    is_final
        Whether it is the split that would be used, and not a rough one: what is proven about its parts is of use.
    """

    split: Split
    own_losses: dict[Key, float]
    parts: dict[Key, Part]
    means_loss: float
    is_final: bool = False

    @property
    def own_loss(self) -> float:
        """What parts lose by clusterings of their own, about."""
        return sum(self.own_losses.values()) / max(1, len(self.own_losses))

    @property
    def unavoidable(self) -> float:
        """What parts of this split lose with the best of bounds, about."""
        return self.own_loss + self.means_loss


@dataclass(frozen=True, eq=False)
class Sizing:
    """Splits a problem, and finds out how large its parts should be.

    Attributes
    ----------
    effort
        How far parts are to be bounded.
    negligible
        What splitting may cost without anybody noticing, in the user's units.
    n_threads
        How many threads split.
    templates, trials, seconds
        What parts may start from, what they lose by clusterings of their own, and how long they take, by size.
    rough_trials, final_trials
        What they lose without tuning.
    centres
        Of clusterings of their own that parts have, in working units: starts for the whole.
    proven
        What was proven about pilots of final splits, by size.
    """

    presolved: Presolved
    workers: PartWorkers
    deadline: Deadline
    settings: NodeSettings
    seed: int
    effort: Effort
    negligible: float
    must_stop: Callable[[], bool]
    n_threads: int = 1
    templates: dict[int, Template | Path] = field(default_factory=dict)
    trials: dict[int, Trial] = field(default_factory=dict)
    rough_trials: dict[int, Trial] = field(default_factory=dict)
    final_trials: dict[int, Trial] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    centres: list[FloatArray] = field(default_factory=list)
    proven: dict[int, list[PartOutcome]] = field(default_factory=dict)

    def split_well(self, labels: IntArray, n_parts: int) -> Trial:
        """Split, and share more points by weight, tuned, if parts lose much by clusterings of their own.

        Raises
        ------
        StoppedError
            If there is a reason to stop before that is done.
        """
        found = self.try_split(self.split(labels, n_parts), labels)
        return min(found, self._tuned(labels, n_parts), key=_unavoidable) if self._loses_much(found) else found

    def _loses_much(self, trial: Trial) -> bool:
        return len(trial.parts) > 1 and trial.unavoidable > self.settings.parts.share_more * self.effort.gap

    def _tuned(self, labels: IntArray, n_parts: int) -> Trial:
        """Split, with more points that are shared, and tune their shares."""
        settings = self.settings.parts
        more = replace(settings, share_above=settings.share_above_then, most_shared=settings.most_shared_then)
        split = replace(self, settings=replace(self.settings, parts=more)).split(labels, n_parts)
        seconds = _SHARE_FOR_TUNING * self.deadline.remaining() if math.isfinite(self.deadline.remaining()) else _TUNING
        deadline = self.deadline.within(seconds)
        tuning = in_background(
            tune_shares, self.presolved, split, labels, seed=self.seed, deadline=deadline, n_threads=self.n_threads
        )
        return self.try_split(self._awaited(tuning), labels)

    def try_split(self, split: Split, labels: IntArray) -> Trial:
        """Look for clusterings of their own that some parts of a split have, which is final."""
        keys = [(p,) for p in range(0, split.n_parts, -(-split.n_parts // _PARTS_TO_SEARCH))]
        cost = cost_of(self.presolved.super_points, labels)
        return self._trial(split, labels, keys, split.loss / cost if cost > 0 else 0.0, is_final=True)

    def _means_loss(self, rough: Split, labels: IntArray, keys: Sequence[Key]) -> float:
        """Return what different means cost in some parts of a rough split, relatively."""
        centres, _ = centres_of(self.presolved.super_points, labels)
        lost = sum(rough.loss_in(self.presolved, labels, centres, key) for key in keys)
        cost = cost_of(self.presolved.super_points, labels) * sum(map(len, keys)) / rough.n_parts
        return lost / cost if cost > 0 else 0.0

    def _trial(
        self, split: Split, labels: IntArray, keys: Sequence[Key], means_loss: float, *, is_final: bool
    ) -> Trial:
        parts = {key: make_part(self.presolved, split, labels, key) for key in keys}
        return Trial(split, self.own_losses(parts), parts, means_loss, is_final)

    def split_quickly(self, labels: IntArray, n_parts: int) -> Split:
        """Split if time is short: the first few sweeps match most of the means.

        Raises
        ------
        StoppedError
            If there is a reason to stop before that is done.
        """
        few = replace(self.settings.parts, sweeps=min(_FEW_SWEEPS, self.settings.parts.sweeps), match_shapes=False)
        return replace(self, settings=replace(self.settings, parts=few)).split(labels, n_parts)

    def split(self, labels: IntArray, n_parts: int, *, is_sample: bool = False) -> Split:
        """Split along a clustering of the super-points, in a thread that is left behind if need be.

        Parameters
        ----------
        is_sample
            Whether only the first parts will be looked at.

        Raises
        ------
        StoppedError
            If there is a reason to stop before that is done.
        """
        deadline = self.deadline
        if math.isfinite(deadline.remaining()):
            deadline = deadline.within(_SHARE_FOR_SPLIT * deadline.remaining())
        splitting = in_background(
            split_into_parts,
            self.presolved,
            labels,
            n_parts,
            self.settings.parts,
            seed=self.seed,
            negligible=self.negligible,
            deadline=deadline,
            n_threads=self.n_threads,
            is_sample=is_sample,
        )
        return self._awaited(splitting)

    def largest(self) -> int:
        """Return the largest part that memory has room for, as many at a time as there are workers."""
        return max(2, min(self.settings.parts.largest, self._fitting(self.workers.capacity)))

    def has_room_for_all(self) -> bool:
        """Whether the whole could be bounded at once, as a last resort: a certificate and memory have room for it."""
        return self.presolved.super_points.size <= min(LARGEST_SIZE, self._fitting(1))

    def _fitting(self, at_a_time: int) -> int:
        allowed = memory_limit(self.settings.memory_limit) / max(1, at_a_time)
        return int(math.sqrt(allowed / _BYTES_PER_ENTRY))

    def choose_quickly(self, rough: Split, labels: IntArray) -> QuickPilots:
        """Choose how many super-points and iterations parts without cuts have; say whether there is time for more."""
        seconds = _SHARE_FOR_QUICK_PARTS * self.deadline.remaining()
        given = replace(self._circumstances(), seconds=seconds, gap=_QUICK_MARGIN * self.effort.gap)
        end = self.deadline.elapsed() + _SHARE_FOR_PILOTS * self.deadline.remaining()
        return choose_quickly(
            given,
            lambda *chosen: self._quick_pilot(rough, labels, *chosen),
            lambda: self.deadline.elapsed() < end,
        )

    def choose(self, rough: Split, labels: IntArray) -> int:
        """Return how many super-points a part should have."""
        end = self.deadline.elapsed() + _SHARE_FOR_PILOTS * self.deadline.remaining()
        return choose_size(
            self._circumstances(),
            lambda size, seconds: self._pilot(self.trial(rough, labels, size), size, seconds),
            lambda size: self._plain_trial(rough, labels, size).unavoidable,
            lambda size: self.trial(rough, labels, size).unavoidable,
            lambda: self.deadline.elapsed() < end,
        )

    def split_roughly(self, labels: IntArray) -> Split:
        """Split into the smallest parts, to make pilots of."""
        points, leaf = self.presolved.super_points, self._circumstances().smallest
        return self.split(labels, max(1, points.size // leaf), is_sample=True)

    def _circumstances(self) -> Circumstances:
        settings, points = self.settings.parts, self.presolved.super_points
        largest = min(self.largest(), points.size)
        first = first_size(points.n_clusters, settings, largest)
        seconds = _SHARE_FOR_PARTS * self.deadline.remaining()
        return Circumstances(
            points.size,
            first,
            min(settings.smallest, first),
            largest,
            _NEARLY * self.effort.gap,
            seconds,
            self.workers.capacity,
        )

    def trial(self, rough: Split, labels: IntArray, size: int) -> Trial:
        """Find out what parts of a size lose whatever bounds they have; points are shared and tuned if that is much."""
        if size not in self.trials:
            found = self._plain_trial(rough, labels, size)
            if self._loses_much(found):
                n_parts = self._number_of_parts(size)
                found = min(self._final_trial(labels, size), self._tuned(labels, n_parts), key=_unavoidable)
            self.trials[size] = found
        return self.trials[size]

    def _plain_trial(self, rough: Split, labels: IntArray, size: int) -> Trial:
        """Do without tuning. Of few parts, each pilot is worth keeping: the split is final then."""
        if self._number_of_parts(size) <= _FEW_PARTS:
            return self._final_trial(labels, size)
        if size not in self.rough_trials:
            count = max(1 + self.workers.capacity, min(_PARTS_TO_SEARCH, GROUP_SIZE // size))
            keys = self._some_keys(rough, size, count)
            loss = self._means_loss(rough, labels, keys)
            self.rough_trials[size] = self._trial(rough, labels, keys, loss, is_final=False)
        return self.rough_trials[size]

    def _final_trial(self, labels: IntArray, size: int) -> Trial:
        if size not in self.final_trials:
            split = self.split(labels, self._number_of_parts(size))
            self.final_trials[size] = self.try_split(split, labels)
        return self.final_trials[size]

    def _number_of_parts(self, size: int) -> int:
        return max(1, -(-self.presolved.super_points.size // size))

    def _pilot(self, trial: Trial, size: int, seconds: float) -> Pilot:
        """Bound parts of a size, each within so many seconds, from where another one ended."""
        gap = allowance(self.effort.gap, trial.unavoidable, self.settings.parts.relaxation_share)
        effort = replace(self.effort, gap=gap)
        keys = list(trial.parts)[: 1 + _PILOTS_PER_WORKER * self.workers.capacity]
        first, *others = [PartTask((key,), (trial.parts[key],), effort, seed=self.seed) for key in keys]
        begun = self._first_pilot(first, self._nearest_template(size), seconds)
        if begun is None or begun.template is None:
            return Pilot(math.inf, math.inf, is_cut_short=True)
        template = self.templates[size] = self.workers.send(begun.template)
        limit = max(_SHARE_FOR_ITERATIONS * seconds, seconds - _MOST_FOR_PROVING) if math.isfinite(seconds) else None
        tasks = {task.keys[0]: replace(task, template=template, seconds=limit) for task in others or [first]}
        waiting, capacity = list(tasks), self.workers.capacity
        proven = latest = self._bounded(waiting[:capacity], tasks)
        if latest and min(outcome.seconds for outcome in latest) < _SECONDS_TO_LOAD:
            # They may have waited for code to be loaded; others are more like what will come, and take little time.
            latest = self._bounded(waiting[capacity:], tasks) or latest
            proven = [*proven, *latest]
        if trial.is_final:
            self.proven[size] = [replace(begun, template=None), *proven]
        if not latest:
            return Pilot(math.inf, math.inf, is_cut_short=True)
        loss = _loss(latest)
        # Parts differ in what they lose by clusterings of their own: a few bounds say little about it, searches more.
        usual, here = trial.unavoidable, sum(trial.own_losses[outcome.key] for outcome in latest) / len(latest)
        self.seconds[size] = sum(outcome.seconds for outcome in latest) / len(latest)
        is_cut_short = any(outcome.is_cut_short for outcome in latest)
        return Pilot(max(usual, loss + usual - here), self.seconds[size], is_cut_short, usual)

    def _nearest_template(self, size: int) -> Template | Path | None:
        """Return what parts of another size may start from, if anything is known."""
        known = sorted(self.templates, key=lambda other: abs(math.log(other / size)))
        return self.templates[known[0]] if known else None

    def _quick_pilot(self, rough: Split, labels: IntArray, size: int, iterations: int) -> Pilot:
        """Bound parts of a size with so many iterations each; as many before them, to have all code loaded."""
        keys = self._some_keys(rough, size, _PILOTS_PER_WORKER * self.workers.capacity)
        effort = replace(self.effort, iterations=iterations)
        tasks = {
            key: PartTask((key,), (make_part(self.presolved, rough, labels, key),), effort, seed=self.seed)
            for key in keys
        }
        latest: list[PartOutcome] = []
        for repeated in (keys[: self.workers.capacity], keys):
            latest = self._bounded(repeated, tasks)
        if not latest:
            raise StoppedError
        seconds = sum(outcome.seconds for outcome in latest) / len(latest)
        loss = _loss(latest) + self._means_loss(rough, labels, keys)
        return Pilot(loss, seconds + _SECONDS_TO_HAND_OVER)

    def _some_keys(self, rough: Split, size: int, count: int) -> list[Key]:
        """Return names of some parts of a size, united from those of a rough split."""
        united = min(rough.n_parts, max(1, round(size * rough.n_parts / self.presolved.super_points.size)))
        return [tuple(range(i, i + united)) for i in range(0, rough.n_parts - united + 1, united)][:count]

    def _bounded(self, keys: Sequence[Key], tasks: Mapping[Key, PartTask]) -> list[PartOutcome]:
        """Bound some pilots; fewer outcomes if there is a reason to stop."""
        found: list[PartOutcome] = []
        Dispatcher(self.workers, found.append, self.must_stop).run(keys, lambda own: tasks[own[0]], _one)
        return found

    def own_losses(self, parts: Mapping[Key, Part]) -> dict[Key, float]:
        """Return how much cheaper the own clusterings of parts are than the whole's in them, relatively."""
        found = self._awaited(in_background(self._search_in, parts))
        for key, (own, loss) in found.items():
            if loss > 0 and len(np.unique(own)) == parts[key].n_clusters:
                self.centres.append(self._centres(parts[key], own))
        return {key: loss for key, (_, loss) in found.items()}

    def _search_in(self, parts: Mapping[Key, Part]) -> dict[Key, tuple[IntArray, float]]:
        with ThreadPoolExecutor(self.n_threads) as pool:
            found = pool.map(lambda part: own_clustering(part, self.effort, self.seed, self.deadline), parts.values())
            return dict(zip(parts, found, strict=True))

    def _centres(self, part: Part, labels: IntArray) -> FloatArray:
        """Return the centres of a clustering of a part in working units of the whole."""
        points = self.presolved.super_points
        assert points.vectors is not None  # noqa: S101  # a Gram matrix is never split
        groups = np.unique(points.group_of[part.members])
        sums = sum_by_group(labels, points.vectors[groups], part.n_clusters)
        centres: FloatArray = sums / np.bincount(labels, points.weights[groups], minlength=part.n_clusters)[:, None]
        return centres

    def _awaited(self, work: Future[_Result]) -> _Result:
        """Wait for something, unless there is a reason to stop; it is left behind then."""
        while not wait([work], timeout=_POLL_SECONDS).done:
            if self.must_stop():
                raise StoppedError
        return work.result()

    def _first_pilot(self, task: PartTask, start: Template | Path | None, share: float) -> PartOutcome | None:
        """Bound a part, from one of another size or from nothing, that others may start from.

        Parameters
        ----------
        share
            Seconds that each part of this size has.
        """
        seconds = min(_SHARE_FOR_PILOT * self.deadline.remaining(), _MOST_SHARES * share)
        task = replace(task, template=start, seconds=seconds if math.isfinite(seconds) else None, wants_template=True)
        found = self._bounded(task.keys, {task.keys[0]: task})
        return found[0] if found else None


def _unavoidable(trial: Trial) -> float:
    return trial.unavoidable


def _loss(outcomes: Sequence[PartOutcome]) -> float:
    """Return what bounds lose, relatively, different means not included."""
    cost = sum(outcome.cost for outcome in outcomes)
    return 1 - sum(outcome.value for outcome in outcomes) / cost if cost > 0 else 0.0


def _one() -> int:
    return 1
