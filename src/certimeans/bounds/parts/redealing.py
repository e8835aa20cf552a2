"""Parts that lose much by clusterings of their own are dealt out again, two at a time, as long as that helps.

Whether some clustering of a part is better than the whole's is largely luck: the same points in other company have
none. A local search says what a part loses, in milliseconds, where its bound takes seconds or minutes. So the blocks of
two parts are shuffled, those of equal pattern among themselves, and matched in means and shapes again; what comes out
is kept if the two together lose less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.parts.exchange import gather, loss_of, match_means
from certimeans.bounds.parts.problem import Part
from certimeans.bounds.parts.settings import PartSettings
from certimeans.bounds.parts.splitting import Split, cluster_totals, make_blocks, make_part
from certimeans.bounds.parts.units import centres_of
from certimeans.deadline import Deadline
from certimeans.presolve.reduce import Presolved

_TRIES_IN_VAIN = 2  # for each part, after which what they gained is looked at
_LEAST_GAIN = 0.05  # of what is lost, by so many tries


def redeal(  # noqa: PLR0913  # all that it depends on
    presolved: Presolved,
    labels: IntArray,
    split: Split,
    own_loss: Callable[[Part, bool], float],
    *,
    losses: FloatArray | None = None,
    settings: PartSettings | None = None,
    good_enough: float = 0.0,
    negligible: float = 0.0,
    most_tries: int = 40,
    seed: Sequence[int] = (0,),
    deadline: Deadline | None = None,
    n_threads: int = 1,
) -> tuple[Split, FloatArray] | None:
    """Deal out again parts that lose much; return the new split, and what each of its parts loses by an own clustering.

    ``None`` if there is no time even to find out what parts lose.

    Parameters
    ----------
    labels
        The clustering of the super-points that the split follows.
    own_loss
        Returns how much cheaper the own clustering of a part is than the whole's, in the user's units, after a thorough
        search or a quick one, which may find less. It is called in several threads.
    settings
        Those that the split was made with.
    losses
        What each part loses, if that is known.
    good_enough
        All parts together may lose that much, in the user's units.
    negligible
        What different means may cost, in the user's units.
    most_tries
        For each part.
    deadline
        The best split until then is returned.
    n_threads
        How many parts are searched at a time.
    """
    deadline = deadline or Deadline()
    random = np.random.default_rng([*seed, 17])
    with ThreadPoolExecutor(n_threads) as pool:

        def losses_of(some: Split, *, is_thorough: bool = True) -> FloatArray:
            def loss(p: int) -> float:
                return 0.0 if deadline.passed() else own_loss(make_part(presolved, some, labels, (p,)), is_thorough)

            return np.array(list(pool.map(loss, range(some.n_parts))))

        losses = losses_of(split) if losses is None else losses.copy()
        if deadline.passed():  # some were not looked at
            return None
        totals = [float(losses.sum())]
        if totals[0] <= good_enough:
            return split, losses
        dealer = _Dealer(presolved, labels, split, settings or PartSettings(), negligible)
        while totals[-1] > good_enough and not deadline.passed() and _is_worth_it(totals, split.n_parts, most_tries):
            first = random.choice(split.n_parts, p=losses / losses.sum())
            second = random.choice(np.delete(np.arange(split.n_parts), first))
            pair = np.array([first, second])
            dealt, sums = dealer.deal(pair, random)
            most = losses[pair].sum() + dealer.loss(pair) - dealt.loss
            if losses_of(dealt, is_thorough=False).sum() < most:  # most are found out by that
                new = losses_of(dealt)
                if new.sum() < most and not deadline.passed():
                    dealer.keep(pair, dealt, sums)
                    losses[pair] = new
            totals.append(float(losses.sum()))
    return dealer.split(), losses


def _is_worth_it(totals: list[float], n_parts: int, most_tries: int) -> bool:
    """Whether tries may still gain something, from what is lost before and after each."""
    in_vain = 10 + _TRIES_IN_VAIN * n_parts
    if len(totals) > max(most_tries * n_parts, 2 * in_vain):
        return False
    return len(totals) <= in_vain or totals[-1] < (1 - _LEAST_GAIN) * totals[-1 - in_vain]


class _Dealer:
    """The split as it is now, and what is needed to deal out two of its parts again."""

    def __init__(
        self, presolved: Presolved, labels: IntArray, split: Split, settings: PartSettings, negligible: float
    ) -> None:
        self._presolved, self._labels, self._first_split, self._settings = presolved, labels, split, settings
        self._unit = presolved.instance.scaled.scale.unit
        self._negligible = negligible / self._unit * 2 / split.n_parts
        self._blocks = make_blocks(presolved, labels, split.n_parts, settings)
        self._pattern = self._blocks.patterns.of_block
        units = self._blocks.units
        self._block_of_point = np.where(units.unit_of >= 0, units.block[units.unit_of], -1)
        self._points = np.split(split.points, split.start[1:-1])
        self._centres, _ = centres_of(presolved.super_points, labels)
        self._totals = self._cluster_totals(split)

    def _cluster_totals(self, split: Split) -> tuple[FloatArray, FloatArray]:
        return cluster_totals(self._presolved, split, self._labels, self._centres)

    def deal(self, pair: IntArray, random: np.random.Generator) -> tuple[Split, tuple[FloatArray, FloatArray]]:
        """Deal out two parts again; return them as a split of their own, and the totals of their clusters."""
        both = np.concatenate([self._points[p] for p in pair])
        names, block = np.unique(self._block_of_point[both], return_inverse=True)
        place = np.empty(len(names), dtype=np.int64)
        place[block] = np.repeat([0, 1], [len(self._points[p]) for p in pair])
        pattern = self._pattern[names]
        shuffled = random.permutation(len(names))
        place[np.argsort(pattern, kind="stable")] = place[shuffled[np.argsort(pattern[shuffled], kind="stable")]]
        match_means(
            gather(self._blocks.entries, names),
            place,
            pattern,
            2,
            self._presolved.instance.n_clusters,
            self._settings,
            self._blocks.n_coordinates,
            seed=int(random.integers(2**32)),
            negligible=self._negligible,
        )
        in_second = place[block] == 1
        parts = [np.sort(both[~in_second]), np.sort(both[in_second])]
        start = np.cumsum([0, *map(len, parts)])
        split = self._first_split
        dealt = Split(start, np.concatenate(parts), split.shared, split.shares[pair])
        totals = self._cluster_totals(dealt)
        return replace(dealt, loss=loss_of(*totals) * self._unit), totals

    def loss(self, pair: IntArray) -> float:
        """Return what different means cost in two parts now."""
        weights, sums = self._totals
        return loss_of(weights[pair], sums[pair]) * self._unit

    def keep(self, pair: IntArray, dealt: Split, totals: tuple[FloatArray, FloatArray]) -> None:
        """Take two parts over."""
        for p, points in zip(pair, np.split(dealt.points, dealt.start[1:-1]), strict=True):
            self._points[p] = points
        for all_of_them, new in zip(self._totals, totals, strict=True):
            all_of_them[pair] = new

    def split(self) -> Split:
        """Return the split as it is now."""
        start = np.cumsum([0, *map(len, self._points)])
        loss = loss_of(*self._totals) * self._unit
        return replace(self._first_split, start=start, points=np.concatenate(self._points), loss=loss)
