"""Progress of a benchmark: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from certimeans.bench.rows import Row
from certimeans.printing import fixed_percent_up, harmless


class BenchProgress:
    """Says what was solved, one line per instance, above a bar if the stream is a terminal."""

    def __init__(self, stream: TextIO, total: int, done: int = 0) -> None:
        self._stream = stream
        self._total = total
        self._done = done
        self._console = Console(file=stream, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            refresh_per_second=2,  # the machine is being measured
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("solving", total=total, completed=done)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """Write a line."""
        text = harmless(text)
        if self._console.is_terminal:
            self._console.print(text, markup=False)
        else:
            self._stream.write(text + "\n")
            self._stream.flush()

    def advance(self, row: Row) -> None:
        """Tell about one more instance."""
        self._done += 1
        self._bar.update(self._task, completed=self._done)
        self.say(f"[{self._done}/{self._total}] {describe(row)}")


def describe(row: Row) -> str:
    """Say in one line what came out."""
    if math.isnan(row.time):
        return f"{row.name}: {row.status}: {row.message}"
    parts = [f"{row.name}: {row.status}", f"{row.nodes} node{'s' if row.nodes > 1 else ''}", f"{row.time:.2f} s"]
    parts += [f"gap {fixed_percent_up(row.gap)} %"] if not row.is_solved and math.isfinite(row.gap) else []
    parts += [f"value {row.verdict}"] if row.verdict else []
    parts += [f"{row.speed_up:.0f} times as fast"] if row.speed_up > 0 else []
    parts += [f"verified {row.verified}"] if row.verified else []
    return ", ".join(parts)
