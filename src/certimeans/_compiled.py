"""Decorators for compiled loops, so that they are compiled alike and keep their types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a numerical loop on its first call and keep the machine code on disk for the next run."""
    return cast("Function", njit(cache=True, nogil=True)(function))


def compiled_fast(function: Function) -> Function:
    """Compile likewise, but let the compiler reorder floating-point operations and ignore NaN.

    Only for work whose rounding errors nobody relies on; never for a bound.
    """
    return cast("Function", njit(cache=True, nogil=True, fastmath=True)(function))


# Without numba's run-time (`_nrt`) references to arrays are not counted. Counting is most of the time of a short
# function that takes tuples of arrays: the local search is four times as fast without. Such functions must not create
# arrays, and the compiler refuses those that do.
_HOT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}


def compiled_without_allocation(function: Function) -> Function:
    """Compile a hot loop that creates no array; a division by zero gives infinity or NaN, not an error."""
    return cast("Function", njit(**_HOT)(function))


def inlined(function: Function) -> Function:
    """Compile a part of a hot loop into each compiled function that calls it; it too must not create arrays."""
    return cast("Function", njit(**_HOT, inline="always")(function))


def drop_stale_code(package: Path) -> None:
    """Delete stored machine code that is older than any source with compiled functions.

    numba looks at a function's own file only, so after an edit of a function, its callers in other files would go on
    with the old one.
    """
    stored = list(package.rglob("__pycache__/*.nb[ci]"))  # named MODULE.FUNCTION-...
    sources = {path.parent.parent / f"{path.name.split('.')[0]}.py" for path in stored}
    newest = max((source.stat().st_mtime for source in sources if source.exists()), default=0.0)
    for path in stored:
        try:
            if path.stat().st_mtime < newest:
                path.unlink()
        except OSError:
            continue  # another process was faster, or the folder is read-only


drop_stale_code(Path(__file__).parent)
