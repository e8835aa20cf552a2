"""How incumbent and bound moved over time."""

from __future__ import annotations

import math
from collections.abc import Callable

from certimeans.search.limits import Progress

_SECONDS_BETWEEN_ENTRIES = 5.0


class History:
    """Keeps what is worth plotting, and passes everything on to the user's callback."""

    def __init__(self, callback: Callable[[Progress], None] | None) -> None:
        self.entries: list[Progress] = []
        self._callback = callback

    def begin(self) -> None:
        """Note that presolve begins."""
        self.add(_nothing_proven(0.0))

    def say(self, message: str, seconds: float) -> None:
        """Pass on what the user should know before the search begins."""
        self.add(_nothing_proven(seconds, message))

    def add(self, progress: Progress) -> None:
        """Keep an entry if anything moved, or if the last one is old."""
        last = self.entries[-1] if self.entries else None
        if (
            last is None
            or (progress.incumbent_cost, progress.lower_bound) != (last.incumbent_cost, last.lower_bound)
            or (progress.phase, progress.message) != (last.phase, last.message)
            or progress.seconds > last.seconds + _SECONDS_BETWEEN_ENTRIES
        ):
            self.entries.append(progress)
        if self._callback is not None:
            self._callback(progress)


def _nothing_proven(seconds: float, message: str = "") -> Progress:
    """Return a state before the search; the bound is not 0, as costs of a Gram matrix may be negative."""
    return Progress(seconds, math.inf, -math.inf, 0, 0, 0, 0, "presolve", message)
