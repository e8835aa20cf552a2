"""Splits of a problem, and what their parts lose whatever bounds they have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.parts.bounding import Effort, own_clustering
from certimeans.bounds.parts.problem import Part, cost_of
from certimeans.bounds.parts.redealing import redeal
from certimeans.bounds.parts.settings import PartSettings
from certimeans.bounds.parts.splitting import Split, make_part, split_into_parts
from certimeans.bounds.parts.tuning import tune_shares
from certimeans.bounds.parts.units import centres_of
from certimeans.deadline import Deadline
from certimeans.presolve.contract import sum_by_group
from certimeans.presolve.reduce import Presolved
from certimeans.search.background import in_background
from certimeans.search.parts.tasks import Key
from certimeans.search.settings import NodeSettings

_SHARE_FOR_SPLIT = 0.15
_FEW_SWEEPS = 3
_SHARE_FOR_TUNING = 0.04
_TUNING = 60.0  # seconds, without a time limit
_SHARE_FOR_REDEALING, SHARE_FOR_FINAL_REDEALING = 0.01, 0.03
_TRIES = 40  # for each part, at most
_TRIES_WITHOUT_LIMIT = 8
_MOST_TO_REDEAL = 1000  # parts: to look at more of them takes too long
_PARTS_TO_KEEP = 64
_GOOD_ENOUGH = 0.05  # of the gap: what parts may lose by clusterings of their own without anybody noticing
PARTS_TO_SEARCH = 16  # what parts can lose by clusterings of their own is searched for in so many
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
        Of these: how much cheaper their own clusterings are than the whole's, relatively, and the parts; of very many,
        only some of the parts.
    means_loss
        What different means cost, relatively.
    settings
        Those that the split was made with.
    is_final
        Whether it is the split that would be used, and not a rough one: what is proven about its parts is of use.
    n_deals
        How many times its parts were dealt out again.
    losses
        What each part loses, in the user's units, if all were searched.
    """

    split: Split
    own_losses: dict[Key, float]
    parts: dict[Key, Part]
    means_loss: float
    settings: PartSettings
    is_final: bool = False
    n_deals: int = 0
    losses: FloatArray | None = None

    @property
    def own_loss(self) -> float:
        """What parts lose by clusterings of their own, about."""
        return sum(self.own_losses.values()) / max(1, len(self.own_losses))

    @property
    def unavoidable(self) -> float:
        """What parts of this split lose with the best of bounds, about."""
        return self.own_loss + self.means_loss


@dataclass(frozen=True, eq=False)
class Splits:
    """Splits a problem along a clustering.

    Attributes
    ----------
    effort
        How far parts are to be bounded.
    negligible
        What splitting may cost without anybody noticing, in the user's units.
    must_stop
        Asked again and again.
    n_threads
        How many threads split.
    centres
        Of clusterings of their own that parts have, in working units: starts for the whole.
    """

    presolved: Presolved
    deadline: Deadline
    settings: NodeSettings
    seed: int
    effort: Effort
    negligible: float
    must_stop: Callable[[], bool]
    n_threads: int = 1
    centres: list[FloatArray] = field(default_factory=list)

    def split_well(self, labels: IntArray, n_parts: int) -> Trial:
        """Split, and share more points by weight, tuned, if parts lose much by clusterings of their own.

        Raises
        ------
        StoppedError
            If there is a reason to stop before that is done.
        """
        found = self.try_split(self.split(labels, n_parts), labels)
        found = self.redealt(found, labels, SHARE_FOR_FINAL_REDEALING)
        return min(found, self.tuned(labels, n_parts), key=unavoidable) if self.loses_much(found) else found

    def redealt(self, trial: Trial, labels: IntArray, share: float = _SHARE_FOR_REDEALING) -> Trial:
        """Deal out again parts that lose much by clusterings of their own, two at a time.

        Parameters
        ----------
        share
            Of the time that is left.

        Raises
        ------
        StoppedError
            If there is a reason to stop before that is done.
        """
        n_parts, cost = trial.split.n_parts, cost_of(self.presolved.super_points, labels)
        is_good = not trial.unavoidable > _GOOD_ENOUGH * self.effort.gap
        if is_good or not (1 < n_parts <= _MOST_TO_REDEAL and cost > 0 and self.effort.follows_clustering):
            return trial
        remaining = self.deadline.remaining()
        has_limit = math.isfinite(remaining)
        deadline = self.deadline.within(share * remaining) if has_limit else self.deadline

        def own_loss(part: Part, is_thorough: bool) -> float:  # called by place only
            effort = self.effort if is_thorough else replace(self.effort, searches=1)
            return own_clustering(part, effort, self.seed, deadline)[1] * part.cost(part.labels)

        def deal() -> Trial:
            dealt = redeal(
                self.presolved,
                labels,
                trial.split,
                own_loss,
                losses=trial.losses,
                settings=trial.settings,
                good_enough=_GOOD_ENOUGH * self.effort.gap * cost,
                negligible=self.negligible,
                most_tries=_TRIES if has_limit else _TRIES_WITHOUT_LIMIT,
                seed=(self.seed, trial.n_deals),
                deadline=deadline,
                n_threads=self.n_threads,
            )
            return trial if dealt is None else self._trial_of(trial, labels, *dealt)

        return self._awaited(in_background(deal))

    def _trial_of(self, trial: Trial, labels: IntArray, split: Split, losses: FloatArray) -> Trial:
        """Describe what has become of a trial; of many parts only some are kept, for pilots."""
        own_losses, parts = dict[Key, float](), dict[Key, Part]()
        kept = set(_spread(split.n_parts, _PARTS_TO_KEEP))
        for p, loss in enumerate(losses.tolist()):
            part = make_part(self.presolved, split, labels, (p,))
            cost = part.cost(part.labels)
            own_losses[(p,)] = loss / cost if cost > 0 else 0.0
            if p in kept:
                parts[(p,)] = part
        means_loss = split.loss / cost_of(self.presolved.super_points, labels)
        return Trial(split, own_losses, parts, means_loss, trial.settings, trial.is_final, trial.n_deals + 1, losses)

    def loses_much(self, trial: Trial) -> bool:
        """Whether parts lose so much that more points should be shared."""
        return len(trial.own_losses) > 1 and trial.unavoidable > self.settings.parts.share_more * self.effort.gap

    def tuned(self, labels: IntArray, n_parts: int) -> Trial:
        """Split, with more points that are shared, and tune their shares."""
        settings = self.settings.parts
        more = replace(settings, share_above=settings.share_above_then, most_shared=settings.most_shared_then)
        splits = replace(self, settings=replace(self.settings, parts=more))
        redealt = splits.redealt(splits.try_split(splits.split(labels, n_parts), labels), labels)
        seconds = _SHARE_FOR_TUNING * self.deadline.remaining() if math.isfinite(self.deadline.remaining()) else _TUNING
        deadline = self.deadline.within(seconds)
        tuning = in_background(
            tune_shares,
            self.presolved,
            redealt.split,
            labels,
            seed=self.seed,
            deadline=deadline,
            n_threads=self.n_threads,
        )
        return min(redealt, splits.try_split(self._awaited(tuning), labels), key=unavoidable)

    def try_split(self, split: Split, labels: IntArray) -> Trial:
        """Look for clusterings of their own that some parts of a split have, which is final."""
        keys = [(p,) for p in _spread(split.n_parts, PARTS_TO_SEARCH)]
        cost = cost_of(self.presolved.super_points, labels)
        return self.try_parts(split, labels, keys, split.loss / cost if cost > 0 else 0.0, is_final=True)

    def means_loss(self, rough: Split, labels: IntArray, keys: Sequence[Key]) -> float:
        """Return what different means cost in some parts of a rough split, relatively."""
        centres, _ = centres_of(self.presolved.super_points, labels)
        lost = sum(rough.loss_in(self.presolved, labels, centres, key) for key in keys)
        cost = cost_of(self.presolved.super_points, labels) * sum(map(len, keys)) / rough.n_parts
        return lost / cost if cost > 0 else 0.0

    def try_parts(
        self, split: Split, labels: IntArray, keys: Sequence[Key], means_loss: float, *, is_final: bool
    ) -> Trial:
        """Look for clusterings of their own that some parts of a split have."""
        parts = {key: make_part(self.presolved, split, labels, key) for key in keys}
        return Trial(split, self.own_losses(parts), parts, means_loss, self.settings.parts, is_final)

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

    def own_losses(self, parts: Mapping[Key, Part]) -> dict[Key, float]:
        """Return how much cheaper the own clusterings of parts are than the whole's in them, relatively."""
        found = self._awaited(in_background(self._search_in, parts))
        for key, (own, loss) in found.items():
            if loss > 0 and len(np.unique(own)) == parts[key].n_clusters:
                self.centres.append(self._centres(parts[key], own))
        return {key: loss for key, (_, loss) in found.items()}

    def _search_in(self, parts: Mapping[Key, Part]) -> dict[Key, tuple[IntArray, float]]:
        def search(part: Part) -> tuple[IntArray, float]:
            # In a copy: parts are kept, and their Gram matrices, which the search makes, need not be.
            return own_clustering(replace(part), self.effort, self.seed, self.deadline)

        with ThreadPoolExecutor(self.n_threads) as pool:
            found = pool.map(search, parts.values())
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


def _spread(n_parts: int, most: int) -> range:
    """Return the numbers of at most so many parts, spread over all."""
    return range(0, n_parts, -(-n_parts // most))


def unavoidable(trial: Trial) -> float:
    """Order trials by what they lose."""
    return trial.unavoidable
