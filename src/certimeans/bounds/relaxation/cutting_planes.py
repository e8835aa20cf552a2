"""The cutting-plane loop: solve, bound, separate, purge, repeat."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np

from certimeans._typing import FloatArray
from certimeans.bounds.protocol import RoundStatistics, StopReason
from certimeans.bounds.relaxation.admm import Admm, AdmmSettings, Iterate
from certimeans.bounds.relaxation.cuts.separation import SeparationSettings, Separator
from certimeans.bounds.relaxation.forecast import forecast_gain
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.safe_bound import ALL_BITS, NO_BOUND, SafeBound
from certimeans.bounds.relaxation.spectral import SpectralError
from certimeans.bounds.relaxation.threads import Threads
from certimeans.deadline import Deadline
from certimeans.setting_checks import check_settings

_LEAD = 5  # not for tuning: bounds beside the iterations are begun so much earlier, to be there when rounds end


@dataclass(frozen=True)
class CuttingPlaneSettings:
    """When to bound, when to separate and when to give up.

    Attributes
    ----------
    first_iterations, iterations
        Solver iterations before the first separation, and at least in each round after it.
    max_iterations, rising_share
        A round goes on, up to so many iterations, while the bound rises at least at this share of the rate of the round
        before.
    bound_every, large_size, hopeful
        Iterations between two bounds; twice as many from ``large_size`` super-points on. Within a round, a bound is
        left out that would miss the target even if it had gained ``hopeful`` times as much per iteration as the last.
    smallest_shared
        From so many super-points on, a second thread proves bounds beside the iterations, if there may be one.
    smallest_product
        From so many super-points on, all threads that there may be share the products of matrices.
    few_new_cuts
        If fewer cuts than this share of those in use are new, weaker violations count from then on.
    min_iterations, patience
        After so many iterations the loop ends if the bound is not expected to reach its target: if so many times what
        it gained in the second half of all iterations is less than what is missing.
    max_rounds
        Rounds at most; ``None`` for no limit.
    use_cuts
        Whether to separate at all.
    bounds_start
        Whether the multipliers that the loop starts from may prove something; if not, they are not tried.
    slack_bits
        Bits of the slack's mantissas in a proof; see
        :func:`~certimeans.bounds.relaxation.safe_bound.safe_lower_bound`.
    """

    admm: AdmmSettings = field(default_factory=AdmmSettings)
    separation: SeparationSettings = field(default_factory=SeparationSettings)
    first_iterations: int = 20
    iterations: int = 20
    max_iterations: int = 120
    rising_share: float = 0.5
    bound_every: int = 10
    large_size: int = 700
    hopeful: float = 2.0
    smallest_shared: int = 100
    smallest_product: int = 700
    few_new_cuts: float = 0.3
    patience: float = 1.5
    min_iterations: int = 150
    max_rounds: int | None = None
    use_cuts: bool = True
    bounds_start: bool = True
    slack_bits: int = ALL_BITS

    def __post_init__(self) -> None:
        counts = ("first_iterations", "iterations", "max_iterations", "bound_every", "min_iterations", "max_rounds")
        check_settings(
            self,
            least=dict.fromkeys(counts, 1),
            most={"slack_bits": ALL_BITS},
            may_be_infinite=("hopeful", "patience"),
        )


@dataclass(frozen=True, eq=False)
class RelaxationOutcome:
    """What the loop found.

    Attributes
    ----------
    proven
        The best bound, in working units, with the multipliers that prove it.
    best
        The iterate that they come from: where children go on.
    matrix
        The last Y: what branching and rounding look at.
    """

    reason: StopReason
    proven: SafeBound
    best: Iterate
    matrix: FloatArray
    rounds: tuple[RoundStatistics, ...]

    @property
    def safe_lower_bound(self) -> float:
        """Proven lower bound on the cost of every clustering, in working units."""
        return self.proven.safe_lower_bound


def bound_by_cutting_planes(
    relaxation: Relaxation,
    pruning_value: float | Callable[[], float],
    *,
    start: Iterate | None = None,
    settings: CuttingPlaneSettings | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
    on_round: Callable[[RoundStatistics, SafeBound, Iterate], None] | None = None,
    n_threads: int = 1,
) -> RelaxationOutcome:
    """Bound the cost of every clustering from below, as far as ``pruning_value``.

    Parameters
    ----------
    relaxation
        The problem.
    pruning_value
        Stop as soon as the proven bound reaches this; infinite for the best bound. In working units. A function
        is asked again each time, since better clusterings may be found meanwhile.
    start
        Where to start; its multipliers' bound is the first one proven.
    deadline
        Looked at after each iteration.
    on_round
        Told about each round, with the best bound so far and the iterate that proves it.
    n_threads
        How many threads look for cuts and share products; with more than one, bounds are proven beside the iterations.
    """
    settings = settings or CuttingPlaneSettings()
    value = pruning_value if callable(pruning_value) else lambda: pruning_value
    # If a single matrix is feasible, zero multipliers prove its cost, which inherited ones need not.
    is_exact = relaxation.n_clusters in {1, relaxation.size}
    if start is None or is_exact:
        start = Iterate.cold(relaxation)
    separator = Separator(settings.separation, seed, n_threads, start.threshold)
    with ExitStack() as stack:
        shares_products = relaxation.size >= settings.smallest_product
        threads = stack.enter_context(Threads(n_threads if shares_products else 1))
        solver = Admm(relaxation, start, settings.admm, seed, threads)
        loop = CuttingPlaneLoop(
            solver, start, NO_BOUND, value, settings, separator, deadline or Deadline(), is_exact=is_exact
        )
        if n_threads > 1 and relaxation.size >= settings.smallest_shared:
            loop.helper = stack.enter_context(ThreadPoolExecutor(1))
        reason = loop.run(on_round)
    return RelaxationOutcome(
        reason,
        loop.best_proven,
        loop.best,
        loop.solver.spectral_matrix(),
        tuple(loop.rounds),
    )


class CuttingPlaneLoop:
    """The loop's state; also that of the loop on blocks, whose solver has the same methods.

    Attributes
    ----------
    helper
        Proves bounds while iterations go on, if there is one.
    """

    helper: Executor | None = None
    _in_proof: tuple[Future[SafeBound], Iterate, int] | None = None

    def __init__(
        self,
        solver: Admm,
        start: Iterate,
        nothing_proven: SafeBound,
        pruning_value: Callable[[], float],
        settings: CuttingPlaneSettings,
        separator: Separator,
        deadline: Deadline,
        *,
        is_exact: bool = False,
    ) -> None:
        self.solver = solver
        self.best = start
        self.best_proven = nothing_proven
        self.pruning_value = pruning_value
        self.settings = settings
        self.separator = separator
        self.deadline = deadline
        self.rounds: list[RoundStatistics] = []
        self.curve: list[tuple[int, float]] = []
        self.current_bounds: list[float] = []
        self.new_cuts = 0
        self.separation_seconds = self.bound_seconds = 0.0
        self._bound_every = settings.bound_every * (2 if solver.relaxation.size >= settings.large_size else 1)
        self._is_warm = len(start.cuts) > 0
        self._is_exact = is_exact
        # Estimates of eigenvalues take less time, and leave more to rounding: until nothing else is missing.
        self._may_estimate = solver.relaxation.size >= settings.large_size

    def run(self, on_round: Callable[[RoundStatistics, SafeBound, Iterate], None] | None) -> StopReason:
        """Go round until there is a reason to stop."""
        is_large = self.solver.relaxation.size >= self.settings.large_size
        if is_large and self.deadline.passed():  # one bound of a large problem takes a second
            return StopReason.DEADLINE
        if (self.settings.bounds_start or self._is_exact) and (reason := self._bound_reaches_target()):
            return reason
        if self._is_exact:
            return StopReason.STALLED
        while True:
            reason = self._round() or self._take_proof(wait=True)
            if on_round is not None:
                on_round(self.rounds[-1], self.best_proven, self.best)
            if reason is not None:
                return reason

    def _round(self) -> StopReason | None:
        began, before = time.perf_counter(), self._seconds()
        is_first = not self.rounds and not self._is_warm
        count = self.settings.first_iterations if is_first else self.settings.iterations
        done = self.solver.iterations
        reason = self._iterate(count) or self._take_proof(wait=True)
        reason = reason or self._go_on_while_rising(count) or self._give_up()
        if reason is None and self.settings.use_cuts:
            self._separate()
        spent = [now - then for now, then in zip(self._seconds(), before, strict=True)]
        self.rounds.append(
            RoundStatistics(
                self.solver.iterations - done,
                len(self.solver.cuts),
                self.new_cuts,
                self.best_bound,
                time.perf_counter() - began,
                *spent,
            )
        )
        return reason

    def _iterate(self, count: int) -> StopReason | None:
        for done in range(1, count + 1):
            try:
                self.solver.iterate()
            except SpectralError:
                return StopReason.BROKE_DOWN
            if self.deadline.passed():
                # Of a small problem it takes milliseconds, and without it all iterations since the last would be lost.
                is_quick = self.solver.relaxation.size < self.settings.large_size
                return (self._bound_reaches_target() if is_quick else None) or StopReason.DEADLINE
            if reason := self._bound_if_due(is_last=done == count):
                return reason
        return None

    def _bound_if_due(self, *, is_last: bool) -> StopReason | None:
        """Bound every so many iterations, and after the last one of a round, which is judged by its bound."""
        if self.helper is None:
            is_due = self.solver.iterations % self._bound_every == 0 and self._is_hopeful()
            return self._bound_reaches_target() if is_due or is_last else None
        if (self.solver.iterations + _LEAD) % self._bound_every > 0:
            return self._take_proof(wait=False)
        if reason := self._take_proof(wait=True):
            return reason
        iterate, prove = self.solver.bound_later(self.settings.slack_bits, may_estimate=self._may_estimate)
        self._in_proof = self.helper.submit(prove), iterate, self.solver.iterations
        return None

    def _is_hopeful(self) -> bool:
        """Whether a bound may reach the target, from what the last one gained."""
        if len(self.curve) < 2:
            return False
        (then, before), (last, bound) = self.curve[-2:]
        if not np.isfinite(before):
            return True
        rate = (bound - before) / max(last - then, 1)
        expected = bound + self.settings.hopeful * rate * (self.solver.iterations - last)
        return expected >= self.pruning_value()

    def _take_proof(self, *, wait: bool) -> StopReason | None:
        """Take over the bound that is being proven beside the iterations, if there is one and it is there."""
        if self._in_proof is None or not (wait or self._in_proof[0].done()):
            return None
        (proof, iterate, iterations), self._in_proof = self._in_proof, None
        return self._judge(proof.result(), lambda: iterate, iterations)

    def _go_on_while_rising(self, done: int) -> StopReason | None:
        """Go on with the same cuts while the bound rises no slower than in the round before."""
        if not self.rounds:
            return None
        last = self.rounds[-1]
        before = self.rounds[-2].safe_lower_bound if len(self.rounds) > 1 else -np.inf
        rate = (last.safe_lower_bound - before) / last.iterations
        while done < self.settings.max_iterations:
            (then, bound), (now, risen) = self.curve[-2:]
            if not risen - bound > self.settings.rising_share * rate * (now - then):
                return None
            if reason := self._iterate(self._bound_every) or self._take_proof(wait=True):
                return reason
            done += self._bound_every
        return None

    def _bound_reaches_target(self) -> StopReason | None:
        """Bound, and say whether that is enough, or whether nothing but the allowance for rounding is missing."""
        began = time.perf_counter()
        bound = self.solver.safe_bound(self.settings.slack_bits, may_estimate=self._may_estimate)
        self.bound_seconds += time.perf_counter() - began
        return self._judge(bound, self.solver.snapshot, self.solver.iterations)

    def _judge(self, bound: SafeBound, iterate: Callable[[], Iterate], iterations: int) -> StopReason | None:
        """Keep the bound, which an iterate proves, if it is the best; say whether that is enough."""
        if bound.safe_lower_bound > self.best_bound:
            self.best_proven = bound
            self.best = replace(iterate(), threshold=self.separator.threshold)
        self.curve.append((iterations, self.best_bound))
        self.current_bounds.append(bound.safe_lower_bound)
        value = self.pruning_value()
        if self.best_bound >= value:
            return StopReason.REACHED
        allowance = bound.unsafe_lower_bound - bound.safe_lower_bound
        if not self.best_bound + 2 * allowance >= value:
            return None
        if self._may_estimate:
            self._may_estimate = False
            return self._bound_reaches_target()
        return StopReason.ROUNDING

    @property
    def best_bound(self) -> float:
        """The best bound proven so far."""
        return self.best_proven.safe_lower_bound

    def _give_up(self) -> StopReason | None:
        """Decide from the rounds so far whether to go on."""
        settings = self.settings
        if settings.max_rounds is not None and len(self.rounds) + 1 >= settings.max_rounds:
            return StopReason.ROUNDS
        if self.solver.iterations < settings.min_iterations:
            return None
        target = min(self.pruning_value(), self.solver.relaxation.scatter)
        return None if self._expected_bound() >= target else StopReason.STALLED

    def _expected_bound(self) -> float:
        """Extrapolate the best bound, and the present one: new cuts, or a branch, may have thrown it back."""
        work, best = zip(*self.curve, strict=True)
        curves = (best, self.current_bounds)
        return max(curve[-1] + self.settings.patience * forecast_gain(work, curve) for curve in curves)

    def _separate(self) -> None:
        """Look for cuts, and go on with them."""
        began = time.perf_counter()
        found = self.separator.find(self.solver.spectral_matrix(), self.solver.relaxation, self.deadline)
        kept = self.solver.current_cuts().purged()
        cuts = kept.extended(found)
        self.new_cuts = len(cuts) - len(kept)
        if self.new_cuts < self.settings.few_new_cuts * len(kept):
            self.separator.lower_threshold()
        self.solver.replace_cuts(cuts)
        self.separation_seconds += time.perf_counter() - began

    def _seconds(self) -> tuple[float, float, float, float]:
        solver = self.solver
        return solver.spectral_seconds, solver.polyhedral_seconds, self.separation_seconds, self.bound_seconds
