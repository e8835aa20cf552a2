"""What a result was made with: versions and machine, for a report, for a benchmark and for those who repeat it."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

from certimeans._version import __version__

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
_WRITTEN = ("benchmarks/results", "docs/images", "*.md")


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
    """Return the commit if the package runs from a checkout of its own repository, with ``-dirty`` if it was edited.

    Texts, and tables and pictures that benchmarks write, do not count: the commit is the last one that changed anything
    else, so that measurements of several days name the same one as long as the same program was measured.
    """
    package = Path(__file__).parents[1]
    if not (package.parents[1] / ".git").exists():
        return None
    program = [":/", *(f":(top,exclude){written}" for written in _WRITTEN)]
    revision = _git(package, "log", "-1", "--format=%h", "--", *program)
    edited = _git(package, "status", "--porcelain", "--untracked-files=no", "--", *program)
    return f"{revision}-dirty" if revision and edited else revision or None


def _git(folder: Path, *arguments: str) -> str:
    """Return what git says; nothing if there is none, or if it fails."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603, S607
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"
