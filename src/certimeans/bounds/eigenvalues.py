r"""Rigorous bounds on sums of eigenvalues, by one Cholesky factorisation.

For a symmetric matrix M, a number m, any t, vectors q_1, q_2, ... and factors f_i >= 0 such that ::

    S  =  M - t I + sum_i f_i q_i q_i'                                                                            (1)

is positive semidefinite, and every R with 0 <= R <= I and trace R = m, ::

    <M, R>  >=  m t - sum_i f_i |q_i|^2,                                                                          (2)

since <S, R> >= 0 and <q q', R> <= |q|^2. With the m lowest eigenpairs of M, t the last of these eigenvalues and f_i the
distance to it, (2) is the sum of the m lowest eigenvalues: the best possible. Nothing is assumed of the accuracy of t,
q and f; the floats are taken as they are. For large matrices they may come from Lanczos steps in single precision,
which take a fraction of the time of a decomposition; if these are not accurate enough for a proof, a decomposition
follows.

**Rounding.** (1) is checked by a Cholesky factorisation of the float of S + d I. If it runs to completion, the smallest
eigenvalue of the float matrix is at least -d - e with e = g / (1 - g) trace, g = rounding_factor(s + 2) for a matrix of
size s (Demmel 1989, Rump 2006; true for any order of summation; one more rounding for implementations that multiply by
reciprocals of the diagonal). Forming S costs a further error, bounded in the Frobenius norm. All of that, and d, is
subtracted from t.

**Underflow.** Callers pass matrices of norm between 1e-50 and 1e50 or so (entries above ``LARGEST`` are refused). A
product that underflows is off by at most 2^-1075, and a factorisation of size s makes fewer than s^3 of them, each
divided by a pivot of at least the shift d >= 1e-290 at most once: with s <= 10^5 their sum stays below 1e-17 times
that shift, which is covered by the factor 4 in d.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

from certimeans._typing import FloatArray
from certimeans.bounds.lapack import dpotrf, dsyevr
from certimeans.problem.rounding import UNIT_ROUNDOFF, rounding_factor

LARGEST = 1e100
"""Squares of larger entries, and sums of them, could overflow."""

_SHIFTS = (1.0, 1e3, 1e6)
_SHIFTS_OF_ESTIMATES = (30.0,)
_LARGE = 700  # from this size on a few eigenpairs are estimated in less time than they are computed
_SHARE_OF_FEW = 0.02  # of all eigenpairs: more of them would take longer to estimate
_TOLERANCE = 1e-5  # of eigenvalues, relatively; errors of t are about its square
_MOST_RESTARTS = 12  # of Lanczos' method; where many eigenvalues are close, a decomposition takes no longer than more
_TINY = 1e-290  # keeps a zero matrix positive definite, and is far above underflow


def lowest_eigenvalue_sum(
    matrix: FloatArray, count: int, matrix_error: float, *, may_estimate: bool = False
) -> tuple[float, float]:
    """Bound the sum of the lowest eigenvalues of a symmetric matrix from below.

    Parameters
    ----------
    matrix
        All entries are read; it is not changed.
    count
        How many eigenvalues, at least 1 and at most the size.
    matrix_error
        The exact matrix is within this distance of ``matrix``, in the Frobenius norm.
    may_estimate
        Whether an error some 30 times as large is worth half of the time, if the matrix is large.

    Returns
    -------
    value, error
        The sum is at least ``value - error``, and so is <M, R> for every R with 0 <= R <= I and trace ``count``.
        Minus infinity if no proof was found.
    """
    if may_estimate and len(matrix) >= _LARGE and count <= _SHARE_OF_FEW * len(matrix):
        estimate = _estimated_pairs(matrix, count)
        if estimate is not None:
            value, error = _proven_sum(matrix, matrix_error, *estimate, _SHIFTS_OF_ESTIMATES)
            if value > -np.inf:
                return value, error
    lowest, vectors, failed = dsyevr(matrix, il=1, iu=count, lower=1)
    if failed:
        return -np.inf, 0.0
    return _proven_sum(matrix, matrix_error, lowest, np.ascontiguousarray(vectors), _SHIFTS)


def _estimated_pairs(matrix: FloatArray, count: int) -> tuple[FloatArray, FloatArray] | None:
    """Estimate the lowest eigenvalues, with their eigenvectors, so many of each; ``None`` if that failed."""
    from scipy.sparse.linalg import ArpackError, eigsh  # noqa: PLC0415  # slow to import, and for large matrices only

    size = len(matrix)
    largest = float(np.abs(matrix).max())
    if not 0 < largest < LARGEST:
        return None
    single = np.empty(matrix.shape, dtype=np.float32)
    with np.errstate(under="ignore"):
        np.divide(matrix, largest, out=single, casting="same_kind")
    random = np.random.default_rng(0)
    start = random.standard_normal(size).astype(np.float32)
    # Without a generator of ours, SciPy 1.17 begins anew with numbers that are different each time.
    more: dict[str, Any] = {"rng": random} if "rng" in signature(eigsh).parameters else {}
    width = max(40, 2 * count + 20)
    try:
        _, vectors = eigsh(
            single, count, which="SA", tol=_TOLERANCE, ncv=width, v0=start, maxiter=_MOST_RESTARTS, **more
        )
        # Fewer vectors would be those of another sum.
        if vectors.shape != (size, count) or not np.isfinite(vectors).all():
            return None
        basis, _ = np.linalg.qr(vectors.astype(np.float64))
        values, rotation = np.linalg.eigh(basis.T @ (matrix @ basis))
    except (ArpackError, np.linalg.LinAlgError):
        return None
    return values, basis @ rotation


def _proven_sum(
    matrix: FloatArray, matrix_error: float, lowest: FloatArray, below: FloatArray, shifts: tuple[float, ...]
) -> tuple[float, float]:
    """Prove the bound (2) from estimates of the lowest eigenpairs, as :func:`lowest_eigenvalue_sum` returns it."""
    size, count = len(matrix), len(lowest)
    if not (np.isfinite(lowest).all() and np.isfinite(below).all()):
        return -np.inf, 0.0
    level = float(lowest.max())
    factors = level - lowest
    lifting = float(factors @ (below * below).sum(axis=0))  # the sum of f_i |q_i|^2
    lifted = matrix + (below * factors) @ below.T
    forming_error = (
        matrix_error
        + rounding_factor(count + 5) * lifting
        + 4 * UNIT_ROUNDOFF * (float(np.linalg.norm(matrix)) + np.sqrt(size) * abs(level))
    )
    diagonal = np.diag_indices(size)
    lifted[diagonal] -= level
    growth = rounding_factor(size + 2) / (1 - rounding_factor(size + 2))
    shift = 4 * (forming_error + growth * float(np.abs(lifted[diagonal]).sum())) + _TINY
    for attempt in shifts:
        shifted = lifted.copy()
        shifted[diagonal] += attempt * shift
        trace = float(np.abs(shifted[diagonal]).sum())
        if dpotrf(shifted, lower=1)[1] == 0:
            margin = attempt * shift + forming_error + (growth + 8 * UNIT_ROUNDOFF) * trace
            error = count * margin + rounding_factor(size + count + 5) * (count * abs(level) + lifting)
            return count * level - lifting, error
    return -np.inf, 0.0
