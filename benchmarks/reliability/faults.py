"""Things that go wrong around the solver: killed workers, a killed solver, Ctrl-C, time limits; what is left behind."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability.outcome import Outcome
from certimeans import SolveResult, solve
from certimeans.certificate.check import verify
from certimeans.search import process_workers
from certimeans.search.executors import connect
from tests.oracles.cluster import Cluster
from tests.search.test_checkpoint import SCRIPT
from tests.search.test_faults import worker_pids
from tests.search.test_solve import branching_points, hard_points


def killed_local_workers(count: int) -> Outcome:
    """Kill a worker process at a random moment of each run; the optimum must be the same."""
    outcome = Outcome("kill -9 of a local worker")
    process_workers.SECONDS_BEFORE_PROCESSES = 0.0  # else most runs end before there are any
    points, best = _problem()
    random = np.random.default_rng(3)
    for _ in range(count):
        stop = threading.Event()
        stopper = threading.Thread(target=_kill_a_worker_after, args=(stop, float(random.random() * 2)))
        stopper.start()
        result = solve(points, 8, n_jobs=2)
        stop.set()
        stopper.join()
        outcome.count(_is_right(result, best), f"{result.status} {result.objective} instead of {best}")
        outcome.count(worker_pids() == [], "processes left behind")
    return outcome


def killed_dask_workers(count: int) -> Outcome:
    """Kill one of two Dask workers at a random node of each run."""
    outcome = Outcome("kill -9 of a Dask worker")
    points, best = _problem()
    random = np.random.default_rng(4)
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            cluster = Cluster(Path(folder))
            try:
                client: Any = connect(cluster.address())
                client.wait_for_workers(2, timeout=60)
                timer = threading.Timer(random.random() * 3, cluster.workers[0].kill)
                timer.start()
                result = solve(points, 8, executor=client)
                timer.cancel()
                client.close()
            finally:
                cluster.close()
        outcome.count(_is_right(result, best), f"{result.status} {result.objective} instead of {best}")
    return outcome


def killed_solver(count: int) -> Outcome:
    """Kill the whole solver at random moments, resume until it ends, and verify the certificate of what came out."""
    outcome = Outcome("kill -9 of the solver, then resume")
    points, best = _problem()
    random = np.random.default_rng(5)
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "points.npy", points)
            saved = str(Path(folder) / "saved")
            command = [sys.executable, "-c", SCRIPT, str(Path(folder) / "points.npy"), saved]
            for _ in range(3):
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
                time.sleep(1.0 + 3 * random.random())
                process.send_signal(signal.SIGKILL)
                process.wait()
            result = solve(points, 8, checkpoint=saved)
            outcome.count(_is_right(result, best), f"{result.status} {result.objective} instead of {best}")
            result.save(Path(folder) / "out", report=False)
            outcome.expect_no_error(lambda: verify(Path(folder) / "out"), "certificate of a resumed search")
    return outcome


def interrupted(count: int) -> Outcome:
    """Send SIGINT or SIGTERM at a random moment; incumbent and valid bound must come within seconds."""
    outcome = Outcome("Ctrl-C and SIGTERM")
    points = hard_points(300)  # more than a minute of work
    reference = solve(points, 15, time_limit=5)
    random = np.random.default_rng(6)
    worst = 0.0
    for number in range(count):
        delay = 0.3 + 2 * random.random()
        sent = signal.SIGINT if number % 2 else signal.SIGTERM
        timer = threading.Timer(delay, os.kill, (os.getpid(), sent))
        timer.start()
        began = time.monotonic()
        result = solve(points, 15, n_jobs=1 + number % 2)
        worst = max(worst, time.monotonic() - began - delay)
        right = result.status == "interrupted" and result.labels is not None
        outcome.count(right and result.lower_bound <= reference.objective, f"{result.status} {result.lower_bound}")
    outcome.note = f"at most {worst:.1f} s after the signal"
    outcome.count(worst < 3, f"took {worst:.1f} s")
    return outcome


def time_limits(count: int) -> Outcome:
    """Set time limits on problems of several sizes; each must be kept within max(1 s, 5 %)."""
    outcome = Outcome("time limits kept")
    random = np.random.default_rng(7)
    worst = 0.0
    for number in range(count):
        size, limit = int(random.choice([100, 300, 700, 1500])), float(random.choice([0.5, 2.0, 5.0]))
        points = random.random((size, 4))
        began = time.monotonic()
        solve(points, 15, time_limit=limit, n_jobs=1 + number % 2)
        late = time.monotonic() - began - limit
        worst = max(worst, late)
        outcome.count(late <= max(1.0, 0.05 * limit), f"{size} points: {late:.2f} s late for {limit} s")
    outcome.note = f"at most {worst:.2f} s late"
    return outcome


def nothing_left_behind(count: int) -> Outcome:
    """Solve many times in one process: memory, processes, threads and files must not pile up."""
    outcome = Outcome("memory, processes, threads and files released")
    points = branching_points()
    for _ in range(3):
        solve(points, 8, n_jobs=2)
    before = _in_use()
    for _ in range(count):
        solve(points, 8, n_jobs=2)
    gc.collect()
    after = _in_use()
    outcome.count(after[0] <= before[0] + 100, f"memory grew from {before[0]} to {after[0]} MB")
    outcome.count(after[1] <= before[1], f"threads: {before[1]} before, {after[1]} after")
    outcome.count(after[2] <= before[2], f"open files: {before[2]} before, {after[2]} after")
    outcome.count(worker_pids() == [], "processes left behind")
    outcome.note = f"{before[0]} MB before, {after[0]} MB after {count} solves"
    return outcome


def _problem() -> tuple[np.ndarray, float]:
    points = branching_points()
    return points, solve(points, 8).objective


def _is_right(result: SolveResult, best: float) -> bool:
    return result.status == "optimal" and abs(result.objective - best) <= 1e-4 * best


def _kill_a_worker_after(stop: threading.Event, delay: float) -> None:
    """Wait for workers, and a little longer, then kill one."""
    while not stop.is_set():
        if pids := worker_pids():
            stop.wait(delay)
            if not stop.is_set() and pids[0] in worker_pids():
                os.kill(pids[0], signal.SIGKILL)
            return
        time.sleep(0.02)


def _in_use() -> tuple[int, int, int]:
    """Return resident memory in MB, threads, and open files of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    files = len(list(Path("/proc/self/fd").iterdir()))
    return pages * resource.getpagesize() // 2**20, threading.active_count(), files
