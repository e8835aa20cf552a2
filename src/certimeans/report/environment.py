"""What a result was made with, for those who want to make it again."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from certimeans._version import __version__

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")


def describe_environment() -> list[tuple[str, str]]:
    """Return names and values: versions of all that computes, and the machine without its name."""
    libraries = ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES)
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    return [
        ("certimeans", __version__),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("libraries", libraries),
        ("machine", machine),
    ]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"
