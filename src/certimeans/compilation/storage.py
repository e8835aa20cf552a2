"""Keeps the machine code of compiled functions on disk, where that is possible."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from certimeans.compilation.folders import Folder, choose_folder
from certimeans.compilation.internals import can_keep_machine_code, describe_machine, numba_cache
from certimeans.compilation.sources import digest, top_package

_LOG = logging.getLogger("certimeans")
_OURS = top_package(Path(__file__).resolve())
_STATES_TO_KEEP = 5
_SECONDS_TO_KEEP = 86_400.0
_LOST: list[str] = []  # functions whose machine code could not be written


def is_everything_kept() -> bool:
    """Whether all that this process compiled was written."""
    return not _LOST


@cache
def folder() -> Folder:
    """Return where this process keeps machine code."""
    if not can_keep_machine_code():
        remark = "this version of numba does not let certimeans keep machine code: every process compiles anew"
        return Folder(None, is_writable=False, remark=remark)
    return choose_folder(os.environ, lambda path: any((path / _state_name(_OURS)).glob(f"ready-{machine()}-*")))


@cache
def machine() -> str:
    """Return a short name for all that machine code depends on besides its source."""
    return hashlib.sha256(describe_machine().encode()).hexdigest()[:12]


@cache
def state_folder(package: Path = _OURS) -> Path | None:
    """Return the folder for the present state of a package's sources, made if need be.

    Folders of earlier states are deleted only when a new one is made.
    """
    chosen = folder()
    if chosen.path is None:
        return None
    path = chosen.path / _state_name(package)
    if chosen.is_writable:
        try:
            path.mkdir()
        except FileExistsError:
            _mark_as_used(path)
        except OSError:
            return None
        else:
            _prune(chosen.path, package.stem, path)
    return path


def _state_name(package: Path) -> str:
    ours = digest(_OURS)  # other packages' compiled functions may call ours
    return f"{package.stem}-{ours}" if package == _OURS else f"{package.stem}-{digest(package)}-{ours}"


def _mark_as_used(path: Path) -> None:
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _SECONDS_TO_KEEP / 4:
            os.utime(path)


def _prune(base: Path, name: str, present: Path) -> None:
    """Delete folders of other states of the sources that were not used for a day, but for the latest few."""
    with suppress(OSError):
        others = [(path.stat().st_mtime, path) for path in base.glob(f"{name}-*") if path != present]
        for used, path in sorted(others, reverse=True)[_STATES_TO_KEEP:]:
            if time.time() - used > _SECONDS_TO_KEEP:
                shutil.rmtree(path, ignore_errors=True)


class CodeStore:
    """Stands in for numba's cache of one compiled function; chooses its folder when it is first asked.

    Nothing that goes wrong here ends a computation: what cannot be read is compiled, what cannot be written is lost.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function: Any = function
        self._is_open = False
        self._cache: Any = None

    @property
    def cache_path(self) -> str | None:
        """Where it is."""
        opened = self._open()
        return None if opened is None else opened.cache_path

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the machine code for the types of the arguments, or ``None``."""
        opened = self._open()
        if opened is None:
            return None
        try:
            return opened.load_overload(signature, target_context)
        except Exception:  # noqa: BLE001  # a damaged file can raise anything
            with suppress(OSError):
                opened.flush()  # begin anew: a damaged index could not be added to
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep machine code."""
        opened = self._open()
        if opened is None or not folder().is_writable:
            return
        try:
            opened.save_overload(signature, code)
        except Exception as error:  # noqa: BLE001  # a damaged index, a full disk, a folder that is gone
            self._cache = None
            if not _LOST:  # once, not for each function
                _LOG.warning(
                    "machine code cannot be written to %s (%s); the next run compiles again", folder().path, error
                )
            _LOST.append(self._function.__qualname__)

    def flush(self) -> None:
        """Forget the machine code on disk."""
        opened = self._open()
        if opened is not None:
            opened.flush()

    def enable(self) -> None:
        """Do nothing: it is always on."""

    def disable(self) -> None:
        """Stop keeping machine code."""
        self._is_open, self._cache = True, None

    def _open(self) -> Any:
        if not self._is_open:
            self._is_open = True
            source = Path(self._function.__code__.co_filename)
            if source.is_file():  # not a notebook's cell
                self._cache = self._cache_of(source.resolve())
        return self._cache

    def _cache_of(self, source: Path) -> Any:
        package = top_package(source)
        state = state_folder(package)
        if state is None:
            return None
        function = self._function
        return numba_cache(function, state / function.__module__, state.name, is_ours=package == _OURS)
