"""Compare the sizes of presolved problems with those in the paper.

Usage: ``python -m benchmarks.suite.root_sizes DATA``
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.record import markdown_table, write_result
from benchmarks.suite.instances import NOT_COMPARABLE, load_cases
from certimeans.presolve.reduce import presolve


def main() -> None:
    """Presolve every instance and record how the sizes compare."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    seconds = []
    for paper in load_cases(Path(sys.argv[1])):
        start = time.perf_counter()
        size = presolve(paper.instance).super_points.size
        seconds.append(time.perf_counter() - start)
        if paper.published is None:
            continue
        kind = "ML only" if paper.cannot_links == 0 else "CL only" if paper.must_links == 0 else "both"
        row = counts[paper.dataset, kind]
        row[0] += 1
        row[1] += size == paper.published.size
        row[2] += size < paper.published.size
        row[3] += size > paper.published.size
        row[4] += paper.published.size - size
    rows = [
        (f"{dataset}*" if dataset in NOT_COMPARABLE else dataset, kind, *row) for (dataset, kind), row in counts.items()
    ]
    header = ("data set", "constraints", "instances", "equal", "smaller", "larger", "super-points saved")
    body = markdown_table(header, rows)
    body += "\n\n\\* the paper's constraint files for this data set are not the published ones."
    body += f"\n\nPresolve of {len(seconds)} instances: {sum(seconds):.2f} s in all, {max(seconds):.3f} s at most."
    write_result("root_sizes", "Size of the presolved problem against the paper's", body)


if __name__ == "__main__":
    main()
