"""Lloyd's algorithm for millions of points: fast passes over all of them, in several threads.

After the first pass most points are skipped (Hamerly, 2010): each remembers how far its own centre is at most, and
every other one at least; centres move little, so for nearly all points the first stays below the second. Points are
treated in pieces whose sums are added in a fixed order, so the number of threads does not change the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_without_allocation
from certimeans.deadline import Deadline

_Outcome = TypeVar("_Outcome")

# Not for tuning: multiplications in one piece, some hundredths of a second, between two looks at the clock; and the
# least number of pieces, so that threads have something to share.
_WORK_OF_PIECE = 20_000_000
_FEWEST_PIECES = 16


class Nearest(NamedTuple):
    """What is known of the centres of each point.

    Attributes
    ----------
    labels
        The nearest centre.
    upper
        The distance to it is at most this.
    lower
        The distance to any other is at least this.
    """

    labels: IntArray
    upper: FloatArray
    lower: FloatArray


class Motion(NamedTuple):
    """How centres moved since the last pass.

    Attributes
    ----------
    reach
        Half of the distance of each centre to the nearest other one: who is nearer than that need not look around.
    drift
        How far each centre moved.
    """

    reach: FloatArray
    drift: FloatArray


class Refined(NamedTuple):
    """Centres after some passes, and what all points cost there, each at the nearest."""

    centres: FloatArray
    cost: float


class Refiner:
    """Improves centres of weighted points that nothing binds.

    Parameters
    ----------
    means, weights
        The points, one row each, and their weights.
    n_threads
        How many threads share a pass.
    """

    def __init__(self, means: FloatArray, weights: FloatArray, n_threads: int = 1) -> None:
        self.means = means
        self.weights = weights
        self._n_threads = n_threads

    def refine(
        self, centres: FloatArray, deadline: Deadline, least_gain: float, max_passes: int = 1000
    ) -> Refined | None:
        """Alternate nearest centres and means until a pass gains less than this share of the cost.

        A centre that is nearest to no point stays where it is. ``None`` if the deadline passes during the first pass;
        after that, it ends with what was found.
        """
        size, k = len(self.means), len(centres)
        near = Nearest(np.zeros(size, dtype=np.int64), np.full(size, np.inf), np.zeros(size))
        motion = Motion(np.zeros(k), np.zeros(k))
        pieces = self._pieces(k)
        with ThreadPoolExecutor(self._n_threads) as pool:
            for number in range(max_passes):
                if not self._pass(pool, pieces, centres, motion, near, deadline):
                    if number == 0:
                        return None
                    break
                sums, mass = self._sums(pool, pieces, near.labels, k)
                moved = np.where(mass[:, None] > 0, sums / np.where(mass > 0, mass, 1.0)[:, None], centres)
                drift = np.sqrt(((moved - centres) ** 2).sum(axis=1))
                centres = moved
                if number == 0:
                    least_gain *= self._cost(pool, pieces, centres, near.labels)
                motion = Motion(_reach(centres), drift)
                if float(mass @ drift**2) <= least_gain:
                    break
            return Refined(centres, self._cost(pool, pieces, centres, near.labels))

    def means_of(self, labels: IntArray, k: int) -> FloatArray:
        """Return the mean of each cluster; each has to have a point."""
        with ThreadPoolExecutor(self._n_threads) as pool:
            sums, mass = self._sums(pool, self._pieces(k), labels, k)
        means: FloatArray = sums / mass[:, None]
        return means

    def cost(self, centres: FloatArray, labels: IntArray) -> float:
        """Return the cost of given labels at given centres."""
        with ThreadPoolExecutor(self._n_threads) as pool:
            return self._cost(pool, self._pieces(len(centres)), centres, labels)

    def _pieces(self, k: int) -> list[tuple[int, int]]:
        size, d = self.means.shape
        count = min(size, max(_FEWEST_PIECES, -(-size * k * max(1, d) // _WORK_OF_PIECE)))
        ends = np.linspace(0, size, count + 1).astype(np.int64).tolist()
        return list(pairwise(ends))

    def _pass(
        self,
        pool: ThreadPoolExecutor,
        pieces: Sequence[tuple[int, int]],
        centres: FloatArray,
        motion: Motion,
        near: Nearest,
        deadline: Deadline,
    ) -> bool:
        """Find the nearest centre of every point; False if the deadline passed before all were treated."""

        def treat(first: int, last: int) -> bool:
            if deadline.passed():
                return False
            find_nearest(self.means, centres, motion, near, first, last)
            return True

        return all(_map(pool, treat, pieces))

    def _sums(
        self, pool: ThreadPoolExecutor, pieces: Sequence[tuple[int, int]], labels: IntArray, k: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the weighted sum of the points of each cluster, and their weight."""

        def treat(first: int, last: int) -> tuple[FloatArray, FloatArray]:
            sums, mass = np.zeros((k, self.means.shape[1])), np.zeros(k)
            add_up(self.means, self.weights, labels, first, last, sums, mass)
            return sums, mass

        parts = list(_map(pool, treat, pieces))
        return sum((part[0] for part in parts), start=np.zeros(1)), sum((part[1] for part in parts), start=np.zeros(1))

    def _cost(
        self, pool: ThreadPoolExecutor, pieces: Sequence[tuple[int, int]], centres: FloatArray, labels: IntArray
    ) -> float:
        def treat(first: int, last: int) -> float:
            return cost_of_piece(self.means, self.weights, centres, labels, first, last)

        return float(sum(_map(pool, treat, pieces)))


def _map(
    pool: ThreadPoolExecutor, treat: Callable[[int, int], _Outcome], pieces: Sequence[tuple[int, int]]
) -> list[_Outcome]:
    return list(pool.map(lambda piece: treat(*piece), pieces))


def _reach(centres: FloatArray) -> FloatArray:
    """Return half of the distance of each centre to the nearest other one."""
    distances = ((centres[:, None] - centres[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    reach: FloatArray = 0.5 * np.sqrt(distances.min(axis=1))
    return reach


@compiled_without_allocation
def find_nearest(means: FloatArray, centres: FloatArray, motion: Motion, near: Nearest, first: int, last: int) -> None:
    """Find the nearest centre of the points ``first`` to ``last - 1``, skipping those that cannot have another one."""
    k = len(centres)
    farthest, second, mover = 0.0, 0.0, -1
    for c in range(k):
        if motion.drift[c] > farthest:
            farthest, second, mover = motion.drift[c], farthest, c
        elif motion.drift[c] > second:
            second = motion.drift[c]
    for i in range(first, last):
        a = near.labels[i]
        upper = near.upper[i] + motion.drift[a]
        lower = near.lower[i] - (second if a == mover else farthest)
        limit = max(lower, motion.reach[a])
        if upper > limit:
            upper = np.sqrt(squared_distance(means, centres, i, a))
        if upper > limit:
            least, next_least, nearest = np.inf, np.inf, a
            for c in range(k):
                distance = squared_distance(means, centres, i, c)
                if distance < least:
                    least, next_least, nearest = distance, least, c
                elif distance < next_least:
                    next_least = distance
            near.labels[i] = nearest
            upper, lower = np.sqrt(least), np.sqrt(next_least)
        near.upper[i] = upper
        near.lower[i] = lower


@compiled_without_allocation
def squared_distance(means: FloatArray, centres: FloatArray, i: int, c: int) -> float:
    """Squared distance of point i to centre c."""
    total = 0.0
    for t in range(means.shape[1]):
        difference = means[i, t] - centres[c, t]
        total += difference * difference
    return total


@compiled_without_allocation
def add_up(
    means: FloatArray, weights: FloatArray, labels: IntArray, first: int, last: int, sums: FloatArray, mass: FloatArray
) -> None:
    """Add the points ``first`` to ``last - 1`` to the weighted sums of their clusters."""
    for i in range(first, last):
        c = labels[i]
        mass[c] += weights[i]
        for t in range(means.shape[1]):
            sums[c, t] += weights[i] * means[i, t]


@compiled_without_allocation
def cost_of_piece(
    means: FloatArray, weights: FloatArray, centres: FloatArray, labels: IntArray, first: int, last: int
) -> float:
    """Cost of the points ``first`` to ``last - 1`` at the centres of their clusters."""
    total = 0.0
    for i in range(first, last):
        total += weights[i] * squared_distance(means, centres, i, labels[i])
    return total
