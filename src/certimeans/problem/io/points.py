"""Read points: CSV, white-space text or .npy."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from certimeans._typing import FloatArray
from certimeans.errors import InputError
from certimeans.problem.io import text
from certimeans.problem.io.layout import MISSING_WORDS, Row, find_name_columns, has_header, has_size_line, is_text
from certimeans.problem.io.plain import LARGE_TEXT, read_plain_table
from certimeans.problem.io.text import PathLike, as_number, is_number, shown
from certimeans.problem.validation import as_points

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
    """

    values: FloatArray
    feature_names: tuple[str, ...] | None = None
    row_names: tuple[str, ...] | None = None
    n_clusters: int | None = None
    notes: tuple[str, ...] = ()


def read_points(path: PathLike, *, columns: Sequence[str | int] | None = None) -> PointsFile:
    """Read points from CSV, white-space text or ``.npy``, told apart by their content.

    Cells of text are separated by commas, semicolons, tabs or other white space. Blank lines, and comment lines,
    which start with ``#``, are skipped.

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
        not name the points.

    Raises
    ------
    InputError
        If the file is not such a table of finite numbers; the message gives line, column and text.
    """
    data = text.read_bytes(path)
    if data.startswith(np.lib.format.MAGIC_PREFIX):
        return PointsFile(_read_npy(path, columns))
    if len(data) >= LARGE_TEXT and (large := _read_large(path, data, columns)) is not None:
        return large
    lines = text.content_lines(text.decode(path, data))
    if not lines:
        raise InputError(f"{path}: the file is empty; give one point per line")
    separator = text.find_separator(lines[0].text)
    rows = [Row(line.number, text.split_cells(path, line, separator)) for line in lines]
    n_clusters, titles = None, None
    notes: list[str] = []
    if separator is None and has_size_line(path, rows, notes):
        size = rows.pop(0).cells
        n_clusters = int(size[2]) if len(size) == 3 else None
    _check_widths(path, rows)
    if has_header(rows):
        titles = tuple(rows.pop(0).cells)
        if any(map(is_number, titles)):
            notes.append(f"the first line, {shown(' '.join(titles))}, is read as titles of columns")
    if not rows:
        raise InputError(f"{path}: there is a header, but no points follow")
    table = list(zip(*(row.cells for row in rows), strict=True))
    chosen = [] if columns is None else _choose(path, columns, titles, len(table))
    names = find_name_columns(table, titles, chosen)
    notes += [f"{_column(number, titles)} is used as names, not as a feature" for number in names]
    features = chosen or [number for number in range(len(table)) if number not in names]
    if not features:
        raise InputError(f"{path}: no column is left as a feature; choose some with --columns")
    return PointsFile(
        _as_values(path, [row.line for row in rows], {number: table[number] for number in features}, titles),
        tuple(titles[number] for number in features) if titles else None,
        table[names[0]] if names else None,
        n_clusters,
        tuple(notes),
    )


def _read_large(path: PathLike, data: bytes, columns: Sequence[str | int] | None) -> PointsFile | None:
    """Read a large file of plain numbers; ``None`` if it is not that plain."""

    def choose(titles: tuple[str, ...] | None, width: int) -> list[int]:
        return [] if columns is None else _choose(path, columns, titles, width)

    table = read_plain_table(path, data, choose)
    if table is None:
        return None
    titles, size = table.titles, table.size_line
    notes = [f"the first line, {shown(' '.join(size))}, is read as the size of the table"] if size else []
    if titles and any(map(is_number, titles)):
        notes.append(f"the first line, {shown(' '.join(titles))}, is read as titles of columns")
    notes += [f"{_column(number, titles)} is used as names, not as a feature" for number in table.naming]
    return PointsFile(
        table.values,
        tuple(titles[number] for number in table.features) if titles else None,
        table.names,
        int(size[2]) if len(size) == 3 else None,
        tuple(notes),
    )


def _read_npy(path: PathLike, columns: Sequence[str | int] | None) -> FloatArray:
    try:
        # Mapped, so that a header that promises more than the file holds is refused before memory is asked for.
        array: np.ndarray[Any, Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # noqa: BLE001 - a damaged header makes numpy raise nearly anything
        raise InputError(f"{path}: not a usable .npy file of numbers ({error})") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path}: the array holds {array.dtype}, not real numbers")
    if columns is not None and array.ndim == 2:
        array = array[:, _choose(path, columns, None, array.shape[1])]
    if array.nbytes < _SMALLEST_MAPPED:
        array = np.array(array)  # in memory, where nobody can change it
    try:
        return as_points(array)
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


def _choose(path: PathLike, columns: Sequence[str | int], titles: tuple[str, ...] | None, n_columns: int) -> list[int]:
    chosen = []
    numbers = [str(number) for number in range(n_columns)]
    for given in columns:
        wanted = given.strip() if isinstance(given, str) and given not in (titles or ()) else given
        if titles and isinstance(wanted, str) and titles.count(wanted) == 1:
            chosen.append(titles.index(wanted))
        elif str(wanted) in numbers:
            chosen.append(int(wanted))
        else:
            known = f"there are {', '.join(map(repr, titles[:20]))} and " if titles else ""
            raise InputError(f"{path}: no single column {shown(wanted)}; {known}numbers 0 to {n_columns - 1}")
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError(f"{path}: choose at least one column as a feature, and each only once")
    return chosen


def _as_values(
    path: PathLike, lines: list[int], features: dict[int, tuple[str, ...]], titles: tuple[str, ...] | None
) -> FloatArray:
    values = np.column_stack([_as_numbers(cells) for cells in features.values()])
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        row, position = bad[0]
        number, cells = list(features.items())[position]
        raise InputError(f"{path}, line {lines[row]}, {_column(number, titles)}: {_what_is_wrong(cells[row])}")
    return values


def _as_numbers(cells: tuple[str, ...]) -> list[float]:
    together = "".join(cells)
    if together.isascii() and "_" not in together:
        # Then float() takes nothing that as_number() does not, but for nan and inf, and it is several times faster.
        with suppress(ValueError):
            return list(map(float, cells))
    return [as_number(cell) for cell in cells]


def _column(number: int, titles: tuple[str, ...] | None) -> str:
    return f"column {shown(titles[number])}" if titles and titles[number] else f"column {number} (counted from 0)"


def _what_is_wrong(cell: str) -> str:
    if cell.lower() in MISSING_WORDS:
        return f"the value is missing ({shown(cell)}); fill it in, or drop the row or the column"
    if is_text(cell):
        return f"{shown(cell)} is not a number; choose the columns that are features with --columns"
    if is_number(cell):
        return f"{shown(cell)} is too large for a double"
    return f"{shown(cell)} is not a number here; write finite numbers such as -1234.5 or 1e-3"
