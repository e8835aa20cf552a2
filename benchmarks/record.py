"""Write measured tables to ``benchmarks/results/`` together with what is needed to read them."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from certimeans.bench.environment import commit, processor
from certimeans.bench.tables import markdown_table

__all__ = ["RESULTS", "environment", "markdown_table", "write_result"]

RESULTS = Path(__file__).parent / "results"


def environment() -> str:
    """Describe machine, versions and commit in one paragraph."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    now = datetime.now(UTC).strftime("%Y-%m-%d")
    return (
        f"{now}, commit {commit() or 'unknown'}, certimeans {version('certimeans')}, "
        f"Python {platform.python_version()}, {libraries}; {processor()}, {os.cpu_count()} cores."
    )


def write_result(name: str, title: str, body: str) -> None:
    """Write ``results/NAME.md`` with title, command and environment, and print it."""
    # Where the data are is nobody's business but the machine's own.
    arguments = ["DATA" if Path(argument).is_dir() else argument for argument in sys.argv[1:]]
    command = " ".join(["python -m", _module_name(), *arguments])
    text = f"# {title}\n\n`{command}`\n\n{environment()}\n\n{body}\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def _module_name() -> str:
    spec = sys.modules["__main__"].__spec__
    return spec.name if spec is not None else Path(sys.argv[0]).stem
