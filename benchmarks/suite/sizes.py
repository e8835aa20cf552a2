"""Cluster sizes: data sets with the sizes of their classes, with and without links.

    python -m benchmarks.suite.sizes DATA [--names iris,wine] [--time-limit 60] [--jobs 2]

DATA has ``datasets/NAME.txt``, ``labels/NAME.txt`` and ``constraints/NAME/ml_A_cl_B_0.txt``, and ``ucr/NAME.txt`` with
``ucr/NAME.labels.txt``. The table says which problems were proven within the gap of 1e-4; every certificate is
re-proven. Left out is gene16, whose 801 points in classes of very unequal sizes take too long. Balanced sizes against
k-means-constrained are in ``benchmarks.suite.packages``.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

import numpy as np

from benchmarks.record import markdown_table, write_result
from certimeans import solve, verify
from certimeans.errors import CertimeansError
from certimeans.printing import scientific_up, text_up
from certimeans.problem.io.files import read_constraints, read_labels, read_points
from certimeans.warmup import prepare as compile_everything


def read(data: Path, name: str) -> tuple[np.ndarray[Any, Any], list[int]]:
    """Return the points of a data set and the sizes of its classes."""
    points, labels = data / "datasets" / f"{name}.txt", data / "labels" / f"{name}.txt"
    if not points.exists():
        points, labels = data / "ucr" / f"{name}.txt", data / "ucr" / f"{name}.labels.txt"
    classes = read_labels(labels)
    return read_points(points).values, sorted(np.unique(classes, return_counts=True)[1].tolist())


def link_files(data: Path, name: str) -> list[Path | None]:
    """Return no links, and the first sets with the smaller numbers of pairs."""
    files = list((data / "constraints" / name).glob("ml_*_cl_*_0.txt"))
    counts = {file: [int(number) for number in re.findall(r"\d+", file.stem)[:2]] for file in files}
    smallest = min((sum(count) for count in counts.values()), default=0)
    return [None, *sorted(file for file, count in counts.items() if sum(count) <= smallest)]


def solved(data: Path, name: str, links: Path | None, options: argparse.Namespace) -> dict[str, Any]:
    """Solve and verify one problem; return a row of the table."""
    points, sizes = read(data, name)
    stated = None if links is None else read_constraints(links, n_points=len(points))
    pairs: dict[str, Any] = {} if stated is None else {"must_link": stated.must_link, "cannot_link": stated.cannot_link}
    limits: dict[str, Any] = {"time_limit": options.time_limit, "n_jobs": options.jobs}
    before = _cpu_seconds()
    result = solve(points, len(sizes), sizes=sizes, **pairs, **limits)
    cpu_seconds = _cpu_seconds() - before
    proof = "no clustering"
    if result.labels is not None:
        with tempfile.TemporaryDirectory() as folder:
            result.save(Path(folder) / "out", report=False)
            try:
                verify(Path(folder) / "out", gap=None if result.status != "optimal" else 1e-4)
                proof = "verified"
            except CertimeansError as error:
                proof = str(error)
    return {
        "data": name,
        "links": "none" if links is None else links.stem,
        "n": len(points),
        "sizes": "/".join(map(str, sizes)),
        "status": str(result.status),
        "objective": text_up(result.objective),
        "gap": _gap(result.gap),
        "root gap": _gap(result.root_gap),
        "nodes": result.nodes,
        "seconds": f"{result.seconds:.2f}",
        "CPU s": f"{cpu_seconds:.2f}",
        "certificate": proof,
    }


def _gap(gap: float) -> str:
    return scientific_up(gap) if math.isfinite(gap) else "unknown"


def summary(rows: list[dict[str, Any]], time_limit: float) -> str:
    """Say how many are solved, and which are not."""
    left = [f"{row['data']} ({row['links']}; {row['gap']})" for row in rows if row["status"] != "optimal"]
    text = f"{len(rows) - len(left)} of {len(rows)} solved to a gap of 1e-4 within {time_limit:g} s each."
    return f"{text} Not solved, with the gap that is proven: {', '.join(left)}." if left else text


def _cpu_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def main() -> None:
    """Run and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path)
    parser.add_argument("--names", help="data sets, separated by commas (default: all)")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    known = sorted(path.stem for path in (options.data / "labels").glob("*.txt") if path.stem != "gene16")
    known += sorted(path.name.split(".")[0] for path in (options.data / "ucr").glob("*.labels.txt"))
    names = options.names.split(",") if options.names else known
    rows = []
    compile_everything()  # before the clocks
    for name in names:
        for links in link_files(options.data, name):
            rows.append(solved(options.data, name, links, options))
            print(rows[-1], flush=True)
    header = list(rows[0])
    table = markdown_table(header, [[row[column] for column in header] for row in rows])
    body = f"{summary(rows, options.time_limit)}\n\n{table}"
    write_result("sizes", "Data sets with the sizes of their classes", body)
    sys.exit(any(row["certificate"] not in {"verified", "no clustering"} for row in rows))


if __name__ == "__main__":
    main()
