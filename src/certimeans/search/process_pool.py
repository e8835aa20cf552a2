"""Pools of local processes: loky's, whose processes need no ``if __name__ == "__main__"`` in the user's script.

loky notices when a process is killed. It also ends processes that have grown by 300 MB since they were started, which
it takes for a leak, and warns the user: a relaxation of 1,500 points needs more than that. The processes of a pool live
no longer than a run, so they may grow.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

from certimeans.orphans import end_with_parent
from certimeans.search.background import in_background

_SECONDS_TO_KILL = 0.4
_SECONDS_TO_KILL_AT_THE_START = 3.0
"""Processes that outlive this one while they are still being started complain, on whatever this one prints to."""

_SECONDS_TO_NOTICE = 1.0
"""How long loky may take to notice that a process has died; usually it is a matter of milliseconds."""

NOT_STARTED = (OSError, ImportError, RuntimeError, MemoryError)
"""What may be raised when processes cannot be started: too many of them, no shared memory, a full disk."""


def make_process_pool(
    count: int,
    prepare: Callable[..., None] | None = None,
    arguments: tuple[Any, ...] = (),
    folder: Path | None = None,
) -> Executor:
    """Make a pool of processes, each of which calls ``prepare`` first, if there is something to prepare.

    They end if this process does, also if it is killed, and remove the folder then, if there is one.
    """
    from joblib.externals.loky import ProcessPoolExecutor  # noqa: PLC0415  # takes a while, and is rarely needed

    pool: Executor = ProcessPoolExecutor(
        count, initializer=_prepare, initargs=(os.getpid(), folder, prepare, arguments)
    )
    return pool


def end_incomplete_pool(pool: Executor | None) -> None:
    """End the processes of a pool of which one could not be started: loky leaves them, and Python waits for them."""
    for process in list(getattr(pool, "_processes", {}).values()):
        with suppress(OSError):
            process.terminate()


def _end_stuck_pool(pool: Any) -> None:
    """End a pool that waits for the rest of a result whose process was killed while it sent it.

    loky reads that from a pipe which it can itself write to, so that it would never find the end; all futures raise
    ``BrokenExecutor`` when it does.
    """
    end_incomplete_pool(pool)
    pool._result_queue._writer.close()


def _prepare(parent: int, folder: Path | None, prepare: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    from joblib.externals.loky import process_executor  # noqa: PLC0415  # there already, in a process of loky's

    end_with_parent(parent, None if folder is None else lambda: shutil.rmtree(folder, ignore_errors=True))
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize  # there is no other way to say so
    if prepare is not None:
        prepare(*arguments)


class StartingPool:
    """A pool whose processes are started in the background, and can be killed at any moment.

    Parameters
    ----------
    count
        Number of processes.
    make
        Makes the pool: see :func:`make_process_pool`.

    Attributes
    ----------
    message
        Why the processes could not be started, and what is done instead; empty as long as nothing is wrong.
    """

    def __init__(self, count: int, make: Callable[[], Executor]) -> None:
        self._lock = threading.Lock()
        self._is_killed = False
        self._pool: Executor | None = None
        self._first_seen_dead = math.inf  # on the clock of time.monotonic
        self.message = ""
        self._started = in_background(self._start, count, make)

    @property
    def is_ready(self) -> bool:
        """Whether the processes are there, or were killed."""
        return self._started.done() and not self.has_failed

    @property
    def has_failed(self) -> bool:
        """Whether the processes could not be started: work goes on in threads then."""
        return bool(self.message)

    def executor(self) -> Executor | None:
        """Return the pool as soon as its processes are there; ``None`` if they could not be started.

        Raises
        ------
        BrokenExecutor
            If they were killed before.
        """
        return self._started.result()

    def look(self) -> None:
        """End the pool if loky does not notice that one of its processes has died; to be called now and then."""
        pool: Any = self._pool
        if pool is None or not self._started.done() or pool._flags.broken or pool._flags.shutdown:
            return
        if all(process.exitcode is None for process in list(pool._processes.values())):
            self._first_seen_dead = math.inf
        elif math.isinf(self._first_seen_dead):
            self._first_seen_dead = time.monotonic()
        elif time.monotonic() - self._first_seen_dead > _SECONDS_TO_NOTICE:
            _end_stuck_pool(pool)

    def kill(self) -> None:
        """Kill the processes; loky's own cleaning up goes on in a thread if it takes longer."""
        is_complete = self._started.done()
        killed = in_background(self._kill)
        wait([killed], timeout=_SECONDS_TO_KILL if is_complete else _SECONDS_TO_KILL_AT_THE_START)
        if is_complete and self._pool is not None and not killed.done():
            _end_stuck_pool(self._pool)

    def _kill(self) -> None:
        with self._lock:
            self._is_killed = True
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]

    def _start(self, count: int, make: Callable[[], Executor]) -> Executor | None:
        with self._lock:
            if self._is_killed:
                raise BrokenExecutor("killed before the processes were started")
            try:
                self._pool = make()
                probes = [self._pool.submit(int) for _ in range(count)]
            except NOT_STARTED as error:
                self._fail(error)
                return None
        wait(probes)
        problems = [problem for probe in probes if not probe.cancelled() and (problem := probe.exception())]
        with self._lock:
            if not problems or self._is_killed:
                return self._pool
            self._fail(problems[0])  # every task would fail alike, and be given up in the end
            return None

    def _fail(self, error: BaseException) -> None:
        """Say why there are no processes, and end those that were started before."""
        end_incomplete_pool(self._pool)
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if isinstance(error, BrokenExecutor):
            reason = "they ended at once"  # loky's own words fill a paragraph
        self.message = f"processes could not be started ({reason}): going on in one process, in threads"
