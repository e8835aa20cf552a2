"""Open the two files of a certificate. Nothing in them is trusted, and nothing is expanded before its size is known.

What cannot be read at all is an ``InputError``; what can be read but is not of the right form is a
``MalformedCertificateError``.
"""

from __future__ import annotations

import ast
import io
import json
import math
import os
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from certimeans.errors import InputError, MalformedCertificateError

_LARGEST_JSON = 2**26  # bytes
_LARGEST_ARRAY = 2**32  # bytes
_LARGEST_HEADER = 4096  # bytes of an npy file that are not data
_UNREADABLE = (OSError, ValueError, TypeError, SyntaxError, RuntimeError, EOFError, MemoryError, KeyError, IndexError,
               OverflowError, AttributeError, struct.error, zipfile.BadZipFile, zlib.error)  # fmt: skip
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
        if os.fstat(file.fileno()).st_size > _LARGEST_JSON:
            raise InputError(f"{path}: the file is too large")
        try:
            text = file.read(_LARGEST_JSON)
            content = json.loads(text.decode("utf-8"), parse_constant=refuse, object_pairs_hook=unique)
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            raise InputError(f"{path}: cannot be read as JSON ({error})") from None
    if not isinstance(content, dict):
        raise MalformedCertificateError(f"{path.name}: this is not a JSON object")
    return content


class Archive:
    """The arrays of ``certificate.npz``; each is read when it is asked for, if its size is the expected one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open_regular(path)
        try:
            self._archive = zipfile.ZipFile(self._file)
        except (*_UNREADABLE, NotImplementedError) as error:
            self._file.close()
            raise InputError(f"{path}: cannot be read as a zip archive ({error})") from None
        self._entries = {entry.filename: entry for entry in self._archive.infolist()}

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
        entry = self._entries.get(f"{name}.npy")
        require(entry is not None, f"{self._path.name}: array {name} is missing")
        assert entry is not None  # noqa: S101
        kind = np.dtype(dtype)
        limit = kind.itemsize * math.prod(most if length is None else length for length in shape) + _LARGEST_HEADER
        require(entry.file_size <= min(limit, _LARGEST_ARRAY), f"{self._path.name}: {name} is larger than expected")
        if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise InputError(f"{self._path}: {name} must be stored or deflated, not compressed in another way")
        try:
            with self._archive.open(entry) as stream:
                found_shape, in_fortran_order, found, data = _parse(stream.read(limit + 1))
        except (*_UNREADABLE, NotImplementedError) as error:
            raise InputError(f"{self._path}: {name} cannot be read ({error})") from None
        require(found == dtype, f"{name} must be of type {dtype}, but is of type {found}")
        require(
            len(found_shape) == len(shape)
            and all(expected in {None, got} for expected, got in zip(shape, found_shape, strict=True)),
            f"{name} has shape {found_shape} instead of {shape} (None: any length)",
        )
        require(math.prod(found_shape) * kind.itemsize == len(data), f"{name} has too few or too many bytes")
        array: Array = np.frombuffer(data, kind).reshape(found_shape, order="F" if in_fortran_order else "C")
        require(bool(np.isfinite(array).all()), f"{name} has an entry that is not finite")
        return np.ascontiguousarray(array)


def _parse(content: bytes) -> tuple[tuple[int, ...], bool, str, bytes]:
    """Split a ``.npy`` file into shape, order, type and data, without allocating what the header promises."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in {(1, 0), (2, 0)}:
        raise ValueError(f"version {version} of the npy format")
    (length,) = struct.unpack("<H" if version == (1, 0) else "<I", stream.read(2 if version == (1, 0) else 4))
    if length > _LARGEST_HEADER - 16:
        raise ValueError("its header is too long")
    header = ast.literal_eval(stream.read(length).decode("latin-1").strip())
    shape, order, kind = header["shape"], header["fortran_order"], header["descr"]
    if not (isinstance(shape, tuple) and all(type(side) is int and side >= 0 for side in shape)):
        raise ValueError("its shape is not one")
    if not (isinstance(order, bool) and isinstance(kind, str)):
        raise TypeError("its header is damaged")
    return shape, order, kind, content[stream.tell() :]


def require(condition: bool, message: str) -> None:
    """Refuse what is not a well-formed certificate."""
    if not condition:
        raise MalformedCertificateError(message)
