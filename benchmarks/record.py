"""Write measured tables to ``benchmarks/results/`` together with what is needed to read them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def environment() -> str:
    """Describe machine, versions and commit in one paragraph."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    now = datetime.now(UTC).strftime("%Y-%m-%d")
    return (
        f"{now}, commit {_commit()}, certimeans {version('certimeans')}, Python {platform.python_version()}, "
        f"{libraries}; {_processor()}, {os.cpu_count()} cores."
    )


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Format rows as a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


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


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=RESULTS.parent)
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
