"""Projection onto the spectral set: eigenvalues, mostly of a small subspace that follows the iterates.

The set is { u u' + R : R u = 0, 0 <= R <= I, trace R = k - 1 }. To project a matrix, compress it to the complement of
u, take its eigenvalues, and project these onto { 0 <= x <= 1, sum x = k - 1 }. Only eigenvectors with x > 0 matter.
They change little from one iteration to the next, so usually a *subspace step* replaces the full decomposition: a
Chebyshev filter that damps the unwanted part of the spectrum is applied to the previous vectors, and a small
eigenproblem on their span follows. All of it is in single precision; the bound that protects the result is computed
elsewhere, in double.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray
from certimeans.bounds.lapack import ssyevd
from certimeans.compilation import compiled_fast_without_allocation
from certimeans.scipy_lapack import eigenvalues_of_tridiagonal, lapack

Single: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class SpectralSettings:
    """When a subspace step replaces the full decomposition, and how it is made.

    Attributes
    ----------
    smallest_size
        Smaller problems are always decomposed fully: that is faster there.
    largest_share
        So are problems of which more than this share of the spectrum is wanted.
    full_every
        Steps after which a full decomposition corrects what errors have added up to.
    max_degree
        Degree of the filter's polynomial at most: a higher one separates better and costs more products. It rises where
        a step is not exact enough, and falls where it is more exact than it need be.
    easy
        So much of the error that is allowed makes a step more exact than it need be.
    spare_share, min_spare
        Vectors kept beside the wanted ones, as a share of these, and at least.
    min_unused
        If fewer of the vectors turn out not to be wanted, some that are may be missing: the step does not count.
    lanczos_steps, lanczos_every, interval_every
        The lower end of the spectrum is estimated by so many Lanczos steps, every so many iterations; and taken over,
        even if it rose, every so many.
    full_margin, interval_margin
        Parts of the lowest eigenvalue by which the damped interval exceeds its estimate, after a full decomposition
        and after Lanczos steps: what lies outside would be amplified.
    """

    smallest_size: int = 60
    largest_share: float = 0.6
    full_every: int = 60
    max_degree: int = 4
    easy: float = 0.3
    spare_share: float = 0.2
    min_spare: int = 8
    min_unused: int = 3
    lanczos_steps: int = 8
    lanczos_every: int = 4
    interval_every: int = 20
    full_margin: float = 0.15
    interval_margin: float = 0.1

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"SpectralSettings.{name} must be positive; got {value}")


_LEAST_MARGIN = 0.1  # eigenvalues of interest are between 0 and 1: this keeps the interval from collapsing near 0


_TRIES = 3  # not for tuning: a fourth filter costs nearly as much as the full decomposition


class SpectralError(ArithmeticError):
    """The eigenvalue routine broke down, which happens only if the iterates are not finite."""


class _Ritz(NamedTuple):
    """Eigenvectors in a subspace, by increasing value, and what they become in the projection.

    Attributes
    ----------
    levels
        Their values there; those of the first ``unused`` are 0.
    error
        Norm of the residuals of the others.
    """

    values: Single
    vectors: Single
    levels: FloatArray
    unused: int
    error: float


class SpectralProjector:
    """Projects a slowly changing sequence of matrices.

    Parameters
    ----------
    direction
        The unit vector u.
    rank
        k - 1, the trace of R.
    """

    def __init__(
        self, direction: FloatArray, rank: float, seed: int = 0, settings: SpectralSettings | None = None
    ) -> None:
        self.settings = settings or SpectralSettings()
        self.direction = direction
        self.rank = rank
        self.n_full = 0
        self.n_subspace = 0
        self._rng = np.random.default_rng(seed)
        self._basis: Single | None = None  # Ritz vectors, by increasing Ritz value
        self._damped = (0.0, 0.0)  # the interval of the spectrum that the filter damps
        self._since_full = 0
        self._degree = self.settings.max_degree  # of the filter
        self.error = 0.0

    def project(
        self, primal: FloatArray, slope: tuple[FloatArray, FloatArray], step: float, tolerance: float = np.inf
    ) -> Single:
        """Project ``primal - step * (sum of slope)`` and return R, the part beside u u'; reads upper triangles only.

        With an error above ``tolerance`` a subspace step does not count.
        """
        if self._basis is not None and self._since_full < self.settings.full_every:
            projected = self._project_in_subspace(primal, slope, step, self._basis, tolerance)
            if projected is not None:
                self.n_subspace += 1
                self._since_full += 1
                return projected
        self.n_full += 1
        self._since_full = 0
        return self._project_fully(primal, slope, step)

    def values_in_subspace(self, matrix: FloatArray) -> FloatArray | None:
        """Return the eigenvalues of a matrix in the present subspace, increasing; ``None`` if there is none."""
        if self._basis is None:
            return None
        basis = self._basis.astype(np.float64)
        values: FloatArray = np.asarray(np.linalg.eigvalsh(basis.T @ (matrix @ basis)), dtype=np.float64)
        return values

    def _project_fully(self, primal: FloatArray, slope: tuple[FloatArray, FloatArray], step: float) -> Single:
        size = len(self.direction)
        # The direction u goes to the bottom of the spectrum, where the projection sends it to zero.
        matrix = _compressed(primal, slope, step, self.direction, 0.0, to_the_bottom=True)
        values, vectors, failed = ssyevd(matrix)
        if failed or not np.isfinite(values[-1]):
            raise SpectralError("full decomposition")
        levels = project_onto_capped_simplex(values.astype(np.float64), float(self.rank))
        unused = int(np.searchsorted(levels, 0.0, side="right"))
        wanted = size - unused
        keep = max(1, unused - self._spare(wanted))
        is_small_enough = size - keep < self.settings.largest_share * size
        if size >= self.settings.smallest_size and is_small_enough:
            self._basis = np.asfortranarray(vectors[:, keep:])
            lowest = float(values[1])  # values[0] is that of u
            self._damped = (lowest - self.settings.full_margin * abs(lowest) - _LEAST_MARGIN, float(values[keep]))
        else:
            self._basis = None
        return _assemble(vectors[:, unused:], levels[unused:])

    def _project_in_subspace(
        self,
        primal: FloatArray,
        slope: tuple[FloatArray, FloatArray],
        step: float,
        basis: Single,
        tolerance: float,
    ) -> Single | None:
        """Take one subspace step; ``None`` if it fails a check."""
        low, high = self._damped
        matrix = _compressed(primal, slope, step, self.direction, 0.5 * (low + high), to_the_bottom=False)
        if self._since_full % self.settings.lanczos_every == 0:
            lowest = self._lowest_by_lanczos(matrix)
            if lowest < low or self._since_full % self.settings.interval_every == 0:
                low = lowest - self.settings.interval_margin * abs(lowest)
        if not low < high:
            return None
        for _ in range(_TRIES):
            ritz = self._ritz_vectors(matrix, basis, low, high)
            if ritz is None:
                return None
            self.error = ritz.error
            if ritz.error <= tolerance:
                break
            basis = ritz.vectors
            self._degree = min(self._degree + 1, self.settings.max_degree)
        else:
            return None
        if ritz.error <= self.settings.easy * tolerance:
            self._degree = max(self._degree - 1, 1)
        wanted = len(ritz.levels) - ritz.unused
        keep = max(0, ritz.unused - self._spare(wanted))
        self._basis = np.asfortranarray(ritz.vectors[:, keep:])
        self._damped = (low, float(ritz.values[keep]))
        return _assemble(ritz.vectors[:, ritz.unused :], ritz.levels[ritz.unused :])

    def _ritz_vectors(self, matrix: Single, basis: Single, low: float, high: float) -> _Ritz | None:
        """Filter the basis and solve the small eigenproblem on its span; ``None`` if that fails a check."""
        orthonormal = _orthonormalise(_chebyshev_filter(matrix, basis, low, high, self._degree))
        if orthonormal is None:
            return None
        image = matrix @ orthonormal
        small = orthonormal.T @ image
        values, rotation, failed = ssyevd(0.5 * (small + small.T))
        if failed or not np.isfinite(values[0]) or values[0] < low:
            return None  # a Ritz value below the damped interval: the estimate of the spectrum's end was wrong
        levels = project_onto_capped_simplex(values.astype(np.float64), float(self.rank))
        unused = int(np.searchsorted(levels, 0.0, side="right"))
        if unused < self.settings.min_unused:
            return None  # there may be more wanted vectors than the subspace holds
        vectors = orthonormal @ rotation
        residual = image @ rotation[:, unused:] - vectors[:, unused:] * values[unused:]
        return _Ritz(values, vectors, levels, unused, float(np.linalg.norm(residual)))

    def _spare(self, wanted: int) -> int:
        """Return how many vectors to keep beside the wanted ones."""
        return max(self.settings.min_spare, int(self.settings.spare_share * wanted))

    def _lowest_by_lanczos(self, matrix: Single) -> float:
        """Estimate the lowest eigenvalue from below with a few Lanczos steps."""
        vector = self._rng.standard_normal(len(matrix)).astype(np.float32)
        vector /= np.linalg.norm(vector)
        previous, off_diagonal = np.zeros_like(vector), 0.0
        diagonal_entries, off_diagonal_entries = [], []
        for _ in range(self.settings.lanczos_steps):
            image = matrix @ vector - np.float32(off_diagonal) * previous
            diagonal_entries.append(float(image @ vector))
            image -= np.float32(diagonal_entries[-1]) * vector
            off_diagonal = float(np.linalg.norm(image))
            off_diagonal_entries.append(off_diagonal)
            previous, vector = vector, np.divide(image, max(off_diagonal, 1e-12), dtype=np.float32)
        ritz = eigenvalues_of_tridiagonal(np.array(diagonal_entries), np.array(off_diagonal_entries[:-1]))
        return float(ritz[0]) - off_diagonal_entries[-1]


def _chebyshev_filter(matrix: Single, vectors: Single, low: float, high: float, degree: int) -> Single:
    """Apply the Chebyshev polynomial that is small on [low, high] and grows fast above it."""
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


def _orthonormalise(vectors: Single) -> Single | None:
    """Cholesky-QR: cheap, and accurate enough for vectors that were nearly orthogonal before the filter."""
    vectors *= np.float32(1.0) / np.sqrt((vectors * vectors).sum(axis=0))
    factor, failed = lapack.spotrf(vectors.T @ vectors, lower=0, clean=1)
    if failed:
        return None
    inverse, failed = lapack.strtri(factor, lower=0)
    return None if failed else vectors @ inverse


def _assemble(vectors: Single, levels: FloatArray) -> Single:
    """Return V diag(levels) V'."""
    scaled = vectors * np.sqrt(levels).astype(np.float32)
    return np.asarray(scaled @ scaled.T)


def _compressed(
    primal: FloatArray,
    slope: tuple[FloatArray, FloatArray],
    step: float,
    direction: FloatArray,
    direction_value: float,
    *,
    to_the_bottom: bool,
) -> Single:
    """Return (I - uu') M (I - uu') + v uu' in single precision, where M = primal - step * (sum of slope).

    v is ``direction_value``, or minus the norm of M, so that it is the lowest eigenvalue.
    """
    size = len(direction)
    image, matrix = np.zeros(size), np.empty((size, size), dtype=np.float32)
    square = _combine(primal, *slope, step, direction, image, matrix)
    if to_the_bottom:
        direction_value = -float(np.sqrt(square))
    half = image - 0.5 * (float(direction @ image) + direction_value) * direction
    _compress(direction, half, matrix)
    return matrix.T


@compiled_fast_without_allocation
def _combine(
    primal: FloatArray,
    first: FloatArray,
    second: FloatArray,
    step: float,
    direction: FloatArray,
    image: FloatArray,
    matrix: Single,
) -> float:
    """Write the upper triangle of M to ``matrix``, add Mu to ``image``, and return the squared norm of M."""
    size = len(direction)
    square = 0.0
    for i in range(size):
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
def _compress(direction: FloatArray, half: FloatArray, matrix: Single) -> None:
    """Subtract uh' + hu', and copy the upper triangle to the lower one, tile by tile, which stay in the cache."""
    size = len(direction)
    for top in range(0, size, _TILE):
        for left in range(top, size, _TILE):
            for i in range(top, min(top + _TILE, size)):
                for j in range(max(left, i), min(left + _TILE, size)):
                    matrix[i, j] -= direction[i] * half[j] + half[i] * direction[j]
            for i in range(top, min(top + _TILE, size)):
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
