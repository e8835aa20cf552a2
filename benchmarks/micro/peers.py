"""The relaxation without cuts: our solver against SCS and Clarabel through cvxpy, all in one run, one thread each.

Each solver is timed until our own safe bound, computed from its dual solution, is within 1e-4 of the relaxation's
optimum. cvxpy's solvers cannot stop there by themselves, so each is run from scratch with a series of tolerances, and
its first run that reaches the goal counts: the user is assumed to have guessed the right tolerance. What counts is the
solver's own time; cvxpy's work to set the problem up is left out, for our solver everything after presolve is counted.

Usage: ``python -m benchmarks.micro.peers DATA [--clarabel SIZE]``; needs the extra ``bench``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.record import markdown_table, write_result
from benchmarks.suite.instances import load_case
from certimeans._typing import FloatArray
from certimeans.presolve.reduce import presolve
from certimeans.relaxation.cuts.pool import Cuts
from certimeans.relaxation.cuts.rows import CutRows
from certimeans.relaxation.cutting_planes import CuttingPlaneSettings, bound_by_cutting_planes
from certimeans.relaxation.model import Relaxation
from certimeans.relaxation.safe_bound import safe_lower_bound

INSTANCES = (
    "iris 100 0 0",
    "wine 100 0 0",
    "iris 50 0 0",
    "iris 0 50 1",
    "seeds 0 100 0",
    "glass 0 50 0",
    "ecoli 0 100 1",
)
GOAL = 1e-4
SCS_OPTIONS = [
    {"solver": cvxpy.SCS, "eps_abs": t, "eps_rel": t, "max_iters": 100_000, "warm_start": False}
    for t in (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
]
CLARABEL_OPTIONS = [
    {"solver": cvxpy.CLARABEL, "tol_gap_rel": t, "tol_gap_abs": t, "tol_feas": t, "max_threads": 1}
    for t in (1e-4, 1e-6)
]
REPEATS = 3


class Peer:
    """The relaxation as cvxpy's users would write it."""

    def __init__(self, relaxation: Relaxation) -> None:
        self.relaxation = relaxation
        matrix = cvxpy.Variable((relaxation.size, relaxation.size), symmetric=True)
        self._forbidden = np.nonzero(np.triu(relaxation.forbidden))
        self._non_negative = matrix >= 0
        self._zero = matrix[self._forbidden] == 0 if len(self._forbidden[0]) else None
        constraints = [
            matrix >> 0,
            self._non_negative,
            matrix @ relaxation.direction == relaxation.direction,
            cvxpy.trace(matrix) == relaxation.n_clusters,
            *([] if self._zero is None else [self._zero]),
        ]
        objective = cvxpy.sum(cvxpy.multiply(relaxation.objective, matrix))
        self._problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)

    def solve(self, options: dict[str, Any]) -> tuple[float, float]:
        """Return the solver's own time, and the safe bound that its multipliers prove."""
        self._problem.solve(**options)
        dual: FloatArray = -np.asarray(self._non_negative.dual_value)
        if self._zero is not None:
            dual[self._forbidden] += np.asarray(self._zero.dual_value)
        dual = 0.5 * (dual + dual.T)
        rows = CutRows.build(Cuts.none(), self.relaxation)
        bound = safe_lower_bound(self.relaxation, rows, np.empty(0), dual).safe_lower_bound
        return float(self._problem.solver_stats.solve_time), bound

    def seconds_to(self, target: float, runs: Iterable[dict[str, Any]]) -> float:
        """Return the time of the first run that reaches the target; infinite if none does."""
        for options in runs:
            seconds, bound = self.solve(options)
            if bound >= target:
                return seconds
        return np.inf


def best_bound(relaxation: Relaxation) -> float:
    """Solve the relaxation without cuts until nothing moves any more."""
    settings = CuttingPlaneSettings(use_cuts=False, stall_rounds=60, stall_progress=0.001)
    return bound_by_cutting_planes(relaxation, np.inf, settings=settings).safe_lower_bound


def our_seconds_to(target: float, relaxation: Relaxation) -> float:
    """Return the median time of a few runs to the target; infinite if one fails."""
    settings = CuttingPlaneSettings(use_cuts=False, stall_rounds=1000)
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        outcome = bound_by_cutting_planes(relaxation, target, settings=settings)
        seconds.append(time.perf_counter() - start if outcome.safe_lower_bound >= target else np.inf)
    return float(np.median(seconds))


def measure(name: str, relaxation: Relaxation, *, with_clarabel: bool) -> tuple[object, ...]:
    """Time all solvers on one relaxation."""
    peer = Peer(relaxation)
    optimum = max(best_bound(relaxation), peer.solve(SCS_OPTIONS[-1])[1])
    target = optimum * (1 - GOAL)
    ours = our_seconds_to(target, relaxation)
    scs = peer.seconds_to(target, SCS_OPTIONS)
    clarabel = peer.seconds_to(target, CLARABEL_OPTIONS) if with_clarabel else np.nan
    row = [name, relaxation.size, f"{optimum:.6f}", f"{ours:.3f}", f"{scs:.2f}", f"{scs / ours:.1f}"]
    return (*row, *((f"{clarabel:.1f}", f"{clarabel / ours:.0f}") if with_clarabel else ("", "")))


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--clarabel", type=int, default=110, help="largest size for Clarabel, which needs minutes")
    options = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for name in INSTANCES:
            super_points = presolve(load_case(options.data, name).instance).super_points
            relaxation = Relaxation.from_super_points(super_points)
            rows.append(measure(name, relaxation, with_clarabel=relaxation.size <= options.clarabel))
            print(*rows[-1], flush=True)
    header = ("instance", "s", "optimum / scatter", "certimeans, s", "SCS, s", "ratio", "Clarabel, s", "ratio")
    title = "The relaxation without cuts: time to a safe bound within 1e-4 of its optimum, one thread"
    write_result("peers", title, markdown_table(header, rows))


if __name__ == "__main__":
    main()
