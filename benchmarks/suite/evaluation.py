"""Agreement with the true classes of clusterings without constraints, with them, and with them to proven optimality.

Usage: ``python -m benchmarks.suite.evaluation DATA [--datasets NAME ...] [--time-limit S] [--starts N]``. As in the
paper's section "Clustering evaluation": adjusted Rand index (ARI) and adjusted mutual information (AMI, with the larger
of the two entropies as the paper defines it) against ``DATA/labels/NAME.txt`` of the unconstrained optimum, of PP (the
cheapest of some starts) and of the constrained optimum.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from benchmarks.record import markdown_table, write_result
from benchmarks.suite.instances import Case, load_cases
from certimeans._typing import IntArray
from certimeans.baselines import post_processing
from certimeans.bench.runner import warm_up
from certimeans.bench.tables import KINDS, number_of_constraints
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from certimeans.problem.io.files import read_labels
from certimeans.result import SolveResult, SolveStatus
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance


@dataclass(frozen=True)
class Agreement:
    """How well a clustering agrees with the classes."""

    ari: float
    ami: float

    @classmethod
    def of(cls, classes: tuple[str, ...], labels: IntArray) -> Agreement:
        """Compare labels with the classes."""
        return cls(
            adjusted_rand_score(classes, labels), adjusted_mutual_info_score(classes, labels, average_method="max")
        )


@dataclass(frozen=True, eq=False)
class Row:
    """One instance: share of constraints that the unconstrained optimum violates, and agreement of each clustering."""

    case: Case
    violated: float
    free: Agreement
    heuristic: Agreement | None
    exact: Agreement
    is_proven: bool

    @property
    def kind(self) -> str:
        """Which constraints it has."""
        return "ML only" if not self.case.cannot_links else "CL only" if not self.case.must_links else "both"


def measure(case: Case, classes: tuple[str, ...], time_limit: float, n_starts: int) -> Row:
    """Solve with and without constraints, run PP, compare all with the classes."""
    free = solve_unconstrained(case.instance.points.tobytes(), case.instance, time_limit)
    exact = solve_instance(case.instance, Limits(seconds=time_limit))
    found = [post_processing(case.instance, start) for start in range(n_starts)]
    heuristic = min((clustering for clustering in found if clustering is not None), key=lambda c: c.cost, default=None)
    assert free.labels is not None  # noqa: S101  # without constraints there is always a clustering
    assert exact.labels is not None  # noqa: S101  # the paper's constraints agree with the classes
    return Row(
        case,
        share_violated(case.instance, free.labels),
        Agreement.of(classes, free.labels),
        None if heuristic is None else Agreement.of(classes, heuristic.labels),
        Agreement.of(classes, exact.labels),
        is_proven=free.status is exact.status is SolveStatus.OPTIMAL,
    )


_UNCONSTRAINED: dict[bytes, SolveResult] = {}


def solve_unconstrained(key: bytes, instance: Instance, time_limit: float) -> SolveResult:
    """Solve without constraints, once for each data set."""
    if key not in _UNCONSTRAINED:
        free = Instance(instance.points, instance.n_clusters)
        _UNCONSTRAINED[key] = solve_instance(free, Limits(seconds=time_limit))
    return _UNCONSTRAINED[key]


def share_violated(instance: Instance, labels: IntArray) -> float:
    """Return the share of the constraints that a clustering violates."""
    clustering = Clustering.from_labels(instance, labels)
    n_links = len(instance.must_link) + len(instance.cannot_link)
    return len(clustering.violations(instance, limit=n_links + 1)) / n_links


def tables(rows: list[Row]) -> str:
    """Average by data set, a table for each kind of constraints as in the paper, then by number of constraints."""
    parts = []
    for kind, title in KINDS.items():
        group = [row for row in rows if row.kind == kind]
        if group:
            parts.append(f"## {title}\n\n{_table(group, lambda row: (row.case.dataset,))}")
    numbers = _table(rows, lambda row: (row.case.dataset, row.kind, row.case.must_links, row.case.cannot_links))
    return "\n\n".join([*parts, f"## By number of constraints\n\n{numbers}"])


def _table(rows: list[Row], key: Callable[[Row], tuple[Any, ...]]) -> str:
    lines = []
    for _, members in groupby(sorted(rows, key=key), key=key):
        group = list(members)
        case = group[0].case
        is_one_setting = len({(row.case.must_links, row.case.cannot_links) for row in group}) == 1
        number = number_of_constraints(case.must_links, case.cannot_links) if is_one_setting else "all"
        mark = "" if all(row.is_proven for row in group) else "*"
        cells: list[str] = []
        for name in ("ari", "ami"):
            cells += [f"{fmean(getattr(row.free, name) for row in group):.3f}"]
            known = [getattr(row.heuristic, name) for row in group if row.heuristic is not None]
            cells += [f"{fmean(known):.3f}" if known else ""]
            cells += [f"{fmean(getattr(row.exact, name) for row in group):.3f}"]
        setting = f"{group[0].kind}, {number}"
        lines.append((case.dataset + mark, setting, f"{100 * fmean(row.violated for row in group):.1f} %", *cells))
    header = (
        "data set", "constraints", "violated", "ARI unconstrained", "ARI PP", "ARI exact",
        "AMI unconstrained", "AMI PP", "AMI exact",
    )  # fmt: skip
    return markdown_table(header, lines)


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds for each solve")
    parser.add_argument("--starts", type=int, default=20, help="k-means++ starts of PP")
    options = parser.parse_args()
    warm_up()
    rows: list[Row] = []
    left_out: set[str] = set()
    for case in load_cases(options.data, options.datasets):
        labels = options.data / "labels" / f"{case.dataset}.txt"
        if not labels.exists():
            left_out.add(case.dataset)
            continue
        rows.append(measure(case, read_classes(labels), options.time_limit, options.starts))
        print(case.name, f"ARI {rows[-1].free.ari:.3f} -> {rows[-1].exact.ari:.3f}", flush=True)
    found = [(row.exact.ari, row.heuristic.ari) for row in rows if row.heuristic is not None]
    better, worse = (np.mean([sign * exact > sign * other for exact, other in found]) for sign in (1, -1))
    body = (
        f"{len(rows)} instances, PP with {options.starts} starts. *violated*: share of the constraints that the "
        f"unconstrained optimum violates; \\*: not all optima proven within {options.time_limit:g} s. The exact "
        f"clustering has a higher ARI than PP's on {100 * better:.0f} %, a lower one on {100 * worse:.0f} % of the "
        f"{len(found)} instances on which PP found a clustering."
    )
    body += f" Without true classes, left out: {', '.join(sorted(left_out))}." if left_out else ""
    write_result("evaluation", "Agreement with the true classes", f"{body}\n\n{tables(rows)}")


@cache
def read_classes(path: Path) -> tuple[str, ...]:
    """Read the class of each point."""
    return read_labels(path)


if __name__ == "__main__":
    main()
