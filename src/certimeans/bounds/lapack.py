"""LAPACK without Python's global lock.

scipy's own wrappers hold the lock: for a matrix of order 4,000 nothing else in the process runs for seconds, no other
thread and no signal handler, so that neither time limits nor Ctrl-C can be kept. The same functions of the same library
are called here through ctypes, which releases the lock; their addresses are what ``scipy.linalg.cython_lapack`` exports
for compiled code. Small matrices take no time, and the wrappers are faster there, unless threads that share the work
would wait for each other. Names, arguments and results are those of ``scipy.linalg.lapack``, as far as they are needed.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, Single
from certimeans.scipy_lapack import lapack as wrapped

_SMALL = 600
"""Up to here a decomposition takes less than a tenth of a second."""

_SMALL_IF_SHARED = 100
"""Up to here it takes about as long as what is around it, which holds the lock in any case."""


class _Sharing:
    """How many callers at present have threads that share their work."""

    def __init__(self) -> None:
        self.callers = 0
        self.lock = threading.Lock()


_SHARING = _Sharing()


@contextmanager
def shared_by_threads() -> Iterator[None]:
    """Release Python's lock for smaller matrices, too, as long as threads share the work; results stay the same."""
    with _SHARING.lock:
        _SHARING.callers += 1
    try:
        yield
    finally:
        with _SHARING.lock:
            _SHARING.callers -= 1


def _is_small(size: int) -> bool:
    return size < (_SMALL_IF_SHARED if _SHARING.callers else _SMALL)


@cache
def _function(name: str, n_arguments: int) -> Callable[..., None]:
    """Return a LAPACK function, which takes pointers only and returns nothing."""
    from scipy.linalg import cython_lapack  # noqa: PLC0415  # slow to import, and needed by large matrices only

    exported: Mapping[str, object] = cython_lapack.__pyx_capi__
    capsule = exported[name]
    name_of, pointer_in = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_in.restype, pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer_in(capsule, name_of(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)


def _pointer(value: NDArray[Any]) -> int:
    return value.ctypes.data


def _integer(value: int) -> NDArray[np.intc]:
    return np.array([value], dtype=np.intc)


def _letter(letter: str) -> NDArray[np.bytes_]:
    return np.array([letter.encode()], dtype="S1")


def ssyevd(a: Single | FloatArray, lower: int = 0) -> tuple[Single, Single, int]:
    """Return all eigenvalues and eigenvectors of a symmetric matrix in single precision, and 0 if that worked."""
    n = len(a)
    if _is_small(n):
        small: tuple[Single, Single, int] = wrapped.ssyevd(a, lower=lower)
        return small
    vectors = np.array(a, dtype=np.float32, order="F", copy=True)
    values = np.empty(n, dtype=np.float32)
    work = np.empty(max(1, 1 + 6 * n + 2 * n * n), dtype=np.float32)
    integers = np.empty(3 + 5 * n, dtype=np.intc)
    info = _integer(0)
    arguments = (
        _letter("V"), _letter("L" if lower else "U"), _integer(n), vectors, _integer(max(1, n)), values,
        work, _integer(len(work)), integers, _integer(len(integers)), info,
    )  # fmt: skip
    _function("ssyevd", 11)(*map(_pointer, arguments))
    return values, vectors, int(info[0])


def dsyevr(a: FloatArray, il: int, iu: int, lower: int = 0) -> tuple[FloatArray, FloatArray, int]:
    """Return the eigenvalues number ``il`` to ``iu``, counted from 1, with their eigenvectors, and 0 if that worked."""
    n, count = len(a), iu - il + 1
    if _is_small(n):
        values, vectors, _, _, failed = wrapped.dsyevr(a, range="I", il=il, iu=iu, lower=lower)
        return values[:count], vectors[:, :count], failed
    matrix = np.array(a, dtype=np.float64, order="F", copy=True)
    values, vectors = np.empty(n), np.empty((n, count), order="F")
    support = np.empty(2 * max(1, count), dtype=np.intc)
    work, integers = np.empty(max(1, 26 * n)), np.empty(max(1, 10 * n), dtype=np.intc)
    found, info, zero = _integer(0), _integer(0), np.zeros(1)
    arguments = (
        _letter("V"), _letter("I"), _letter("L" if lower else "U"), _integer(n), matrix, _integer(max(1, n)),
        zero, zero, _integer(il), _integer(iu), zero, found, values, vectors, _integer(max(1, n)), support,
        work, _integer(len(work)), integers, _integer(len(integers)), info,
    )  # fmt: skip
    _function("dsyevr", 21)(*map(_pointer, arguments))
    return values[:count], vectors, int(info[0])


def dpotrf(a: FloatArray, lower: int = 0) -> tuple[FloatArray, int]:
    """Return a triangle of the Cholesky factor (the other one is not touched), and 0 if the matrix is positive."""
    if _is_small(len(a)):
        small: tuple[FloatArray, int] = wrapped.dpotrf(a, lower=lower, clean=0)
        return small
    factor = np.array(a, dtype=np.float64, order="F", copy=True)
    info = _integer(0)
    arguments = (_letter("L" if lower else "U"), _integer(len(a)), factor, _integer(max(1, len(a))), info)
    _function("dpotrf", 5)(*map(_pointer, arguments))
    return factor, int(info[0])
