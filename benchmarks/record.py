"""Write measured tables to ``benchmarks/results/`` together with what is needed to read them."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from certimeans.bench.tables import markdown_table
from certimeans.report.environment import environment_line

__all__ = ["RESULTS", "environment", "markdown_table", "run_apart", "write_result", "write_rows"]

RESULTS = Path(__file__).parent / "results"


def environment() -> str:
    """Describe machine, versions and commit in one paragraph."""
    return f"{datetime.now(UTC):%Y-%m-%d}, {environment_line()}."


def write_result(name: str, title: str, body: str, folder: Path = RESULTS) -> None:
    """Write ``NAME.md`` into a folder with title, command and environment, and print it."""
    # The path of the data says nothing to readers.
    arguments = ["DATA" if Path(argument).is_dir() else argument for argument in sys.argv[1:]]
    command = " ".join(["python -m", _module_name(), *arguments])
    text = f"# {title}\n\n`{command}`\n\n{environment()}\n\n{body}\n"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def run_apart(module: str, arguments: list[str], what: dict[str, Any]) -> dict[str, Any]:
    """Run a module in a process of its own, and return and print the JSON object that it prints.

    If it fails, that is ``what`` with a status that says so.
    """
    done = subprocess.run([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    failed = {**what, "status": f"failed with exit code {done.returncode}"}
    row: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else failed
    print(row, flush=True)
    return row


def write_rows(name: str, title: str, rows: list[dict[str, Any]]) -> None:
    """Write ``results/NAME.md`` with one table; rows that failed have fewer columns."""
    header = max((list(row) for row in rows), key=len)
    write_result(name, title, markdown_table(header, [[row.get(column, "") for column in header] for row in rows]))


def _module_name() -> str:
    spec = sys.modules["__main__"].__spec__
    return spec.name if spec is not None else Path(sys.argv[0]).stem
