"""What a measurement depends on besides the instances: machine, versions, settings."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from certimeans._version import __version__
from certimeans.bench.rows import Settings
from certimeans.problem.io.atomic import write_atomically

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")


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
        "libraries": {name: _version(name) for name in _LIBRARIES},
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
    libraries = ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES)
    revision = commit()
    program = f"certimeans {__version__}" + (f" (commit {revision})" if revision else "")
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {program}, Python {platform.python_version()}, {libraries}; "
        f"{processor()}, {os.cpu_count()} cores; {settings}."
    )


def processor() -> str:
    """Return the name of the processor as well as it can be known."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def commit() -> str | None:
    """Return the commit if the package runs from a checkout of its own repository."""
    package = Path(__file__).parents[1]
    if not (package.parents[1] / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"],  # noqa: S607  # wherever git is
            capture_output=True,
            text=True,
            check=False,
            cwd=package,
        )
    except OSError:
        return None
    return done.stdout.strip() or None


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _memory() -> float | None:
    if sys.platform == "win32":
        return None
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError):
        return None
