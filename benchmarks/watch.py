"""Run a command and watch its time and the memory of it and all that it starts."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from certimeans.bench.memory import descendants

_SECONDS_BETWEEN_LOOKS = 0.25
_PROC = Path("/proc")


@dataclass(frozen=True)
class Watched:
    """How a command ended.

    Attributes
    ----------
    peak_gigabytes
        Most memory of the process and its descendants together; a page that several share is counted once.
    """

    exit_code: int
    output: str
    seconds: float
    peak_gigabytes: float


def run_watched(command: list[str]) -> Watched:
    """Run a command to its end; its standard error is passed on."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = [0]
    done = threading.Event()

    def look() -> None:
        while not done.wait(_SECONDS_BETWEEN_LOOKS):
            peak[0] = max(peak[0], sum(_kilobytes(pid) for pid in [process.pid, *descendants(process.pid)]))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - began
    done.set()
    watcher.join()
    return Watched(process.returncode, output, seconds, peak[0] / 2**20)


def _kilobytes(pid: int) -> int:
    """Read the proportional set size of a process, which divides shared pages among those that share them."""
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
