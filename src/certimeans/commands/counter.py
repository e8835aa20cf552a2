"""Progress of work that is counted: one line on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self, TextIO

_SECONDS_BETWEEN_LINES = 2.0


class Counter:
    """Shows how many of how many are done; use it as a context manager.

    Parameters
    ----------
    what
        What is counted.
    """

    def __init__(self, stream: TextIO, what: str, *, quiet: bool = False) -> None:
        self._stream = stream
        self._what = what
        self._quiet = quiet
        self._is_terminal = stream.isatty()
        self._began = self._last = time.monotonic()
        self._is_open = False

    def show(self, done: int, total: int) -> None:
        """Tell how far the work is."""
        now = time.monotonic()
        if self._quiet or (not self._is_terminal and now - self._last < _SECONDS_BETWEEN_LINES and done < total):
            return
        self._last = now
        line = f"{done} of {total} {self._what} ({now - self._began:.0f} s)"
        self._stream.write(f"\r{line}" if self._is_terminal else f"{line}\n")
        self._stream.flush()
        self._is_open = self._is_terminal

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_open:
            self._stream.write("\n")
