"""Local processes may need memory."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, wait
from typing import Any

import joblib.externals.loky.backend.process as loky_process
import numpy as np
import pytest

from certimeans import SolverSettings, SolveStatus, solve
from certimeans.bounds.parts.settings import PartSettings
from certimeans.search import process_workers
from certimeans.search.parts import workers as part_workers
from certimeans.search.process_pool import StartingPool, make_process_pool
from tests.search.test_faults import worker_pids
from tests.search.test_solve import branching_points

_KEPT: list[np.ndarray] = []


def keep(megabytes: int) -> int:
    """Keep so much memory, and tell which process has it."""
    _KEPT.append(np.ones(megabytes << 17))
    return os.getpid()


def test_a_process_that_grows_goes_on_without_a_warning() -> None:
    """400 MB more than at first: loky would take that for a leak, end the process and tell the user."""
    pool = make_process_pool(1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        first = pool.submit(keep, 1).result()
        time.sleep(1.1)  # loky looks once a second
        grown = pool.submit(keep, 400).result()
        waiting = [pool.submit(keep, 1) for _ in range(2)]
        assert {first, grown, *(future.result() for future in waiting)} == {first}
    assert told == []
    pool.shutdown(wait=True)


def die_while_sending() -> None:
    """Send the beginning of a result, and be killed."""
    frame: Any = sys._getframe()
    while "result_queue" not in frame.f_locals:  # that of loky's loop
        frame = frame.f_back
    os.write(frame.f_locals["result_queue"]._writer.fileno(), struct.pack("!i", 100_000) + b"x")
    os.kill(os.getpid(), signal.SIGKILL)


# A killed worker cannot clean up after itself, and loky's finalizers complain about that.
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_process_that_is_killed_while_it_sends_a_result_breaks_the_pool() -> None:
    """All futures end, after a look or when the pool is killed, and no thread or process is left behind."""
    for is_looked_after in (True, False):
        pool = StartingPool(2, lambda: make_process_pool(2))
        executor: Any = pool.executor()
        processes, manager = list(executor._processes.values()), executor._executor_manager_thread
        futures = [executor.submit(time.sleep, 600), executor.submit(die_while_sending)]
        while not any(process.exitcode for process in processes):
            time.sleep(0.01)
        end = time.monotonic() + 30
        while is_looked_after and wait(futures, timeout=0.1).not_done:
            assert time.monotonic() < end
            pool.look()
        pool.kill()
        assert not wait(futures, timeout=30).not_done
        assert all(isinstance(future.exception(), BrokenExecutor) for future in futures)
        manager.join(30)
        assert not manager.is_alive()
        assert all(process.exitcode is not None for process in processes)


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.5, 0.9])
def test_processes_that_are_killed_while_they_are_started_say_nothing(seconds: float) -> None:
    """A run may be interrupted at any moment, and its standard output is a JSON object and nothing else."""
    code = (
        "import time\n"
        "from certimeans.orphans import end_process_if_busy\n"
        "from certimeans.search.process_pool import StartingPool, make_process_pool\n"
        "pool = StartingPool(2, lambda: make_process_pool(2))\n"
        f"time.sleep({seconds})\n"
        "pool.kill()\n"
        "print('{}')\n"
        "end_process_if_busy(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")


def test_a_process_whose_parent_is_gone_before_it_asks_ends() -> None:
    """The parent was killed while it started its processes: they have another one from the beginning."""
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    code = f"import time; from certimeans.orphans import end_with_parent; end_with_parent({gone.pid}); time.sleep(60)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 1


FAILURES = [OSError(28, "No space left on device"), ImportError("no semaphores"), RuntimeError(), MemoryError()]


def failing(error: BaseException) -> Callable[..., Executor]:
    """Make no pool."""

    def make(*_: Any, **__: Any) -> Executor:
        raise error

    return make


@pytest.mark.parametrize("error", FAILURES)
def test_nodes_stay_in_threads_if_processes_cannot_be_started(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole tree is searched, no node is given up, and the user is told."""
    monkeypatch.setattr(process_workers, "SECONDS_BEFORE_PROCESSES", 0.0)
    monkeypatch.setattr(process_workers, "make_process_pool", failing(error))
    told: list[str] = []
    result = solve(branching_points(), 8, n_jobs=2, callback=lambda progress: told.append(progress.message))
    assert result.status is SolveStatus.OPTIMAL
    assert result.nodes > 1
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    message = f"processes could not be started ({reason}): going on in one process, in threads"
    assert [text for text in dict.fromkeys(told) if text and not text.startswith("presolve")] == [message]


def test_parts_stay_in_threads_if_processes_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is that of one process."""
    points = np.random.default_rng(0).normal(size=(240, 2)) + 6.0 * (np.arange(240) % 4)[:, None]
    one_each = SolverSettings(parts=PartSettings(seconds_per_task=1e-9))
    undisturbed = solve(points, 4, part_size=30)
    monkeypatch.setattr(part_workers, "make_process_pool", failing(FAILURES[0]))
    told: set[str] = set()
    result = solve(
        points, 4, part_size=30, n_jobs=2, settings=one_each, callback=lambda progress: told.add(progress.message)
    )
    assert result.lower_bound == pytest.approx(undisturbed.lower_bound, rel=1e-3)
    assert "given up" not in result.message
    assert any("No space left on device" in message for message in told)


def test_the_second_process_that_cannot_be_started_ends_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would end it otherwise, and Python would wait for it at its end."""
    start = loky_process.LokyProcess.start
    started: list[object] = []

    def start_one(process: Any) -> None:
        if started:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        started.append(process)
        start(process)

    monkeypatch.setattr(loky_process.LokyProcess, "start", start_one)
    pool = StartingPool(2, lambda: make_process_pool(2))
    assert pool.executor() is None
    assert pool.has_failed
    assert not pool.is_ready
    assert "(Resource temporarily unavailable)" in pool.message
    pool.kill()
    started[0].join(10)  # type: ignore[attr-defined]
    assert worker_pids() == []


def die() -> None:
    """End this process."""
    os._exit(1)


# A process that ends so cannot clean up after itself, and loky's finalizers complain about that.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_processes_that_end_at_once_could_not_be_started() -> None:
    """Whatever they are given would be lost with them."""
    pool = StartingPool(2, lambda: make_process_pool(2, die))
    assert pool.executor() is None
    assert "(they ended at once)" in pool.message
    pool.kill()


def test_processes_that_were_killed_on_purpose_did_not_fail() -> None:
    """Nobody is told anything."""
    pool = StartingPool(1, lambda: make_process_pool(1))
    pool.kill()
    wait([pool._started], timeout=10)
    assert not pool.has_failed
    assert pool.is_ready
