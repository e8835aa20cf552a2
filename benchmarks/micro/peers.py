"""The root relaxation: our solver against SCS and Clarabel through cvxpy, all in one run, one thread each.

Without cuts, and with the cuts of our last round at the root (fixed for all solvers; nothing is separated).

Each solver is timed until our own safe bound, computed from its dual solution, is within 1e-4 of the relaxation's
optimum. cvxpy's solvers cannot stop there by themselves, so each is run from scratch with a series of tolerances, and
its first run that reaches the goal counts: the user is assumed to have guessed the right tolerance. What counts is the
solver's own time; cvxpy's work to set the problem up is left out, for our solver everything after presolve is counted.

Usage: ``python -m benchmarks.micro.peers DATA [--names NAME ...] [--clarabel SIZE] [--clarabel-cuts SIZE] [--seconds S]
[--clarabel-seconds S]``; needs the extra ``bench``. Clarabel takes minutes, so sizes say up to which it is run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from benchmarks.record import markdown_table, write_result
from benchmarks.suite.instances import Case, load_case
from certimeans._typing import FloatArray
from certimeans.bounds.relaxation.admm import Iterate
from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings, bound_by_cutting_planes
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.safe_bound import safe_lower_bound
from certimeans.presolve.reduce import presolve
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance

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
ROUNDS = 200


class Peer:
    """The relaxation with given cuts, as cvxpy's users would write it."""

    def __init__(self, relaxation: Relaxation, cuts: Cuts) -> None:
        self.relaxation = relaxation
        self._rows = CutRows.build(cuts, relaxation)
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
        self._cuts = None
        if len(cuts):
            self._cuts = _as_matrix(self._rows) @ cvxpy.vec(matrix, order="C") <= self._rows.right_sides
            constraints.append(self._cuts)
        objective = cvxpy.sum(cvxpy.multiply(relaxation.objective, matrix))
        self._problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)

    def solve(self, options: dict[str, Any]) -> tuple[float, float]:
        """Return the solver's own time, and the safe bound that its multipliers prove; none if it has none."""
        try:
            self._problem.solve(**options)
        except cvxpy.SolverError:
            return np.inf, -np.inf
        if self._non_negative.dual_value is None:
            return np.inf, -np.inf
        dual: FloatArray = -np.asarray(self._non_negative.dual_value)
        if self._zero is not None:
            dual[self._forbidden] += np.asarray(self._zero.dual_value)
        dual = 0.5 * (dual + dual.T)
        multipliers = np.empty(0) if self._cuts is None else np.maximum(np.asarray(self._cuts.dual_value), 0.0)
        dual += self._rows.weighted_sum(multipliers)[0]
        bound = safe_lower_bound(self.relaxation, self._rows, multipliers, dual).safe_lower_bound
        return float(self._problem.solver_stats.solve_time), bound

    def seconds_to(self, target: float, runs: Iterable[dict[str, Any]]) -> float:
        """Return the time of the first run that reaches the target; infinite if none does."""
        for options in runs:
            seconds, bound = self.solve(options)
            if bound >= target:
                return seconds
        return np.inf


def _as_matrix(rows: CutRows) -> csr_array:
    """Return the cuts as rows of a sparse matrix that is applied to all entries of Y."""
    off_diagonal = rows.position // rows.size != rows.position % rows.size
    values = rows.coefficient * np.where(off_diagonal, np.sqrt(2.0), 1.0)
    return csr_array((values, rows.position, rows.start), shape=(len(rows.right_sides), rows.size**2))


def _with(cuts: Cuts, relaxation: Relaxation) -> Iterate:
    """Start cold, with given cuts."""
    cold = Iterate.cold(relaxation)
    return Iterate(cold.primal, cold.dual, cuts.with_multipliers(np.zeros(len(cuts))))


def best_bound(relaxation: Relaxation, cuts: Cuts) -> float:
    """Solve the relaxation with these cuts for a long time."""
    settings = CuttingPlaneSettings(use_cuts=False, min_iterations=10**9, max_rounds=ROUNDS)
    return bound_by_cutting_planes(
        relaxation, np.inf, start=_with(cuts, relaxation), settings=settings
    ).safe_lower_bound


def our_seconds_to(target: float, relaxation: Relaxation, cuts: Cuts) -> float:
    """Return the median time of a few runs to the target; infinite if one fails."""
    settings = CuttingPlaneSettings(use_cuts=False, min_iterations=10**9, max_rounds=ROUNDS)
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        outcome = bound_by_cutting_planes(relaxation, target, start=_with(cuts, relaxation), settings=settings)
        seconds.append(time.perf_counter() - start if outcome.safe_lower_bound >= target else np.inf)
    return float(np.median(seconds))


def measure(
    name: str,
    relaxation: Relaxation,
    cuts: Cuts,
    scs_options: list[dict[str, Any]],
    clarabel_options: list[dict[str, Any]],
) -> tuple[object, ...]:
    """Time all solvers on one relaxation; without options for Clarabel it is left out."""
    peer = Peer(relaxation, cuts)
    optimum = best_bound(relaxation, cuts)
    if not len(cuts):
        optimum = max(optimum, peer.solve(SCS_OPTIONS[-1])[1])
    target = optimum * (1 - GOAL)
    ours = our_seconds_to(target, relaxation, cuts)
    scs = peer.seconds_to(target, scs_options)
    clarabel = peer.seconds_to(target, clarabel_options)
    row = [name, relaxation.size, len(cuts), f"{optimum:.6f}", f"{ours:.3f}", _seconds(scs), _seconds(scs / ours)]
    return (*row, *((_seconds(clarabel), _seconds(clarabel / ours)) if clarabel_options else ("", "")))


def _seconds(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "not reached"


def cuts_of_last_round(case: Case, relaxation: Relaxation) -> Cuts:
    """Return the cuts with which our root node ended."""
    result = solve_instance(case.instance, Limits(nodes=1))
    outcome = bound_by_cutting_planes(relaxation, case.instance.scaled.scale.target(result.objective * (1 - GOAL)))
    return outcome.best.cuts.purged()


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--names", nargs="+", default=INSTANCES, help="instances, such as 'iris 0 50 1'")
    parser.add_argument("--clarabel", type=int, default=110, help="largest size for Clarabel without cuts")
    parser.add_argument("--clarabel-cuts", type=int, default=110, help="largest size for Clarabel with cuts")
    parser.add_argument("--clarabel-seconds", type=float, default=600.0, help="time limit of each run of Clarabel")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of each run of SCS with cuts")
    options = parser.parse_args()
    limited = [{**run, "time_limit_secs": options.seconds} for run in SCS_OPTIONS]
    clarabel = [{**run, "time_limit": options.clarabel_seconds} for run in CLARABEL_OPTIONS]
    tables: dict[bool, list[tuple[object, ...]]] = {False: [], True: []}
    with threadpool_limits(1):
        for name in options.names:
            case = load_case(options.data, name)
            relaxation = Relaxation.from_super_points(presolve(case.instance).super_points)
            for with_cuts, rows in tables.items():
                cuts = cuts_of_last_round(case, relaxation) if with_cuts else Cuts.none()
                largest = options.clarabel_cuts if with_cuts else options.clarabel
                runs = limited if with_cuts else SCS_OPTIONS
                rows.append(measure(name, relaxation, cuts, runs, clarabel if relaxation.size <= largest else []))
                print(*rows[-1], flush=True)
    header = ("instance", "s", "cuts", "optimum / scatter", "certimeans, s", "SCS, s", "ratio", "Clarabel, s", "ratio")
    body = (
        f"Without cuts:\n\n{markdown_table(header, tables[False])}\n\nWith the cuts of our last round at the root, SCS "
        f"limited to {options.seconds:g} s a run:\n\n{markdown_table(header, tables[True])}\n\nClarabel is run up to "
        f"a size of {options.clarabel} without cuts and {options.clarabel_cuts} with them, limited to "
        f"{options.clarabel_seconds:g} s a run.\n\nThe optimum is the best safe bound that a run of ours proves in "
        f"{ROUNDS} rounds; without cuts, that of SCS with its smallest tolerance counts if it is better. Each peer is "
        f"run with one tolerance after the other, and the first that gets within {GOAL:g} of the optimum counts alone."
    )
    write_result("peers", "The root relaxation: time to a safe bound within 1e-4 of its optimum, one thread", body)


if __name__ == "__main__":
    main()
