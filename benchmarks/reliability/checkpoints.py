"""Checkpoints that are edited, and disks that fill up: what the search says must stay true."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.reliability.outcome import Outcome, error_of
from certimeans import InputError, SolveResult, solve
from certimeans.certificate.check import verify
from certimeans.problem.io import atomic
from certimeans.search import checkpointer
from tests.search.test_resume import edit_arrays, edit_json, run

_PARTS = 16  # points in each, of runs by parts
_PROGRAM = "from benchmarks.reliability.checkpoints import print_real_disks; print_real_disks()"
_known: dict[bool, SolveResult] = {}


def edited_checkpoints(seeds: range) -> Outcome:
    """Change numbers, statuses and proofs of a checkpoint and sign it again; no claim may be false."""
    outcome = Outcome()
    best = _undisturbed(is_by_parts=False)
    with tempfile.TemporaryDirectory() as folder:
        for nodes in (4, 12, None):
            run(Path(folder) / f"saved{nodes}", nodes=nodes)
        for seed in seeds:
            copy = Path(folder) / "copy"
            shutil.copytree(Path(folder) / f"saved{(4, 12, None)[seed % 3]}", copy)
            (copy / "checkpoint.previous.json").unlink(missing_ok=True)
            (edit_json if seed % 2 else edit_arrays)(copy, np.random.default_rng([8, seed]))
            try:
                result = run(copy, nodes=None if seed % 4 else 1)
            except InputError:
                outcome.counts["refused as damaged"] += 1
                outcome.count(right=True, what="refused")
            else:
                is_true = result.lower_bound <= best.objective and result.root_lower_bound <= best.objective
                is_right = result.status != "optimal" or result.objective <= best.objective * (1 + 1e-4)
                outcome.count(is_true and is_right, f"seed {seed}: {result.status} {result.lower_bound}")
            shutil.rmtree(copy)
    return outcome


def failing_writes(seeds: range) -> Outcome:
    """Let every write fail from a random one on, for a random number of writes; then go on from what is there."""
    outcome = Outcome()
    write = atomic._replace
    for seed in seeds:
        random = np.random.default_rng([9, seed])
        first, last = sorted(random.integers(0, 60, 2))
        writes = 0

        def write_or_fail(target: Path, data: bytes, first: int = first, last: int = last) -> None:
            nonlocal writes
            writes += 1
            if first <= writes <= last:
                raise OSError(errno.ENOSPC, "No space left on device")
            write(target, data)

        with tempfile.TemporaryDirectory() as folder:
            with (
                mock.patch.object(atomic, "_replace", write_or_fail),
                mock.patch.object(checkpointer, "SECONDS_BETWEEN_SAVES", 0.0),
            ):
                stopped = run(Path(folder), nodes=int(random.integers(2, 20)))
            wrong = _wrong(stopped, is_by_parts=False, is_done=False)
            wrong = wrong or _wrong(run(Path(folder)), is_by_parts=False)
            outcome.count(not wrong, f"seed {seed}: {wrong}")
    return outcome


def full_disks(seeds: range) -> Outcome:
    """Solve with the checkpoint on a disk of a few kilobytes, save the result there, make the disk larger, and go on.

    Every other run is by parts. Needs ``unshare``, which makes a place for mounts that only one process sees.
    """
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", sys.executable, "-c", _PROGRAM, f"{seeds.start}:{seeds.stop}"],  # noqa: S607
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    return Outcome(found["tried"], found["failures"], Counter(found["counts"]), found["worst"])


def print_real_disks() -> None:
    """Do what :func:`full_disks` says where mounts are allowed, and print the outcome."""
    first, _, end = sys.argv[1].partition(":")
    outcome = Outcome()
    for seed in range(int(first), int(end)):
        wrong = _on_a_small_disk(outcome, seed)
        outcome.count(not wrong, f"seed {seed}: {wrong}")
    sys.stdout.write("\n" + json.dumps(vars(outcome)) + "\n")


def _on_a_small_disk(outcome: Outcome, seed: int) -> str:
    """Say what is wrong on a disk that becomes full, or empty; disks that do not become full are made smaller."""
    is_by_parts = seed % 2 == 1
    pages = int(2.0 ** np.random.default_rng([10, seed]).uniform(0, 4 if is_by_parts else 6))
    while True:
        with _disk(4 * pages) as disk:
            with mock.patch.object(checkpointer, "SECONDS_BETWEEN_SAVES", 0.0):
                stopped = _solve(disk / "saved", is_by_parts=is_by_parts)
            if "could not be saved" not in stopped.message and pages > 1:
                pages //= 2
                continue
            outcome.counts["by parts" if is_by_parts else "with a tree"] += 1
            wrong = _wrong(stopped, is_by_parts=is_by_parts)
            wrong = wrong or error_of(lambda: stopped.save(disk / "out", report=False), allowed=InputError)  # noqa: B023
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)  # noqa: S607
            again = _solve(disk / "saved", is_by_parts=is_by_parts)
            wrong = wrong or _wrong(again, is_by_parts=is_by_parts)
            again.save(disk / "out", report=False, overwrite=True)
            return wrong or error_of(lambda: verify(disk / "out"))


@contextmanager
def _disk(kilobytes: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "disk"
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)], check=True)  # noqa: S607
        try:
            yield place
        finally:
            os.sync()
            subprocess.run(["umount", "--lazy", str(place)], check=True)  # noqa: S607


def _solve(folder: Path | None, *, is_by_parts: bool) -> SolveResult:
    if not is_by_parts:
        return run(folder)
    random = np.random.default_rng(1)
    points = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[np.arange(96) % 3] + random.normal(size=(96, 2))
    return solve(points, 3, part_size=_PARTS, checkpoint=folder, gap=1e-3)


def _undisturbed(*, is_by_parts: bool) -> SolveResult:
    if is_by_parts not in _known:
        _known[is_by_parts] = _solve(None, is_by_parts=is_by_parts)
    return _known[is_by_parts]


def _wrong(result: SolveResult, *, is_by_parts: bool, is_done: bool = True) -> str:
    """Say how a result differs from an undisturbed one, or empty: same optimum, or nearly the same gap for parts."""
    best = _undisturbed(is_by_parts=is_by_parts)
    is_right = result.lower_bound <= best.objective and best.lower_bound <= result.objective
    if is_by_parts and is_done:
        is_right = is_right and result.gap <= 2 * best.gap + 1e-3
    elif is_done:
        is_right = is_right and result.status == "optimal"
        is_right = is_right and abs(result.objective - best.objective) <= 1e-4 * best.objective
    return "" if is_right else f"{result.status}, {result.objective!r}, bound {result.lower_bound!r}: {result.message}"
