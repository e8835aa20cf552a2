"""A real Dask cluster on loopback: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

DASK = [sys.executable, "-m", "dask"]


class Cluster:
    """A scheduler and workers, each a process of its own on loopback."""

    def __init__(self, folder: Path, n_workers: int = 2) -> None:
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "--port", "0")
        self.workers: list[subprocess.Popen[bytes]] = []
        for _ in range(n_workers):
            self.add_worker()

    def add_worker(self) -> None:
        """Start another worker, without waiting for it."""
        self.workers.append(self._start("worker", "--nthreads", "1", "--no-nanny"))

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        places = ("--host", "127.0.0.1", "--scheduler-file", "scheduler.json", "--no-dashboard")
        self._started.append(
            subprocess.Popen(
                [*DASK, *arguments, *places],
                cwd=self._folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        return self._started[-1]

    def address(self) -> str:
        """Wait for the scheduler to say where it listens."""
        path = self._folder / "scheduler.json"
        for _ in range(300):
            if path.exists() and path.stat().st_size:
                return str(json.loads(path.read_text(encoding="utf-8"))["address"])
            time.sleep(0.1)
        raise AssertionError("the scheduler did not start")

    def close(self) -> None:
        """Kill what is left."""
        for process in self._started:
            process.kill()
            process.wait()
