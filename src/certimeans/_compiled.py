"""One decorator for every compiled loop, so that they are compiled alike and keep their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a numerical loop on its first call and keep the machine code on disk for the next run."""
    return cast("Function", njit(cache=True, nogil=True)(function))


def compiled_without_allocation(function: Function) -> Function:
    """Compile a hot loop that creates no array.

    Arrays are then passed on without counting references to them, which takes most of the time of short functions,
    and a division by zero gives an infinite number instead of an error.
    """
    return cast("Function", njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function))


def inlined(function: Function) -> Function:
    """Compile a part of a hot loop into each compiled function that calls it; it too must not create arrays."""
    return cast(
        "Function", njit(cache=True, nogil=True, error_model="numpy", _nrt=False, inline="always")(function)
    )
