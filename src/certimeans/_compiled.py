"""One decorator for every compiled loop, so that they are compiled alike and keep their types."""

from __future__ import annotations

from collections.abc import Callable
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
