"""Run the long reliability tests and record what was tried and what went wrong.

Usage: ``python -m benchmarks.reliability.run [--only NAME ..] [--seeds A:B] [--share 0.1] [--jobs 2]``.

Every check takes seeds. Blocks of seeds that are done are kept in ``benchmarks/results/reliability.jsonl``, or in the
file that ``--records`` names, and not tried again: a run may be killed at any time (with SIGKILL; the solver listens
to other signals itself), and the next one goes on. ``--seeds`` tries some again, or adds to them. The table is made
from the records at the end of each run, or with ``--table`` alone.

Only records of the sources in use count: a run drops those of other sources of its checks from the file, unless
something was wrong in them, and the table only lists what that was. With ``--keep`` they stay and count. The exit code
is 1 if anything is wrong in a record that counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from benchmarks.record import RESULTS
from benchmarks.reliability import answers, certificates, checkpoints, faults, kills, parts, regions
from benchmarks.reliability.outcome import Outcome
from benchmarks.reliability.records import (
    Record,
    append,
    compact,
    drop_others,
    latest,
    missing,
    of_sources,
    read,
    sources,
)
from benchmarks.reliability.table import write_table


@dataclass(frozen=True)
class Check:
    """A check: what it does with seeds, how many are wanted, and how many are recorded at a time.

    Attributes
    ----------
    is_timed
        Whether clocks decide; then nothing runs beside it.
    """

    run: Callable[[range], Outcome]
    title: str
    wanted: int
    block: int
    is_timed: bool = False

    @property
    def name(self) -> str:
        """The name by which it is called."""
        return self.run.__name__


CHECKS = (
    Check(answers.brute_force, "enumerated instances, each certificate verified", 70_000, 500),
    Check(answers.extreme_magnitudes, "the same with magnitudes from 1e-300 to 1e300", 10_000, 250),
    Check(answers.cluster_sizes, "the same with limits on sizes", 10_000, 250),
    Check(parts.by_parts, "the same by parts", 10_000, 100),
    Check(regions.by_regions, "the same with points in regions far from each other", 10_000, 250),
    Check(certificates.mutated_certificates, "mutated certificates, what is accepted against enumeration", 1_000, 10),
    Check(certificates.tampering, "tampered certificates, by name", 12, 3),
    Check(answers.garbage_multipliers, "garbage multipliers", 10_000, 1_000),
    Check(answers.metamorphic, "metamorphic variants", 1_000, 50),
    Check(answers.hostile_files, "damaged files, each by three readers", 20_000, 5_000),
    Check(checkpoints.edited_checkpoints, "edited checkpoints", 300, 50),
    Check(checkpoints.failing_writes, "writes that fail as on a full disk, then resume", 20, 2),
    Check(checkpoints.full_disks, "full disks, then resume", 100, 10),
    Check(kills.killed_solver, "kill -9 of the solver, then resume", 110, 5),
    Check(kills.killed_local_workers, "kill -9 of a local worker", 120, 2),
    Check(kills.killed_dask_workers, "kill -9 of a Dask worker", 80, 2),
    Check(faults.interrupted, "Ctrl-C and SIGTERM", 40, 10, is_timed=True),
    Check(faults.time_limits, "time limits kept", 40, 10, is_timed=True),
    Check(faults.nothing_left_behind, "memory, processes, threads and files released", 1, 1, is_timed=True),
)


def do(name: str, seeds: range) -> Record:
    """Run a block of a check."""
    sources()  # what runs is what this process has loaded now
    check = next(check for check in CHECKS if check.name == name)
    began = time.perf_counter()
    outcome = check.run(seeds)
    return Record.of(name, seeds, outcome, time.perf_counter() - began)


def do_all(blocks: list[tuple[str, range]], n_jobs: int) -> Iterator[Record]:
    """Run blocks in this process, or in several that each start afresh."""
    if n_jobs == 1:
        for name, seeds in blocks:
            yield do(name, seeds)
        return
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(do, *zip(*blocks, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[check.name for check in CHECKS])
    parser.add_argument("--seeds", type=seeds_of, metavar="A:B", help="try these, even if they were tried before")
    parser.add_argument("--share", type=float, default=1.0, help="share of the wanted number of seeds")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--records", type=Path, default=RESULTS / "reliability.jsonl", metavar="FILE")
    parser.add_argument("--keep", action="store_true", help="records of other sources count")
    parser.add_argument("--table", action="store_true", help="only make the table")
    parser.add_argument(
        "--compact", action="store_true", help="join records of neighbouring blocks, and make the table"
    )
    options = parser.parse_args(arguments)
    in_use = None if options.keep else sources()
    if options.compact:
        compact(options.records)
    chosen = [check for check in CHECKS if not options.only or check.name in options.only]
    if options.table or options.compact:
        chosen = []
    if in_use is not None:
        dropped = drop_others(options.records, {check.name for check in chosen}, in_use)
        if dropped:
            seen = ", ".join(dict.fromkeys(record.commit for record in dropped))
            print(f"dropped {len(dropped)} records of other sources ({seen}); now it is {in_use}", flush=True)
    for check in chosen:
        wanted = options.seeds or range(max(1, round(check.wanted * options.share)))
        known = [] if options.seeds else of_sources(read(options.records), in_use)
        blocks = [(check.name, seeds) for seeds in missing(known, check.name, wanted, check.block)]
        for record in do_all(blocks, 1 if check.is_timed else options.jobs) if blocks else ():
            append(options.records, record)
            print(
                f"{record.check} {record.first}:{record.last + 1}: {record.tried} tried, {len(record.wrong)} wrong, "
                f"{record.seconds:.0f} s",
                flush=True,
            )
    everything = read(options.records)
    counting = of_sources(everything, in_use)
    titles = [(check.name, check.title, check.wanted) for check in CHECKS]
    write_table(counting, everything, options.records.with_suffix(".md"), titles)
    wrong = [f"{record.check}: {what}" for record in latest(counting) for what in record.wrong]
    for what in wrong:
        print(f"wrong: {what}")
    return int(bool(wrong))


def seeds_of(text: str) -> range:
    """Read A:B, from A up to but not including B."""
    first, _, end = text.partition(":")
    return range(int(first), int(end))


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
