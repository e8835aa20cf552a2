"""Decorators for compiled loops, so that they are compiled alike and keep their types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.types.misc import unliteral

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a numerical loop on its first call and keep the machine code on disk for the next run."""
    return _compile(function)


def compiled_fast(function: Function) -> Function:
    """Compile likewise, but let the compiler reorder floating-point operations and ignore NaN.

    Only for work whose rounding errors nobody relies on; never for a bound.
    """
    return _compile(function, fastmath=True)


# Without numba's run-time (`_nrt`) references to arrays are not counted. Counting is most of the time of a short
# function that takes tuples of arrays: the local search is four times as fast without. Such functions must not create
# arrays, and the compiler refuses those that do.
_HOT: dict[str, Any] = {"error_model": "numpy", "_nrt": False}


def compiled_without_allocation(function: Function) -> Function:
    """Compile a hot loop that creates no array; a division by zero gives infinity or NaN, not an error."""
    return _compile(function, **_HOT)


def inlined(function: Function) -> Function:
    """Compile a part of a hot loop into each compiled function that calls it; it too must not create arrays."""
    return _compile(function, inline="always", **_HOT)


def _compile(function: Function, **options: Any) -> Function:
    dispatcher = njit(cache=True, nogil=True, **options)(function)
    plain = dispatcher.get_call_template

    # Where compiled code calls f(0), f(-1) and f(n), numba compiles f three times: for the type "the number 0" and so
    # on, and while it infers types also for constants that a variable only begins with. Once is enough, for integers.
    def get_call_template(arguments: Any, named: Any) -> Any:
        return plain([unliteral(a) for a in arguments], {name: unliteral(a) for name, a in named.items()})

    dispatcher.get_call_template = get_call_template
    return cast("Function", dispatcher)


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
