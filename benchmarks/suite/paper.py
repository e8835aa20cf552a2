"""Solve the paper's instances and compare with its results.

Usage: ``python -m benchmarks.suite.paper DATA [--jobs N] [--datasets NAME ...] [--time-limit S]``. Instances are
solved one after the other; the time is the solver's wall time, without Python's start-up and compilation.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.record import RESULTS, markdown_table, write_result
from benchmarks.suite.instances import PaperInstance, load_instances
from certimeans.result import SolveResult, SolveStatus
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance


@dataclass(frozen=True, eq=False)
class Row:
    """One instance and what we found."""

    paper: PaperInstance
    result: SolveResult

    @property
    def is_solved(self) -> bool:
        """Whether the gap was proven closed."""
        return self.result.status is SolveStatus.OPTIMAL

    @property
    def speed_up(self) -> float:
        """Published time over ours; NaN without one."""
        published = self.paper.published
        return np.nan if published is None else published.seconds / self.result.seconds

    def verdict(self) -> str:
        """Compare the value with the published one, which is rounded to six digits and proven to 0.01 %."""
        published = self.paper.published
        if not self.paper.is_comparable or published is None:
            return "not comparable"
        if not self.paper.reaches_published(self.result.objective):
            return "worse"
        return "better" if self.result.objective < published.cost * (1 - 1e-5) else "equal"


def table(rows: list[Row]) -> str:
    """Summarise by data set."""
    lines = []
    for name in [*dict.fromkeys(row.paper.dataset for row in rows), "all"]:
        group = [row for row in rows if name in {row.paper.dataset, "all"}]
        ups = np.array([row.speed_up for row in group])
        ups = ups[np.isfinite(ups)]
        seconds = [row.result.seconds for row in group]
        verdicts = [row.verdict() for row in group]
        lines.append(
            (
                name,
                len(group),
                sum(row.is_solved for row in group),
                sum(row.result.nodes == 1 for row in group),
                max(row.result.nodes for row in group),
                f"{np.median(seconds):.2f}",
                f"{max(seconds):.1f}",
                f"{sum(seconds):.0f}",
                f"{np.exp(np.log(ups).mean()):.0f}" if len(ups) else "",
                f"{ups.min():.1f}" if len(ups) else "",
                verdicts.count("better"),
                verdicts.count("worse"),
            )
        )
    header = (
        "data set", "instances", "solved", "at the root", "most nodes", "median s", "worst s", "total s",
        "speed-up, geometric mean", "least speed-up", "better value", "worse value",
    )  # fmt: skip
    return markdown_table(header, lines)


def write_csv(rows: list[Row]) -> None:
    """Write one line an instance."""
    with (RESULTS / "paper.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = (
            "instance size status objective published lower_bound gap root_gap nodes seconds published_seconds value"
        )
        writer.writerow(names.split())
        for row in rows:
            result, published = row.result, row.paper.published
            writer.writerow(
                [
                    row.paper.name,
                    result.size,
                    result.status,
                    f"{result.objective:.10g}",
                    "" if published is None else published.cost,
                    f"{result.lower_bound:.10g}",
                    f"{result.gap:.3g}",
                    f"{result.root_gap:.3g}",
                    result.nodes,
                    f"{result.seconds:.2f}",
                    "" if published is None else published.seconds,
                    row.verdict(),
                ]
            )


def main() -> None:
    """Solve and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=600.0)
    parser.add_argument("--datasets", nargs="+")
    options = parser.parse_args()
    rows: list[Row] = []
    for paper in load_instances(options.data, options.datasets):
        if not rows:
            solve_instance(paper.instance, Limits(nodes=1))  # compiled code is warm from here on
        rows.append(Row(paper, solve_instance(paper.instance, Limits(seconds=options.time_limit), n_jobs=options.jobs)))
        last = rows[-1]
        print(
            paper.name, last.result.status, last.result.nodes, f"{last.result.seconds:.2f}", last.verdict(), flush=True
        )
    write_result("paper", "The paper's instances, solved one after the other", table(rows))
    write_csv(rows)


if __name__ == "__main__":
    main()
