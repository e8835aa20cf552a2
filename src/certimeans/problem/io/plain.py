"""Read large tables of plain numbers fast, in little memory.

What is not plain, such as quotes, comments, text in a feature or rows of different lengths, is left to the reader of
small files, which says line by line what is wrong.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray
from certimeans.problem.io.layout import Row, find_name_columns, has_header, is_count
from certimeans.problem.io.text import Line, PathLike, find_separator, is_number, split_cells

LARGE_TEXT = 2**23
"""Bytes from which on a file is worth a special reader."""

_NOT_PLAIN = (b'"', b"#", b"\0")
_HEAD_BYTES = 2**16

Choose = Callable[[tuple[str, ...] | None, int], list[int]]
"""Given titles and the number of columns, returns the columns that the user chose; none if all are wanted."""


class PlainTable(NamedTuple):
    """A table whose features hold nothing but finite numbers.

    Attributes
    ----------
    values
        One row per point, one column per feature.
    features
        The columns that these are.
    naming
        The columns that name the points; those of the first are in ``names``.
    titles
        Titles of all columns, if there is a header.
    size_line
        The cells of a first line ``n d`` or ``n d k``; empty without one.
    """

    values: FloatArray
    features: list[int]
    naming: list[int]
    names: tuple[str, ...] | None
    titles: tuple[str, ...] | None
    size_line: list[str]


def read_plain_table(path: PathLike, data: bytes, choose: Choose) -> PlainTable | None:
    """Read a table; ``None`` if it is not plain.

    Parameters
    ----------
    data
        The bytes of the file.
    choose
        Which columns the user wants; it may raise an ``InputError``.
    """
    layout = _layout(path, data) if data.isascii() and not any(mark in data for mark in _NOT_PLAIN) else None
    if layout is None:
        return None
    titles, width, separator, n_skipped = layout.titles, layout.width, layout.separator, layout.n_skipped
    chosen = choose(titles, width)
    naming = find_name_columns(list(zip(*(row.cells for row in layout.rows), strict=True)), titles, chosen)
    features = chosen or [column for column in range(width) if column not in naming]
    is_whole = features == list(range(width))
    values = _load(data, separator, n_skipped, None if is_whole else features)
    size = layout.size_line
    if values is None or values.shape[1] != len(features) or (size and len(values) != int(size[0])):
        return None
    names: tuple[str, ...] | None = None
    if not is_whole:
        names = _names(data, separator, n_skipped, width, naming[0] if naming else 0)
        if names is None or len(names) != len(values) or not _are_names(names, naming, titles):
            return None
    return PlainTable(values, features, naming, names if naming else None, titles, size)


class _Layout(NamedTuple):
    """How the first lines are laid out: what they say about the others is checked when these are read."""

    rows: list[Row]
    width: int
    titles: tuple[str, ...] | None
    size_line: list[str]
    separator: str | None

    @property
    def n_skipped(self) -> int:
        """How many lines are before the first point."""
        return 1 if self.size_line or self.titles is not None else 0


def _layout(path: PathLike, data: bytes) -> _Layout | None:
    head = _head(data)
    if len(head) < 3:
        return None
    separator = find_separator(head[0].text)
    rows = [Row(line.number, split_cells(path, line, separator)) for line in head]
    size_line: list[str] = []
    if separator is None and len(rows[0].cells) in (2, 3) and all(map(is_count, rows[0].cells)):
        size_line = rows.pop(0).cells
    titles = tuple(rows.pop(0).cells) if not size_line and has_header(rows) else None
    width = int(size_line[1]) if size_line else len(titles or rows[0].cells)
    is_even = all(len(row.cells) == width for row in rows)
    return _Layout(rows, width, titles, size_line, separator) if is_even else None


def _head(data: bytes) -> list[Line]:
    """Return the first lines; none if the very first is blank."""
    text = data[:_HEAD_BYTES].decode("ascii").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")[:-1]  # the last may be cut short
    if not lines or not lines[0].strip():
        return []
    return [Line(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _load(data: bytes, separator: str | None, n_skipped: int, columns: list[int] | None) -> FloatArray | None:
    """Parse numbers, correctly rounded; ``None`` if some cell is no finite number, or rows differ in length."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="ascii", newline=None)
    try:
        values = np.loadtxt(
            lines, delimiter=separator, comments=None, skiprows=n_skipped, usecols=columns, ndmin=2, dtype=np.float64
        )
    except ValueError:
        return None
    finite: FloatArray | None = values if bool(np.isfinite(values).all()) else None
    return finite


def _names(data: bytes, separator: str | None, n_skipped: int, width: int, column: int) -> tuple[str, ...] | None:
    """Return the cells of one column; ``None`` if a row has another length."""
    found: list[str] = []
    for cells in _cells(data, separator, n_skipped):
        if len(cells) != width:
            return None
        found.append(cells[column].strip())
    return tuple(found)


def _cells(data: bytes, separator: str | None, n_skipped: int) -> Iterator[list[str]]:
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="ascii", newline=None)
    for number, line in enumerate(lines):
        if number >= n_skipped and line.strip():
            yield line.split(separator) if separator is None else line.rstrip("\n").split(separator)


def _are_names(names: tuple[str, ...], naming: list[int], titles: tuple[str, ...] | None) -> bool:
    """Whether what named the first rows names all of them: texts, or distinct values of a column with such a title."""
    if not naming:
        return True
    if len(naming) > 1:
        return False
    if titles is not None and len(set(names)) == len(names):
        return True
    return naming[0] == 0 and not any(map(is_number, names))
