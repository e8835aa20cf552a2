"""A pass over parts: which share of the time each of them has, and how it goes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from certimeans.bounds.parts.bounding import Effort
from certimeans.bounds.parts.matching import Template
from certimeans.bounds.parts.problem import Part
from certimeans.search.limits import Progress
from certimeans.search.parts.plan import QuickPilots, allowance
from certimeans.search.parts.tasks import Key, PartOutcome, PartTask, Stored

_ROOM = 0.95  # of its share of the time that is left may be taken by a part: the first pass must not be cut short
_LEAST_SHARE = 0.5  # of what a pilot took: with less, a part proves hardly anything
_LARGEST_BATCH = 20
_PARTS_TO_JUDGE = 50  # so many for each worker say whether parts take as long as pilots did
_FASTEST = 0.5  # of the time of pilots is believed at most
_LONG = 2.0  # seconds: while a part takes longer, the next one is not made yet, since its share may change
_HALVINGS = 40  # of an interval: its length is that of rounding then


def _nothing(_: Key) -> None:
    """Start from no earlier proof."""


@dataclass
class Pass:
    """How a pass over parts goes: for the log, and for what comes next.

    Attributes
    ----------
    n_parts, done
        How many parts there are, and how many are done.
    split_loss
        What different means cost, relatively.
    cost, value
        Of those that are done, together.
    seconds, overrun
        See :class:`~certimeans.search.parts.tasks.PartOutcome`; of all that are done.
    longest_overrun
        Of one part, in earlier passes, too.
    """

    n_parts: int
    split_loss: float = 0.0
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    cost: float = 0.0
    value: float = 0.0
    seconds: float = 0.0
    overrun: float = 0.0
    longest_overrun: float = 0.0

    def add(self, outcome: PartOutcome) -> None:
        """Count a part that is done."""
        self.done += 1
        self.seconds += outcome.seconds
        self.overrun += outcome.overrun
        self.longest_overrun = max(self.longest_overrun, outcome.overrun)
        self.cost += outcome.cost
        self.value += outcome.value

    @property
    def left(self) -> int:
        """Number of parts that are not done."""
        return self.n_parts - self.done

    @property
    def mean_seconds(self) -> float:
        """Seconds that a part takes."""
        return self.seconds / max(1, self.done)

    @property
    def seconds_left(self) -> float:
        """How long the others will take, about."""
        return self.left * (time.monotonic() - self.began) / max(1, self.done)

    @property
    def expected_gap(self) -> float:
        """The gap if all parts lose as much as those that are done."""
        # What different means cost is no part of the cost in the parts.
        lost = 1 - self.value / self.cost if self.cost > 0 else 0.0
        return self.split_loss + (1 - self.split_loss) * lost

    def shown_in(self, progress: Progress) -> Progress:
        """Add how the pass goes to what is shown."""
        progress = replace(progress, parts=self.n_parts, parts_done=self.done)
        if self.done == 0:
            return progress
        return replace(progress, expected_gap=self.expected_gap, seconds_left=self.seconds_left)


@dataclass(frozen=True)
class Budget:
    """What the parts of a pass may lose: those that are left share what is left of it.

    Attributes
    ----------
    gap
        What all of them may lose, as a share of their cost.
    cost
        Of the whole's clustering in all of them.
    own_loss
        How much of it they lose by clusterings of their own, relatively, about.
    least
        See ``relaxation_share`` of :class:`~certimeans.bounds.parts.settings.PartSettings`.
    floor
        What a part may lose in any case, relatively.
    """

    gap: float
    cost: float
    own_loss: float
    least: float
    floor: float

    def allowed(self, now: Pass) -> float:
        """Return how far the bound of the next part may stay below the cost of its own clustering, relatively."""
        left = self.cost - now.cost
        gap = (self.gap * self.cost - (now.cost - now.value)) / left if left > 0 else self.gap
        return max(allowance(gap, self.own_loss, self.least), self.floor)


@dataclass
class PassTasks:
    """Makes the tasks of a pass.

    Attributes
    ----------
    now
        How it goes.
    part_of
        Takes a part out of the problem.
    effort
        How far to bound each part, but for what the budget says.
    budget
        How much parts may lose.
    capacity
        Tells how many parts are bounded at a time; on a cluster that may change.
    remaining
        Tells how many seconds are left for all of them.
    seconds_per_task
        About how long a task should take.
    seed
        Of the run.
    useful_seconds
        What a pilot took.
    shares_time
        Whether each part has a share of the time; if not, those that come first may take all of it.
    quick
        How long parts take that have so many iterations; without it, each goes as far as its effort says.
    template
        What parts start from, as far as is known now.
    start_of
        What is proven about a part already, to go on from there.
    """

    now: Pass
    part_of: Callable[[Key], Part]
    effort: Effort
    budget: Budget
    capacity: Callable[[], int]
    remaining: Callable[[], float]
    seconds_per_task: float
    seed: int = 0
    useful_seconds: float = 0.0
    shares_time: bool = True
    quick: QuickPilots | None = None
    template: Template | Path | None = None
    start_of: Callable[[Key], Stored | None] = _nothing
    _handed_over: int = 0
    _ends: dict[tuple[Key, ...], float] = field(default_factory=dict)  # when tasks at work are meant to be done
    _planned: float = 0.0  # seconds that these parts were meant to take, all workers together

    def make(self, keys: tuple[Key, ...], running: Collection[PartTask]) -> PartTask:
        """Make a task of some parts, now that its turn has come, while others are running."""
        remaining = self.remaining()
        seconds_left = None if math.isinf(remaining) else remaining
        parts = tuple(map(self.part_of, keys))
        if self.quick is not None:
            effort = replace(self.effort, iterations=self._iterations(self.quick, remaining, len(keys)))
            return PartTask(keys, parts, effort, seed=self.seed, seconds_left=seconds_left)
        share = _ROOM * self._share(running, remaining) - self.now.overrun / max(1, self.now.done)
        # Parts that are cut short at the end of all time have to prove and hand over their bounds before it.
        rest = remaining - self.now.longest_overrun
        seconds = max(share, _LEAST_SHARE * self.useful_seconds) if self.shares_time else rest
        seconds = max(0.0, min(seconds, rest))
        self._plan(keys, seconds, running)
        return PartTask(
            keys,
            parts,
            replace(self.effort, gap=self.budget.allowed(self.now)),
            self.template,
            self.seed,
            seconds if math.isfinite(seconds) else None,
            seconds_left,
            wants_template=self.template is None,
            starts=tuple(map(self.start_of, keys)),
        )

    def batch(self) -> int:
        """Return how many parts a task should have now."""
        if self.now.done < self.capacity():
            return 1
        fitting = self.seconds_per_task / max(self.now.mean_seconds, 1e-3)
        return max(1, min(int(fitting), _LARGEST_BATCH, self.now.left // (3 * self.capacity())))

    def at_a_time(self) -> int:
        """Return how many tasks should be handed over now: some ahead if parts are quick."""
        is_quick = self.now.done > 0 and self.now.mean_seconds < _LONG
        capacity = self.capacity()
        return capacity + (capacity // 2 if is_quick else 0)

    def _share(self, running: Collection[PartTask], remaining: float) -> float:
        """Return how long each part that is not handed over yet may take, for all of them to be done in time.

        Parts are not divided among workers: three that wait for two workers have half of the time each.
        """
        if math.isinf(remaining):
            return remaining
        waiting, capacity = self.now.left - sum(len(task.keys) for task in running), self.capacity()
        now, ends = time.monotonic(), self._ends_of(running)
        free = [remaining - max(0.0, end - now) for end in ends[-capacity:]]
        free += [remaining] * (capacity - len(free))
        low, high = 0.0, max(free)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            fits = middle > 0 and sum(max(0, int(seconds / middle)) for seconds in free) >= waiting
            low, high = (middle, high) if fits else (low, middle)
        return low

    def _plan(self, keys: tuple[Key, ...], seconds: float, running: Collection[PartTask]) -> None:
        """Note when parts will be done that have so many seconds each: they begin when a worker has nothing else."""
        ends, capacity = self._ends_of(running), self.capacity()
        begin = time.monotonic() if len(ends) < capacity else max(time.monotonic(), ends[-capacity])
        self._ends[keys] = begin + len(keys) * seconds

    def _ends_of(self, running: Collection[PartTask]) -> list[float]:
        """Return when tasks are meant to be done, in order; those that are not running, done or lost, are forgotten."""
        self._ends = {task.keys: self._ends[task.keys] for task in running if task.keys in self._ends}
        return sorted(self._ends.values())

    def _iterations(self, quick: QuickPilots, remaining: float, count: int) -> int:
        """Return how many iterations so many parts have: as were planned, or as parts so far leave time for."""
        iterations, now = quick.iterations, self.now
        if self._handed_over >= _PARTS_TO_JUDGE * self.capacity() and self._planned > 0:
            factor = max(_FASTEST, (time.monotonic() - now.began) / self._planned)
            iterations = quick.iterations_within(remaining / factor * now.n_parts / max(1, now.left))
        self._handed_over += count
        self._planned += quick.totals[iterations] * count / now.n_parts
        return iterations
