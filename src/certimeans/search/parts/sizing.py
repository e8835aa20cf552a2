"""Pilot parts: split roughly, bound a few parts of several sizes, and choose."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from pathlib import Path

from certimeans._typing import IntArray
from certimeans.bounds.parts.bounding import Effort
from certimeans.bounds.parts.matching import Template
from certimeans.bounds.parts.splitting import Split, make_part, split_into_parts
from certimeans.bounds.relaxation.bounder import LARGEST_SIZE
from certimeans.deadline import Deadline
from certimeans.presolve.reduce import Presolved
from certimeans.search.background import in_background
from certimeans.search.memory import memory_limit
from certimeans.search.parts.dispatch import Dispatcher
from certimeans.search.parts.plan import Circumstances, Pilot, choose_size, first_size
from certimeans.search.parts.tasks import PartOutcome, PartTask
from certimeans.search.parts.workers import PartWorkers
from certimeans.search.settings import NodeSettings

_BYTES_PER_ENTRY = 120  # of a part's relaxation, divided by the square of its size
_SHARE_FOR_PARTS = 0.7  # of the time that is left: a first pass has to be over before it ends
_SHARE_FOR_SPLIT = 0.15
_SHARE_FOR_PILOT = 0.1
_POLL_SECONDS = 0.05


class StoppedError(Exception):
    """There is a reason to stop; whoever asked knows which."""


@dataclass(frozen=True, eq=False)
class Sizing:
    """Splits a problem, and finds out how large its parts should be.

    Attributes
    ----------
    effort
        How far parts are to be bounded.
    negligible
        What splitting may cost without anybody noticing, in the user's units.
    templates, seconds
        What parts may start from, and how long they take then, by size.
    """

    presolved: Presolved
    workers: PartWorkers
    deadline: Deadline
    settings: NodeSettings
    seed: int
    effort: Effort
    negligible: float
    must_stop: Callable[[], bool]
    templates: dict[int, Template | Path] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)

    def split(self, labels: IntArray, n_parts: int, sweeps: int | None = None) -> Split:
        """Split along a clustering of the super-points, in a thread that is left behind if need be.

        Raises
        ------
        StoppedError
            If there is a reason to stop before that is done.
        """
        settings, deadline = self.settings.parts, self.deadline
        if sweeps is not None:
            settings = replace(settings, sweeps=sweeps)
        if math.isfinite(deadline.remaining()):
            deadline = deadline.within(_SHARE_FOR_SPLIT * deadline.remaining())
        splitting = in_background(
            split_into_parts,
            self.presolved,
            labels,
            n_parts,
            settings,
            seed=self.seed,
            negligible=self.negligible,
            deadline=deadline,
        )
        while not wait([splitting], timeout=_POLL_SECONDS).done:
            if self.must_stop():
                raise StoppedError
        return splitting.result()

    def largest(self) -> int:
        """Return the largest part that memory has room for, as many at a time as there are workers."""
        return max(2, min(self.settings.parts.largest, self._fitting(self.workers.capacity)))

    def has_room_for_all(self) -> bool:
        """Whether the whole could be bounded at once, as a last resort: a certificate and memory have room for it."""
        return self.presolved.super_points.size <= min(LARGEST_SIZE, self._fitting(1))

    def _fitting(self, at_a_time: int) -> int:
        allowed = memory_limit(self.settings.memory_limit) / max(1, at_a_time)
        return int(math.sqrt(allowed / _BYTES_PER_ENTRY))

    def choose(self, labels: IntArray) -> int:
        """Return how many super-points a part should have."""
        settings, points = self.settings.parts, self.presolved.super_points
        largest = min(self.largest(), points.size)
        first = first_size(points.n_clusters, settings, largest)
        leaf = min(settings.smallest, first)
        rough = self.split(labels, max(1, points.size // leaf), sweeps=1)
        given = Circumstances(
            points.size,
            first,
            leaf,
            largest,
            self.effort.gap,
            _SHARE_FOR_PARTS * self.deadline.remaining(),
            self.workers.capacity,
        )
        return choose_size(given, lambda size: self._pilot(rough, labels, size))

    def _pilot(self, rough: Split, labels: IntArray, size: int) -> Pilot:
        """Bound two parts of a size, the second one from where the first one ended."""
        count = min(rough.n_parts, max(1, round(size * rough.n_parts / self.presolved.super_points.size)))
        first = tuple(range(count))
        second = tuple(range(count, 2 * count)) if 2 * count <= rough.n_parts else first
        found: list[PartOutcome] = []
        seconds = _SHARE_FOR_PILOT * self.deadline.remaining()
        template: Template | Path | None = None
        for key in (first, second):
            part = make_part(self.presolved, rough, labels, key)
            limit = seconds if math.isfinite(seconds) else None
            task = PartTask((key,), (part,), self.effort, template, self.seed, limit, wants_template=key is first)
            if not Dispatcher(self.workers, found.append, self.must_stop).run([key], _always(task), _one) or not found:
                return Pilot(math.inf, math.inf, is_cut_short=True)
            if found[0].template is not None and template is None:
                template = self.templates[size] = self.workers.send(found[0].template)
        last = found[-1]
        self.seconds[size] = last.seconds
        return Pilot(1 - last.value / last.cost if last.cost > 0 else 0.0, last.seconds, last.is_cut_short)


def _always(task: PartTask) -> Callable[[object], PartTask]:
    return lambda _: task


def _one() -> int:
    return 1
