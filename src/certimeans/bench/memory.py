"""How much memory a solve takes at most."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

_SECONDS_BETWEEN_LOOKS = 0.2
_PROC = Path("/proc")


class PeakMemory:
    """Watches this process, and the processes it starts, while a ``with`` block runs.

    On Linux the kernel keeps the peak of a process and forgets it on request; worker processes are looked at a few
    times a second. Elsewhere the peak since the start of the process is all there is.

    Attributes
    ----------
    megabytes
        The peak, once the block has ended.
    """

    def __init__(self, *, with_children: bool = False) -> None:
        self.megabytes = 0.0
        self._with_children = with_children
        self._sampled = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        with suppress(OSError):  # not Linux, or not allowed: the peak is that of the whole process
            (_PROC / "self" / "clear_refs").write_text("5", encoding="ascii")  # 5: reset the peak
        if self._with_children and _PROC.is_dir():
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()
        self.megabytes = max(_own_peak(), self._sampled)

    def _look(self) -> None:
        while not self._done.wait(_SECONDS_BETWEEN_LOOKS):
            family = [os.getpid(), *descendants(os.getpid())]
            self._sampled = max(self._sampled, sum(_status(pid, "VmRSS") for pid in family))


def _own_peak() -> float:
    peak = _status(os.getpid(), "VmHWM")
    if peak or sys.platform == "win32":
        return peak
    import resource  # noqa: PLC0415  # not on Windows

    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest / (2**20 if sys.platform == "darwin" else 2**10)


def _status(pid: int, name: str) -> float:
    """Read a figure of a process in megabytes; 0 if it is not to be had."""
    try:
        lines = (_PROC / str(pid) / "status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 2**10 for line in lines if line.startswith(f"{name}:")), 0.0)


def descendants(pid: int) -> list[int]:
    """Find the processes that a process started, and those that these started; none where there is no /proc."""
    found: list[int] = []
    for file in (_PROC / str(pid) / "task").glob("*/children"):
        try:
            children = [int(child) for child in file.read_text(encoding="ascii").split()]
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found
