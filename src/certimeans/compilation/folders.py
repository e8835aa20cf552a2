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
    reasons = []
    for named, path in _named(environment):
        if (_make(path) and _is_writable(path)) or is_filled(path):
            return Folder(path, _is_writable(path), _remark(path, reasons, is_expected=True))
        reasons.append(f"{named} {path} cannot be written")
    user = user_folder(environment)
    if user is None:
        reasons.append("there is no home folder")
    elif not _may_use(user) or not _make(user, mode=0o700) or not _is_private(user):
        reasons.append(f"{user} belongs to somebody else, or cannot be made")
    elif _is_writable(user) or is_filled(user):
        return Folder(user, _is_writable(user), _remark(user, reasons, is_expected=True))
    else:
        reasons.append(f"{user} cannot be written")
    temporary = _temporary_folder()
    if temporary is None:
        reasons.append("there is no temporary folder")
    elif not _make(temporary, mode=0o700) or not _is_private(temporary, only_ours=True):
        reasons.append(f"{temporary} belongs to somebody else, or cannot be made")
    elif _is_writable(temporary):
        return Folder(temporary, is_writable=True, remark=_remark(temporary, reasons))
    else:
        reasons.append(f"{temporary} cannot be written")
    return Folder(None, is_writable=False, remark=_remark(None, reasons))


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


def _named(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield the folders that the user names; their being trustworthy is the user's business."""
    if environment.get(VARIABLE):
        yield VARIABLE, Path(environment[VARIABLE]).expanduser().absolute()
    if environment.get("NUMBA_CACHE_DIR"):
        yield "NUMBA_CACHE_DIR", Path(environment["NUMBA_CACHE_DIR"]).absolute() / "certimeans"


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


def _make(path: Path, mode: int = 0o777) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=mode, exist_ok=True)
    except OSError:
        return False
    return True


def _is_writable(path: Path) -> bool:
    """Try it: permissions do not tell of file systems that are read-only or full."""
    try:
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(b"x")
    except OSError:
        return False
    return True


def _may_use(path: Path) -> bool:
    """Whether the nearest folder above that exists is ours or the administrator's.

    As administrator with another user's HOME, it is neither, and we would leave files there that the user cannot delete.
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


def _is_private(path: Path, *, only_ours: bool = False) -> bool:
    """Whether nobody but us and the administrator can write to a folder; it must not be a link in a temporary folder."""
    if sys.platform == "win32":
        return True
    try:
        status = path.lstat() if only_ours else path.stat()
    except OSError:
        return False
    owners = {os.geteuid()} if only_ours else {os.geteuid(), 0}
    return stat.S_ISDIR(status.st_mode) and status.st_uid in owners and not status.st_mode & 0o022


def _remark(path: Path | None, reasons: list[str], *, is_expected: bool = False) -> str:
    if is_expected and not reasons:
        return ""
    because = "; ".join(reasons)
    if path is None:
        return (
            f"machine code cannot be kept, and every process compiles anew: {because}. "
            f"{VARIABLE} can name a folder that can be written"
        )
    return f"machine code is kept in {path}: {because}"
