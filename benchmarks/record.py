"""Write measured tables to ``benchmarks/results/`` together with what is needed to read them.

With the environment variable ``CERTIMEANS_BENCH_OUT`` tables go to its folder ``results`` and pictures to ``images``:
``benchmarks.all --quick`` sets it, so that a trial never replaces the real ones.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from certimeans.bench.tables import markdown_table
from certimeans.report.environment import environment_line

__all__ = [
    "OUT",
    "PICTURES",
    "RESULTS",
    "environment",
    "environments",
    "markdown_table",
    "run_apart",
    "write_result",
    "write_rows",
]

OUT = "CERTIMEANS_BENCH_OUT"
_HERE = Path(__file__).resolve().parent


def _folders() -> tuple[Path, Path]:
    out = os.environ.get(OUT)
    if out:
        return Path(out) / "results", Path(out) / "images"
    return _HERE / "results", _HERE.parent / "docs" / "images"


RESULTS, PICTURES = _folders()


def environment() -> str:
    """Describe machine, versions and commit in one paragraph."""
    return f"{datetime.now(UTC):%Y-%m-%d}, {environment_line()}."


def environments(measured: Iterable[tuple[str, str]]) -> str:
    """Describe what a table merged from runs was measured with, from the date and environment of each row."""
    dates: dict[str, set[str]] = {}
    for date, line in measured:
        dates.setdefault(line or "not recorded with which version", set()).add(date or "an unknown day")
    said = [f"{' and '.join(sorted(days))}, {line}." for line, days in dates.items()]
    if len(said) == 1:
        return said[0]
    return "Rows of several runs:\n\n" + "\n".join(f"- {line}" for line in said)


def write_result(
    name: str,
    title: str,
    body: str,
    folder: Path = RESULTS,
    *,
    command: str | None = None,
    measured_with: str | None = None,
) -> None:
    """Write ``NAME.md`` into a folder with title, command and environment, and print it.

    Parameters
    ----------
    command, measured_with
        Instead of this process's own, where a table has rows of several runs.
    """
    text = f"# {title}\n\n`{command or _command()}`\n\n{measured_with or environment()}\n\n{body}\n"
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


def _command() -> str:
    """Return the command of this process; paths say nothing to readers, so folders go by what they are for."""
    words: list[str] = []
    for before, argument in zip(["", *sys.argv[1:]], sys.argv[1:], strict=False):
        path = Path(argument)
        if path.is_dir():
            words.append(before.removeprefix("--").upper() if before.startswith("--") else "DATA")
        else:
            words.append(path.name if path.is_file() else argument)
    return shlex.join(["python", "-m", _module_name(), *words])


def _module_name() -> str:
    spec = sys.modules["__main__"].__spec__
    return spec.name if spec is not None else Path(sys.argv[0]).stem
