"""Find cuts that a matrix violates, the most violated of each sort."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.cuts import kernels
from certimeans.bounds.relaxation.cuts.families import cuts_of_families
from certimeans.bounds.relaxation.cuts.pool import MAX_SUPPORT, Coefficients, Cuts, Members
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.deadline import Deadline
from certimeans.plugins import Plugin
from certimeans.randomness import RandomState, random_state
from certimeans.setting_checks import check_settings

Found = TypeVar("Found")

_ENTRIES_BETWEEN_LOOKS = 250_000  # not for tuning: the deadline is looked at several times a second
_WORK_WORTH_THREADS = 0.05  # not for tuning: threads that share fewer seconds of work hinder more than they help
_MIN_PARTS = 4  # not for tuning: so many threads share the work evenly


@dataclass(frozen=True)
class SeparationSettings:
    """How many cuts to look for.

    Attributes
    ----------
    threshold, final_threshold, threshold_decay
        Smallest violation worth a cut, relative to the mean of Z_ii: its first value, its last, and its factor each
        time that cuts run dry.
    min_pairs, pairs_each
        Most pair cuts in a round: the larger of the first number and the second for each super-point.
    min_triangles, triangles_each
        The same for triangles.
    min_stars, stars_each
        The same for stars.
    min_star_starts, star_starts_each
        Local searches for stars: at least the first number in all, and the second from each super-point.
    negligible
        A star's centre i has companions j with Z_ij above this part of Z_ii.
    max_companions
        If more super-points than this share a cluster with one, cuts are looked for among a random sample of them;
        twice as many the next time if that found fewer triangles than asked for.
    max_cliques, clique_threshold
        Most clique cuts in a round, and their smallest violation as a part of ``threshold``: there are few.
    families
        Further cut families, from outside the package; see docs/extending.md.
    """

    threshold: float = 0.005
    final_threshold: float = 0.0002
    threshold_decay: float = 0.5
    min_pairs: int = 1000
    pairs_each: int = 4
    min_triangles: int = 3000
    triangles_each: int = 12
    min_stars: int = 2000
    stars_each: int = 8
    min_star_starts: int = 4000
    star_starts_each: int = 16
    negligible: float = 0.03
    max_companions: int = 128
    max_cliques: int = 100
    clique_threshold: float = 0.01
    families: tuple[Plugin, ...] = ()

    def __post_init__(self) -> None:
        check_settings(self, most={"min_star_starts": 10**6, "star_starts_each": 10**4})  # memory is taken for all


class Separator:
    """Finds violated cuts; the same seed finds the same ones, on any number of threads.

    Attributes
    ----------
    threshold
        The present one.
    """

    def __init__(
        self, settings: SeparationSettings, seed: int, n_threads: int = 1, threshold: float | None = None
    ) -> None:
        self.settings = settings
        self.threshold = settings.threshold if threshold is None else threshold
        self._n_threads = n_threads
        self._rng = np.random.default_rng(seed)
        self._max_companions = settings.max_companions
        self._work = 0.0  # seconds that the last search took, times its threads

    def lower_threshold(self) -> bool:
        """Look for weaker violations from now on; False if they are looked for already."""
        if self.threshold <= self.settings.final_threshold:
            return False
        self.threshold = max(self.settings.final_threshold, self.threshold * self.settings.threshold_decay)
        return True

    def find(
        self, matrix: FloatArray, relaxation: Relaxation, deadline: Deadline | None = None, level: float | None = None
    ) -> Cuts:
        """Return new cuts, with multiplier 0, that ``matrix`` (a Y) violates; fewer if the deadline passes.

        Violations are relative to ``level``, by default the mean of Z_ii.
        """
        deadline = deadline or Deadline()
        shared = matrix / np.outer(relaxation.root_weights, relaxation.root_weights)
        if not np.isfinite(shared).all():
            return Cuts.none()
        threshold = self.threshold * (float(np.diag(shared).mean()) if level is None else level)
        found = self._pairs(shared, threshold)
        found = found.extended(self._triangles(shared, threshold, deadline))
        found = found.extended(self._stars(shared, threshold, deadline))
        found = found.extended(self._cliques(shared, threshold, relaxation))
        if not self.settings.families:
            return found
        seed = int(self._rng.integers(2**31))
        return found.extended(cuts_of_families(self.settings.families, shared, threshold, seed))

    def _pairs(self, shared: FloatArray, threshold: float) -> Cuts:
        """Z_ij <= Z_ii: b = e_j - e_i."""
        excess = shared - np.diag(shared)[:, None]
        centre, other = np.nonzero(excess > threshold)
        members = np.column_stack([centre, other])
        members = members[_largest(excess[centre, other], self._limit("pairs", len(shared)))]
        return Cuts.new(members, np.broadcast_to(np.array([-1, 1]), members.shape))

    def _triangles(self, shared: FloatArray, threshold: float, deadline: Deadline) -> Cuts:
        """Z_ij + Z_ih <= Z_ii + Z_jh: b = e_j + e_h - e_i."""
        limit = min(self._limit("triangles", len(shared)), len(shared) ** 3)  # memory is taken for as many
        most = self._max_companions

        def search(rows: IntArray, random: RandomState) -> tuple[Members, FloatArray]:
            return kernels.violated_triangles(shared, rows, threshold, limit, most, random)

        found = self._on_all_threads(search, self._rng.permutation(len(shared)), deadline)
        members = np.vstack([np.empty((0, 3), dtype=np.int32), *(part for part, _ in found)])
        excess = np.concatenate([np.empty(0), *(part for _, part in found)])
        if len(members) < limit:
            self._max_companions = min(2 * most, max(most, len(shared)))
        elif len(members) >= 4 * limit:
            self._max_companions = max(most // 2, self.settings.max_companions)
        members = members[_largest(excess, limit)]
        return Cuts.new(members, np.broadcast_to(np.array([-1, 1, 1]), members.shape))

    def _stars(self, shared: FloatArray, threshold: float, deadline: Deadline) -> Cuts:
        """One -1 and up to MAX_SUPPORT - 1 entries +1."""
        size = len(shared)
        starts_each = max(self.settings.star_starts_each, -(-self.settings.min_star_starts // size))
        support, most = min(MAX_SUPPORT, size), self._max_companions
        negligible = self.settings.negligible

        def search(centres: IntArray, random: RandomState) -> tuple[Members, Coefficients, FloatArray]:
            return kernels.violated_stars(shared, centres, threshold, negligible, starts_each, support, most, random)

        stars, excess = Cuts.none(), np.empty(0)
        for members, coefficients, more_excess in self._on_all_threads(search, np.arange(size), deadline):
            stars = stars.followed_by(Cuts.new(members, coefficients))
            excess = np.concatenate([excess, more_excess])
        _, once = np.unique(stars.keys(), return_index=True)
        return stars.select(once[_largest(excess[once], self._limit("stars", size))])

    def _on_all_threads(
        self, search: Callable[[IntArray, RandomState], Found], rows: IntArray, deadline: Deadline
    ) -> list[Found]:
        """Search from all rows, some at a time; what is left when the deadline passes is left out."""
        # Random streams belong to parts, not to threads: more threads find the same cuts.
        pieces = list(_parts(rows))
        parts = list(zip(pieces, self._rng.integers(2**62, size=len(pieces)).tolist(), strict=True))

        def unless_late(part: tuple[IntArray, int]) -> Found | None:
            return None if deadline.passed() else search(part[0], random_state(part[1]))

        n_threads = self._n_threads if self._work >= _WORK_WORTH_THREADS else 1
        began = time.perf_counter()
        if n_threads == 1:
            found = [unless_late(part) for part in parts]
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                found = list(pool.map(unless_late, parts))
        self._work = n_threads * (time.perf_counter() - began)
        return [part for part in found if part is not None]

    def _cliques(self, shared: FloatArray, threshold: float, relaxation: Relaxation) -> Cuts:
        """Among k + 1 super-points some share a cluster: b = 1 on them."""
        set_size = relaxation.n_clusters + 1
        if set_size > min(MAX_SUPPORT, relaxation.size):
            return Cuts.none()
        members, inside = kernels.spread_sets(shared, set_size)
        excess = 2.0 / relaxation.max_cluster_weight - 2.0 * inside
        violated = excess > threshold * self.settings.clique_threshold
        members = members[violated][_largest(excess[violated], self.settings.max_cliques)]
        return Cuts.new(members, np.ones(members.shape, dtype=np.int64))

    def _limit(self, sort: str, size: int) -> int:
        fixed: int = getattr(self.settings, f"min_{sort}")
        each: int = getattr(self.settings, f"{sort}_each")
        return max(fixed, each * size)


def _parts(rows: IntArray) -> Iterator[IntArray]:
    """Split work so that the deadline is looked at several times a second, and that threads have equal shares."""
    length = max(1, min(_ENTRIES_BETWEEN_LOOKS // len(rows), -(-len(rows) // _MIN_PARTS)))
    for start in range(0, len(rows), length):
        yield rows[start : start + length]


def _largest(values: FloatArray, limit: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the positions of the largest values, at most ``limit``, in increasing order of position."""
    if len(values) <= limit:
        return np.arange(len(values))
    return np.sort(np.argpartition(-values, limit)[:limit])
