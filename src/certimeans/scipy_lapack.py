"""What ``scipy.linalg.lapack`` holds, without the rest of ``scipy.linalg``.

A short solve needs a handful of LAPACK functions, and importing ``scipy.linalg`` takes longer than the solve. The
extension module behind ``scipy.linalg.lapack`` stands alone, so it is loaded by itself, under a name of its own: an
import of ``scipy.linalg`` before or after is not touched. Where that fails, the import is what it would have been.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from certimeans._typing import FloatArray

_EXTENSION = "_flapack"
_NEEDED = ("dpotrf", "dsyevr", "dsyevr_lwork", "spotrf", "ssyevd", "strtri")


def _load() -> Any:
    if "scipy.linalg" not in sys.modules:
        alone = _load_alone(_EXTENSION)
        if all(hasattr(alone, name) for name in _NEEDED):
            return alone
    from scipy.linalg import lapack  # noqa: PLC0415

    return lapack


def _load_alone(name: str) -> Any:
    """Load an extension module of ``scipy.linalg`` without its package; ``None`` if it is not where it used to be."""
    try:
        folder = Path(scipy.__file__).parent / "linalg"
        spec = importlib.machinery.PathFinder.find_spec(f"{__name__}.{name}", [str(folder)])
        if spec is None or spec.loader is None:
            return None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except Exception:  # noqa: BLE001  # whatever another version of scipy does differently
        return None
    return module


lapack = _load()


def largest_eigenvectors(matrix: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a symmetric matrix, ascending, and their eigenvectors: what ``eigh`` returns.

    Raises
    ------
    numpy.linalg.LinAlgError
        If they were not found.
    """
    n = len(matrix)
    work, integers, _ = lapack.dsyevr_lwork(n, lower=1)
    values, vectors, found, _, failed = lapack.dsyevr(
        np.asarray_chkfinite(matrix), range="I", il=n - count + 1, iu=n, lower=1, lwork=int(work), liwork=int(integers)
    )
    if failed:
        raise np.linalg.LinAlgError("the eigenvalues of a symmetric matrix were not found")
    return values[:found], vectors[:, :found]
