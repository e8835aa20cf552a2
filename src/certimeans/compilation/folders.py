"""Where machine code is kept between runs: in the first folder of a few that can be used.

Loading machine code runs it, so nothing is loaded from a folder that somebody else could have written to, unless the
user names that folder.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

VARIABLE = "CERTIMEANS_CACHE_DIR"


@dataclass(frozen=True)
class Folder:
    """A folder for machine code.

    Attributes
    ----------
    path
        Where it is; ``None`` if there is none, and every process compiles for itself.
    is_writable
        Whether new machine code can be kept; what a container image brings along may only be read.
    remark
        What users should know; empty for the ordinary folder.
    """

    path: Path | None
    is_writable: bool
    remark: str = ""


def choose_folder(environment: Mapping[str, str], is_filled: Callable[[Path], bool]) -> Folder:
    """Return the first folder that can be written, or that holds all machine code already.

    Parameters
    ----------
    is_filled
        Whether a folder that can only be read holds what this machine needs.
    """
    reasons: list[str] = []
    for place in _places(environment):
        is_made = place.make()
        if not place.is_trusted():
            reasons.append(f"{place.title} belongs to somebody else, or cannot be made")
            continue
        is_writable = is_made and _is_writable(place.path)
        if is_writable or is_filled(place.path):
            is_worth_a_word = bool(reasons) or place.kind is _Kind.TEMPORARY
            return Folder(place.path, is_writable, _remark(place.path, reasons) if is_worth_a_word else "")
        reasons.append(f"{place.title} cannot be written and holds nothing for this machine")
    return Folder(None, is_writable=False, remark=_remark(None, reasons))


class _Kind(Enum):
    NAMED = "by the user, who answers for it"
    USERS = "the user's cache folder"
    TEMPORARY = "a folder beside those of other users"


@dataclass(frozen=True)
class _Place:
    """A folder that may do."""

    kind: _Kind
    path: Path
    named_by: str = ""

    @property
    def title(self) -> str:
        return f"{self.named_by} {self.path}".lstrip()

    def make(self) -> bool:
        """Make the folder; whether it exists then. Only we may enter those that are not named by the user."""
        if self.kind is _Kind.USERS and not _is_among_ours(self.path):
            return self.path.exists()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o777 if self.kind is _Kind.NAMED else 0o700, exist_ok=True)
        except OSError:
            return False
        return True

    def is_trusted(self) -> bool:
        """Whether nobody but us and the administrator can have written there; a temporary folder must be ours alone."""
        if self.kind is _Kind.NAMED or sys.platform == "win32":
            return True
        is_temporary = self.kind is _Kind.TEMPORARY
        try:
            status = self.path.lstat() if is_temporary else self.path.stat()  # somebody else may have put a link there
        except OSError:
            return False
        owners = {os.geteuid()} if is_temporary else {os.geteuid(), 0}
        return stat.S_ISDIR(status.st_mode) and status.st_uid in owners and not status.st_mode & 0o022


def _places(environment: Mapping[str, str]) -> Iterator[_Place]:
    if environment.get(VARIABLE):
        yield _Place(_Kind.NAMED, Path(environment[VARIABLE]).expanduser().absolute(), VARIABLE)
    if environment.get("NUMBA_CACHE_DIR"):
        yield _Place(_Kind.NAMED, Path(environment["NUMBA_CACHE_DIR"]).absolute() / "certimeans", "NUMBA_CACHE_DIR")
    user = user_folder(environment)
    if user is not None:
        yield _Place(_Kind.USERS, user)
    temporary = _temporary_folder()
    if temporary is not None:
        yield _Place(_Kind.TEMPORARY, temporary)


def user_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the user's folder for what can be made again, by the custom of the system."""
    if sys.platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return Path(local, "certimeans", "Cache") if local else None
    stated = environment.get("XDG_CACHE_HOME", "")
    if stated and Path(stated).is_absolute():  # relative ones are to be ignored, says the standard
        return Path(stated, "certimeans")
    home = environment.get("HOME") or _home_of_user()
    if not home or not Path(home).is_absolute() or not Path(home).is_dir():
        return None
    return Path(home, "Library/Caches" if sys.platform == "darwin" else ".cache", "certimeans")


def _home_of_user() -> str | None:
    try:
        return str(Path.home())  # as the list of users says
    except RuntimeError:
        return None


def _temporary_folder() -> Path | None:
    try:
        folder = Path(tempfile.gettempdir()).absolute()
    except OSError:
        return None
    if folder == Path.cwd():  # Python's last resort; code among the user's files would surprise
        return None
    return folder / (f"certimeans-{os.geteuid()}" if sys.platform != "win32" else "certimeans")


def _is_writable(path: Path) -> bool:
    """Try it: permissions do not tell of file systems that are read-only or full."""
    try:
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(b"x")
    except OSError:
        return False
    return True


def _is_among_ours(path: Path) -> bool:
    """Whether the nearest folder that exists, at or above, is ours or the administrator's.

    If we are the administrator and HOME is another user's, it is neither: files there would be in that user's way.
    """
    if sys.platform == "win32":
        return True
    for folder in (path, *path.parents):
        try:
            return folder.stat().st_uid in {os.geteuid(), 0}
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return False


def _remark(path: Path | None, reasons: list[str]) -> str:
    because = "; ".join(reasons) or "there is no home folder"
    if path is not None:
        return f"machine code is kept in {path}: {because}"
    return (
        f"machine code cannot be kept, and every process compiles anew: {because}. "
        f"{VARIABLE} can name a folder that can be written"
    )
