"""Write measured tables to ``benchmarks/results/`` together with what is needed to read them."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from certimeans.bench.tables import markdown_table
from certimeans.report.environment import environment_line

__all__ = ["RESULTS", "environment", "markdown_table", "write_result"]

RESULTS = Path(__file__).parent / "results"


def environment() -> str:
    """Describe machine, versions and commit in one paragraph."""
    return f"{datetime.now(UTC):%Y-%m-%d}, {environment_line()}."


def write_result(name: str, title: str, body: str) -> None:
    """Write ``results/NAME.md`` with title, command and environment, and print it."""
    # The path of the data says nothing to readers.
    arguments = ["DATA" if Path(argument).is_dir() else argument for argument in sys.argv[1:]]
    command = " ".join(["python -m", _module_name(), *arguments])
    text = f"# {title}\n\n`{command}`\n\n{environment()}\n\n{body}\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def _module_name() -> str:
    spec = sys.modules["__main__"].__spec__
    return spec.name if spec is not None else Path(sys.argv[0]).stem
