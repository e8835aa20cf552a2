"""Solve large instances and see how far the solver goes.

Usage: ``python -m benchmarks.suite.large [--sizes 2000 4000] [--kinds separated overlapping] [--time-limit S]``. Blobs
in seven dimensions, four clusters, with n/4 must-links and n/4 cannot-links drawn from the blobs' own labels; separated
ones are far apart, overlapping ones are not, so that links contradict what the distances say. Each instance is solved
in a process of its own, so that the memory is its own; its certificate is written and verified.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.record import run_apart, write_rows
from certimeans.certificate.check import verify
from certimeans.problem.generate import generate_constraints
from certimeans.problem.instance import Instance
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance

DIMENSION, CLUSTERS = 7, 4
SPREAD = {"separated": 1.0, "overlapping": 8.0}


def blobs(kind: str, size: int, seed: int = 0) -> Instance:
    """Draw blobs around centres whose coordinates have standard deviation 6, and links from their labels."""
    random = np.random.default_rng([seed, size])
    centres = 6 * random.normal(size=(CLUSTERS, DIMENSION))
    labels = random.integers(0, CLUSTERS, size=size)
    points = centres[labels] + SPREAD[kind] * random.normal(size=(size, DIMENSION))
    links = generate_constraints([str(label) for label in labels], size // 4, size // 4, seed=seed)
    return Instance(points, CLUSTERS, links)


def solve_one(kind: str, size: int, seconds: float, jobs: int) -> dict[str, object]:
    """Solve and verify one instance; runs in a process of its own."""
    solve_instance(blobs(kind, 60), Limits(nodes=1))  # compile
    result = solve_instance(blobs(kind, size), Limits(seconds=seconds), n_jobs=jobs)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    with tempfile.TemporaryDirectory() as folder:
        result.save(folder, report=False)
        megabytes = (Path(folder) / "certificate.npz").stat().st_size / 2**20
        began = time.perf_counter()
        verification = verify(Path(folder))
    return {
        "blobs": kind,
        "n": size,
        "size": result.size,
        "status": str(result.status),
        "gap %": f"{100 * result.gap:.4f}",
        "nodes": result.nodes,
        "seconds": f"{result.seconds:.0f}",
        "memory GB": f"{memory:.2f}",
        "certificate MB": f"{megabytes:.1f}",
        "verified gap %": f"{100 * verification.gap:.4f}",
        "verified in s": f"{time.perf_counter() - began:.0f}",
    }


def main() -> None:
    """Solve all and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000])
    parser.add_argument("--kinds", nargs="+", default=list(SPREAD), choices=list(SPREAD))
    parser.add_argument("--time-limit", type=float, default=900.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only is not None:
        kind, size = options.only
        print(json.dumps(solve_one(kind, int(size), options.time_limit, options.jobs)))
        return
    rows = []
    for size in options.sizes:
        for kind in options.kinds:
            limits = ["--time-limit", str(options.time_limit), "--jobs", str(options.jobs)]
            arguments = ["--only", kind, str(size), *limits]
            rows.append(run_apart("benchmarks.suite.large", arguments, {"blobs": kind, "n": size}))
    write_rows("large", "Large instances with n/4 must-links and n/4 cannot-links", rows)


if __name__ == "__main__":
    main()
