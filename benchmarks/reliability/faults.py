"""Clocks and signals: Ctrl-C, SIGTERM and time limits; and what solves leave behind."""

from __future__ import annotations

import gc
import os
import resource
import signal
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.reliability.outcome import Outcome
from certimeans import solve
from tests.search.test_faults import worker_pids
from tests.search.test_solve import branching_points, endless_points

_SECONDS_AFTER_A_SIGNAL = 3.0
_SOLVES = 20


def interrupted(seeds: range) -> Outcome:
    """Send SIGINT or SIGTERM at a random moment; incumbent and valid bound must come within seconds."""
    outcome = Outcome()
    points = endless_points()
    reference = solve(points, 8, time_limit=5)
    for seed in seeds:
        delay = 0.3 + 2 * np.random.default_rng([6, seed]).random()
        sent = signal.SIGINT if seed % 2 else signal.SIGTERM
        timer = threading.Timer(delay, os.kill, (os.getpid(), sent))
        timer.start()
        began = time.monotonic()
        result = solve(points, 8, n_jobs=1 + seed // 2 % 2)
        late = time.monotonic() - began - delay
        outcome.note_worst("seconds after the signal", round(late, 2))
        is_right = result.status == "interrupted" and result.labels is not None and late < _SECONDS_AFTER_A_SIGNAL
        is_right = is_right and result.lower_bound <= reference.objective
        outcome.count(is_right, f"seed {seed}: {result.status} {result.lower_bound}, {late:.2f} s after the signal")
    return outcome


def time_limits(seeds: range) -> Outcome:
    """Set time limits on problems of several sizes; each must be kept within max(1 s, 5 %)."""
    outcome = Outcome()
    for seed in seeds:
        random = np.random.default_rng([7, seed])
        size, limit = int(random.choice([100, 300, 700, 1500])), float(random.choice([0.5, 2.0, 5.0]))
        points = random.random((size, 4))
        began = time.monotonic()
        solve(points, 15, time_limit=limit, n_jobs=1 + seed % 2)
        late = time.monotonic() - began - limit
        outcome.note_worst("seconds late", round(late, 2))
        outcome.count(late <= max(1.0, 0.05 * limit), f"seed {seed}: {size} points: {late:.2f} s late for {limit} s")
    return outcome


def nothing_left_behind(seeds: range) -> Outcome:
    """Solve many times in one process: memory, processes, threads and files must not pile up."""
    outcome = Outcome()
    for seed in seeds:
        points = branching_points() + seed
        for _ in range(3):
            solve(points, 8, n_jobs=2)
        before = _in_use()
        for _ in range(_SOLVES):
            solve(points, 8, n_jobs=2)
        gc.collect()
        after = _in_use()
        outcome.count(after[0] <= before[0] + 100, f"memory grew from {before[0]} to {after[0]} MB")
        outcome.count(after[1] <= before[1], f"threads: {before[1]} before, {after[1]} after")
        outcome.count(after[2] <= before[2], f"open files: {before[2]} before, {after[2]} after")
        outcome.count(worker_pids() == [], "processes left behind")
        outcome.note_worst(f"MB more after {_SOLVES} solves", after[0] - before[0])
    return outcome


def _in_use() -> tuple[int, int, int]:
    """Return resident memory in MB, threads, and open files of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    files = len(list(Path("/proc/self/fd").iterdir()))
    return pages * resource.getpagesize() // 2**20, threading.active_count(), files
