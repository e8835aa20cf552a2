"""Standard streams may be closed, full, or pipes that nobody reads: no reason to lose a result."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from certimeans.printing import harmless


class _Forgiving:
    """A stream for messages: once it cannot be written any more, they are dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (OSError, ValueError):  # ValueError: it was closed
            _give_up(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            _give_up(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def usable_streams() -> Iterator[None]:
    """Give the program a standard output and a standard error, whatever the shell did; messages are never fatal."""
    before = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123  # a device, not a path
        sys.stdout = before[0] or _Closed(nowhere)
        sys.stderr = _Forgiving(before[1] or nowhere)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


class _Closed:
    """A standard output that is not there: says so when it is written to."""

    def __init__(self, nowhere: TextIO) -> None:
        self._nowhere = nowhere

    def write(self, _: str) -> int:
        raise OSError("it is closed")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nowhere, name)


def print_output(text: str) -> bool:
    """Write to standard output; if that fails, say so on standard error and return False."""
    try:
        sys.stdout.write(harmless(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        _give_up(sys.stdout)
        reason = getattr(error, "strerror", None) or error
        sys.stderr.write(f"certimeans: standard output cannot be written ({reason})\n")
        return False
    return True


def _give_up(stream: TextIO) -> None:
    """Let what is left in a buffer go nowhere, so that the interpreter does not stumble over it at its end."""
    if stream in {sys.__stdout__, sys.__stderr__}:
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
