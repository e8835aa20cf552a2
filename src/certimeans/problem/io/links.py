"""Read constraints: lines, CSV or JSON."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints, LinkKind
from certimeans.problem.io.text import PathLike, as_number, content_lines, decode, is_number, read_bytes, shown
from certimeans.problem.sizes import StatedSizes

_WORDS: dict[str, LinkKind] = {
    "ml": "must-link",
    "must_link": "must-link",
    "cl": "cannot-link",
    "cannot_link": "cannot-link",
}
_SIGNS: dict[str, LinkKind] = {"1": "must-link", "-1": "cannot-link"}
_DISTANCES = {"delta": "split", "split": "split", "gamma": "diameter", "diameter": "diameter"}
_HEADER = {
    **dict.fromkeys(("i", "a", "source", "point1"), "i"),
    **dict.fromkeys(("j", "b", "target", "point2"), "j"),
    **dict.fromkeys(("type", "kind", "constraint"), "type"),
}
_SIZES = ("size_min", "size_max", "sizes", "capacity")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


def read_constraints(path: PathLike, *, n_points: int | None = None, one_based: bool = False) -> Constraints:
    """Read constraints in any of these formats, told apart by their content.

    - Lines ``ML i j`` and ``CL i j`` (or ``must-link``, ``cannot-link``), ``i j 1`` and ``i j -1``, or
      ``i,j,type`` after an optional header, which may name the columns in another order. Cells may be separated by
      commas or semicolons as well as by white space, and formats may be mixed.
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

    Raises
    ------
    InputError
        If the file cannot be understood; the message gives the line, or the key and position in JSON.
    """
    text = decode(path, read_bytes(path))
    found = _Found(n_points, one_based)
    if text.lstrip().startswith(("{", "[")):
        try:
            _read_json(path, text, found)
        except RecursionError:
            raise InputError(f"{path}: the JSON is nested too deeply for constraints") from None
    else:
        _read_lines(path, text, found)
    try:
        return found.constraints()
    except InputError as error:  # sizes that contradict each other; everything else was checked where it stands
        raise InputError(f"{path}: {error}") from None


class _Found:
    """What was read so far; methods raise an InputError without a place, for the caller to add it."""

    def __init__(self, n_points: int | None, one_based: bool) -> None:
        self.first = int(one_based)
        self.last = (sys.maxsize if n_points is None else n_points) - 1 + self.first
        self.pairs: dict[LinkKind, list[tuple[int, int]]] = {"must-link": [], "cannot-link": []}
        self.distances: dict[str, list[float]] = {"split": [], "diameter": []}
        self.sizes: dict[str, Any] = {}

    def add_pair(self, kind: LinkKind, i: int, j: int) -> None:
        for number in (i, j):
            if not self.first <= number <= self.last:
                raise InputError(f"there is no point {shown(number)}; they are numbered {self.first} to {self.last}")
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
        words = re.sub('[",;]', " ", line.text).split()
        names = [_HEADER.get(word.lower(), "") for word in words]
        if position == 0 and sorted(names) == ["i", "j", "type"]:
            header = names
            continue
        try:
            _read_words(words, header, found)
        except InputError as error:
            raise InputError(f"{path}, line {line.number}: {shown(line.text)}: {error}") from None


def _read_words(words: list[str], header: list[str] | None, found: _Found) -> None:
    if len(words) == 2 and words[0].upper() in ("DELTA", "GAMMA"):
        found.add_distance(_DISTANCES[words[0].lower()], as_number(words[1]))
        return
    if len(words) != 3:
        raise InputError("expected 'ML i j', 'CL i j', 'i j 1', 'i j -1', 'i,j,type', 'DELTA x' or 'GAMMA x'")
    usual = ["i", "j", "type"] if is_number(words[0]) else ["type", "i", "j"]
    cells = dict(zip(header or usual, words, strict=True))
    kind = _SIGNS.get(cells["type"]) or _WORDS.get(_plain(cells["type"]))
    if kind is None:
        raise InputError(f"unknown constraint type {shown(cells['type'])}; use ML or CL, or 1 or -1 after the pair")
    for name in "ij":
        if not _INTEGER.fullmatch(cells[name]):
            raise InputError(f"{shown(cells[name])} is not a point number")
    found.add_pair(kind, int(cells["i"]), int(cells["j"]))


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
        found.add_pair(_WORDS[name], *entry)
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
