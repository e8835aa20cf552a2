"""Work that may have to be left behind: in a daemon thread, for which not even the interpreter waits."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import cache
from typing import ParamSpec, TypeVar

from certimeans.deadline import Deadline

LARGE_SIZE = 1000
"""From that many super-points on, one step of linear algebra may outlast a deadline."""

_POLL_SECONDS = 0.05
_NAME = "certimeans"

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def in_background(
    function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Future[Result]:
    """Call a function in a daemon thread of its own."""
    _end_without_tidying_up()
    future: Future[Result] = Future()

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(function(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001  # it is raised where the result is awaited
            future.set_exception(error)

    threading.Thread(target=work, name=_NAME, daemon=True).start()
    return future


@cache
def _end_without_tidying_up() -> None:
    """Let the process end at once after Python's own ending, where the C library can be told so (glibc).

    Otherwise libraries of linear algebra free their memory at the end while a thread that was left behind still works
    in it, and the process dies of it.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "on_exit"):
            libc.on_exit(libc._exit, None)  # it is called with the exit status


def end_process_if_busy(code: int) -> None:
    """End the process with an exit code if work was left behind; to be called when all else is done.

    A thread that comes out of compiled code while Python ends is unwound by Python, through frames that do not allow
    it, and the process is aborted (exit code -6) instead. So Python's own ending is cut down to its exit handlers.
    """
    if not any(thread.name == _NAME for thread in threading.enumerate()):
        return
    atexit._run_exitfuncs()  # temporary folders, and processes of others
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, full, or not there
            stream.flush()
    os._exit(code)


def result_before(future: Future[Result], deadline: Deadline) -> Result:
    """Wait for a result until a deadline.

    Raises
    ------
    TimeoutError
        If the deadline passes first; the work is left behind.
    """
    while not wait([future], timeout=min(_POLL_SECONDS, deadline.remaining())).done:
        if deadline.passed():
            raise TimeoutError
    return future.result()
