"""Checkpoints that are edited, and disks that fill up: what the search says must stay true."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.reliability.outcome import Outcome
from certimeans import InputError
from certimeans.problem.io import atomic
from certimeans.search import checkpointer
from tests.search.test_resume import edit_arrays, edit_json, run


def edited_checkpoints(count: int) -> Outcome:
    """Change numbers, statuses and proofs of a checkpoint and sign it again; no claim may be false."""
    outcome = Outcome("edited checkpoints")
    best = run(None)
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for nodes in (4, 12, None):
            run(Path(folder) / f"saved{nodes}", nodes=nodes)
        for seed in range(count):
            copy = Path(folder) / "copy"
            shutil.copytree(Path(folder) / f"saved{(4, 12, None)[seed % 3]}", copy)
            (copy / "checkpoint.previous.json").unlink(missing_ok=True)
            (edit_json if seed % 2 else edit_arrays)(copy, np.random.default_rng([8, seed]))
            try:
                result = run(copy, nodes=None if seed % 4 else 1)
            except InputError:
                refused += 1
                outcome.count(right=True, what="refused")
            else:
                is_true = result.lower_bound <= best.objective and result.root_lower_bound <= best.objective
                is_right = result.status != "optimal" or result.objective <= best.objective * (1 + 1e-4)
                outcome.count(is_true and is_right, f"seed {seed}: {result.status} {result.lower_bound}")
            shutil.rmtree(copy)
    outcome.note = f"{refused} refused as damaged"
    return outcome


def full_disks(count: int) -> Outcome:
    """Let the disk be full from a random write on, for a random number of writes; then go on from what is there."""
    outcome = Outcome("full disks")
    best = run(None)
    random = np.random.default_rng(9)
    write = atomic._replace
    for _ in range(count):
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
            outcome.count(stopped.lower_bound <= best.objective, f"{stopped.status} {stopped.lower_bound}")
            result = run(Path(folder))
            right = result.status == "optimal" and abs(result.objective - best.objective) <= 1e-4 * best.objective
            outcome.count(right, f"{result.status} {result.objective}")
    return outcome
