"""The paper's instances: ``python -m benchmarks.suite.paper DATA [--datasets NAME ...] [--jobs 2] [--work FOLDER]``.

Runs ``certimeans bench DATA --jobs 2 --verify`` and turns what it writes into ``paper.md``, ``paper.csv``, the pictures
of the documentation, and ``paper.json``, which says with what each run was made. With ``--work`` an interrupted run
goes on from its rows.

With ``--other CHECKOUT`` the sources of another version solve (``git worktree add CHECKOUT COMMIT``), and only
``paper_other.csv`` and ``paper_other.json`` are written: ``benchmarks.suite.compare`` puts the two side by side.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.record import PICTURES, RESULTS
from certimeans.bench.plots import draw_plots
from certimeans.bench.rows import ResultsFile
from certimeans.bench.summary import report

_ENDED = (0, 1)
"""Exit codes of ``certimeans bench`` when every instance was tried: all solved, or some stopped at a limit."""


def solve_all(options: argparse.Namespace, work: Path) -> str:
    """Run the benchmark into a folder; return its command as a reader would type it.

    Raises
    ------
    SystemExit
        If it failed or was interrupted.
    """
    chosen = ["--datasets", *options.datasets] if options.datasets else []
    chosen += ["--jobs", str(options.jobs), "--verify"]
    sources = {} if options.other is None else {"PYTHONPATH": str(options.other.resolve() / "src")}
    command = [sys.executable, "-m", "certimeans", "bench", str(options.data), *chosen, "--out", str(work)]
    done = subprocess.run(command, check=False, env={**os.environ, **sources})
    if done.returncode not in _ENDED:
        raise SystemExit(done.returncode)
    return " ".join(["certimeans bench DATA", *chosen])


def write_all(work: Path, command: str) -> None:
    """Write table, rows, pictures and environment."""
    rows = ResultsFile(work / "results.csv").read()
    text = report(rows, "The paper's instances on two cores", command, measured_with(work / "environment.json"))
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "paper.md").write_text(text, encoding="utf-8")
    copy_rows(work, "paper")
    PICTURES.mkdir(parents=True, exist_ok=True)
    for path in draw_plots(rows, work):
        if path.suffix == ".png":
            shutil.copyfile(path, PICTURES / f"paper_{path.name}")


def copy_rows(work: Path, name: str) -> None:
    """Keep the rows, and with what they were made."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(work / "results.csv", RESULTS / f"{name}.csv")
    shutil.copyfile(work / "environment.json", RESULTS / f"{name}.json")


def measured_with(environment: Path) -> str:
    """Say in a sentence with what the benchmark was run; each run of one that was interrupted, if they differ."""
    said: dict[str, str] = {}
    for run in json.loads(environment.read_text(encoding="utf-8"))["runs"]:
        libraries = ", ".join(f"{name} {version}" for name, version in run["libraries"].items())
        program = f"certimeans {run['certimeans']} (commit {run['commit']}), Python {run['python']}, {libraries}"
        settings = " ".join(f"{name}={'none' if value is None else value}" for name, value in run["settings"].items())
        said[f"{program}; {run['processor']}, {run['cores']} cores; {settings}"] = run["date"].split("T")[0]
    return "\n\n".join(f"{date}, {line}." for line, date in said.items())


def main() -> None:
    """Solve and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="datasets/, constraints/ and published.csv")
    parser.add_argument("--datasets", nargs="+", help="only these data sets")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--work", type=Path, help="keep the rows there, and go on from them")
    parser.add_argument("--other", type=Path, help="a checkout of another version, which solves instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        command = solve_all(options, work)
        if options.other is None:
            write_all(work, command)
        else:
            copy_rows(work, "paper_other")


if __name__ == "__main__":
    main()
