"""Work that may have to be left behind: in a daemon thread, for which not even the interpreter waits."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import cache
from typing import ParamSpec, TypeVar

from certimeans.deadline import Deadline
from certimeans.orphans import NAME_OF_THREADS

LARGE_SIZE = 1000
"""From that many super-points on, one step of linear algebra may outlast a deadline."""

_POLL_SECONDS = 0.05

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

    threading.Thread(target=work, name=NAME_OF_THREADS, daemon=True).start()
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
