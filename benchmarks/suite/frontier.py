"""How far the solver goes: instances at the edge of what it closes, with the time or gap that each is to reach.

Usage: ``python -m benchmarks.suite.frontier [PATTERN ...] [--data DATA] [--verify]``. Patterns choose instances by
name, for example ``'iris*' 'plane k=15*'``; without one, all are solved. Data come from scikit-learn, from seeded
generators, and, for the pulsar data, from the folder ``DATA/large``; without it those are left out. The solver finds
its own upper bound. Each instance is solved in a process of its own, with compiled code warm and a gap of 1e-4;
instances of one group are judged by their median.

Rows are kept in ``results/frontier.csv``: a run of some instances replaces their rows and leaves the others. The
paper's instances (``certimeans bench DATA --jobs 2``) and the comparison with SCS (``benchmarks.micro.peers``) have
tables of their own.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from benchmarks.record import RESULTS, environments, markdown_table, run_apart, write_result
from certimeans import Instance, Limits, generate_constraints, read_points, solve_instance, verify
from certimeans.printing import fixed_percent_up, percent_up
from certimeans.report.environment import commit, environment_line
from certimeans.warmup import prepare

GAP = 1e-4
DRAWS = 5
COLUMNS = (
    "instance", "group", "size", "k", "jobs", "status", "gap %", "nodes", "root gap %", "seconds", "processor s",
    "to reach s", "to reach gap %", "reached", "commit", "date", "environment",
)  # fmt: skip


@dataclass(frozen=True)
class Goal:
    """An instance and what is asked of it.

    Attributes
    ----------
    name, group
        What to call it; instances of a group are judged together by the median of their times.
    build
        Makes the instance, given the folder of data or nothing.
    seconds
        To be closed within this time; if ``gap`` is given, to be stopped then.
    gap
        The relative gap to reach; 1e-4 if not given.
    jobs
        Cores.
    limit
        When to stop an instance that is not closed.
    needs_data
        Whether it needs the folder of data.
    """

    name: str
    build: Callable[[Path | None], Instance]
    seconds: float
    group: str = ""
    gap: float = GAP
    jobs: int = 1
    limit: float = 90.0
    needs_data: bool = False

    def asked(self) -> dict[str, object]:
        """Return the columns of a row that say what is asked."""
        return {
            "instance": self.name,
            "group": self.group,
            "jobs": self.jobs,
            "to reach s": f"{self.seconds:g}",
            "to reach gap %": f"{100 * self.gap:g}",
            "reached": "no",
        }


def where_and_when() -> dict[str, object]:
    """Return the columns of a row that say with what it was measured."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    return {"commit": commit() or "", "date": today, "environment": environment_line()}


def goals() -> list[Goal]:
    """List everything, in the order of the table."""
    found = [Goal(f"iris k={k}", _of(load_iris, k), 6.0) for k in range(2, 11)]
    found += [Goal(f"wine standardised k={k}", _of(load_wine, k, standardize=True), 3.0) for k in range(2, 11)]
    for k, seconds in ((15, 20.0), (30, 60.0)):
        found += [
            Goal(f"plane k={k} draw {draw}", _uniform(300, 2, k, draw), seconds, group=f"plane k={k}", limit=120.0)
            for draw in range(DRAWS)
        ]
    found += [
        Goal("digits 500 k=10", _of(load_digits, 10, count=500), 12.0),
        Goal("breast cancer standardised k=2", _of(load_breast_cancer, 2, standardize=True), 5.0),
        Goal("breast cancer standardised k=5", _of(load_breast_cancer, 5, standardize=True), 5.0),
        Goal("diabetes k=5", _of(load_diabetes, 5), 60.0, limit=120.0),
        Goal("pulsar 600 k=2", _pulsar(600), 5.0, needs_data=True),
        Goal("pulsar 995 k=2", _pulsar(995), 30.0, needs_data=True, limit=180.0),
        Goal("pulsar standardised 995 k=2", _pulsar(995, standardize=True), 30.0, needs_data=True, limit=240.0),
        Goal("blobs 2000 separated", lambda _: blobs(1.0, 2000), 8.0, jobs=2, limit=300.0),
        Goal("blobs 2000 overlapping", lambda _: blobs(8.0, 2000), 20.0, jobs=2, limit=300.0),
        Goal("blobs 4000 overlapping", lambda _: blobs(8.0, 4000), 400.0, jobs=2, limit=1800.0),
        Goal("uniform n=200 d=5 k=5", _uniform(200, 5, 5, 0), 60.0, gap=0.005, jobs=2, limit=60.0),
        Goal("normal n=300 d=5 k=5", _normal(300, 5, 5, 0), 60.0, gap=0.006, jobs=2, limit=60.0),
    ]
    return found


def blobs(spread: float, size: int) -> Instance:
    """Draw four blobs in seven dimensions and n/4 links of each kind from their labels.

    With a spread of 1 they are far apart; with 8 they overlap, so that links contradict what the distances say.
    """
    random = np.random.default_rng([0, size])
    centres = 6 * random.normal(size=(4, 7))
    labels = random.integers(0, 4, size=size)
    points = centres[labels] + spread * random.normal(size=(size, 7))
    return Instance(points, 4, generate_constraints(labels.astype(str).tolist(), size // 4, size // 4, seed=0))


def _of(
    load: Callable[[], object], k: int, *, count: int | None = None, standardize: bool = False
) -> Callable[[Path | None], Instance]:
    return lambda _: Instance.create(load().data[:count], k, standardize=standardize)  # type: ignore[attr-defined]


def _uniform(size: int, dimension: int, k: int, draw: int) -> Callable[[Path | None], Instance]:
    return lambda _: Instance.create(np.random.default_rng([draw, size]).uniform(size=(size, dimension)), k)


def _normal(size: int, dimension: int, k: int, draw: int) -> Callable[[Path | None], Instance]:
    return lambda _: Instance.create(np.random.default_rng([draw, size]).normal(size=(size, dimension)), k)


def _pulsar(count: int, *, standardize: bool = False) -> Callable[[Path | None], Instance]:
    """Return the first points of a random order that does not depend on how many are taken."""

    def build(data: Path | None) -> Instance:
        if data is None:
            raise ValueError("the pulsar data are in the folder of data: --data DATA")
        points = read_points(data / "large" / "Pulsar.txt").values
        order = np.random.default_rng(0).permutation(len(points))
        return Instance.create(points[order[:count]], 2, standardize=standardize)

    return build


def solve_one(goal: Goal, data: Path | None, *, with_proof: bool) -> dict[str, object]:
    """Solve one instance in this process, whose processor time is then its own."""
    instance = goal.build(data)
    prepare(instance)
    solve_instance(blobs(8.0, 60), Limits(nodes=3), n_jobs=1)  # what is compiled is loaded
    before = _processor_seconds()
    result = solve_instance(instance, Limits(seconds=goal.limit, gap=GAP), n_jobs=goal.jobs)
    spent = _processor_seconds() - before
    in_time = result.seconds <= goal.seconds or goal.gap > GAP  # such instances are stopped at their time
    row: dict[str, object] = goal.asked() | {
        "size": result.size,
        "k": instance.n_clusters,
        "status": str(result.status),
        "gap %": fixed_percent_up(result.gap),
        "nodes": result.nodes,
        "root gap %": fixed_percent_up(result.root_gap),
        "seconds": f"{result.seconds:.2f}",
        "processor s": f"{spent:.2f}",
        "reached": "yes" if in_time and result.gap <= goal.gap else "no",
    }
    row |= where_and_when()
    if with_proof:
        with tempfile.TemporaryDirectory() as folder:
            result.save(folder, report=False)
            verified = verify(Path(folder)).gap
        if not verified <= max(result.gap, GAP) * (1 + 1e-6):
            row["status"] = f"verified only {percent_up(verified)}"
    return row


def _processor_seconds() -> float:
    """Return the processor time of this process and of those of its children that have ended."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def read_rows(path: Path) -> dict[str, dict[str, str]]:
    """Return the rows of earlier runs by the name of their instance; none if there was no run."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["instance"]: row for row in csv.DictReader(file)}


def write_csv(path: Path, rows: list[dict[str, str]]) -> None:
    """Write all rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def body(rows: list[dict[str, str]]) -> str:
    """Return the table of all instances, and that of groups judged by their median."""
    shown = [column for column in COLUMNS if column not in {"group", "environment"}]
    text = markdown_table(shown, [[row.get(column, "") for column in shown] for row in rows])
    groups = sorted({row["group"] for row in rows} - {""})
    medians = []
    for group in groups:
        members = [row for row in rows if row["group"] == group]
        times = [float(row["seconds"]) if row["status"] == "optimal" else float("inf") for row in members]
        middle = median(times)
        written = f"{middle:.2f}" if np.isfinite(middle) else "not closed"
        goal = float(members[0]["to reach s"])
        medians.append((group, len(members), written, f"{goal:g}", "yes" if middle <= goal else "no"))
    if medians:
        header = ("group", "instances", "median of seconds", "to reach", "reached")
        text += f"\n\nGroups by their medians:\n\n{markdown_table(header, medians)}"
    iris = [row["seconds"] for row in rows if row["instance"].startswith("iris ")]
    if iris and all(iris):
        text += f"\n\nAll of iris together: {sum(map(float, iris)):.1f} s."
    return text


def main() -> None:
    """Solve what was asked for, and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("patterns", nargs="*", default=["*"], help="names of instances, with wildcards")
    parser.add_argument("--data", type=Path, help="folder with large/Pulsar.txt")
    parser.add_argument("--verify", action="store_true", help="write each certificate and verify it")
    parser.add_argument("--list", action="store_true", help="show the names and end")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = {goal.name: goal for goal in goals()}
    if options.only is not None:
        print(json.dumps(solve_one(known[options.only], options.data, with_proof=options.verify)))
        return
    chosen = [goal for goal in known.values() if any(fnmatch(goal.name, pattern) for pattern in options.patterns)]
    if options.list:
        print("\n".join(goal.name for goal in chosen))
        return
    path = RESULTS / "frontier.csv"
    for goal in chosen:
        if goal.needs_data and options.data is None:
            print(f"{goal.name}: left out, needs --data")
            continue
        arguments = ["--only", goal.name, *(["--verify"] if options.verify else [])]
        arguments += ["--data", str(options.data)] if options.data is not None else []
        row = run_apart("benchmarks.suite.frontier", arguments, goal.asked() | where_and_when())
        rows = read_rows(path)
        rows[goal.name] = {column: str(row.get(column, "")) for column in COLUMNS}
        write_csv(path, [rows[name] for name in known if name in rows])
    rows_of_all = list(read_rows(path).values())
    measured = environments((row.get("date", ""), row.get("environment", "")) for row in rows_of_all)
    title, command = "The frontier: instances at the edge", "python -m benchmarks.suite.frontier --data DATA"
    command += " --verify" if options.verify else ""
    write_result("frontier", title, body(rows_of_all), command=command, measured_with=measured)
    tried = [row for row in rows_of_all if row["instance"] in {goal.name for goal in chosen}]
    sys.exit(any(row["status"].startswith(("failed", "verified only")) for row in tried))


if __name__ == "__main__":
    main()
