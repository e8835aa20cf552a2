"""Turn what users pass into arrays, and name what is wrong with it."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from certimeans._typing import FloatArray
from certimeans.errors import ArgumentError, InputError
from certimeans.problem.sources import as_mapped_table, collect_chunks, is_in_chunks

_BLOCK = 100_000  # rows that are looked at together, so that a mapped file never is in memory as a whole
_ASYMMETRY = 1e-8  # relative to the largest entry: kernels computed in floating point differ that much at most


def as_points(points: Any) -> FloatArray:
    """Copy a user's points into a table of finite doubles; a file of doubles that is mapped for reading is not copied.

    Raises
    ------
    InputError
        If they are not such a table; the message names the first bad row and column.
    """
    if hasattr(points, "tocsr"):
        raise InputError("points are a sparse matrix; pass a dense one, e.g. points.toarray()")
    _refuse_columns_of_text(points)
    try:
        array = np.asarray(collect_chunks(points) if is_in_chunks(points) else points)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"points must be a table of numbers, every row of the same length ({error})") from None
    if array.ndim != 2:
        advice = "; for one feature pass points.reshape(-1, 1)" if array.ndim == 1 else ""
        raise InputError(f"points must be a 2-D table, one row per point; got shape {array.shape}{advice}")
    if array.size == 0:
        raise InputError(f"points are empty: got {array.shape[0]} rows and {array.shape[1]} columns")
    if np.iscomplexobj(array):
        raise InputError("points hold complex numbers; only real ones can be clustered")
    mapped = as_mapped_table(array)
    table = _as_doubles(array) if mapped is None else mapped
    blocks = [np.argwhere(~np.isfinite(table[first : first + _BLOCK])) for first in range(0, len(table), _BLOCK)]
    n_bad = sum(map(len, blocks))
    if n_bad:
        number = next(number for number, bad in enumerate(blocks) if bad.size)
        row, column = blocks[number][0] + (number * _BLOCK, 0)
        given = array[row, column]
        raise InputError(
            f"points[{row}, {column}] is {given}: every coordinate must be a finite number "
            f"({n_bad} such {'entry' if n_bad == 1 else 'entries'}); fill or drop missing values first"
        )
    return table


def _refuse_columns_of_text(points: Any) -> None:
    """List all columns of a DataFrame that hold dates or text at once."""
    if not hasattr(points, "columns") or not hasattr(points, "dtypes") or is_in_chunks(points):
        return
    kinds = list(points.dtypes)
    bad = [str(name) for c, name in enumerate(points.columns) if not _may_hold_numbers(kinds[c], points, c)]
    if bad:
        raise InputError(
            f"column{'' if len(bad) == 1 else 's'} {', '.join(map(repr, bad))} of the points hold"
            f"{'s' if len(bad) == 1 else ''} text, dates or categories, not numbers; choose the features, e.g. "
            'points.select_dtypes("number")'
        )


def _may_hold_numbers(kind: Any, points: Any, column: int) -> bool:
    """Whether a column may hold numbers: it has no dates or categories, and no text that is not a number."""
    if str(kind) in {"object", "str", "string"}:
        return all(_is_number(value) or not isinstance(value, str) for value in points.iloc[:, column])
    return getattr(kind, "kind", "O") in "biufcO" and str(kind) != "category"


def _as_doubles(array: np.ndarray[Any, Any]) -> FloatArray:
    try:
        if array.dtype.kind in "biuf":
            with np.errstate(over="ignore"):  # what overflows becomes inf and is reported with its place
                return np.array(array, dtype=np.float64, order="C")
        if array.dtype.kind == "O":
            return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        pass
    cells = [(place, value) for place, value in np.ndenumerate(array) if not _is_number(value)]
    if not cells:
        raise InputError(f"points have type {array.dtype}; pass numbers, not text or dates")
    (row, column), value = cells[0]
    raise InputError(f"points[{row}, {column}] is {str(value)!r}: every coordinate must be a number")


def _is_number(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError, OverflowError):
        return False


def as_weights(
    weights: ArrayLike | None, n_points: int, *, name: str = "weights", zero_allowed: bool = False
) -> FloatArray:
    """Check weights, one positive finite number per point; ``None`` stands for 1 each.

    With ``zero_allowed``, some of them, but not all, may be 0.
    """
    if weights is None:
        return np.ones(n_points)
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be numbers, one for each point") from None
    if array.shape != (n_points,):
        raise InputError(f"{name} has shape {array.shape}; give one number for each of the {n_points} points")
    bad = np.flatnonzero(~(np.isfinite(array) & ((array >= 0) if zero_allowed else (array > 0))))
    if bad.size:
        wanted = "finite, zero or more" if zero_allowed else "positive and finite"
        raise InputError(f"{name}[{bad[0]}] is {array[bad[0]]}: every weight must be {wanted}")
    if not array.any():
        raise InputError(f"{name} is zero for every point; at least one weight must be positive")
    return array


def as_n_clusters(n_clusters: object, n_points: int) -> int:
    """Check k: an integer from 1 to the number of points."""
    if not isinstance(n_clusters, Integral) or isinstance(n_clusters, bool):
        raise ArgumentError("n_clusters", f"must be an integer; got {n_clusters!r}")
    n_clusters = int(n_clusters)
    if n_clusters < 1:
        raise ArgumentError("n_clusters", f"must be at least 1; got {n_clusters}")
    if n_clusters > n_points:
        raise ArgumentError("n_clusters", f"is {n_clusters}, but there are only {n_points} points")
    return n_clusters


def as_gram(gram: Any) -> FloatArray:
    """Copy a user's Gram matrix; what differs from its transpose by rounding only is made symmetric.

    Raises
    ------
    InputError
        If it is no symmetric matrix of finite numbers.
    """
    matrix = _as_square(gram, "gram")
    difference = np.abs(matrix - matrix.T)
    if difference.max() > _ASYMMETRY * np.abs(matrix).max():
        i, j = np.unravel_index(int(difference.argmax()), difference.shape)
        raise InputError(
            f"gram is not symmetric: gram[{i}, {j}] is {matrix[i, j]:.6g}, but gram[{j}, {i}] is {matrix[j, i]:.6g}"
        )
    return np.where(matrix == matrix.T, matrix, 0.5 * matrix + 0.5 * matrix.T)  # halves of the smallest are rounded


def gram_of_distances(squared_distances: Any) -> FloatArray:
    """Turn squared distances D into a Gram matrix that gives every clustering the same cost: -D / 2.

    Raises
    ------
    InputError
        If they are no symmetric matrix of finite numbers, none negative, with zeros on the diagonal; or if a half of
        one is no double.
    """
    matrix = _as_square(squared_distances, "squared_distances")
    if matrix.min() < 0:
        i, j = np.unravel_index(int(matrix.argmin()), matrix.shape)
        raise InputError(f"squared_distances[{i}, {j}] is {matrix[i, j]:.6g}; a squared distance is not negative")
    wrong = np.flatnonzero(matrix.diagonal())
    if wrong.size:
        point = int(wrong[0])
        given = matrix[point, point]
        raise InputError(f"squared_distances[{point}, {point}] is {given:.6g}; a point has distance 0 from itself")
    gram = np.asarray(-0.5 * matrix)
    if (-2.0 * gram != matrix).any():
        i, j = np.argwhere(-2.0 * gram != matrix)[0]
        raise InputError(
            f"squared_distances[{i}, {j}] is {matrix[i, j]:.6g}, too small for double precision; multiply all of them "
            "by a constant"
        )
    return gram


def _as_square(matrix: Any, name: str) -> FloatArray:
    try:
        table = as_points(matrix)
    except InputError as error:
        raise InputError(str(error).replace("points", name, 1)) from None
    if table.shape[0] != table.shape[1]:
        raise InputError(f"{name} must be a square matrix, one row and one column per point; got shape {table.shape}")
    return table
