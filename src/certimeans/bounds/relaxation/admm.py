"""The two-set alternating direction method: three named updates.

::

    Y <- projection of X - (C + L) / penalty onto the spectral set
    X <- projection of Y + L / penalty onto the polyhedral set
    L <- L + penalty (Y - X)

with Y replaced by a Y + (1 - a) X, a > 1, in the last two lines (over-relaxation). The method knows matrices, not
clusterings. Its iterates need not be accurate: a bound is proven from L and the cuts' multipliers alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from certimeans._typing import FloatArray
from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.polyhedral import PolyhedralProjector
from certimeans.bounds.relaxation.polyhedral_box import BoxProjector
from certimeans.bounds.relaxation.safe_bound import ALL_BITS, SafeBound, safe_lower_bound
from certimeans.bounds.relaxation.size_rows import make_size_rows
from certimeans.bounds.relaxation.spectral import SpectralProjector, SpectralSettings
from certimeans.bounds.relaxation.threads import Threads
from certimeans.errors import InputError
from certimeans.setting_checks import check_settings

_TINY = 1e-30  # not for tuning: keeps a quotient finite


@dataclass(frozen=True)
class AdmmSettings:
    """How the solver moves.

    Attributes
    ----------
    penalty, warm_penalty
        Weight of the distance between the two iterates, in units of the scatter: its first value, and that for a start
        with multipliers of another run from which it is not known.
    balance_every, balance
        Every so many iterations the penalty moves towards where the primal residual is ``balance`` times the dual one,
        both relative to the size of the iterates: how far the two sets are apart against how far the multipliers move.
    over_relaxation
        Between 1 (none) and 2.
    sweeps
        Visits to each cut in an iteration.
    inexactness
        The error of a subspace step must not exceed this many times the distance of the iterates.
    largest_balancing
        Most that the penalty changes by at a time.
    spectral
        The projection onto the spectral set.
    """

    penalty: float = 2.0
    warm_penalty: float = 0.1
    balance_every: int = 10
    balance: float = 8.0
    over_relaxation: float = 1.6
    sweeps: int = 2
    inexactness: float = 1.0
    largest_balancing: float = 1.4
    spectral: SpectralSettings = field(default_factory=SpectralSettings)

    def __post_init__(self) -> None:
        least = dict.fromkeys(("over_relaxation", "balance_every", "sweeps", "largest_balancing"), 1)
        check_settings(self, least=least, most={"sweeps": 1000}, positive=vars(self))
        if not self.over_relaxation < 2:
            raise InputError(f"AdmmSettings.over_relaxation must be at least 1 and below 2; got {self.over_relaxation}")


@dataclass(frozen=True, eq=False)
class Iterate:
    """What a solver can be started from.

    Attributes
    ----------
    primal, dual
        Matrices whose upper triangles count.
    cuts
        Cuts with their multipliers.
    penalty, threshold
        Where these had got to, if that is known: the solver's penalty, and the smallest violation worth a cut.
    size_multipliers
        If limits on sizes are rows (:class:`~.sizes.SizeRows`), two multipliers for each super-point.
    """

    primal: FloatArray
    dual: FloatArray
    cuts: Cuts
    penalty: float | None = None
    threshold: float | None = None
    size_multipliers: FloatArray | None = None

    @classmethod
    def cold(cls, relaxation: Relaxation) -> Iterate:
        """Start from the centre of the spectral set, without multipliers."""
        size, k = relaxation.size, relaxation.n_clusters
        rank_one = np.outer(relaxation.direction, relaxation.direction)
        share = (k - 1) / max(1, size - 1)
        primal = rank_one - rank_one * share  # numpy.eye would hold Python's lock while its memory is cleared
        own = np.diag(rank_one)
        primal[np.diag_indices(size)] = own + (1 - own) * share
        return cls(primal, np.zeros((size, size)), Cuts.none())


class Admm:
    """The solver's state: iterates, cuts and multipliers."""

    def __init__(
        self,
        relaxation: Relaxation,
        start: Iterate,
        settings: AdmmSettings,
        seed: int = 0,
        threads: Threads | None = None,
    ) -> None:
        self.relaxation = relaxation
        self.settings = settings
        self.primal, self.dual = start.primal.copy(), start.dual.copy()
        self._sizes = make_size_rows(relaxation, start.size_multipliers)
        self._polyhedral_projector = _polyhedral_projector(
            relaxation, settings.sweeps, threads, has_limits=self._sizes is not None
        )
        self._set_cuts(start.cuts)
        self.iterations = 0
        self.penalty = start.penalty or (settings.warm_penalty if start.dual.any() else settings.penalty)
        self.primal_residual = self.dual_residual = np.inf
        self._difference = np.inf
        self.spectral_seconds = self.polyhedral_seconds = 0.0
        self._spectral_projector = SpectralProjector(
            relaxation.direction, relaxation.n_clusters - 1, seed, settings.spectral, threads
        )
        self._spectral = np.zeros((relaxation.size, relaxation.size), dtype=np.float32)

    def iterate(self) -> None:
        """Run one iteration.

        Raises
        ------
        SpectralError
            If the iterates broke down.
        """
        began = time.perf_counter()
        self._update_spectral()
        between = time.perf_counter()
        self._update_polyhedral_and_dual()
        self.iterations += 1
        if self.iterations % self.settings.balance_every == 0:
            self._balance_penalty()
        self.spectral_seconds += between - began
        self.polyhedral_seconds += time.perf_counter() - between

    def _update_spectral(self) -> None:
        slope = (self.relaxation.objective, self.dual)
        tolerance = self.settings.inexactness * self._difference
        self._spectral = self._spectral_projector.project(self.primal, slope, 1.0 / self.penalty, tolerance)

    def _update_polyhedral_and_dual(self) -> None:
        difference, change, primal_norm, dual_norm = self._polyhedral_projector.update(
            self._spectral,
            self.primal,
            self.dual,
            self._all_multipliers,
            self._all_rows,
            self.penalty,
            self.settings.over_relaxation,
        )
        self._difference = difference
        # Whatever the clustering, X has the part uu', whose norm is 1: only the rest counts.
        self.primal_residual = difference / max(np.sqrt(max(primal_norm**2 - 1, 0.0)), _TINY)
        self.dual_residual = self.penalty * change / max(dual_norm, _TINY)

    def _balance_penalty(self) -> None:
        ratio = self.primal_residual / max(self.settings.balance * self.dual_residual, _TINY)
        largest = self.settings.largest_balancing
        self.penalty *= min(max(np.sqrt(ratio), 1 / largest), largest)

    def current_cuts(self) -> Cuts:
        """Return the cuts with their present multipliers."""
        return self.cuts.with_multipliers(self.multipliers / self.rows.norms)

    def replace_cuts(self, cuts: Cuts) -> None:
        """Go on with other cuts, with the multipliers they bring."""
        if self._sizes is not None:
            self._sizes.renew(self._all_multipliers[len(self.cuts) :], np.diag(self.spectral_matrix()))
        self._set_cuts(cuts)

    def _set_cuts(self, cuts: Cuts) -> None:
        """Use cuts with the multipliers they bring, and the rows of limits on sizes after them."""
        self.cuts = cuts
        self.rows = CutRows.build(cuts, self.relaxation)
        self.multipliers = cuts.multipliers * self.rows.norms
        self._all_rows, self._all_multipliers = self.rows, self.multipliers
        if self._sizes is not None:
            self._all_rows = self.rows.followed_by(self._sizes.rows)
            self._all_multipliers = np.concatenate([self.multipliers, self._sizes.multipliers])
            self.multipliers = self._all_multipliers[: len(cuts)]  # the same numbers
        self._polyhedral_projector.begin(self.dual, self._all_multipliers, self._all_rows)

    def _size_multipliers(self) -> FloatArray | None:
        return None if self._sizes is None else self._sizes.as_table(self._all_multipliers[len(self.cuts) :])

    def spectral_matrix(self) -> FloatArray:
        """Return Y, whose violated cuts are worth adding."""
        matrix: FloatArray = self._spectral + np.outer(self.relaxation.direction, self.relaxation.direction)
        return matrix

    def snapshot(self) -> Iterate:
        """Copy the present iterate."""
        sizes = self._size_multipliers()
        return Iterate(self.primal.copy(), self.dual.copy(), self.current_cuts(), self.penalty, size_multipliers=sizes)

    def safe_bound(self, slack_bits: int = ALL_BITS, *, may_estimate: bool = False) -> SafeBound:
        """Prove a bound from the present multipliers."""
        return self._bound_of(self.dual, slack_bits, may_estimate=may_estimate)()

    def bound_later(
        self, slack_bits: int = ALL_BITS, *, may_estimate: bool = False
    ) -> tuple[Iterate, Callable[[], SafeBound]]:
        """Copy the present iterate; return it, and what proves its bound, to be called in any thread at any time."""
        iterate = self.snapshot()
        return iterate, self._bound_of(iterate.dual, slack_bits, may_estimate=may_estimate)

    def _bound_of(self, dual: FloatArray, slack_bits: int, *, may_estimate: bool) -> Callable[[], SafeBound]:
        given = (self.relaxation, self.rows, self.multipliers.copy(), dual, self._size_multipliers(), slack_bits)
        return partial(safe_lower_bound, *given, may_estimate=may_estimate)


def _polyhedral_projector(
    relaxation: Relaxation, sweeps: int, threads: Threads | None, *, has_limits: bool
) -> PolyhedralProjector:
    if has_limits:
        return BoxProjector(relaxation, sweeps, threads)
    return PolyhedralProjector(relaxation.direction, relaxation.forbidden, sweeps, threads)
