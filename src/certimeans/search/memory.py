"""How much memory a run may take: estimated before it is taken."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_SHARE_OF_FREE = 0.5
_MEMINFO = Path("/proc/meminfo")
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_CGROUP_USED = Path("/sys/fs/cgroup/memory.current")
_WITHOUT_ANY_WORD = 4 * 2**30


def memory_limit(stated: float | None) -> int:
    """Return the bytes that one bound may take: what the settings say, else half of what is free now."""
    return int(stated) if stated is not None else int(_SHARE_OF_FREE * free_memory())


def free_memory() -> int:
    """Return the bytes that are free on this machine, or in this container, as far as the system tells."""
    free = _free_of_machine()
    with suppress(OSError, ValueError):  # no container, or one without a limit
        free = min(free, int(_CGROUP_LIMIT.read_text()) - int(_CGROUP_USED.read_text()))
    return max(free, 0)


def _free_of_machine() -> int:
    with suppress(OSError, ValueError, IndexError):
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return _WITHOUT_ANY_WORD
