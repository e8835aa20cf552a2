"""Python in processes of their own, and a tiny package with compiled functions."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import certimeans

SOURCES = Path(certimeans.__file__).parents[1]


def tiny_package(folder: Path) -> Path:
    """Write a package whose compiled function calls one in another file, which uses a constant of a third."""
    package = folder / "tiny"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "constants.py").write_text("FACTOR = 2\n")
    (package / "other.py").touch()
    (package / "callee.py").write_text(
        "from certimeans.compilation import inlined\n"
        "from tiny.constants import FACTOR\n"
        "@inlined\ndef multiply(x):\n    return FACTOR * x\n"
    )
    (package / "caller.py").write_text(
        "from certimeans.compilation import compiled\n"
        "from tiny.callee import multiply\n"
        "@compiled\ndef call(x):\n    return multiply(x)\n"
        "def stats():\n"
        "    return sum(call.stats.cache_hits.values()), sum(call.stats.cache_misses.values())\n"
    )
    return package


def start_python(code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start a script in a process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(SOURCES), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own; it has to end well."""
    with start_python(code, *arguments, **environment) as process:
        output, errors = process.communicate()
    assert process.returncode == 0, errors
    return subprocess.CompletedProcess(process.args, 0, output, errors)
