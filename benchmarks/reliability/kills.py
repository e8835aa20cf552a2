"""Processes that are killed with SIGKILL: workers on this machine and on a Dask cluster, and the whole solver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability.outcome import Outcome, error_of
from certimeans import SolveResult, solve
from certimeans.certificate.check import verify
from certimeans.search import process_workers
from certimeans.search.executors import connect
from tests.oracles.cluster import Cluster
from tests.search.test_faults import worker_pids
from tests.search.test_solve import branching_points

_K = 8
KILLS = 5  # of workers, for each seed
_known: dict[str, SolveResult] = {}

# Arguments: points, folder of the checkpoint, clusters, size of parts or 0.
_PROGRAM = """
import sys, numpy
from certimeans import solve
from certimeans.search import checkpointer
checkpointer.SECONDS_BETWEEN_SAVES = 0.0
points, folder, k, size = sys.argv[1:]
options = {"part_size": int(size)} if int(size) else {}
solve(numpy.load(points), int(k), checkpoint=folder, random_state=0, **options)
"""


def killed_local_workers(seeds: range) -> Outcome:
    """Kill worker processes at random moments, several times in each run; the optimum must be the same."""
    outcome = Outcome()
    process_workers.SECONDS_BEFORE_PROCESSES = 0.0  # else most runs end before there are any
    best = _undisturbed()

    def victim() -> int | None:
        found = worker_pids()
        return found[0] if found else None

    for seed in seeds:
        random = np.random.default_rng([3, seed])
        left = KILLS
        while left:
            killer = _Killer(victim, 2 * random.random(min(left, 2)))
            result = solve(branching_points(), _K, n_jobs=2)
            n_kills = killer.stop()
            left -= n_kills
            _judge(outcome, seed, result, best, n_kills)
            outcome.count(worker_pids() == [], f"seed {seed}: processes left behind", tries=0)
    return outcome


def killed_dask_workers(seeds: range) -> Outcome:
    """Kill one of two Dask workers at random moments, several times in each run, and let another one join each time."""
    outcome = Outcome()
    best = _undisturbed()
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder))

        def victim() -> int:
            chosen = cluster.workers.pop(0)
            cluster.add_worker()
            return chosen.pid

        try:
            client: Any = connect(cluster.address())
            for seed in seeds:
                random = np.random.default_rng([4, seed])
                left = KILLS
                while left:
                    client.wait_for_workers(2, timeout=300)
                    killer = _Killer(victim, 4 * random.random(left))
                    result = solve(branching_points(), _K, executor=client)
                    n_kills = killer.stop()
                    left -= n_kills
                    _judge(outcome, seed, result, best, n_kills)
            client.close()
        finally:
            cluster.close()
    return outcome


def killed_solver(seeds: range) -> Outcome:
    """Kill the solver four times, each time after it has saved something or at any moment, then let it end.

    Every other run is by parts. It must end as an undisturbed one does, with a certificate that holds.
    """
    outcome = Outcome()
    for seed in seeds:
        random = np.random.default_rng([5, seed])
        is_by_parts = seed % 2 == 1
        points, k, size = (_many_points(), 3, 40) if is_by_parts else (branching_points(), _K, 0)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            np.save(folder / "points.npy", points)
            arguments = [str(folder / "points.npy"), str(folder / "saved"), str(k), str(size)]
            command = [sys.executable, "-c", _PROGRAM, *arguments]
            n_kills = sum(_run_and_kill(command, folder / "saved", random) for _ in range(4))
            options: dict[str, Any] = {"part_size": size} if size else {}
            result = solve(points, k, checkpoint=folder / "saved", random_state=0, **options)
            if is_by_parts:
                wrong = _wrong_by_parts(result)
            else:
                wrong = "" if _is_right(result, _undisturbed()) else f"{result.status} {result.objective}"
            result.save(folder / "out", report=False)
            wrong = wrong or error_of(lambda: verify(folder / "out"))  # noqa: B023
        outcome.counts["by parts" if is_by_parts else "with a tree"] += n_kills
        outcome.count(not wrong, f"seed {seed}: {wrong}", tries=n_kills)
    return outcome


class _Killer:
    """A thread that kills a process after each of several delays, counted from when there is one."""

    def __init__(self, victim: Callable[[], int | None], delays: Any) -> None:
        self._victim, self._delays = victim, [float(delay) for delay in delays]
        self._stop = threading.Event()
        self._n_kills = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> int:
        """End, and return how many processes were killed before."""
        self._stop.set()
        self._thread.join()
        return self._n_kills

    def _run(self) -> None:
        for delay in self._delays:
            if self._stop.wait(delay):
                return
            while (pid := self._victim()) is None:
                if self._stop.wait(0.02):
                    return
            os.kill(pid, signal.SIGKILL)
            self._n_kills += 1


def _run_and_kill(command: list[str], saved: Path, random: np.random.Generator) -> bool:
    """Start the solver and kill it; return whether it still ran."""
    before = _last_change(saved)
    waits = random.random() < 0.75
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + (60 if waits else 3 * random.random())
    while process.poll() is None and time.monotonic() < end and not (waits and _last_change(saved) > before):
        time.sleep(0.005)
    if waits:
        time.sleep(random.random() ** 2)
    was_running = process.poll() is None
    process.kill()
    process.wait()
    return was_running


def _last_change(folder: Path) -> int:
    found = [folder / "checkpoint.json", folder / "parts" / "index.jsonl"]
    return max((path.stat().st_mtime_ns for path in found if path.exists()), default=0)


def _many_points() -> np.ndarray:
    random = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    points: np.ndarray = centres[np.arange(300) % 3] + random.normal(size=(300, 2))
    return points


def _undisturbed() -> SolveResult:
    if "whole" not in _known:
        _known["whole"] = solve(branching_points(), _K)
    return _known["whole"]


def _wrong_by_parts(result: SolveResult) -> str:
    """Compare with what a run without parts proves: neither bound is above the other's cost."""
    if "many" not in _known:
        _known["many"] = solve(_many_points(), 3, part_size=None, time_limit=60)
    whole = _known["many"]
    is_true = Fraction(result.lower_bound) <= Fraction(whole.objective)
    is_near = result.lower_bound >= 0.9 * whole.objective and result.objective >= whole.lower_bound
    return (
        ""
        if is_true and is_near
        else f"bound {result.lower_bound}, optimum between {whole.lower_bound} and {whole.objective}"
    )


def _judge(outcome: Outcome, seed: int, result: SolveResult, best: SolveResult, n_kills: int) -> None:
    """Count kills. A run may give up a node that lost three workers, if it says so and claims nothing false."""
    is_right = _is_right(result, best)
    if not is_right and "given up" in result.message:
        outcome.counts["runs that gave a node up"] += 1
        is_right = result.status != "optimal" and result.lower_bound <= best.objective
    outcome.count(is_right, f"seed {seed}: {result.status} {result.objective} {result.message}", tries=n_kills)


def _is_right(result: SolveResult, best: SolveResult) -> bool:
    return result.status == "optimal" and abs(result.objective - best.objective) <= 1e-4 * best.objective
