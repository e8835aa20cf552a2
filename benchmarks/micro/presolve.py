"""How long presolve takes on 100,000 points with 50,000 constraints, and on contradictions of that size."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import combinations
from statistics import median
from typing import TypeVar

import numpy as np

from benchmarks.record import markdown_table, write_result
from certimeans.errors import InfeasibleError
from certimeans.presolve.reduce import presolve
from certimeans.problem.constraints import Constraints
from certimeans.problem.generate import generate_constraints
from certimeans.problem.instance import Instance

N_POINTS = 100_000
REPEATS = 3
Result = TypeVar("Result")


def timed(function: Callable[[], Result]) -> tuple[float, Result]:
    """Return the median time of a few calls, and the last result."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return median(seconds), result


def outcome(instance: Instance) -> str:
    """Presolve and say what came out."""
    try:
        presolved = presolve(instance)
    except InfeasibleError as error:
        return f"infeasible: {error.conflict.kind} of {len(error.conflict.links)} pairs"
    return f"{presolved.super_points.size:,} super-points"


def main() -> None:
    """Measure and record."""
    rows = []
    for k in (2, 3, 5):
        for must, cannot in ((25_000, 25_000), (0, 50_000)):
            random = np.random.default_rng(k)
            labels = random.integers(0, k, size=N_POINTS)
            points = random.normal(size=(N_POINTS, 10)) + 3.0 * labels[:, None]
            constraints = generate_constraints(labels, must, cannot, seed=0)
            for contradicting in (False, True):
                if contradicting:  # k + 1 points that are pairwise apart, hidden among the others
                    constraints |= Constraints.create(cannot_link=combinations(range(k + 1), 2))
                build_seconds, instance = timed(partial(Instance, points, k, constraints))
                seconds, result = timed(partial(outcome, instance))
                rows.append((k, must, cannot, f"{build_seconds:.2f}", f"{seconds:.2f}", result))
    header = ("k", "must-links", "cannot-links", "build, s", "presolve, s", "result")
    write_result("presolve", f"Presolve of {N_POINTS:,} points in 10 dimensions", markdown_table(header, rows))


if __name__ == "__main__":
    main()
