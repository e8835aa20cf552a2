"""The relaxation without cuts: our solver against SCS and Clarabel through cvxpy, all in one run.

Each solver runs on one thread until our own safe bound, computed from its dual solution, is within 1e-4 of the
relaxation's optimum. cvxpy's solvers cannot stop there by themselves, so each is run with a series of tolerances, and
the fastest run that reaches the goal counts; time to set up the cvxpy problem is not counted.

Usage: ``python -m benchmarks.micro.peers DATA [--clarabel]``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.record import markdown_table, write_result
from benchmarks.suite.instances import load_instance
from certimeans._typing import FloatArray
from certimeans.presolve.reduce import presolve
from certimeans.relaxation.cuts.pool import Cuts
from certimeans.relaxation.cuts.rows import CutRows
from certimeans.relaxation.cutting_planes import CuttingPlaneSettings, bound_by_cutting_planes
from certimeans.relaxation.model import Relaxation
from certimeans.relaxation.safe_bound import safe_lower_bound

INSTANCES = ("iris 50 50 0", "iris 50 0 0", "iris 0 50 1", "seeds 0 100 0", "ecoli 0 100 1")
GOAL = 1e-4
SCS_TOLERANCES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6)
CLARABEL_TOLERANCES = (1e-4, 1e-6)
REPEATS = 3


class Peer:
    """The relaxation as cvxpy's users would write it."""

    def __init__(self, relaxation: Relaxation) -> None:
        size = relaxation.size
        self.relaxation = relaxation
        self.matrix = cvxpy.Variable((size, size), symmetric=True)
        self.entries = self.matrix >= 0
        constraints = [
            self.matrix >> 0,
            self.entries,
            self.matrix @ relaxation.direction == relaxation.direction,
            cvxpy.trace(self.matrix) == relaxation.n_clusters,
        ]
        first, second = np.nonzero(np.triu(relaxation.forbidden))
        if len(first):
            constraints.append(self.matrix[first, second] == 0)
        objective = cvxpy.sum(cvxpy.multiply(relaxation.objective, self.matrix))
        self.problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
        self.forbidden = constraints[4] if len(first) else None

    def solve(self, **options: Any) -> tuple[float, FloatArray]:
        """Return the solver's own time and its multipliers of the entries, as a matrix to be added to C."""
        self.problem.solve(**options)
        statistics = self.problem.solver_stats
        dual = -np.asarray(self.entries.dual_value)
        if self.forbidden is not None:
            first, second = np.nonzero(np.triu(self.relaxation.forbidden))
            free = np.zeros_like(dual)
            free[first, second] = np.asarray(self.forbidden.dual_value)
            dual += free
        return float(statistics.solve_time), 0.5 * (dual + dual.T)


def bound_of(relaxation: Relaxation, dual: FloatArray) -> float:
    """Prove a bound from a matrix of multipliers."""
    return safe_lower_bound(relaxation, CutRows.build(Cuts.none(), relaxation), np.empty(0), dual).safe_lower_bound


def optimum(relaxation: Relaxation) -> float:
    """Solve the relaxation without cuts as well as it goes."""
    settings = CuttingPlaneSettings(use_cuts=False, stall_rounds=40, stall_progress=0.01)
    return bound_by_cutting_planes(relaxation, np.inf, settings=settings).safe_lower_bound


def our_time(relaxation: Relaxation, target: float) -> float:
    """Time until the safe bound reaches the target: the best of a few runs."""
    settings = CuttingPlaneSettings(use_cuts=False, stall_rounds=1000)
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        outcome = bound_by_cutting_planes(relaxation, target, settings=settings)
        seconds.append(time.perf_counter() - start)
        if outcome.safe_lower_bound < target:
            return np.inf
    return min(seconds)


def peer_time(
    solve: Callable[[float], tuple[float, FloatArray]],
    tolerances: tuple[float, ...],
    goal: Callable[[FloatArray], bool],
) -> float:
    """Shortest time over the tolerances with which the goal is reached."""

    def times() -> Iterator[float]:
        for tolerance in tolerances:
            seconds, dual = solve(tolerance)
            if goal(dual):
                yield seconds
                return

    return min(times(), default=np.inf)


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--clarabel", type=int, default=110, help="largest size for Clarabel")
    options = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for name in INSTANCES:
            relaxation = Relaxation.from_super_points(presolve(load_instance(options.data, name).instance).super_points)
            best = optimum(relaxation)
            target = best * (1 - GOAL)

            def reaches(dual: FloatArray, relaxation: Relaxation = relaxation, target: float = target) -> bool:
                return bound_of(relaxation, dual) >= target

            ours = our_time(relaxation, target)
            peer = Peer(relaxation)
            scs = peer_time(
                lambda t, peer=peer: peer.solve(solver=cvxpy.SCS, eps_abs=t, eps_rel=t, max_iters=100_000),
                SCS_TOLERANCES,
                reaches,
            )
            clarabel = np.nan
            if relaxation.size <= options.clarabel:
                clarabel = peer_time(
                    lambda t, peer=peer: peer.solve(solver=cvxpy.CLARABEL, tol_gap_rel=t, tol_feas=t, max_threads=1),
                    CLARABEL_TOLERANCES,
                    reaches,
                )
            rows.append(
                (
                    name,
                    relaxation.size,
                    f"{best:.6f}",
                    f"{ours:.3f}",
                    f"{scs:.2f}",
                    f"{scs / ours:.1f}",
                    f"{clarabel:.1f}",
                    f"{clarabel / ours:.0f}",
                )
            )
            print(rows[-1], flush=True)
    header = (
        "instance",
        "s",
        "optimum / scatter",
        "certimeans, s",
        "SCS, s",
        "SCS / ours",
        "Clarabel, s",
        "Clarabel / ours",
    )
    write_result(
        "peers", "The relaxation without cuts, to a safe bound within 1e-4 of its optimum", markdown_table(header, rows)
    )


if __name__ == "__main__":
    main()
