"""The exact peer, repetitive branch and bound, against ours on the paper's smallest data sets.

Usage: ``python -m benchmarks.suite.exact_peer DATA [--datasets NAME ...] [--time-limit S]``. Both solve each instance
one after the other on one core, with compiled code warm. The enumeration proves its value to ten digits, ours to a gap
of 1e-4: the values must agree to that.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean, geometric_mean

from benchmarks.record import markdown_table, write_result
from benchmarks.suite.instances import Case, load_cases
from certimeans.baselines import EnumerationOutcome, rbba
from certimeans.bench.runner import warm_up
from certimeans.bench.tables import number_of_constraints
from certimeans.result import SolveResult, SolveStatus
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance


@dataclass(frozen=True, eq=False)
class Row:
    """One instance, solved by both."""

    case: Case
    peer: EnumerationOutcome
    ours: SolveResult

    @property
    def kind(self) -> str:
        """Which constraints it has."""
        return "ML only" if not self.case.cannot_links else "CL only" if not self.case.must_links else "both"

    @property
    def group(self) -> tuple[str, str, int, int]:
        """What the table averages over."""
        return self.kind, self.case.dataset, self.case.must_links, self.case.cannot_links


def measure(case: Case, time_limit: float) -> Row:
    """Solve an instance with both, and check that they agree."""
    peer = rbba(case.instance, time_limit)
    ours = solve_instance(case.instance, Limits(seconds=time_limit))
    if peer.clustering is not None:
        slack = 1e-9 * peer.clustering.cost
        if not ours.lower_bound - slack <= peer.clustering.cost <= ours.objective + slack:
            raise AssertionError(f"{case.name}: {peer.clustering.cost} by enumeration, ours {ours.summary()}")
    return Row(case, peer, ours)


def table(rows: list[Row]) -> str:
    """Average by kind and number of constraints, as the paper does; unsolved instances count with the limit."""
    lines = []
    order = ["ML only", "CL only", "both"]
    ordered = sorted(rows, key=lambda row: (order.index(row.kind), *row.group[1:]))
    for (kind, dataset, must, cannot), members in groupby(ordered, key=lambda row: row.group):
        group = list(members)
        lines.append(
            (
                kind,
                dataset,
                number_of_constraints(must, cannot),
                group[0].case.instance.n_points,
                group[0].case.instance.n_clusters,
                f"{fmean(row.peer.seconds for row in group):.2f}",
                f"{100 * fmean(row.peer.is_proven for row in group):.0f} %",
                f"{fmean(row.ours.seconds for row in group):.2f}",
                f"{100 * fmean(row.ours.status is SolveStatus.OPTIMAL for row in group):.0f} %",
            )
        )
    header = ("kind", "data set", "constraints", "n", "k", "RBBA (s)", "success", "certimeans (s)", "success")
    return markdown_table(header, lines)


def summary(rows: list[Row], time_limit: float) -> str:
    """Say how often and by how much each is faster."""
    solved = [row for row in rows if row.peer.is_proven]
    ours = [row for row in rows if row.ours.status is SolveStatus.OPTIMAL]
    faster = sum(row.peer.seconds < row.ours.seconds for row in solved)
    ratios = [row.peer.seconds / row.ours.seconds for row in rows]
    worst = max(row.ours.seconds for row in rows)
    return (
        f"{len(rows)} instances, limit {time_limit:g} s. RBBA solved {len(solved)}, {faster} of them faster than ours; "
        f"ours solved {len(ours)}, the slowest in {worst:.2f} s. RBBA's time over ours, unsolved ones counted with the "
        f"limit: geometric mean {geometric_mean(ratios):.1f}. All values agree."
    )


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--datasets", nargs="+", default=["iris", "wine", "seeds"])
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each instance (the paper: 3600)")
    options = parser.parse_args()
    warm_up()
    rows: list[Row] = []
    for case in load_cases(options.data, options.datasets):
        if not rows:
            rbba(case.instance, 0.1)  # compiles, or loads compiled code
        rows.append(measure(case, options.time_limit))
        peer, ours = rows[-1].peer, rows[-1].ours
        outcome = "solved" if peer.is_proven else f"{peer.solved_size} of {peer.size}"
        print(case.name, f"RBBA {peer.seconds:.2f} s ({outcome}), ours {ours.seconds:.2f} s", flush=True)
    body = f"{summary(rows, options.time_limit)}\n\n{table(rows)}"
    write_result("exact_peer", "An exact peer: repetitive branch and bound", body)


if __name__ == "__main__":
    main()
