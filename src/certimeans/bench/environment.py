"""What a measurement depends on besides the instances: machine, versions, settings."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from certimeans._version import __version__
from certimeans.bench.rows import Settings
from certimeans.problem.io.atomic import write_atomically
from certimeans.report.environment import commit, environment_line, library_versions, processor


def describe(settings: Settings) -> dict[str, Any]:
    """Return date, machine, versions and settings as plain data."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "certimeans": __version__,
        "commit": commit(),
        "libraries": library_versions(),
        "settings": asdict(settings),
    }


def write_environment(path: Path, settings: Settings, suite: str, datasets: Sequence[str] | None) -> None:
    """Add this run to ``environment.json``: a list, as a resumed run may have another machine or version."""
    try:
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    except (OSError, ValueError, KeyError, TypeError):
        runs = []
    runs.append({"suite": suite, "datasets": None if datasets is None else list(datasets), **describe(settings)})
    write_atomically(path, (json.dumps({"runs": runs}, indent=2) + "\n").encode())


def one_line(settings: Settings) -> str:
    """Say the same in a sentence, for the head of a table."""
    return f"{datetime.now(UTC):%Y-%m-%d}, {environment_line()}; {settings}."


def _memory() -> float | None:
    if sys.platform == "win32":
        return None
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError):
        return None
