"""How good, and how fast, are the upper bounds: ``python -m benchmarks.suite.upper_bounds DATA_FOLDER``.

Every instance is searched with three seeds at the default budget; :mod:`benchmarks.suite.heuristics` compares with
other methods. Writes ``upper_bounds.md`` and ``upper_bounds.csv`` to the results folder. Compiled code is warmed up
first.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.record import RESULTS, write_result
from benchmarks.suite.instances import Case, checked_clustering, is_comparable, load_cases
from certimeans._typing import IntArray
from certimeans.heuristics.upper_bound import search_clustering
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering

SEEDS = (0, 1, 2)


@dataclass
class Run:
    """One seed on one instance: final cost, total time, and the time to the published value if it was reached."""

    cost: float
    seconds: float
    seconds_to_published: float | None


@dataclass
class Row:
    """All that was measured on one instance."""

    problem: Case
    size: int
    runs: list[Run] = field(default_factory=list)

    @property
    def best_cost(self) -> float:
        """Cheapest clustering of the search."""
        return min(run.cost for run in self.runs)

    @property
    def n_reached(self) -> int:
        """How many seeds reached the published value."""
        return sum(_reaches(self.problem, run.cost) for run in self.runs)


def measure(problem: Case) -> Row:
    """Search one instance with every seed."""
    row = Row(problem, presolve(problem.instance).super_points.size)
    row.runs.extend(_search(problem, seed) for seed in SEEDS)
    return row


def _search(problem: Case, seed: int) -> Run:
    """Search from a fresh presolve, so that nothing is cached; the clock runs from the super-points on."""
    presolved = presolve(problem.instance)
    groups = presolved.super_points
    improvements: list[tuple[float, IntArray]] = []
    begin = time.perf_counter()
    labels = search_clustering(
        groups,
        colouring=presolved.colouring,
        seed=seed,
        on_improvement=lambda better: improvements.append((time.perf_counter() - begin, better)),
    )
    seconds = time.perf_counter() - begin
    if labels is None:
        return Run(np.inf, seconds, None)
    final = checked_clustering(problem.instance, groups, labels)
    reached = [
        moment
        for moment, better in improvements
        if _reaches(problem, Clustering.from_labels(problem.instance, groups.expand_labels(better)).cost)
    ]
    return Run(final.cost, seconds, reached[0] if reached else None)


def report(rows: list[Row]) -> str:
    """Write the table, one row a data set."""
    comparable = [row for row in rows if is_comparable(row.problem)]
    times = [run.seconds_to_published for row in comparable for run in row.runs if run.seconds_to_published is not None]
    totals = [run.seconds for row in rows for run in row.runs]
    reached = sum(row.n_reached for row in comparable)
    lines = [
        f"{len(rows)} instances, seeds {', '.join(map(str, SEEDS))}, default budget, one thread, compiled code warm.",
        "",
        f"Published value (six digits) reached in {reached} of {len(SEEDS) * len(comparable)} comparable runs.",
        f"Time to it: {_median_and_worst(times)} ms. A whole run: {_median_and_worst(totals)} ms (median, worst).",
        "",
        "| data set | instances | reached | seeds agree | to it: median, worst (ms) | run: median, worst (ms) |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_search_line(name, group) for name, group in _by_dataset(rows)]
    lines += [
        "",
        "*vertebral*: the published rows belong to other constraint files; *gene16*: no published value.",
        "*seeds agree*: instances on which all seeds end within 1e-6 of the best.",
    ]
    return "\n".join(lines)


def _by_dataset(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    names = sorted({row.problem.dataset for row in rows}, key=str.lower)
    return [(name, [row for row in rows if row.problem.dataset == name]) for name in names]


def _search_line(name: str, rows: list[Row]) -> str:
    reached = f"{sum(row.n_reached for row in rows)} / {len(SEEDS) * len(rows)}"
    if not is_comparable(rows[0].problem):
        reached = "not comparable"
    agree = sum(max(run.cost for run in row.runs) <= row.best_cost * (1 + 1e-6) for row in rows)
    times = [run.seconds_to_published for row in rows for run in row.runs if run.seconds_to_published is not None]
    to_it = _median_and_worst(times) if is_comparable(rows[0].problem) else ""
    totals = [run.seconds for row in rows for run in row.runs]
    return f"| {name} | {len(rows)} | {reached} | {agree} | {to_it} | {_median_and_worst(totals)} |"


def _reaches(problem: Case, cost: float) -> bool:
    return problem.published is not None and problem.published.is_reached_by(cost)


def _median_and_worst(seconds: list[float]) -> str:
    return f"{1e3 * np.median(seconds):.1f}, {1e3 * max(seconds):.0f}" if seconds else "-"


def _write_csv(rows: list[Row], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["instance", "size", "published", "best", "worst_seed", "worst_seconds"])
        for row in rows:
            worst = max(run.cost for run in row.runs)
            seconds = max(run.seconds for run in row.runs)
            published = "" if row.problem.published is None else row.problem.published.cost
            writer.writerow(
                [
                    row.problem.name,
                    row.size,
                    published,
                    f"{row.best_cost:.9g}",
                    f"{worst:.9g}",
                    f"{seconds:.3f}",
                ]
            )


def main() -> None:
    """Parse the command line, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="datasets/, constraints/ and published.csv")
    parser.add_argument("--datasets", nargs="+", help="only these data sets")
    options = parser.parse_args()
    rows: list[Row] = []
    with threadpool_limits(1):
        for problem in load_cases(options.folder, options.datasets):
            if not rows:
                measure(problem)  # compiles
            rows.append(measure(problem))
            print(
                problem.name,
                f"{rows[-1].best_cost:.6g}",
                "" if problem.published is None else problem.published.cost,
                f"{rows[-1].n_reached} reached",
                flush=True,
            )
    write_result("upper_bounds", "Upper bounds", report(rows))
    _write_csv(rows, RESULTS / "upper_bounds.csv")


if __name__ == "__main__":
    main()
