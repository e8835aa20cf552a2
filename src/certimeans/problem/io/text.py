"""From bytes on disk to numbered lines, cells and numbers; all that is wrong with a file ends as an InputError."""

from __future__ import annotations

import codecs
import csv
import math
import os
import re
import stat
from pathlib import Path
from typing import NamedTuple, TypeAlias

from certimeans.errors import InputError

PathLike: TypeAlias = str | os.PathLike[str]

# Stricter than float(), which also takes "1_000", "nan", "inf" and the digits of other scripts.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_QUOTED = re.compile(r'"[^"]*"')


class Line(NamedTuple):
    """A line of a file; lines are counted from 1, as editors do."""

    number: int
    text: str


def read_bytes(path: PathLike) -> bytes:
    """Return the content of a file."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; give a file in it") from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: the file cannot be read ({reason})") from None


def read_regular(path: PathLike) -> bytes:
    """Return the content of a file that we wrote ourselves: a pipe in its place could block, a device might not end.

    Raises
    ------
    InputError
        If it is something else than a file.
    FileNotFoundError
        If there is none.
    """
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise InputError(f"{path}: not a regular file")
    return read_bytes(path)


def decode(path: PathLike, data: bytes, notes: list[str] | None = None) -> str:
    r"""Turn UTF-8, or UTF-16 that says so, into text whose lines end in ``\n``.

    What is neither is read as Windows text (cp1252), which Excel still writes; ``notes`` then gets a sentence about it.
    """
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        before = _unify_line_ends(data[: error.start].decode(encoding, errors="ignore"))
        line = before.count(chr(10)) + 1
        text = _decode_windows(data) if encoding == "utf-8" else ""
        if not text:
            if b"\0" in data and encoding == "utf-8":
                raise InputError(f"{path}: this is not a text file") from None
            raise InputError(
                f"{path}, line {line}: byte 0x{data[error.start]:02x} is not {encoding.upper()} text; "
                "save the file with the encoding UTF-8"
            ) from None
        if notes is not None:
            letter = data[error.start : error.start + 1].decode("cp1252")
            notes.append(
                f"{path} is not UTF-8 text; it was read as Windows text (cp1252), in which line {line} has "
                f"{shown(letter)}; if that is wrong, save it with the encoding UTF-8"
            )
    text = _unify_line_ends(text.removeprefix("\ufeff"))
    binary = text.find("\0")
    if binary >= 0:
        raise InputError(
            f"{path}, line {text.count(chr(10), 0, binary) + 1}: there is a NUL byte, so this is not a text file; "
            "save the table as CSV or, for points, as .npy"
        )
    return text


def _decode_windows(data: bytes) -> str:
    """Decode cp1252; nothing if some byte, such as a control character, shows that this is no such text."""
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    return "" if any(c < " " and c not in "\t\n\r\f" for c in text) else text


def _unify_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def content_lines(text: str, *, keep_blank: bool = False) -> list[Line]:
    """List the lines of a text with their numbers, without comments, which start with ``#``, and blank lines."""
    # Not splitlines(): it would also split, and miscount, at form feeds and other rare characters.
    lines = [Line(number, line) for number, line in enumerate(text.split("\n"), 1)]
    return [line for line in lines if not line.text.lstrip().startswith("#") and (keep_blank or line.text.strip())]


def find_separator(line: str, *, decimal_comma: bool = False) -> str | None:
    """Guess from its first line what separates the cells of a table; ``None`` means white space.

    A semicolon wins over a comma, which may then be a decimal comma. A tab between numbers is just white space.
    Numbers with a decimal comma are quoted if commas separate them.
    """
    outside_quotes = _QUOTED.sub("", line)
    for separator in (";", "\t", ","):
        if separator == "," and decimal_comma and '"' not in line and any(map(str.isdigit, line)):
            return None
        if separator in outside_quotes:
            only_numbers = all(is_number(cell.strip()) for cell in line.split(separator))
            return None if separator == "\t" and only_numbers else separator
    return "," if '"' in line else None


def split_cells(path: PathLike, line: Line, separator: str | None) -> list[str]:
    """Split a line into cells without their quotes; a quoted cell may hold the separator, but not a line end."""
    if separator is None:
        return line.text.split()
    if '"' not in line.text:
        return list(map(str.strip, line.text.split(separator)))
    try:
        cells = next(csv.reader([line.text], delimiter=separator, skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise InputError(f"{path}, line {line.number}: {shown(line.text)}: the quotes are wrong ({error})") from None
    return list(map(str.strip, cells))


def is_number(cell: str) -> bool:
    """Whether a cell is a decimal number, finite or not as a double."""
    return _NUMBER.fullmatch(cell) is not None


def as_number(cell: str) -> float:
    """Return the value of a cell: NaN if it is not a number, infinite if it is too large for a double."""
    return float(cell) if _NUMBER.fullmatch(cell) else math.nan


def shown(text: object) -> str:
    """Quote a piece of a file for a message, cut to a length that a terminal can take."""
    quoted = repr(text)
    return quoted if len(quoted) <= 80 else f"{quoted[:77]}..."
