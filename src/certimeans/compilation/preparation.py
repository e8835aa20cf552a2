"""Compiles before a clock starts, says so, and only once for all processes of a machine."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from certimeans.compilation.internals import is_compiling
from certimeans.compilation.storage import folder, is_everything_kept, machine, state_folder

_SECONDS_TO_WAIT = 90
_SECONDS_TO_START = 1.0
NOTE = "compiling for this machine what was not needed before: takes ten seconds or more"
WAITING = f"another process is compiling for this machine: waiting for it, up to {_SECONDS_TO_WAIT} s"
_SECONDS_BETWEEN_LOOKS = 0.1
_OBJECTS_BETWEEN_COLLECTIONS = 200_000

Tell = Callable[[str], object]
Helper = Callable[[Sequence[str]], "subprocess.Popen[bytes] | None"]


class Preparation:
    """Runs parts of a warm-up that no process of this machine has run since the sources changed.

    Whatever calls compiled functions can be a part; what it compiled is then found on disk. A file for each part says
    that it was run to its end. Where nothing can be kept, the parts are run once in each process.

    Parameters
    ----------
    helper
        Starts a process that runs parts, given by name, with :meth:`run_here`; ``None`` if there can be none. About
        half of the work is left to it, since one process compiles on one core only.
    seconds
        About how long parts take, so that both end at the same time; 1 if not known.
    """

    def __init__(self, helper: Helper | None = None, seconds: Mapping[str, float] | None = None) -> None:
        self._helper = helper
        self._seconds = seconds or {}
        self._done: set[str] = set()
        self._turn = threading.RLock()
        self._is_running = False
        self._said = False
        self._noted = False

    @property
    def is_running(self) -> bool:
        """Whether a part is being run."""
        return self._is_running

    def is_done(self, part: str) -> bool:
        """Whether the machine code of a part is there already."""
        marker = _marker(part)
        return part in self._done or not is_compiling() or (marker is not None and marker.exists())

    def run(self, parts: Mapping[str, Callable[[], object]], tell: Tell | None = None) -> bool:
        """Run those parts that were not run yet, and say that it takes a while.

        Parameters
        ----------
        parts
            What to run, by names that are part of file names.
        tell
            How to say so; without it, as a warning of the logger ``certimeans``.

        Returns
        -------
        bool
            Whether anything was run.
        """
        if self._done.issuperset(parts):
            return False
        say: Tell = logging.getLogger("certimeans").warning if tell is None else tell
        with self._turn:
            if self._is_running:  # a part calls what prepares
                return False
            if not self._said and is_compiling() and folder().remark:
                say(folder().remark)
            self._said = True
            self._is_running = True
            try:
                return self._run({name: part for name, part in parts.items() if not self.is_done(name)}, say)
            finally:
                self._is_running = False
                self._done.update(name for name in parts if self.is_done(name))

    def _run(self, parts: Mapping[str, Callable[[], object]], say: Tell) -> bool:
        if not parts:
            return False
        with _one_at_a_time(lambda: all(self.is_done(name) for name in parts), say):
            waiting = {name: part for name, part in parts.items() if not self.is_done(name)}
            if waiting and not self._noted:
                say(NOTE)
                self._noted = True
            with self._helping(self._half(waiting)) as left_to_others:
                self.run_here({name: part for name, part in waiting.items() if name not in left_to_others})
            self.run_here({name: part for name, part in waiting.items() if not self.is_done(name)})
        return bool(waiting)

    def _half(self, names: Iterable[str]) -> list[str]:
        """Choose parts for another process, which starts later: the longest first, each to who is free earlier."""
        chosen: list[str] = []
        here, there = 0.0, _SECONDS_TO_START
        for name in sorted(names, key=lambda name: -self._seconds.get(name, 1.0)):
            seconds = self._seconds.get(name, 1.0)
            if there <= here:
                chosen.append(name)
                there += seconds
            else:
                here += seconds
        return chosen

    def run_here(self, parts: Mapping[str, Callable[[], object]]) -> None:
        """Run parts in this process, and note that they are done."""
        before, self._is_running = self._is_running, True
        try:
            with _seldom_collecting():
                for name, part in parts.items():
                    part()
                    self._done.add(name)
                    _write_marker(name)
        finally:
            self._is_running = before

    @contextmanager
    def _helping(self, names: list[str]) -> Iterator[list[str]]:
        """Let another process run parts meanwhile, and wait for it in the end; yields what it took over.

        What it could not finish, for whatever reason, is not marked as done.
        """
        process = None
        if names and self._helper is not None and folder().is_writable and is_everything_kept():
            with suppress(OSError):
                process = self._helper(names)
        try:
            yield names if process is not None else []
            if process is not None:
                process.wait(_SECONDS_TO_WAIT)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()


def _marker(part: str) -> Path | None:
    state = state_folder()
    return None if state is None else state / f"ready-{machine()}-{part}"


def _write_marker(part: str) -> None:
    marker = _marker(part)
    if marker is not None and folder().is_writable and is_everything_kept():
        with suppress(OSError):
            marker.touch()


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    """Look for garbage seldom: the compiler makes millions of objects, and looking takes an eighth of its time."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _OBJECTS_BETWEEN_COLLECTIONS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _one_at_a_time(is_done: Callable[[], bool], say: Tell) -> Iterator[None]:
    """Wait until no other process compiles; the system ends the turn of a process that dies.

    Returns early if what we wait for is done, and goes on side by side if it takes too long: two that compile at once
    only take longer.
    """
    state = state_folder()
    descriptor = None
    if state is not None and folder().is_writable:
        with suppress(OSError):
            descriptor = os.open(state / "compiling.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if descriptor is not None and not _try_to_lock(descriptor):
            say(WAITING)
            end = time.monotonic() + _SECONDS_TO_WAIT
            while not is_done() and time.monotonic() < end and not _try_to_lock(descriptor):
                time.sleep(_SECONDS_BETWEEN_LOOKS)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)  # and so unlocks


def _try_to_lock(descriptor: int) -> bool:
    """Whether it is our turn; also if the file system knows no locks, since two at once are only slower."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415

            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not flock, which children would inherit
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass
    return True
