"""Read Excel and Parquet files, which the extra ``tables`` allows, as tables of text like those of a CSV file."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from datetime import date, datetime, time
from importlib import import_module
from typing import Any

from certimeans.errors import InputError
from certimeans.problem.io.layout import Row
from certimeans.problem.io.text import PathLike, shown

_EXCEL = b"PK\x03\x04"
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_PARQUET = b"PAR1"
_INDEX_TITLE = "__index_level_"


def is_workbook(data: bytes) -> bool:
    """Whether a file is a workbook or a Parquet table, by its first bytes."""
    return data.startswith((_EXCEL, _OLD_EXCEL, _PARQUET))


def read_workbook(path: PathLike, data: bytes, sheet: str | None, notes: list[str]) -> list[Row]:
    """Return the rows of a table as text, the first of them the titles if the format has any.

    Raises
    ------
    InputError
        If a library is missing, or the file is damaged or of another kind.
    """
    if data.startswith(_OLD_EXCEL):
        raise InputError(f"{path}: this is a workbook of an old Excel (.xls); save it as .xlsx or as CSV")
    if data.startswith(_PARQUET):
        if sheet is not None:
            raise InputError(f"{path}: only an Excel file has sheets; leave out --sheet")
        return _read_parquet(path, data)
    return _read_excel(path, data, sheet, notes)


def _read_excel(path: PathLike, data: bytes, sheet: str | None, notes: list[str]) -> list[Row]:
    openpyxl = _library(path, "openpyxl", "an Excel file")
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    except Exception as error:  # noqa: BLE001 - a damaged archive makes openpyxl raise nearly anything
        raise InputError(f"{path}: not a usable Excel file (.xlsx): {error}") from None
    names = [page.title for page in book.worksheets]
    if not names or (sheet is not None and sheet not in names):
        there = ", ".join(map(shown, names)) or "none"
        raise InputError(f"{path}: no sheet {shown(sheet or '')}; there are: {there}")
    chosen = names[0] if sheet is None else sheet
    if sheet is None and len(names) > 1:
        notes.append(f"sheet {shown(chosen)} was read, the first of {len(names)}; choose another with --sheet")
    try:
        found = [
            Row(number, [_as_text(value) for value in values])
            for number, values in enumerate(book[chosen].iter_rows(values_only=True), 1)
        ]
    except Exception as error:  # noqa: BLE001 - the same for its pages
        raise InputError(f"{path}: sheet {shown(chosen)} cannot be read ({error})") from None
    return _without_margins([row for row in found if any(row.cells)])


def _without_margins(rows: list[Row]) -> list[Row]:
    """Leave out the empty columns left and right of the table."""
    width = max((len(row.cells) for row in rows), default=0)
    used = [any(c < len(row.cells) and row.cells[c] for row in rows) for c in range(width)]
    first = used.index(True) if any(used) else 0
    last = width - used[::-1].index(True) if any(used) else 0
    return [Row(row.line, (row.cells + [""] * width)[first:last]) for row in rows]


def _read_parquet(path: PathLike, data: bytes) -> list[Row]:
    parquet = _library(path, "pyarrow.parquet", "a Parquet file")
    try:
        table = parquet.read_table(io.BytesIO(data))
        columns = [[_as_text(value) for value in column.to_pylist()] for column in table.columns]
    except Exception as error:  # noqa: BLE001 - a damaged file makes pyarrow raise nearly anything
        raise InputError(f"{path}: not a usable Parquet file: {error}") from None
    # A DataFrame's index comes last; in a CSV file it would be first, and without a title.
    titles = ["" if title.startswith(_INDEX_TITLE) else title for title in table.column_names]
    order = sorted(range(len(titles)), key=lambda column: titles[column] != "")
    rows: Iterable[tuple[str, ...]] = zip(*(columns[column] for column in order), strict=True)
    header = Row(0, [_one_line(titles[column]) for column in order])
    return [header, *(Row(number, list(cells)) for number, cells in enumerate(rows, 1))]


def _library(path: PathLike, name: str, kind: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"{path}: this is {kind}; to read it, pip install 'certimeans[tables]' (or save the table as CSV)"
        ) from None


def _as_text(value: object) -> str:
    """Write a cell as a CSV file would have it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    return _one_line(str(value))


def _one_line(text: str) -> str:
    return " ".join(text.split())
