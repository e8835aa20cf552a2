"""From the cells of a table to numbers: which columns are features, and what is missing in them."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.problem.io.layout import MISSING_WORDS, is_text
from certimeans.problem.io.text import PathLike, as_number, is_number, shown

Titles = tuple[str, ...] | None
Column = tuple[str, ...]
MissingRule = Literal["error", "drop", "mean"]

NUMERIC = "numeric"
"""Instead of a list of columns: all that hold numbers."""

_MOST_LISTED = 20


@dataclass(frozen=True)
class Missing:
    """What was done about missing values.

    Attributes
    ----------
    rule
        ``"error"``, ``"drop"`` or ``"mean"``.
    counts
        How many values are missing, by the name of the feature.
    rows
        The rows of the table that were left out, from 0.
    """

    rule: MissingRule = "error"
    counts: tuple[tuple[str, int], ...] = ()
    rows: tuple[int, ...] = ()

    def sentences(self) -> list[str]:
        """Say what was done, for the user."""
        if not self.counts:
            return []
        where = listed([f"{shown(name)}: {count}" for name, count in self.counts])
        total = sum(count for _, count in self.counts)
        values = f"{total} missing value{'' if total == 1 else 's'} ({where})"
        if self.rule == "mean":
            return [f"{values} filled in with the mean of the feature"]
        n = len(self.rows)
        return [f"{n} row{'' if n == 1 else 's'} left out for {values}; they get no cluster"]


def split_columns(option: str) -> list[str]:
    """Split a list of columns as ``--columns`` takes it: commas separate, quotes protect them."""
    return next(csv.reader([option], skipinitialspace=True))


def choose_columns(path: PathLike, columns: Sequence[str | int], titles: Titles, n_columns: int) -> list[int]:
    """Return the numbers of columns that are given by title or number.

    Raises
    ------
    InputError
        If one is not there, or is given twice.
    """
    chosen = [find_column(path, given, titles, n_columns) for given in columns]
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError(f"{path}: choose at least one column as a feature, and each only once")
    return chosen


def find_column(path: PathLike, given: str | int, titles: Titles, n_columns: int) -> int:
    """Return the number of a column that is given by title or number."""
    wanted = given.strip() if isinstance(given, str) and given not in (titles or ()) else given
    if titles and isinstance(wanted, str) and titles.count(wanted) == 1:
        return titles.index(wanted)
    if str(wanted) in map(str, range(n_columns)):
        return int(wanted)
    known = f"there are {', '.join(map(repr, titles[:_MOST_LISTED]))} and " if titles else ""
    raise InputError(f"{path}: no single column {shown(wanted)}; {known}numbers 0 to {n_columns - 1}")


def numeric_columns(table: Sequence[Column], but: Collection[int], *, decimal_comma: bool) -> list[int]:
    """Return the columns in which every cell that is not missing is a number, and at least one is."""
    found = []
    for number, cells in enumerate(table):
        given = [cell for cell in cells if cell.lower() not in MISSING_WORDS]
        if number not in but and given and all(is_number(with_point(cell, decimal_comma)) for cell in given):
            found.append(number)
    return found


def refuse_commas(path: PathLike, table: Sequence[Column], but: Collection[int], titles: Titles) -> None:
    """Raise an :class:`InputError` if columns hold numbers with a decimal comma: they must not be lost unnoticed."""
    with_comma = [number for number in numeric_columns(table, but, decimal_comma=True) if number not in but]
    if with_comma:
        names = listed([_name(number, titles) for number in with_comma])
        raise InputError(f"{path}: the numbers in {names} have a decimal comma; say so with --decimal ,")


def refuse_text(path: PathLike, features: Mapping[int, Column], titles: Titles, *, decimal_comma: bool) -> None:
    """Raise an :class:`InputError` that lists all columns of text at once, with the option that leaves them out."""
    bad = {
        number: next(cell for cell in cells if is_text(cell))
        for number, cells in features.items()
        if _is_column_of_text(cells, decimal_comma)
    }
    if not bad:
        return
    rest = [_option(number, titles) for number in features if number not in bad]
    examples = listed([f"{_name(number, titles)} ({shown(cell)})" for number, cell in bad.items()])
    subject = "column" if len(bad) == 1 else "columns"
    advice = "no column of numbers is left"
    if rest:
        line = shlex.quote(",".join(rest))
        advice = f"use the others with --columns {line}, or all columns of numbers with --columns numeric"
    raise InputError(
        f"{path}: {subject} {examples} hold{'s' if len(bad) == 1 else ''} text or dates, not numbers; {advice}"
    )


def _option(number: int, titles: Titles) -> str:
    """Write a column as ``--columns`` takes it: by its title, if that is the only one and can be written there."""
    title = titles[number] if titles else ""
    if not title or (titles or ()).count(title) > 1 or '"' in title or title != title.strip():
        return str(number)
    return f'"{title}"' if "," in title else title


def _is_column_of_text(cells: Column, decimal_comma: bool) -> bool:
    """Whether most of a column is text; a single cell that is not a number is reported with its line instead."""
    texts = sum(map(is_text, cells))
    return texts > sum(is_number(with_point(cell, decimal_comma)) for cell in cells)


def as_values(
    path: PathLike,
    lines: Sequence[int],
    features: Mapping[int, Column],
    titles: Titles,
    *,
    decimal_comma: bool = False,
    missing_allowed: bool = False,
) -> FloatArray:
    """Turn columns of text into a table of numbers, with NaN where a value is missing and that is allowed.

    Raises
    ------
    InputError
        If a cell is neither; the message gives line, column and text.
    """
    values = np.column_stack([_as_numbers(cells, decimal_comma) for cells in features.values()])
    columns = list(features.items())
    for row, position in np.argwhere(~np.isfinite(values)):
        number, cells = columns[position]
        cell = cells[row]
        if cell.lower() in MISSING_WORDS:
            values[row, position] = np.nan
            if missing_allowed:
                continue
            raise InputError(_about_missing(path, lines, features, titles, (int(row), number)))
        where = f"{path}, line {lines[row]}, {describe_column(number, titles)}"
        raise InputError(f"{where}: {_what_is_wrong(cell, decimal_comma)}")
    return values


def treat_missing(
    path: PathLike, values: FloatArray, rule: MissingRule, names: Sequence[str]
) -> tuple[FloatArray, IntArray, Missing]:
    """Leave out rows with missing values, or fill them in.

    Returns
    -------
    tuple
        The values, the rows of the table that they are in, and what was done.

    Raises
    ------
    InputError
        If nothing is left, or a feature has no value at all.
    """
    if rule not in get_args(MissingRule):
        raise InputError(f"missing must be 'error', 'drop' or 'mean'; got {rule!r}")
    everything = np.arange(len(values))
    holes: BoolArray = np.isnan(values)
    counts = tuple((names[c], int(n)) for c, n in enumerate(holes.sum(axis=0)) if n)
    if rule == "error" or not counts:
        return values, everything, Missing(rule)
    if rule == "drop":
        kept = np.flatnonzero(~holes.any(axis=1))
        if not len(kept):
            raise InputError(f"{path}: every row has a missing value, so --missing drop leaves nothing; try mean")
        dropped = np.flatnonzero(holes.any(axis=1))
        return values[kept], kept, Missing(rule, counts, tuple(dropped.tolist()))
    empty = np.flatnonzero(holes.all(axis=0))
    if len(empty):
        raise InputError(f"{path}: column {shown(names[empty[0]])} has no value at all; leave it out with --columns")
    filled = values.copy()
    for column in np.flatnonzero(holes.any(axis=0)):
        given = values[~holes[:, column], column]
        filled[holes[:, column], column] = given[0] + np.mean(given - given[0])  # far from zero digits survive this
    return filled, everything, Missing(rule, counts)


def listed(words: Sequence[str]) -> str:
    """Join words with commas, and count those that are too many."""
    more = len(words) - _MOST_LISTED
    return ", ".join(words[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def describe_column(number: int, titles: Titles) -> str:
    """Name a column in a message."""
    return f"column {shown(titles[number])}" if titles and titles[number] else f"column {number} (counted from 0)"


def with_point(cell: str, decimal_comma: bool) -> str:
    """Write a number with a decimal point; what has one already is no number if the comma is the decimal mark."""
    if not decimal_comma:
        return cell
    return "" if "." in cell else cell.replace(",", ".", 1)


def _name(number: int, titles: Titles) -> str:
    return shown(titles[number]) if titles and titles[number] else f"{number}"


def _as_numbers(cells: Column, decimal_comma: bool) -> list[float]:
    if decimal_comma:
        return [as_number(with_point(cell, decimal_comma)) for cell in cells]
    together = "".join(cells)
    if together.isascii() and "_" not in together:
        # Then float() takes nothing that as_number() does not, but for nan and inf, and it is several times faster.
        with suppress(ValueError):
            return list(map(float, cells))
    return [as_number(cell) for cell in cells]


def _about_missing(
    path: PathLike, lines: Sequence[int], features: Mapping[int, Column], titles: Titles, first: tuple[int, int]
) -> str:
    row, number = first
    counts = {c: sum(cell.lower() in MISSING_WORDS for cell in cells) for c, cells in features.items()}
    where = listed([f"{_name(c, titles)}: {count}" for c, count in counts.items() if count])
    total = sum(counts.values())
    more = "" if total == 1 else f", and {total - 1} more {'is' if total == 2 else 'are'} ({where})"
    return (
        f"{path}, line {lines[row]}, {describe_column(number, titles)}: the value is missing "
        f"({shown(features[number][row])}){more}; leave out such rows with --missing drop, or fill in the mean of the "
        "feature with --missing mean"
    )


def _what_is_wrong(cell: str, decimal_comma: bool) -> str:
    if decimal_comma and "." in cell:
        return f"{shown(cell)} has a decimal point, but --decimal , says that numbers have a comma"
    if is_text(cell):
        return f"{shown(cell)} is not a number; choose the columns that are features with --columns"
    if is_number(with_point(cell, decimal_comma)):
        return f"{shown(cell)} is too large for a double"
    if is_number(cell.replace(",", ".", 1)):
        return f"{shown(cell)} is not a number here; if the comma is the decimal mark, say so with --decimal ,"
    return f"{shown(cell)} is not a number here; write finite numbers such as -1234.5 or 1e-3"
