"""Read points: CSV, white-space text, .npy, and with the extra ``tables`` Excel and Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from certimeans._typing import FloatArray
from certimeans.errors import InputError
from certimeans.problem.io import text
from certimeans.problem.io.columns import (
    NUMERIC,
    Missing,
    MissingRule,
    as_values,
    choose_columns,
    describe_column,
    find_column,
    listed,
    numeric_columns,
    refuse_commas,
    refuse_text,
    treat_missing,
)
from certimeans.problem.io.layout import Row, find_name_columns, has_header, has_size_line
from certimeans.problem.io.plain import LARGE_TEXT, read_plain_table
from certimeans.problem.io.text import PathLike, is_number, shown
from certimeans.problem.io.workbooks import is_workbook, read_workbook
from certimeans.problem.table import SourceTable
from certimeans.problem.validation import as_points

Decimal = Literal[".", ","]
_SMALLEST_MAPPED = 2**26
"""A file of doubles from this size on is not loaded, only mapped."""


@dataclass(frozen=True, eq=False)
class PointsFile:
    """What a file of points says.

    Attributes
    ----------
    values
        One row per point, one column per feature.
    feature_names
        Titles of the features, if the file has a header.
    row_names
        Names of the points, if the file has a column of names.
    n_clusters
        k, if the file starts with a line ``n d k``.
    notes
        Sentences that tell the user how the file was understood, where that was not obvious.
    missing
        What was done about missing values.
    table
        All rows and columns of the file as they are.
    """

    values: FloatArray
    feature_names: tuple[str, ...] | None = None
    row_names: tuple[str, ...] | None = None
    n_clusters: int | None = None
    notes: tuple[str, ...] = ()
    missing: Missing = field(default_factory=Missing)
    table: SourceTable | None = None


class _Sheet(NamedTuple):
    """A table of text cells, before it is known what its columns are."""

    rows: list[Row]
    titles: tuple[str, ...] | None
    n_clusters: int | None
    separator: str


def read_points(
    path: PathLike,
    *,
    columns: Sequence[str | int] | Literal["numeric"] | None = None,
    names: str | int | None = None,
    missing: MissingRule = "error",
    decimal: Decimal = ".",
    sheet: str | None = None,
) -> PointsFile:
    """Read points from CSV, white-space text, ``.npy``, Excel or Parquet, told apart by their content.

    Cells of text are separated by commas, semicolons, tabs or other white space. Blank lines, and comment lines,
    which start with ``#``, are skipped. Text is UTF-8 or UTF-16, else read as Windows text (cp1252) with a note.

    Size line
        White-space text may start with ``n d`` or ``n d k``. A first line of two or three counts is that if exactly
        n rows of d cells follow. It is also that, and the file is refused for breaking it, if nothing or a row of
        another length follows, or if d is right and no other row is all integers. Otherwise, as in data with two
        integer columns, the line is a point.
    Header
        The first row holds titles if some cell is text, and either no cell is a number, or the numbers are counts
        and some column is text in the first row only. So ``a,1,2`` above ``b,3,4`` is a point named a. It also does
        if it starts with a title as below, or if it is a DataFrame's: nothing, 0, 1, 2, ...
    Names
        A column titled id, index, name or nothing, with distinct values, names the points and is not a feature. So
        does a first column that holds text and no number.

    Parameters
    ----------
    path
        The file.
    columns
        The features, by title or by number; all columns of the file count, from 0. By default every column that does
        not name the points; ``"numeric"`` for those among them that hold numbers.
    names
        The column that names the points, by title or number; by default as above.
    missing
        What to do about missing values (empty cells, ``?``, ``NA``, ``NaN``, ``null``): ``"error"`` refuses them,
        ``"drop"`` leaves out their rows, ``"mean"`` fills in the mean of the feature.
    decimal
        The decimal mark.
    sheet
        The sheet of an Excel file; by default its first.

    Raises
    ------
    InputError
        If the file is not such a table of finite numbers; the message gives line, column and text. Excel and Parquet
        files need the extra ``tables``.
    """
    if decimal not in {".", ","}:
        raise InputError(f"decimal must be '.' or ','; got {decimal!r}")
    data = text.read_bytes(path)
    if data.startswith(np.lib.format.MAGIC_PREFIX):
        return _read_npy(path, columns, missing)
    notes: list[str] = []
    decimal_comma = decimal == ","
    is_usual = names is None and sheet is None and not decimal_comma
    if is_usual and len(data) >= LARGE_TEXT and (large := _read_large(path, data, columns)) is not None:
        return large
    read = _read_workbook if is_workbook(data) else _read_text
    found = read(path, data, notes, sheet, decimal_comma)
    if not found.rows:
        raise InputError(f"{path}: there is a header, but no points follow")
    titles = found.titles
    table = list(zip(*(row.cells for row in found.rows), strict=True))
    wanted = None if columns is None or _is_numeric(columns, titles) else columns
    chosen = [] if wanted is None else choose_columns(path, wanted, titles, len(table))
    naming = find_name_columns(table, titles, chosen)
    if names is not None:
        own = find_column(path, names, titles, len(table))
        naming = [own, *(number for number in naming if number != own)]
    notes += [_about_names(number, naming, titles) for number in naming if number not in chosen]
    features = chosen or [number for number in range(len(table)) if number not in naming]
    if columns is not None and wanted is None:
        features = numeric_columns(table, naming, decimal_comma=decimal_comma)
        if not decimal_comma:
            refuse_commas(path, table, [*features, *naming], titles)
        left_out = [describe_column(c, titles) for c in range(len(table)) if c not in {*features, *naming}]
        notes += [f"left out, because not all of it is numbers: {listed(left_out)}"] if left_out else []
    if not features:
        raise InputError(f"{path}: no column is left as a feature; choose some with --columns")
    cells = {number: table[number] for number in features}
    refuse_text(path, cells, titles, decimal_comma=decimal_comma)
    values = as_values(
        path,
        [row.line for row in found.rows],
        cells,
        titles,
        decimal_comma=decimal_comma,
        missing_allowed=missing != "error",
    )
    feature_names = tuple(titles[number] for number in features) if titles else None
    values, kept, report = treat_missing(path, values, missing, feature_names or [f"column {c}" for c in features])
    notes += report.sentences()
    source = SourceTable(
        len(found.rows),
        kept,
        table[naming[0]] if naming else None,
        titles,
        [row.cells for row in found.rows],
        found.separator,
        decimal,
        missing=_plain(report),
    )
    return PointsFile(values, feature_names, source.row_names, found.n_clusters, tuple(notes), report, source)


def _plain(missing: Missing) -> dict[str, Any]:
    if not missing.counts:
        return {}
    return {"rule": missing.rule, "values": dict(missing.counts), "dropped_rows": list(missing.rows)}


def _is_numeric(columns: Sequence[str | int] | str, titles: tuple[str, ...] | None) -> bool:
    is_word = columns == NUMERIC or list(columns) == [NUMERIC]
    return is_word and NUMERIC not in (titles or ())


def _about_names(number: int, naming: list[int], titles: tuple[str, ...] | None) -> str:
    use = "used as names, not as a feature" if number == naming[0] else "neither used as names nor as a feature"
    return f"{describe_column(number, titles)} is {use}"


def _read_text(path: PathLike, data: bytes, notes: list[str], sheet: str | None, decimal_comma: bool) -> _Sheet:
    if sheet is not None:
        raise InputError(f"{path}: only an Excel file has sheets; leave out --sheet")
    lines = text.content_lines(text.decode(path, data, notes))
    if not lines:
        raise InputError(f"{path}: the file is empty; give one point per line")
    separator = text.find_separator(
        lines[min(1, len(lines) - 1)].text if decimal_comma else lines[0].text, decimal_comma=decimal_comma
    )
    rows = [Row(line.number, text.split_cells(path, line, separator)) for line in lines]
    n_clusters = None
    if separator is None and has_size_line(path, rows, notes):
        size = rows.pop(0).cells
        n_clusters = int(size[2]) if len(size) == 3 else None
    _check_widths(path, rows)
    return _with_header(_Sheet(rows, None, n_clusters, separator or ","), notes)


def _read_workbook(path: PathLike, data: bytes, notes: list[str], sheet: str | None, _: bool) -> _Sheet:
    rows = read_workbook(path, data, sheet, notes)
    if not rows:
        raise InputError(f"{path}: the table is empty; give one point per row")
    if rows[0].line == 0:  # a Parquet file says what its titles are
        return _Sheet(rows[1:], tuple(rows[0].cells), None, ",")
    return _with_header(_Sheet(rows, None, None, ","), notes)


def _with_header(found: _Sheet, notes: list[str]) -> _Sheet:
    if not has_header(found.rows):
        return found
    titles = tuple(found.rows[0].cells)
    if any(map(is_number, titles)):
        notes.append(f"the first line, {shown(' '.join(titles))}, is read as titles of columns")
    return found._replace(rows=found.rows[1:], titles=titles)


def _read_large(
    path: PathLike, data: bytes, columns: Sequence[str | int] | Literal["numeric"] | None
) -> PointsFile | None:
    """Read a large file of plain numbers; ``None`` if it is not that plain."""

    def choose(titles: tuple[str, ...] | None, width: int) -> list[int]:
        everything = columns is None or _is_numeric(columns, titles)
        return [] if everything or columns is None else choose_columns(path, columns, titles, width)

    table = read_plain_table(path, data, choose)
    if table is None:
        return None
    titles, size = table.titles, table.size_line
    notes = [f"the first line, {shown(' '.join(size))}, is read as the size of the table"] if size else []
    if titles and any(map(is_number, titles)):
        notes.append(f"the first line, {shown(' '.join(titles))}, is read as titles of columns")
    notes += [f"{describe_column(number, titles)} is used as names, not as a feature" for number in table.naming]
    return PointsFile(
        table.values,
        tuple(titles[number] for number in table.features) if titles else None,
        table.names,
        int(size[2]) if len(size) == 3 else None,
        tuple(notes),
        table=SourceTable(len(table.values), np.arange(len(table.values)), table.names),
    )


def _read_npy(path: PathLike, columns: Any, missing: MissingRule) -> PointsFile:
    try:
        # Mapped, so that a header that promises more than the file holds is refused before memory is asked for.
        array: np.ndarray[Any, Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # noqa: BLE001 - a damaged header makes numpy raise nearly anything
        raise InputError(f"{path}: not a usable .npy file of numbers ({error})") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path}: the array holds {array.dtype}, not real numbers")
    if columns is not None and array.ndim == 2 and not _is_numeric(columns, None):
        array = array[:, choose_columns(path, columns, None, array.shape[1])]
    if missing != "error" and array.ndim == 2 and array.size and np.isnan(array).any():
        names = [f"column {number}" for number in range(array.shape[1])]
        values, kept, report = treat_missing(path, np.array(array, dtype=np.float64), missing, names)
        rows = [["" if np.isnan(value) else repr(value) for value in row] for row in array.astype(float).tolist()]
        source = SourceTable(len(array), kept, rows=rows, missing=_plain(report))
        return PointsFile(values, notes=tuple(report.sentences()), missing=report, table=source)
    if array.nbytes < _SMALLEST_MAPPED:
        array = np.array(array)  # in memory, where nobody can change it
    try:
        return PointsFile(as_points(array))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _check_widths(path: PathLike, rows: list[Row]) -> None:
    first = rows[0]
    for row in rows:
        if len(row.cells) != len(first.cells):
            raise InputError(
                f"{path}, line {row.line}: {len(row.cells)} cells, but line {first.line} has {len(first.cells)}: "
                f"{shown(' '.join(row.cells))}"
            )
