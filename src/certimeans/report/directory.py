"""The results directory: everything about one solve, for people, programs and checkers."""

from __future__ import annotations

import json
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans.analysis.saved import write_problem
from certimeans.errors import InputError
from certimeans.problem.io.atomic import write_atomically
from certimeans.problem.io.files import write_labels
from certimeans.proof.certificate import write_certificate
from certimeans.report.tables import write_profile, write_sheet, write_table
from certimeans.result import SolveResult
from certimeans.search.limits import Progress
from certimeans.status import finite_or_none

if TYPE_CHECKING:
    from certimeans.prices import ConstraintPrices

_RESULT_FILES = (
    "result.json",
    "labels.csv",
    "table.csv",
    "profile.csv",
    "prices.csv",
    "prices.json",
    "problem.json",
    "events.jsonl",
    "report.html",
    "certificate.*",
)


def prepare_directory(folder: str | Path, *, overwrite: bool = False) -> None:
    """Make a folder, and make sure that a result can be written there: better to know before a long solve.

    Raises
    ------
    InputError
        If the folder cannot be made or written, or if it holds a result and ``overwrite`` is false.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = _result_files(folder)
        trial = folder / f".{secrets.token_hex(8)}.tmp"
        try:
            trial.write_bytes(bytes(4096))
        finally:
            trial.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{folder}: results cannot be written there ({reason})") from None
    if found and not overwrite:
        raise InputError(
            f"{folder}: there is another result ({found[0].name}); choose another folder, or replace it with "
            "--overwrite (in Python: overwrite=True)"
        )


def write_directory(
    result: SolveResult,
    folder: str | Path,
    *,
    command: str | None = None,
    report: bool = True,
) -> None:
    """Write all files of a result: numbers, labels, tables, events, the problem, the certificate and the report.

    The folder is there, see :func:`prepare_directory`. Files of an earlier result are replaced, or removed where this
    one has none, so that no folder holds a mixture of two.

    Parameters
    ----------
    command
        How the run can be repeated; shown in the report.
    report
        Whether to write ``report.html``, which takes a few seconds.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    folder = Path(folder)
    remove_result(folder)
    write_atomically(folder / "result.json", (result.to_json() + "\n").encode())
    row_labels = result.row_labels()
    if row_labels is not None:
        cells = ["" if label is None else label for label in row_labels]
        names = None if result.source is None else result.source.names
        write_labels(folder / "labels.csv", cells, row_names=names)
    write_atomically(folder / "events.jsonl", "".join(_event(entry) for entry in result.history).encode())
    labels = None if result.clustering is None else result.clustering.labels
    proof = result.search_tree.proof()
    write_certificate(folder, result.instance, proof, labels, result.objective, result.lower_bound)
    write_problem(result, folder)
    if labels is not None:
        write_table(result, folder / "table.csv")
        write_profile(result, folder / "profile.csv")
    if report:
        from certimeans.report.html import render_report  # noqa: PLC0415  # brings what draws along

        write_atomically(folder / "report.html", render_report(result, command).encode())


def remove_result(folder: Path) -> None:
    """Remove the files of an earlier result, and nothing else."""
    for path in _result_files(folder):
        _remove(path)


def add_prices(prices: ConstraintPrices, folder: str | Path) -> None:
    """Add what constraints cost to a results directory: ``prices.csv``, ``prices.json`` and a chart in the report.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    from certimeans.report.price_section import with_prices  # noqa: PLC0415  # brings what draws along

    folder = Path(folder)
    write_sheet(folder / "prices.csv", prices.titles(), prices.rows())
    write_atomically(folder / "prices.json", (json.dumps(prices.to_dict(), allow_nan=False) + "\n").encode())
    report = folder / "report.html"
    if report.is_file():
        page = with_prices(report.read_text(encoding="utf-8", errors="replace"), prices)
        write_atomically(report, page.encode())


def _result_files(folder: Path) -> list[Path]:
    return sorted(path for pattern in _RESULT_FILES for path in folder.glob(pattern))


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():  # the proofs of parts
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        raise InputError(f"{path}: the file cannot be replaced ({error.strerror})") from None


def _event(progress: Progress) -> str:
    plain = {
        name: finite_or_none(value) if isinstance(value, float) else value for name, value in vars(progress).items()
    }
    return json.dumps(plain, allow_nan=False) + "\n"
