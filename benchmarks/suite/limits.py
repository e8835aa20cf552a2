"""Whether limits are kept at any size: time limits, Ctrl-C, memory, and a bound from the first second.

Usage: ``python -m benchmarks.suite.limits [--sizes 2000 20000 200000 1000000] [--seconds 10] [--jobs 1 2]``. Blobs in
ten dimensions, five clusters, with n/4 must-links and n/4 cannot-links drawn from their labels, and the same without
links. Each run is a process of its own; the time is that of the solve, measured around it: reading does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sys
import threading
import time

import numpy as np

from benchmarks.record import run_apart, write_rows
from certimeans import Constraints, Instance, Limits, Progress, generate_constraints, solve_instance
from certimeans.printing import fixed_percent_up

DIMENSION, CLUSTERS, SPREAD = 10, 5, 2.5


def blobs(size: int, *, linked: bool, seed: int = 0) -> Instance:
    """Draw overlapping blobs, and links from their labels."""
    random = np.random.default_rng([seed, size])
    centres = 3 * random.normal(size=(CLUSTERS, DIMENSION))
    labels = random.integers(0, CLUSTERS, size=size)
    points = centres[labels] + SPREAD * random.normal(size=(size, DIMENSION))
    count = size // 4 if linked else 0
    links = generate_constraints(labels.astype(str).tolist(), count, count, seed=seed) if linked else Constraints()
    return Instance(points, CLUSTERS, links)


def solve_one(size: int, seconds: float, jobs: int, *, linked: bool, interrupt: bool) -> dict[str, object]:
    """Solve with a time limit, or with a Ctrl-C after as many seconds; runs in a process of its own."""
    solve_instance(blobs(60, linked=linked), Limits(nodes=1), n_jobs=jobs)  # compile
    instance = blobs(size, linked=linked)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    first_bound: list[float] = []

    def watch(progress: Progress) -> None:
        if progress.lower_bound > 0 and not first_bound:
            first_bound.append(progress.seconds)

    if interrupt:
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        timer.daemon = True  # a solve that ends by itself must not be followed by a Ctrl-C
        timer.start()
    began = time.perf_counter()
    limits = Limits(seconds=None if interrupt else seconds)
    result = solve_instance(instance, limits, n_jobs=jobs, callback=watch)
    taken = time.perf_counter() - began
    return {
        "n": f"{size:,}",
        "links": "n/4 + n/4" if linked else "none",
        "jobs": jobs,
        "end": f"Ctrl-C after {seconds:g} s" if interrupt else f"limit {seconds:g} s",
        "took s": f"{taken:.2f}",
        "late s": f"{max(0.0, taken - seconds):.2f}",
        "status": str(result.status),
        "first bound s": f"{first_bound[0]:.2f}" if first_bound else "none",
        "gap %": fixed_percent_up(result.gap, 3),
        "memory GB": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} ({before:.2f} before)",
    }


def main() -> None:
    """Run all and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 20_000, 200_000, 1_000_000])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only is not None:
        print(json.dumps(solve_one(**json.loads(options.only))))
        return
    rows = []
    for size in options.sizes:
        for linked in (False, True):
            for jobs in options.jobs:
                for interrupt in (False, True):
                    task = {"size": size, "seconds": options.seconds, "jobs": jobs, "linked": linked}
                    argument = json.dumps({**task, "interrupt": interrupt})
                    what = {"n": size, "jobs": jobs}
                    rows.append(run_apart("benchmarks.suite.limits", ["--only", argument], what))
    write_rows("limits", "Limits kept at any size", rows)
    sys.exit(any(str(row["status"]).startswith("failed") for row in rows))


if __name__ == "__main__":
    main()
