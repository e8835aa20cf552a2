"""Read constraints: lines, CSV or JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints, LinkKind
from certimeans.problem.io.names import PointNames
from certimeans.problem.io.text import (
    Line,
    PathLike,
    as_number,
    content_lines,
    decode,
    find_separator,
    is_number,
    read_bytes,
    shown,
    split_cells,
)
from certimeans.problem.sizes import StatedSizes

_WORDS: dict[str, LinkKind] = {
    "ml": "must-link",
    "must_link": "must-link",
    "cl": "cannot-link",
    "cannot_link": "cannot-link",
    **dict.fromkeys(("y", "yes", "together"), "must-link"),
    **dict.fromkeys(("n", "no", "apart"), "cannot-link"),
}
_UNANSWERED = frozenset({"", "?", "skip"})
_SIGNS: dict[str, LinkKind] = {"1": "must-link", "-1": "cannot-link"}
_DISTANCES = {"delta": "split", "split": "split", "gamma": "diameter", "diameter": "diameter"}
_HEADER = {
    **dict.fromkeys(("i", "a", "source", "point1"), "i"),
    **dict.fromkeys(("j", "b", "target", "point2"), "j"),
    **dict.fromkeys(("type", "kind", "constraint"), "type"),
}
_SIZES = ("size_min", "size_max", "sizes", "capacity")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


def read_constraints(
    path: PathLike,
    *,
    n_points: int | None = None,
    one_based: bool = False,
    names: Sequence[str] | None = None,
    names_only: bool = False,
    notes: list[str] | None = None,
) -> Constraints:
    """Read constraints in any of these formats, told apart by their content.

    - Lines ``ML i j`` and ``CL i j`` (or ``must-link``, ``cannot-link``), ``i j 1`` and ``i j -1``, or
      ``i,j,type`` after an optional header, which may name the columns in another order. Cells may be separated by
      commas or semicolons as well as by white space, and formats may be mixed. A table with a header may have more
      columns; rows without a type are skipped: questions that were not answered (``y`` and ``n`` are answers).
    - Lines ``DELTA x`` (points closer than x must link; the largest counts) and ``GAMMA x`` (points farther apart
      than x cannot link; the smallest counts).
    - A JSON object ``{"ml": [[i, j]], "cl": [[i, j]], "split": x, "diameter": x}``, every key optional. It may also
      hold ``"size_min"``, ``"size_max"``, ``"sizes"`` (a list of numbers) and ``"capacity"`` (one number per point).

    Lines that start with ``#`` are comments. A file with nothing else, or nothing at all, states no constraints.

    Parameters
    ----------
    path
        The file.
    n_points
        If given, pairs are checked against it, and reported with their line.
    one_based
        Whether the file numbers the points from 1.
    names
        The names of the points: what is not an integer is looked up among them.
    names_only
        Whether integers are names, too, and not numbers of points.
    notes
        Gets sentences on how the file was understood.

    Raises
    ------
    InputError
        If the file cannot be understood; the message gives the line, or the key and position in JSON.
    """
    text = decode(path, read_bytes(path), notes)
    found = _Found(n_points, one_based, names, names_only)
    if text.lstrip().startswith(("{", "[")):
        try:
            _read_json(path, text, found)
        except RecursionError:
            raise InputError(f"{path}: the JSON is nested too deeply for constraints") from None
    else:
        _read_lines(path, text, found)
    if notes is not None:
        notes += found.notes(path)
    try:
        return found.constraints()
    except InputError as error:  # sizes that contradict each other; everything else was checked where it stands
        raise InputError(f"{path}: {error}") from None


def read_constraint_line(
    line: str,
    *,
    n_points: int,
    one_based: bool = False,
    names: Sequence[str] | None = None,
    names_only: bool = False,
) -> Constraints:
    """Read one line of such a file, for example what a user typed.

    Raises
    ------
    InputError
        If it states no constraint; the message does not repeat the line.
    """
    found = _Found(n_points, one_based, names, names_only)
    _read_cells(_cells("the line", Line(1, line), None), None, found)
    return found.constraints()


class _Found:
    """What was read so far; methods raise an InputError without a place, for the caller to add it."""

    def __init__(
        self, n_points: int | None, one_based: bool, names: Sequence[str] | None = None, names_only: bool = False
    ) -> None:
        self.first = int(one_based)
        self.names = None if names is None else PointNames(names, first=self.first)
        self.names_only = names_only
        self.ambiguous: str | None = None  # a number that is also the name of another point
        self.unanswered = 0
        self.last = (sys.maxsize if n_points is None else n_points) - 1 + self.first
        self.pairs: dict[LinkKind, list[tuple[int, int]]] = {"must-link": [], "cannot-link": []}
        self.distances: dict[str, list[float]] = {"split": [], "diameter": []}
        self.sizes: dict[str, Any] = {}

    def point(self, cell: str) -> int:
        """Return the number, as the file counts, of a point that is given by number or name."""
        is_integer = _INTEGER.fullmatch(cell) is not None
        if self.names is not None and (self.names_only or not is_integer):
            return self.names.find(cell) + self.first
        if not is_integer:
            raise InputError(
                f"{shown(cell)} is not a point number; if it is a name, say which column has names (--names)"
            )
        if self.names is not None and self.names.get(cell, int(cell) - self.first) + self.first != int(cell):
            self.ambiguous = cell
        return int(cell)

    def notes(self, path: PathLike) -> list[str]:
        """Say what a reader should know."""
        notes = []
        if self.ambiguous is not None:
            notes.append(
                f"{path}: numbers such as {self.ambiguous} were read as the places of points, counted from "
                f"{self.first}, although some points have such names; with --names they are names"
            )
        if self.unanswered:
            notes.append(f"{path}: {self.unanswered} rows have no type, and state nothing")
        return notes

    def add_pair(self, kind: LinkKind, i: int, j: int) -> None:
        for number in (i, j):
            if not self.first <= number <= self.last:
                # The last point of a file that counts from 1, most likely.
                advice = "; if the file counts from 1, say so with --one-based" if number == self.last + 1 else ""
                raise InputError(
                    f"there is no point {shown(number)}; they are numbered {self.first} to {self.last}"
                    f"{advice if self.first == 0 else ''}"
                )
        if i == j:
            raise InputError("a pair needs two different points")
        self.pairs[kind].append((i - self.first, j - self.first))

    def add_distance(self, name: str, value: object) -> None:
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= sys.float_info.max:
            raise InputError("a distance must be a finite number, zero or more")
        self.distances[name].append(float(value))

    def constraints(self) -> Constraints:
        return Constraints(
            self.pairs["must-link"],  # type: ignore[arg-type]  # Constraints converts any sequence of pairs
            self.pairs["cannot-link"],  # type: ignore[arg-type]
            diameter=min(self.distances["diameter"], default=None),
            split=max(self.distances["split"], default=None),
            cluster_sizes=StatedSizes.create(**self.sizes),
        )


def _read_lines(path: PathLike, text: str, found: _Found) -> None:
    header: list[str] | None = None
    for position, line in enumerate(content_lines(text)):
        cells = _cells(path, line, header)
        names = [_HEADER.get(cell.lower(), "") for cell in cells]
        if position == 0 and all(names.count(name) == 1 for name in ("i", "j", "type")):
            header = names
            continue
        try:
            _read_cells(cells, header, found)
        except InputError as error:
            raise InputError(f"{path}, line {line.number}: {shown(line.text)}: {error}") from None


def _cells(path: PathLike, line: Line, header: list[str] | None) -> list[str]:
    """Split a line at white space, commas and semicolons; or only at the latter, if names may have spaces."""
    words = re.sub('[",;]', " ", line.text).split()
    if header is None and len(words) <= 3:
        return words
    separator = find_separator(line.text)
    cells = words if separator is None else split_cells(path, line, separator)
    return words if header is not None and len(cells) != len(header) == len(words) else cells


def _read_cells(cells: list[str], header: list[str] | None, found: _Found) -> None:
    words = [cell for cell in cells if cell]
    if len(words) == 2 and words[0].upper() in ("DELTA", "GAMMA"):
        found.add_distance(_DISTANCES[words[0].lower()], as_number(words[1]))
        return
    if len(cells) != len(header or "ijt"):
        raise InputError("expected 'ML i j', 'CL i j', 'i j 1', 'i j -1', 'i,j,type', 'DELTA x' or 'GAMMA x'")
    row = dict(zip(header or _usual_order(cells), cells, strict=True))
    if header is not None and row["type"].lower() in _UNANSWERED:
        found.unanswered += 1
        return
    kind = _kind(row["type"])
    if kind is None:
        raise InputError(f"unknown constraint type {shown(row['type'])}; use ML or CL, or 1 or -1 after the pair")
    found.add_pair(kind, found.point(row["i"]), found.point(row["j"]))


def _usual_order(cells: list[str]) -> list[str]:
    """Say where the type is: at the end after numbers or names, or at the beginning."""
    is_last = is_number(cells[0]) or (_kind(cells[2]) is not None and _WORDS.get(_plain(cells[0])) is None)
    return ["i", "j", "type"] if is_last else ["type", "i", "j"]


def _kind(cell: str) -> LinkKind | None:
    return _SIGNS.get(cell) or _WORDS.get(_plain(cell))


def _read_json(path: PathLike, text: str, found: _Found) -> None:
    try:
        content = json.loads(text, object_pairs_hook=_without_repeated_keys)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: not valid JSON ({error.msg})") from None
    except ValueError as error:  # a repeated key, or an integer with thousands of digits
        raise InputError(f"{path}: not usable as constraints ({error})") from None
    if not isinstance(content, dict):
        raise InputError(f'{path}: constraints in JSON must be an object such as {{"ml": [[0, 1]], "cl": [[0, 2]]}}')
    for key, value in content.items():
        name = _plain(key)
        if name in _SIZES:
            _read_sizes(path, name, value, found)
            continue
        if name not in _WORDS and name not in _DISTANCES:
            raise InputError(
                f"{path}: unknown key {shown(key)}; use 'ml', 'cl', 'split' (delta), 'diameter' (gamma), 'size_min', "
                "'size_max', 'sizes' or 'capacity'"
            )
        is_list = name in _WORDS and isinstance(value, list)
        for position, entry in enumerate(value if is_list else [value]):
            try:
                _read_entry(name, entry, found)
            except InputError as error:
                place = f"entry {position} of {shown(key)}" if is_list else shown(key)
                raise InputError(f"{path}: {place} is {shown(entry)}: {error}") from None


def _read_entry(name: str, entry: Any, found: _Found) -> None:
    if name in _DISTANCES:
        found.add_distance(_DISTANCES[name], entry)
    elif isinstance(entry, list) and [type(number) for number in entry] == [int, int]:
        found.add_pair(_WORDS[name], *(found.point(str(number)) for number in entry))
    elif found.names is not None and isinstance(entry, list) and [type(cell) for cell in entry] == [str, str]:
        found.add_pair(_WORDS[name], *(found.point(cell) for cell in entry))
    else:
        raise InputError("expected a list of pairs of point numbers [[i, j], ...]")


def _read_sizes(path: PathLike, name: str, value: Any, found: _Found) -> None:
    """Take what is said about sizes; all of it together is checked in the end."""
    numbers = value if isinstance(value, list) and name in ("sizes", "capacity") else [value]
    wanted = "a list of numbers" if name in ("sizes", "capacity") else "a number"
    if (name in ("sizes", "capacity")) != isinstance(value, list):
        raise InputError(f"{path}: {name!r} must be {wanted}; got {shown(value)}")
    for number in numbers:
        if not isinstance(number, int | float) or isinstance(number, bool) or not abs(number) <= sys.float_info.max:
            raise InputError(f"{path}: {name!r} must be {wanted}; got {shown(number)}")
    if name in found.sizes:
        raise InputError(f"{path}: {name!r} is given twice")
    found.sizes[name] = value
    try:
        StatedSizes.create(**{name: value})
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


def _without_repeated_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in items:
        if key in content:
            raise InputError(f"key {shown(key)} is given twice")
        content[key] = value
    return content
