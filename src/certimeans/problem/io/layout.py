"""How a table of points is laid out: whether it has a size line, a header, a column of names."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from certimeans.errors import InputError
from certimeans.problem.io.text import PathLike, is_number, shown

NAME_TITLES = frozenset({"", "id", "index", "name", "unnamed: 0"})
"""Titles, in lower case, of columns that name the points rather than measure them."""

INDEX_TITLES = frozenset({"", "unnamed: 0", "index"})
"""Those of a DataFrame's index."""

MISSING_WORDS = frozenset({"", "?", "na", "n/a", "nan", "null", "none", "#n/a", "<na>"})
"""What tables hold, in lower case, where there is no value."""


class Row(NamedTuple):
    """The cells of a line of a table."""

    line: int
    cells: list[str]


def has_size_line(path: PathLike, rows: list[Row], notes: list[str]) -> bool:
    """Whether the first row is ``n d`` or ``n d k``, as told in :func:`~certimeans.problem.io.files.read_points`.

    Adds a note for the user where the row could be taken for both a size and a point.

    Raises
    ------
    InputError
        If it is, and the other rows are not n rows of d cells.
    """
    size, rest = rows[0].cells, rows[1:]
    if len(size) not in (2, 3) or not all(is_count(cell) for cell in size):
        return False
    n, d = int(size[0]), int(size[1])
    odd = next((row for row in rest if len(row.cells) != d), None)
    if rest and len(rest) == n and odd is None:
        notes.append(f"the first line, {shown(' '.join(size))}, is read as the size of the table")
        return True
    could_be_point = bool(rest) and len(rest[0].cells) == len(size)
    if could_be_point and len(size) != d:
        return False
    if could_be_point and any(_is_integral(row) for row in rest):
        notes.append(f"the first line, {shown(' '.join(size))}, is read as a point, not as the size of the table")
        return False
    actual = f"{len(rest) or 'no'} rows follow" if odd is None else f"line {odd.line} has {len(odd.cells)} cells"
    raise InputError(
        f"{path}, line {rows[0].line}: {shown(' '.join(size))} says {n} points with {d} features, but {actual}; "
        "correct that line (or, if it is a point, write its numbers with a decimal point)"
    )


def has_header(rows: list[Row]) -> bool:
    """Whether the first row holds titles, as told in :func:`~certimeans.problem.io.files.read_points`."""
    first, rest = rows[0].cells, rows[1:]
    if first[0].lower() in NAME_TITLES and (first[0] or first[1:] == [str(c) for c in range(len(first) - 1)]):
        return True
    text_columns = [column for column, cell in enumerate(first) if is_text(cell)]
    numbers = [cell for cell in first if cell and not is_text(cell)]
    if not text_columns or not all(is_count(cell) for cell in numbers):
        return False
    return not numbers or any(not any(is_text(row.cells[column]) for row in rest) for column in text_columns)


def find_name_columns(
    table: list[tuple[str, ...]], titles: tuple[str, ...] | None, features: Collection[int]
) -> list[int]:
    """Return the columns that name the points, apart from those already known to be features; the best name first.

    Several may: a DataFrame's index, which has no title, says less than a column of names beside it.
    """
    found = []
    for number, column in enumerate(table):
        title = None if titles is None else titles[number].lower()
        texts = any(map(is_text, column)) and not any(map(is_number, column))
        titled = title in NAME_TITLES and (len(set(column)) == len(column) or (title == "name" and texts))
        if (titled or (number == 0 and texts)) and number not in features:
            found.append(number)
    return sorted(found, key=lambda number: titles is not None and titles[number].lower() in INDEX_TITLES)


def is_text(cell: str) -> bool:
    """Whether a cell is neither a number, nor an attempt at one such as inf, 1_000 or 1,5, nor missing."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return cell.lower() not in MISSING_WORDS
    return False


def is_count(cell: str) -> bool:
    """Whether a cell holds nothing but digits, and so few that it can count something."""
    return cell.isascii() and cell.isdecimal() and len(cell) < 19


def _is_integral(row: Row) -> bool:
    return all(is_count(cell.lstrip("+-")) for cell in row.cells)
