"""Decorators for compiled loops, so that they are compiled alike and keep their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from certimeans.compilation.internals import (
    NO_ALLOCATION,
    ignore_literals,
    keep_machine_code,
    refuse_calls_from_python,
)
from certimeans.compilation.storage import CodeStore

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a numerical loop on its first call and keep the machine code on disk for the next run."""
    return _compile(function)


def compiled_fast(function: Function) -> Function:
    """Compile likewise, but let the compiler reorder floating-point operations and ignore NaN.

    Only for work whose rounding errors no proof rests on; never for a bound.
    """
    return _compile(function, fastmath=True)


_HOT: dict[str, Any] = {"error_model": "numpy", **NO_ALLOCATION}


def compiled_without_allocation(function: Function) -> Function:
    """Compile a hot loop that creates no array; a division by zero gives infinity or NaN, not an error."""
    return _compile(function, **_HOT)


def compiled_fast_without_allocation(function: Function) -> Function:
    """Compile a loop that creates no array, and whose rounding errors no proof rests on."""
    return _compile(function, fastmath=True, **_HOT)


def inlined(function: Function) -> Function:
    """Compile a part of a hot loop into each compiled function that calls it; it too must not create arrays."""
    return _compile(function, inline="always", **_HOT)


def compiled_inside(function: Function) -> Function:
    """Compile a part of hot loops once, to be called by compiled functions only; it too must not create arrays.

    Without what lets Python call it, and unpack tuples of arrays for that, it compiles in half the time.
    """
    dispatcher = _compile(function, no_cpython_wrapper=True, **_HOT)
    refuse_calls_from_python(dispatcher)
    return dispatcher


def _compile(function: Function, **options: Any) -> Function:
    dispatcher = njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    keep_machine_code(dispatcher, CodeStore(function))
    ignore_literals(dispatcher)
    return cast("Function", dispatcher)
