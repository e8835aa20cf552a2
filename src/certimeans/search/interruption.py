"""Ctrl-C and SIGTERM end a search cleanly."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from certimeans.deadline import Deadline
from certimeans.warmup import is_preparing


@contextmanager
def interruptible(deadline: Deadline) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM end the search cleanly; only the main thread can listen."""
    if threading.current_thread() is not threading.main_thread() or is_preparing():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, _: object) -> None:
        deadline.request_stop()
        signal.signal(number, before[signal.Signals(number)] or signal.SIG_DFL)  # a second signal acts as usual

    try:
        for number in before:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
