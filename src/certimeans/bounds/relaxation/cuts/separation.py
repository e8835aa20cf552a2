"""Find cuts that a matrix violates, the most violated of each sort."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.cuts import kernels
from certimeans.bounds.relaxation.cuts.families import cuts_of_families
from certimeans.bounds.relaxation.cuts.pool import MAX_SUPPORT, Cuts
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.deadline import Deadline
from certimeans.plugins import Plugin
from certimeans.randomness import random_state

_ENTRIES_BETWEEN_LOOKS = 250_000  # not for tuning: the deadline is looked at several times a second


@dataclass(frozen=True)
class SeparationSettings:
    """How many cuts to look for.

    Attributes
    ----------
    threshold
        Smallest violation worth a cut, relative to the mean of Z_ii.
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
    max_cliques, clique_threshold
        Most clique cuts in a round, and their smallest violation as a part of ``threshold``: there are few.
    families
        Further cut families, from outside the package; see docs/extending.md.
    """

    threshold: float = 0.005
    min_pairs: int = 1000
    pairs_each: int = 4
    min_triangles: int = 3000
    triangles_each: int = 12
    min_stars: int = 2000
    stars_each: int = 8
    min_star_starts: int = 4000
    star_starts_each: int = 16
    negligible: float = 0.03
    max_cliques: int = 100
    clique_threshold: float = 0.01
    families: tuple[Plugin, ...] = ()

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name != "families" and not value >= 0:
                raise ValueError(f"SeparationSettings.{name} must not be negative; got {value}")


class Separator:
    """Finds violated cuts; the same seed finds the same ones."""

    def __init__(self, settings: SeparationSettings, seed: int) -> None:
        self.settings = settings
        self._rng = np.random.default_rng(seed)
        self._star_state = random_state(seed)

    def find(self, matrix: FloatArray, relaxation: Relaxation, deadline: Deadline | None = None) -> Cuts:
        """Return new cuts, with multiplier 0, that ``matrix`` (a Y) violates; fewer if the deadline passes."""
        deadline = deadline or Deadline()
        shared = matrix / np.outer(relaxation.root_weights, relaxation.root_weights)
        if not np.isfinite(shared).all():
            return Cuts.none()
        threshold = self.settings.threshold * float(np.diag(shared).mean())
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
        limit = self._limit("triangles", len(shared))
        order = np.argsort(-shared, axis=1)
        members, excess = np.empty((0, 3), dtype=np.int32), np.empty(0)
        for rows in _chunks(self._rng.permutation(len(shared)), deadline):
            more_members, more_excess = kernels.violated_triangles(shared, order, rows, threshold, limit)
            members, excess = np.vstack([members, more_members]), np.concatenate([excess, more_excess])
        members = members[_largest(excess, limit)]
        return Cuts.new(members, np.broadcast_to(np.array([-1, 1, 1]), members.shape))

    def _stars(self, shared: FloatArray, threshold: float, deadline: Deadline) -> Cuts:
        """One -1 and up to MAX_SUPPORT - 1 entries +1."""
        size = len(shared)
        starts_each = max(self.settings.star_starts_each, -(-self.settings.min_star_starts // size))
        stars, excess = Cuts.none(), np.empty(0)
        for centres in _chunks(np.arange(size), deadline):
            members, coefficients, more_excess = kernels.violated_stars(
                shared,
                centres,
                threshold,
                self.settings.negligible,
                starts_each,
                min(MAX_SUPPORT, size),
                self._star_state,
            )
            stars = stars.followed_by(Cuts.new(members, coefficients))
            excess = np.concatenate([excess, more_excess])
        _, once = np.unique(stars.keys(), return_index=True)
        return stars.select(once[_largest(excess[once], self._limit("stars", size))])

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


def _chunks(rows: IntArray, deadline: Deadline) -> Iterator[IntArray]:
    """Split work so that the deadline is looked at several times a second, however many super-points there are."""
    chunk = max(1, _ENTRIES_BETWEEN_LOOKS // len(rows))
    for start in range(0, len(rows), chunk):
        if deadline.passed():
            return
        yield rows[start : start + chunk]


def _largest(values: FloatArray, limit: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the positions of the largest values, at most ``limit``, in increasing order of position."""
    if len(values) <= limit:
        return np.arange(len(values))
    return np.sort(np.argpartition(-values, limit)[:limit])
