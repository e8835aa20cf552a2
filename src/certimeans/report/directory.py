"""The results directory: everything about one solve, for people, programs and checkers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from certimeans.certificate.write import write_certificate
from certimeans.errors import InputError
from certimeans.problem.io.atomic import write_atomically
from certimeans.problem.io.files import write_labels
from certimeans.report.html import render_report
from certimeans.result import SolveResult
from certimeans.search.limits import Progress


def write_directory(
    result: SolveResult,
    folder: str | Path,
    *,
    row_names: Sequence[str] | None = None,
    command: str | None = None,
    report: bool = True,
) -> None:
    """Write ``result.json``, ``labels.csv``, ``events.jsonl``, the certificate and ``report.html``.

    Parameters
    ----------
    row_names
        Names of the points, if they have any.
    command
        How the run can be repeated; shown in the report.
    report
        Whether to write ``report.html``, which takes a second or two to draw.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be made ({error.strerror})") from None
    write_atomically(folder / "result.json", (result.to_json() + "\n").encode())
    if result.labels is not None:
        write_labels(folder / "labels.csv", result.labels.tolist(), row_names=row_names)
    write_atomically(folder / "events.jsonl", "".join(_event(entry) for entry in result.history).encode())
    write_certificate(folder, result.instance, result.search_tree, result.labels, result.objective, result.lower_bound)
    if report:
        write_atomically(folder / "report.html", render_report(result, command).encode())


def _event(progress: Progress) -> str:
    plain = {
        name: value if not isinstance(value, float) or np.isfinite(value) else None
        for name, value in vars(progress).items()
    }
    return json.dumps(plain, allow_nan=False) + "\n"
