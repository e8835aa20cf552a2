"""Progress as plain lines, for pipes and log files: columns that users of MIP solvers know."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, Self, TextIO

from certimeans.printing import fixed_percent_up, harmless, text_down, text_up
from certimeans.problem.instance import Instance
from certimeans.search.limits import Progress

_SECONDS_BETWEEN_LINES = 2.0
_MARKS = {
    "search": "H",
    "relaxation": "R",
    "initial labels": "I",
    "checkpoint": "C",
    "parts": "P",
    "regions": "G",
    "no search": "Q",
}
# Lines have less than 80 characters, with the column of the next save too.
_COSTS = f"  {'incumbent':>13} {'bound':>13} {'gap %':>8}"
_COLUMNS = f"{'time':>7} {'nodes':>6} {'open':>5} {'n/s':>5} {'cuts':>6} {_COSTS}"
_COLUMNS_OF_PARTS = f"{'time':>7} {'parts':>6} {'done':>6} {'expect %':>8} {'s left':>6} {_COSTS}"
_NEXT_SAVE = f" {'save':>6}"
_FIVE_DIGITS = 9_999.9  # seconds that still have a decimal in that column


class ProgressDisplay(Protocol):
    """What shows progress: ``with display: display.start(...); solve(..., callback=display.progress)``."""

    def start(self, instance: Instance, notes: Sequence[str] = ()) -> None:
        """Say what is being solved, and what the user should know besides."""

    def progress(self, progress: Progress) -> None:
        """Show where the search stands."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class ProgressLog:
    """Writes a line when the incumbent or the bound moved, at most one every few seconds."""

    def __init__(self, stream: TextIO, *, quiet: bool) -> None:
        self._stream = stream
        self._quiet = quiet
        self._last_line = -math.inf
        self._header = ""
        self._cost = math.inf
        self._last: tuple[object, ...] = ()
        self._message = ""
        self._untold: Progress | None = None

    def start(self, instance: Instance, notes: Sequence[str] = ()) -> None:
        """Say what is being solved, and what the reader of the file had to decide."""
        for line in (*(f"note: {harmless(note)}" for note in notes), repr(instance)):
            self._write(line)

    def progress(self, progress: Progress) -> None:
        """Write a line, unless the last one is recent and there is more to come, or there is nothing to say yet."""
        if progress.message and progress.message != self._message:
            self._message = progress.message
            self._write(harmless(progress.message))
        if progress.phase == "presolve":
            return
        state = _state(progress)
        is_last = progress.nodes_done > 0 and progress.nodes_open == 0 and progress.nodes_running == 0
        if is_last and state == self._last:
            return
        self._untold = progress
        if not is_last and time.monotonic() - self._last_line < _SECONDS_BETWEEN_LINES:
            return
        self._write_line(progress, state, is_last=is_last)

    def _write_line(self, progress: Progress, state: tuple[object, ...], *, is_last: bool) -> None:
        self._untold = None
        self._last_line = time.monotonic()
        self._last = state
        header = _COLUMNS if progress.phase != "parts" else _COLUMNS_OF_PARTS
        header += "" if progress.next_save is None else _NEXT_SAVE
        if self._header != header:
            self._write(header)
            self._header = header
        gap = fixed_percent_up(progress.gap) if math.isfinite(progress.gap) else "-"
        cost = text_up(progress.incumbent_cost) if math.isfinite(progress.incumbent_cost) else "-"
        bound = text_down(progress.lower_bound) if math.isfinite(progress.lower_bound) else "-"
        counts = f"{progress.nodes_done:6d} {progress.nodes_open:5d} {_rate(progress):>5} {progress.cuts:6d}"
        if progress.phase == "parts":
            expected = "-" if progress.expected_gap is None else f"{100 * progress.expected_gap:.4f}"
            left = "-" if progress.seconds_left is None else f"{progress.seconds_left:.0f}"
            counts = f"{progress.parts:6d} {progress.parts_done:6d} {expected:>8} {left:>6}"
        line = f"{progress.seconds:7.1f} {counts} {self._mark(progress)} {cost:>13} {bound:>13} {gap:>8}"
        self._write(line + _next_save(progress, is_last=is_last))

    def _mark(self, progress: Progress) -> str:
        """Return the letter for where a new incumbent comes from; a blank if it is not new."""
        is_new, self._cost = progress.incumbent_cost < self._cost, progress.incumbent_cost
        return _MARKS.get(progress.source, "*") if is_new else " "

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Write where the search ended, unless the last line says so."""
        if self._untold is not None and _state(self._untold) != self._last and kind is None:
            self._write_line(self._untold, _state(self._untold), is_last=True)

    def _write(self, line: str) -> None:
        if not self._quiet:
            self._stream.write(line + "\n")
            self._stream.flush()


def _state(progress: Progress) -> tuple[object, ...]:
    """Return what makes a line worth writing."""
    counts = progress.nodes_done, progress.nodes_open, progress.parts, progress.parts_done, progress.cuts
    return (*counts, progress.incumbent_cost, progress.lower_bound)


def _rate(progress: Progress) -> str:
    """Return nodes per second, once there is a tree to speak of."""
    return f"{progress.nodes_done / progress.seconds:.1f}" if progress.nodes_done > 1 and progress.seconds > 0 else "-"


def _next_save(progress: Progress, *, is_last: bool) -> str:
    """Return when the search is saved next, on the clock of the first column; nothing if it is not saved at all."""
    if progress.next_save is None:
        return ""
    due = progress.seconds + progress.next_save
    return f" {'-' if is_last else f'{due:.1f}' if due < _FIVE_DIGITS else f'{due:.0f}':>6}"


def choose_display(stream: TextIO, *, quiet: bool = False) -> ProgressDisplay:
    """Return a live display for a terminal that can move its cursor, and plain lines for everything else."""
    is_capable = os.environ.get("TERM", "").lower() not in {"", "dumb", "unknown"} or os.name == "nt"
    if quiet or not stream.isatty() or not is_capable:
        return ProgressLog(stream, quiet=quiet)
    from certimeans.report.live import LiveProgress  # noqa: PLC0415  # brings rich along

    return LiveProgress(stream)


@contextmanager
def logged(
    callback: Callable[[Progress], None] | None, instance: Instance, verbose: int
) -> Iterator[Callable[[Progress], None] | None]:
    """Write the log of ``verbose=1`` to standard error; yield a callback that continues it and calls ``callback``."""
    if not verbose:
        yield callback
        return

    def both(progress: Progress) -> None:
        log.progress(progress)
        if callback is not None:
            callback(progress)

    with ProgressLog(sys.stderr, quiet=False) as log:
        log.start(instance)
        yield both
