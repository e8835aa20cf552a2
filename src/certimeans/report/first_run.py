"""Whether this machine has yet to compile the solver's loops, which takes a while once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

FIRST_RUN_NOTE = "compiling for this machine, up to a minute; only the first run does this"


def is_first_run() -> bool:
    """Whether numba has no stored machine code for the search loop, wherever it stores it here.

    That loop takes most of the time to compile, and every solve needs it.
    """
    from certimeans.heuristics.memetic import draw_starts  # noqa: PLC0415

    return not _is_stored(draw_starts)


def _is_stored(function: Any) -> bool:
    stats = getattr(function, "stats", None)
    if stats is None or stats.cache_path is None:  # compilation is switched off
        return True
    module = function.__module__.rpartition(".")[2]
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    folder, pattern = Path(stats.cache_path), f"{module}.{function.__name__}-*.{version}*.nbi"
    return any(folder.glob(pattern))
