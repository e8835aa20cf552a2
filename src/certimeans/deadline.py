"""When to stop: a moment in time, or a request from outside."""

from __future__ import annotations

import math
import threading
import time


class Deadline:
    """A moment after which work should end, and a switch that ends it at once.

    Long-running functions take a deadline and look at :meth:`passed` often enough to keep it; what they return
    then is valid but may be less than they could have found.

    Parameters
    ----------
    seconds
        Time from now; ``None`` for no limit.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._began = time.monotonic()
        self._end = math.inf if seconds is None else self._began + seconds
        self._stopped = threading.Event()
        self._outer: Deadline | None = None

    def nested(self, seconds: float = math.inf) -> Deadline:
        """Return a deadline that passes when this one does, or that many seconds from now; to stop it stops only it."""
        inner = Deadline(min(seconds, self.remaining()))
        inner._outer = self
        return inner

    def within(self, seconds: float) -> Deadline:
        """Return a deadline that passes when this one does, or that many seconds from now; a stop ends both."""
        shorter = Deadline(min(seconds, self.remaining()))
        shorter._stopped, shorter._outer = self._stopped, self._outer
        return shorter

    def request_stop(self) -> None:
        """Make the deadline pass now; safe to call from a signal handler or another thread."""
        self._stopped.set()

    @property
    def stop_requested(self) -> bool:
        """Whether somebody asked to end before the time was up."""
        return self._stopped.is_set() or (self._outer is not None and self._outer.stop_requested)

    def passed(self) -> bool:
        """Whether work should end."""
        return self.stop_requested or time.monotonic() >= self._end

    def elapsed(self) -> float:
        """Seconds since it was set."""
        return time.monotonic() - self._began

    def remaining(self) -> float:
        """Seconds left; infinite without a limit, never negative."""
        return 0.0 if self.stop_requested else max(0.0, self._end - time.monotonic())
