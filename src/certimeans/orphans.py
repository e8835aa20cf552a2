"""Processes end when the one they work for does, also if it is killed, and threads left behind end with their own."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

_SECONDS_BETWEEN_LOOKS = 1.0
NAME_OF_THREADS = "certimeans"
"""Of those that may be left behind."""


def end_with_parent(parent: int, clean_up: Callable[[], object] | None = None) -> None:
    """Watch the parent process from now on, and end this one soon after it is gone.

    A thread looks once a second, which costs nothing and works wherever orphans get another parent: everywhere but on
    Windows.

    Parameters
    ----------
    parent
        The parent's number, from the parent: it may be gone before this process can ask.
    clean_up
        What to do before ending: what the parent can no longer do.
    """
    threading.Thread(target=_watch, args=(parent, clean_up), name="parent watch", daemon=True).start()


def _watch(parent: int, clean_up: Callable[[], object] | None) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    try:
        if clean_up is not None:
            clean_up()
    finally:
        os._exit(1)


def end_process_if_busy(code: int) -> None:
    """End the process with an exit code if work was left behind; to be called when all else is done.

    A thread that comes out of compiled code while Python ends is unwound by Python, through frames that do not allow
    it, and the process is aborted (exit code -6) instead. So Python's own ending is cut down to its exit handlers.
    """
    if not any(thread.name == NAME_OF_THREADS for thread in threading.enumerate()):
        return
    atexit._run_exitfuncs()  # temporary folders, and processes of others
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, full, or not there
            stream.flush()
    os._exit(code)
