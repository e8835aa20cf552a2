"""Progress on a terminal: a few lines that are kept up to date, with the history of the gap."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from certimeans.printing import harmless, percent_up, text_down, text_up
from certimeans.problem.instance import Instance
from certimeans.search.limits import Progress

_BLOCKS = "▁▂▃▄▅▆▇█"
_PLAIN_BLOCKS = "_.-~=+*#"
_HISTORY = "gap history "
_REFRESHES_PER_SECOND = 4
_WIDEST_HISTORY = 60
_LEAST_SPAN = 1.0  # decades of the gap that the blocks span at least


class LiveProgress:
    """Shows incumbent, bound, gap and its history, nodes, cuts, phase and time; use it as a context manager."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = Console(file=stream, highlight=False, markup=False)
        self._is_plain = self._console.options.ascii_only or is_plain_locale(os.environ)
        self._clock = clock
        self._began = clock()
        self._latest: Progress | None = None
        self._heard = self._began
        self._gaps: list[tuple[float, float]] = []
        # Worker processes and warnings write to the standard streams as usual.
        self._live = Live(
            get_renderable=self._render,
            console=self._console,
            refresh_per_second=_REFRESHES_PER_SECOND,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def start(self, instance: Instance, notes: Sequence[str] = ()) -> None:
        """Say what is being solved, and begin to show progress."""
        for line in (*(f"note: {harmless(note)}" for note in notes), repr(instance)):
            self._console.print(line)
        self._began = self._clock()
        self._live.start()

    def progress(self, progress: Progress) -> None:
        """Show where the search stands, at the next refresh."""
        if not self._gaps or self._gaps[-1][1] != progress.gap:
            self._gaps.append((self._clock() - self._began, progress.gap))
        if progress.message and (self._latest is None or progress.message != self._latest.message):
            self._console.print(harmless(progress.message))
        self._latest, self._heard = progress, self._clock()

    def stop(self, *, leave: bool = True) -> None:
        """Leave the last state on the screen, or nothing."""
        self._live.transient = not leave or self._latest is None
        self._live.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop(leave=kind is None)  # what went wrong is said in its place

    def _render(self) -> Text:
        elapsed = self._clock() - self._began
        width = self._console.width
        dash = "-" if self._is_plain else "–"
        lines = flow(describe(self._latest, elapsed, self._clock() - self._heard, dash), width)
        if self._latest is not None:
            blocks = _PLAIN_BLOCKS if self._is_plain else _BLOCKS
            gaps = tuple(self._gaps)  # the search goes on in another thread
            worst = f" from {percent_up(max((gap for _, gap in gaps if math.isfinite(gap)), default=math.inf))}"
            n_cells = max(1, min(_WIDEST_HISTORY, width - len(_HISTORY) - len(worst)))
            history = sparkline(gaps, elapsed, n_cells, blocks)
            lines.append(Text.assemble((_HISTORY, "dim"), (history, "cyan"), (worst, "dim")))
        return Text("\n", no_wrap=True, overflow="crop" if self._is_plain else "ellipsis").join(lines)


def is_plain_locale(environment: Mapping[str, str]) -> bool:
    """Whether the user asks for ASCII; Python itself writes UTF-8 where the locale is C."""
    names = (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next(filter(None, names), "") in {"C", "POSIX"}


def describe(
    progress: Progress | None, elapsed: float, since: float = 0.0, dash: str = "–"
) -> list[tuple[str, str, str]]:
    """Return what to show: name, value, and the value's style; ``since`` is how many seconds ago that was heard.

    ``dash`` stands for a bound where nothing is proven.
    """
    minutes, seconds = divmod(int(elapsed), 60)
    clock = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if progress is None:
        return [("time", clock, ""), ("phase", "starting", "")]
    cost = text_up(progress.incumbent_cost) if math.isfinite(progress.incumbent_cost) else "none yet"
    bound = text_down(progress.lower_bound) if math.isfinite(progress.lower_bound) else dash
    running = f", {progress.nodes_running} running" if progress.nodes_running else ""
    work = [
        ("nodes", f"{progress.nodes_done} done, {progress.nodes_open} open{running}", ""),
        *([("rate", f"{progress.nodes_done / elapsed:.1f}/s", "")] if progress.nodes_done > 1 and elapsed > 0 else []),
        ("cuts", f"{progress.cuts}", ""),
    ]
    if progress.phase == "parts":
        work = [("parts", f"{progress.parts_done} of {progress.parts} done", "")]
        if progress.expected_gap is not None and progress.seconds_left is not None:
            work.append(("expected gap", percent_up(max(0.0, progress.expected_gap)), ""))
            work.append(("left", f"about {progress.seconds_left:.0f} s", ""))
    return [
        ("incumbent", cost, "bold"),
        ("bound", bound, "bold"),
        ("gap", percent_up(progress.gap), "bold green"),
        ("time", clock, ""),
        ("phase", progress.phase or "search", ""),
        *work,
        *([("found by", progress.source, "")] if progress.source else []),
        *([] if progress.next_save is None else [("next save", _countdown(progress.next_save - since), "")]),
    ]


def flow(fields: Sequence[tuple[str, str, str]], width: int) -> list[Text]:
    """Put as many fields into a line as fit."""
    lines: list[Text] = []
    for name, value, style in fields:
        field = Text.assemble((f"{name} ", "dim"), (value, style))
        if lines and lines[-1].cell_len + 3 + field.cell_len <= width:
            lines[-1].append("   ").append_text(field)
        else:
            lines.append(field)
    return lines


def sparkline(gaps: Sequence[tuple[float, float]], elapsed: float, n_cells: int, blocks: str = _BLOCKS) -> str:
    """Draw the gap over time, one block per cell, on a logarithmic scale; full height while there is no clustering.

    Parameters
    ----------
    gaps
        Times at which the gap changed, and what it became.
    elapsed
        The time that the line ends at.
    """
    logarithms = [math.log10(min(max(gap, 1e-9), 1.0)) for _, gap in gaps]
    if not logarithms:
        return ""
    high, low = max(logarithms), min(logarithms)
    low = min(low, high - _LEAST_SPAN)
    cells = []
    current = 0
    for cell in range(n_cells):
        moment = elapsed * (cell + 1) / n_cells
        while current + 1 < len(gaps) and gaps[current + 1][0] <= moment:
            current += 1
        if gaps[0][0] > moment:
            cells.append(" ")
            continue
        height = (logarithms[current] - low) / (high - low)
        cells.append(blocks[min(int(height * len(blocks)), len(blocks) - 1)])
    return "".join(cells)


def _countdown(seconds: float) -> str:
    return f"in {math.ceil(seconds)} s" if seconds > 0 else "with the next news"
