"""Write files so that a reader sees all of the new content or all of the old."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from certimeans.errors import InputError
from certimeans.problem.io.text import PathLike


def write_atomically(path: PathLike, data: bytes) -> None:
    """Write to a temporary file in the same folder, sync it, and rename it.

    Raises
    ------
    InputError
        If the file cannot be written there; nothing is left behind.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a terminal or a pipe, such as /dev/stdout, must not be renamed over
        else:
            _replace(target.resolve(), data)  # resolve: a link stays a link
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: the file cannot be written ({reason})") from None


def _replace(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
