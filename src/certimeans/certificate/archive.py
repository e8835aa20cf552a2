"""Open the files of a certificate. Nothing in them is trusted, and nothing is expanded before its size is known.

What cannot be read at all is an ``InputError``; what can be read but is not of the right form is a
``MalformedCertificateError``.
"""

from __future__ import annotations

import ast
import json
import math
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from certimeans.errors import CertificateError, InputError, MalformedCertificateError

_LARGEST_JSON = 2**26  # bytes
_LARGEST_ARRAY = 2**32  # bytes
_LARGEST_HEADER = 4096  # bytes of an npy file that are not data
_SMALL = 2**28  # bytes; for larger arrays, the memory is looked at first
_BLOCK = 2**22  # bytes that are expanded at a time
_UNREADABLE = (OSError, ValueError, TypeError, SyntaxError, RuntimeError, EOFError, MemoryError, KeyError, IndexError,
               OverflowError, AttributeError, struct.error, zipfile.BadZipFile, zlib.error)  # fmt: skip
_BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06")  # of zip archives with and without entries
Array = NDArray[Any]


def open_regular(path: Path) -> BinaryIO:
    """Open a file, if it is one: a pipe could block, a device might never end.

    Raises
    ------
    InputError
        If there is none, or it is something else.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: not a regular file")
        return os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb")
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be opened ({error})") from None


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object without NaN, infinities and repeated keys."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number")

    def unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            raise ValueError("a key is there twice")
        return found

    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > _LARGEST_JSON:
            raise InputError(f"{path}: the file is too large")
        try:
            text = file.read(size)
            content = json.loads(text.decode("utf-8"), parse_constant=refuse, object_pairs_hook=unique)
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            raise InputError(f"{path}: cannot be read as JSON ({error})") from None
    if not isinstance(content, dict):
        raise MalformedCertificateError(f"{path.name}: this is not a JSON object")
    return content


class Archive:
    """The arrays of a certificate, or of a part or region; each is read when asked for, if its size is as expected."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open_regular(path)
        try:
            begins_as_one = self._file.read(4) in _BEGINNINGS
            self._archive = zipfile.ZipFile(self._file)
        except (*_UNREADABLE, NotImplementedError) as error:
            self._file.close()
            raise InputError(f"{path}: cannot be read as a zip archive ({error})") from None
        self._entries = {entry.filename: entry for entry in self._archive.infolist()}
        if not begins_as_one:  # zipfile looks from the end and skips what stands before; NumPy and others do not
            self.close()
            raise InputError(f"{path}: cannot be read as a zip archive (something stands before it)")

    def close(self) -> None:
        """Close the file."""
        self._archive.close()
        self._file.close()

    def has_doubles(self) -> bool:
        """Whether a name is there twice."""
        return len(self._entries) < len(self._archive.infolist())

    def names(self) -> set[str]:
        """Return the names of all arrays."""
        return {name.removesuffix(".npy") for name in self._entries}

    def total_bytes(self) -> int:
        """Return the size of all arrays when expanded."""
        return sum(entry.file_size for entry in self._entries.values())

    def load(self, name: str, dtype: str, shape: tuple[int | None, ...], *, most: int = 0) -> Array:
        """Return an array of the given type and shape with finite entries; ``None`` is any length up to ``most``."""
        length, blocks = self.stream(name, dtype, shape, most=most)
        array: Array = np.empty((length, *(side or 0 for side in shape[1:])), dtype)
        for first, block in blocks:
            array[first : first + len(block)] = block
        return array

    def stream(
        self, name: str, dtype: str, shape: tuple[int | None, ...], *, most: int = 0
    ) -> tuple[int, Iterator[tuple[int, Array]]]:
        """Return the number of rows, and blocks of rows, each with the number of its first: for those who can stop."""
        entry = self._entries.get(f"{name}.npy")
        require(entry is not None, f"{self._path.name}: array {name} is missing")
        assert entry is not None  # noqa: S101
        kind = np.dtype(dtype)
        row_bytes = kind.itemsize * math.prod(side or 0 for side in shape[1:])
        limit = row_bytes * (most if shape[0] is None else shape[0]) + _LARGEST_HEADER
        require(entry.file_size <= min(limit, _LARGEST_ARRAY), f"{self._path.name}: {name} is larger than expected")
        if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise InputError(f"{self._path}: {name} must be stored or deflated, not compressed in another way")
        if entry.file_size > _SMALL and 2 * entry.file_size > _free_memory():
            raise CertificateError(f"there is not enough memory to read {name}: {entry.file_size / 2**30:.1f} GB")
        with self._reading(name):
            file = self._archive.open(entry)
            header_bytes, found_shape, found = _header(file)
        require(found == dtype, f"{name} must be of type {dtype}, but is of type {found}")
        require(
            len(found_shape) == len(shape)
            and all(expected in {None, got} for expected, got in zip(shape, found_shape, strict=True)),
            f"{name} has shape {found_shape} instead of {shape} (None: any length)",
        )
        length = found_shape[0]
        require(header_bytes + length * row_bytes == entry.file_size, f"{name} has too few or too many bytes")

        def blocks() -> Iterator[tuple[int, Array]]:
            rows = max(1, _BLOCK // max(1, row_bytes))
            for first in range(0, length, rows):
                count = min(rows, length - first)
                with self._reading(name):
                    data = file.read(count * row_bytes)  # at the end of the file, its checksum is compared
                    block = np.frombuffer(data, kind).reshape(count, *found_shape[1:])
                require(bool(np.isfinite(block).all()), f"{name} has an entry that is not finite")
                yield first, block
            file.close()

        return length, blocks()

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (*_UNREADABLE, NotImplementedError) as error:
            raise InputError(f"{self._path}: {name} cannot be read ({error})") from None


def _header(file: IO[bytes]) -> tuple[int, tuple[int, ...], str]:
    """Read the header of an ``.npy`` file: its own length, and the shape and type of what follows."""
    version = np.lib.format.read_magic(file)
    if version not in {(1, 0), (2, 0)}:
        raise ValueError(f"version {version} of the npy format")
    digits = 2 if version == (1, 0) else 4
    length = int.from_bytes(file.read(digits), "little")
    if length > _LARGEST_HEADER - 16:
        raise ValueError("its header is too long")
    header = ast.literal_eval(file.read(length).decode("latin-1").strip(" \n"))  # other white space is no padding
    shape, kind = header["shape"], header["descr"]
    if not (isinstance(shape, tuple) and all(type(side) is int and side >= 0 for side in shape)):
        raise ValueError("its shape is not one")
    if header["fortran_order"] is not False or not isinstance(kind, str):
        raise TypeError("it is not in C order, or damaged")
    return 8 + digits + length, shape, kind


def _free_memory() -> float:
    """Return how many bytes could be taken now, where the system tells."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, ValueError, StopIteration):
        return math.inf


def require(condition: bool, message: str) -> None:
    """Refuse what is not a well-formed certificate."""
    if not condition:
        raise MalformedCertificateError(message)
