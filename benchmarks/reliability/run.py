"""Run the long reliability tests and record what was tried and what went wrong.

Usage: ``python -m benchmarks.reliability.run [--share 0.1]``; a share of 1 takes about half an hour.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.record import markdown_table, write_result
from benchmarks.reliability import answers, certificates, checkpoints, faults, sizes

CHECKS = (
    (answers.brute_force, 5000),
    (sizes.cluster_sizes, 2000),
    (answers.garbage_multipliers, 2000),
    (answers.metamorphic, 200),
    (answers.hostile_files, 20_000),
    (certificates.tampering, 12),
    (faults.killed_local_workers, 20),
    (faults.killed_dask_workers, 10),
    (faults.killed_solver, 10),
    (faults.interrupted, 20),
    (faults.time_limits, 24),
    (faults.nothing_left_behind, 20),
    (checkpoints.edited_checkpoints, 300),
    (checkpoints.full_disks, 20),
)


def main() -> None:
    """Run everything and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=1.0, help="share of the full number of tries")
    parser.add_argument("--only", nargs="+", help="names of the tests to run; nothing is recorded then")
    options = parser.parse_args()
    rows = []
    for check, count in CHECKS:
        if options.only and check.__name__ not in options.only:
            continue
        began = time.perf_counter()
        outcome = check(max(1, round(count * options.share)))
        seconds = time.perf_counter() - began
        rows.append((outcome.name, outcome.tried, len(outcome.failures), f"{seconds:.0f}", outcome.note))
        print(*rows[-1], flush=True)
    if options.only:
        return
    body = markdown_table(("what", "tried", "wrong", "seconds", "note"), rows) + "\n\n" + certificates.mutation_table()
    write_result("reliability", "Reliability: what was tried, and what went wrong", body)


if __name__ == "__main__":
    main()
