"""A split for a run that begins: of a size that was measured, following the best clustering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from certimeans._typing import IntArray
from certimeans.bounds.parts.matching import Template
from certimeans.bounds.parts.splitting import Split
from certimeans.presolve.reduce import Presolved
from certimeans.search.parts.choice import PartSize
from certimeans.search.parts.cover import Cover, Known
from certimeans.search.parts.plan import QuickPilots
from certimeans.search.parts.sizing import Sizing
from certimeans.search.parts.splits import StoppedError
from certimeans.search.parts.tasks import PartOutcome
from certimeans.search.parts.uniting import parts_of_small_ones


class First(NamedTuple):
    """Small parts, and what is known about them."""

    split: Split
    cover: Cover


@dataclass
class FreshSplit:
    """A split, and what was learnt while its size was chosen.

    Attributes
    ----------
    labels
        Of super-points: what the split follows.
    quick
        If time is short: how many iterations each part has.
    own_loss
        What parts lose by clusterings of their own, relatively, about.
    template, useful_seconds
        What parts may start from, and what a pilot took.
    piloted
        Parts that are bounded already, because they were pilots.
    pieces
        If the parts are made of those of the first pass: what is proven about the pieces of each.
    """

    split: Split
    labels: IntArray
    quick: QuickPilots | None = None
    own_loss: float = 0.0
    template: Template | Path | None = None
    useful_seconds: float = 0.0
    piloted: list[PartOutcome] = field(default_factory=list)
    pieces: list[list[Known]] = field(default_factory=list)


@dataclass(frozen=True)
class Splitter:
    """Chooses a size, and splits.

    Attributes
    ----------
    sizing
        Measures sizes.
    most_lost_by_uniting
        What splitting may cost for parts to be made of small ones.
    has_clustering
        Whether there is a clustering to follow.
    must_stop
        Asked now and then.
    first_pass
        Bounds small parts with few iterations: a bound to begin with.
    better_labels
        Returns labels that centres of parts lead to, if they are better than the clustering's.
    """

    presolved: Presolved
    sizing: Sizing
    most_lost_by_uniting: float
    has_clustering: bool
    must_stop: Callable[[], bool]
    first_pass: Callable[[Sizing, QuickPilots], First]
    better_labels: Callable[[Sizing], IntArray | None]

    def split(self, labels: IntArray, part_size: PartSize) -> FreshSplit:
        """Choose a size unless it is given, and split.

        Raises
        ------
        StoppedError
            If there is a reason to stop before that is done.
        """
        if isinstance(part_size, int):
            return self._of_size(part_size, labels, None)
        first, quick, rough = None, None, self.sizing.split_roughly(labels)
        if self.has_clustering:
            quick = self.sizing.choose_quickly(rough, labels)
            if not quick.is_ample:
                n_parts = self.sizing.number_of_parts(quick.size)
                return FreshSplit(self.sizing.splits.split_quickly(labels, n_parts), labels, quick)
            first = self.first_pass(self.sizing, quick)
        return self._of_size(self.sizing.choose(rough, labels, quick), labels, first)

    def _of_size(self, size: int, labels: IntArray, first: First | None) -> FreshSplit:
        sizing, n_parts = self.sizing, self.sizing.number_of_parts(size)
        template, seconds = sizing.templates.get(size), sizing.seconds.get(size, 0.0)
        trial = sizing.trials.get(size)
        if self.must_stop():
            raise StoppedError
        better = self.better_labels(sizing) if sizing.splits.centres else None
        if better is not None:
            labels, trial = better, None
        elif trial is not None and not trial.is_final and first is not None:
            united = parts_of_small_ones(
                first.split, first.cover, n_parts, self.presolved, labels, self.most_lost_by_uniting
            )
            if united is not None:
                split, pieces = united
                return FreshSplit(split, labels, None, trial.own_loss, template, seconds, pieces=pieces)
        piloted: list[PartOutcome] = []
        if trial is None or not trial.is_final:
            trial = sizing.splits.split_well(labels, n_parts)
        else:
            piloted = sizing.proven.get(size, [])
        return FreshSplit(trial.split, labels, None, trial.own_loss, template, seconds, piloted)
