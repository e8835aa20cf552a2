"""The pieces of a spectral projection, in single precision: a matrix is formed, and vectors are filtered."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray, Single
from certimeans.bounds.relaxation.threads import Threads
from certimeans.compilation import compiled_fast_without_allocation
from certimeans.scipy_lapack import lapack


def chebyshev_filter(matrix: Single, vectors: Single, low: float, high: float, degree: int, threads: Threads) -> Single:
    """Apply the Chebyshev polynomial that is small on [low, high] and grows fast above it."""
    parts = [vectors[:, first:last] for first, last in threads.ranges(vectors.shape[1])]
    filtered = threads.each(_chebyshev_filter, [(matrix, part, low, high, degree) for part in parts])
    return filtered[0] if len(filtered) == 1 else np.asfortranarray(np.hstack(filtered))


def _chebyshev_filter(matrix: Single, vectors: Single, low: float, high: float, degree: int) -> Single:
    centre, scale = np.float32(0.5 * (low + high)), np.float32(2.0 / (high - low))
    before, current = vectors, matrix @ vectors
    current -= centre * vectors
    current *= scale
    for _ in range(degree - 1):
        following = matrix @ current
        following -= centre * current
        following *= np.float32(2.0) * scale
        following -= before
        before, current = current, following
    return current


def orthonormalise(vectors: Single, threads: Threads) -> Single | None:
    """Cholesky-QR: cheap, and accurate enough for vectors that were nearly orthogonal before the filter."""
    vectors *= np.float32(1.0) / np.sqrt((vectors * vectors).sum(axis=0))
    factor, failed = lapack.spotrf(vectors.T @ vectors, lower=0, clean=1)
    if failed:
        return None
    inverse, failed = lapack.strtri(factor, lower=0)
    return None if failed else threads.product(vectors, inverse)


def assemble(vectors: Single, levels: FloatArray, threads: Threads) -> Single:
    """Return V diag(levels) V'."""
    return threads.square(vectors * np.sqrt(levels).astype(np.float32))


def compressed(
    primal: FloatArray,
    slope: tuple[FloatArray, FloatArray],
    step: float,
    direction: FloatArray,
    threads: Threads,
    direction_value: float | None = None,
) -> Single:
    """Return (I - uu') M (I - uu') + v uu' in single precision, where M = primal - step * (sum of slope).

    v is ``direction_value``, or minus the norm of M, so that it is the lowest eigenvalue.
    """
    size = len(direction)
    matrix = np.empty((size, size), dtype=np.float32)
    rows = threads.rows_of_triangle(size)
    images = np.zeros((len(rows), size))
    squares = threads.each(
        _combine,
        [(primal, *slope, step, direction, own, matrix, *some) for own, some in zip(images, rows, strict=True)],
    )
    image = images.sum(axis=0)
    if direction_value is None:
        direction_value = -float(np.sqrt(sum(squares)))
    half = image - 0.5 * (float(direction @ image) + direction_value) * direction
    threads.each(_compress, [(direction, half, matrix, *some) for some in threads.rows_of_triangle(size, _TILE)])
    return matrix.T


@compiled_fast_without_allocation
def _combine(  # noqa: PLR0913  # compiled code takes its state apart
    primal: FloatArray,
    first: FloatArray,
    second: FloatArray,
    step: float,
    direction: FloatArray,
    image: FloatArray,
    matrix: Single,
    first_row: int,
    last_row: int,
) -> float:
    """Write some rows of M's upper triangle to ``matrix``, add their Mu to ``image``; return their squared norm."""
    size = len(direction)
    square = 0.0
    for i in range(first_row, last_row):
        own = 0.0
        for j in range(i + 1, size):
            entry = primal[i, j] - step * (first[i, j] + second[i, j])
            matrix[i, j] = entry
            own += entry * direction[j]
            image[j] += entry * direction[i]
            square += 2 * entry * entry
        entry = primal[i, i] - step * (first[i, i] + second[i, i])
        matrix[i, i] = entry
        square += entry * entry
        image[i] += own + entry * direction[i]
    return square


_TILE = 64  # not for tuning: two tiles fit into the first-level cache


@compiled_fast_without_allocation
def _compress(direction: FloatArray, half: FloatArray, matrix: Single, first_row: int, last_row: int) -> None:
    """Subtract uh' + hu', and copy the upper triangle to the lower one, tile by tile, which stay in the cache."""
    size = len(direction)
    for top in range(first_row, last_row, _TILE):
        for left in range(top, size, _TILE):
            for i in range(top, min(top + _TILE, last_row)):
                for j in range(max(left, i), min(left + _TILE, size)):
                    matrix[i, j] -= direction[i] * half[j] + half[i] * direction[j]
            for i in range(top, min(top + _TILE, last_row)):
                for j in range(max(left, i + 1), min(left + _TILE, size)):
                    matrix[j, i] = matrix[i, j]


def project_onto_capped_simplex(values: FloatArray, total: float) -> FloatArray:
    """Project onto { 0 <= x <= 1, sum x = total }: subtract a threshold, found by bisection, and clip."""
    return np.clip(values - _threshold(values, total, values.min() - 1.0, values.max()), 0.0, 1.0)


@compiled_fast_without_allocation
def _threshold(values: FloatArray, total: float, low: float, high: float) -> float:
    """Return t in [low, high] such that min(max(x - t, 0), 1) sums up to ``total``."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        mass = 0.0
        for value in values:
            mass += min(max(value - middle, 0.0), 1.0)
        if mass > total:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
