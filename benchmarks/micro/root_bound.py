"""The root's lower bound: time and gap of the cutting-plane loop with the upper bound given, on one thread.

Usage: ``python -m benchmarks.micro.root_bound DATA [--large]``; ``--large`` adds synthetic data of 2,000 points.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from benchmarks.record import markdown_table, write_result
from benchmarks.suite.instances import load_case
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings, RelaxationOutcome, bound_by_cutting_planes
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.deadline import Deadline
from certimeans.presolve.reduce import presolve
from certimeans.printing import fixed_percent_up
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from certimeans.status import relative_gap

# Instance, and the time that it may take in seconds.
GOALS = {
    "iris 0 50 1": 2,
    "seeds 0 100 0": 2,
    "wine 0 100 2": 2,
    "glass 0 50 0": 2,
    "ecoli 0 100 1": 5,
    "computers 0 150 0": 6,
    "ECG5000 0 150 1": 10,
    "accent 75 75 0": 5,
}
GAP = 1e-4


def instances(data: Path, *, large: bool) -> Iterator[tuple[str, Instance, float, float]]:
    """Yield name, instance, upper bound and time allowed."""
    for name, seconds in GOALS.items():
        paper = load_case(data, name)
        assert paper.published is not None  # noqa: S101  # these are all in the paper
        yield name, paper.instance, paper.published.cost, seconds
    if large:
        points, classes = make_blobs(2000, 7, centers=4, cluster_std=1.0, random_state=0)
        instance = Instance.create(points, 4)
        # The blobs are so far apart that their classes are the optimum; the bound proves it.
        yield "4 blobs, n = 2000, d = 7", instance, Clustering.from_labels(instance, classes).cost, 300


def shares(outcome: RelaxationOutcome) -> str:
    """Say where the time went, in percent: spectral, polyhedral, separation, bound."""
    total = sum(r.seconds for r in outcome.rounds)
    parts = ("spectral_seconds", "polyhedral_seconds", "separation_seconds", "bound_seconds")
    return " / ".join(f"{100 * sum(getattr(r, part) for r in outcome.rounds) / total:.0f}" for part in parts)


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        warm_up = Relaxation.from_super_points(
            presolve(Instance.create(np.random.default_rng(0).random((70, 2)), 3)).super_points
        )
        bound_by_cutting_planes(warm_up, np.inf, settings=CuttingPlaneSettings(max_rounds=3))
        for name, instance, upper_bound, allowed in instances(options.data, large=options.large):
            start = time.perf_counter()
            relaxation = Relaxation.from_super_points(presolve(instance).super_points)
            target = instance.scaled.scale.target(upper_bound * (1 - GAP))
            outcome = bound_by_cutting_planes(relaxation, target, deadline=Deadline(4 * allowed))
            seconds = time.perf_counter() - start
            gap = relative_gap(upper_bound, instance.scaled.scale.to_user(outcome.safe_lower_bound))
            iterations = sum(r.iterations for r in outcome.rounds)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            rows.append(
                (
                    name,
                    relaxation.size,
                    outcome.reason.name.lower(),
                    fixed_percent_up(gap),
                    f"{seconds:.2f}",
                    allowed,
                    len(outcome.rounds),
                    iterations,
                    len(outcome.best.cuts),
                    shares(outcome),
                    f"{memory:.2f}",
                )
            )
    header = (
        "instance", "s", "end", "gap, %", "time, s", "allowed", "rounds", "iterations", "cuts",
        "% spectral / polyhedral / separation / bound", "peak memory, GB",
    )  # fmt: skip
    write_result(
        "root_bound", "The root's lower bound, upper bound given, gap 1e-4, one thread", markdown_table(header, rows)
    )


if __name__ == "__main__":
    main()
