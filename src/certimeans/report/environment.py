"""What a result was made with: versions and machine, for a report, for a benchmark and for those who repeat it."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

from certimeans._version import __version__

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")


def describe_environment() -> list[tuple[str, str]]:
    """Return names and values: versions of all that computes, and the machine without its name."""
    return [
        ("certimeans", __version__),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("libraries", ", ".join(f"{name} {version}" for name, version in library_versions().items())),
        ("machine", f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"),
    ]


def environment_line() -> str:
    """Say in one line what a measurement depends on: versions, commit and processor."""
    revision = commit()
    program = f"certimeans {__version__}" + (f" (commit {revision})" if revision else "")
    libraries = ", ".join(f"{name} {version}" for name, version in library_versions().items())
    return f"{program}, Python {platform.python_version()}, {libraries}; {processor()}, {os.cpu_count()} cores"


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that compute."""
    return {name: _version(name) for name in _LIBRARIES}


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
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"
