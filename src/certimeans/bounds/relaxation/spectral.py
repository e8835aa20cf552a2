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
from typing import NamedTuple

import numpy as np

from certimeans._typing import FloatArray, Single
from certimeans.bounds.lapack import ssyevd
from certimeans.bounds.relaxation.spectral_kernels import (
    assemble,
    chebyshev_filter,
    compressed,
    orthonormalise,
    project_onto_capped_simplex,
)
from certimeans.bounds.relaxation.threads import Threads
from certimeans.setting_checks import check_settings


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
        Vectors kept beside the wanted ones, as a share of these at first, and at least.
    spare_growth, max_spare_share, spare_decay, largest_grown_share
        The share grows by this factor where steps are not exact enough, because many eigenvalues lie near those of
        wanted vectors, up to this; and falls by that factor with each step that is more exact than it need be. It does
        not grow beyond where all vectors are so many of the spectrum: a full decomposition takes no longer then.
    min_unused
        If fewer of the vectors turn out not to be wanted, some that are may be missing: random ones are added.
    lanczos_steps, lanczos_every, interval_every
        The lower end of the spectrum is estimated by so many Lanczos steps, every so many iterations; and taken over,
        even if it rose, every so many.
    full_margin, interval_margin
        Parts of the lowest eigenvalue by which the damped interval exceeds its estimate, after a full decomposition
        and after Lanczos steps: what lies outside would be amplified.
    """

    smallest_size: int = 60
    largest_share: float = 0.45
    full_every: int = 200
    max_degree: int = 4
    easy: float = 0.3
    spare_share: float = 0.2
    min_spare: int = 8
    spare_growth: float = 2.0
    max_spare_share: float = 1.0
    spare_decay: float = 0.98
    largest_grown_share: float = 0.35
    min_unused: int = 3
    lanczos_steps: int = 12
    lanczos_every: int = 4
    interval_every: int = 20
    full_margin: float = 0.15
    interval_margin: float = 0.1

    def __post_init__(self) -> None:
        # Neither the filter nor Lanczos' method looks at the clock, and they have single precision.
        most = {"max_degree": 100, "lanczos_steps": 100, "full_margin": 1e6, "interval_margin": 1e6}
        check_settings(self, least={"spare_growth": 1}, most={**most, "spare_decay": 1}, positive=vars(self))


_LEAST_MARGIN = 0.1  # eigenvalues of interest are between 0 and 1: this keeps the interval from collapsing near 0


_MOST_AMPLIFIED = 1e4  # not for tuning: well below the reciprocal of the unit roundoff of single precision

_SHARE_OF_CHANCE = 0.3  # not for tuning: so that a new lowest eigenvector is found, too

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
    threads
        What shares the products.
    """

    def __init__(
        self,
        direction: FloatArray,
        rank: float,
        seed: int = 0,
        settings: SpectralSettings | None = None,
        threads: Threads | None = None,
    ) -> None:
        self.settings = settings or SpectralSettings()
        self._threads = threads or Threads()
        self.direction = direction
        self.rank = rank
        self.n_full = 0
        self.n_subspace = 0
        self._rng = np.random.default_rng(seed)
        self._basis: Single | None = None  # Ritz vectors, by increasing Ritz value
        self._damped = (0.0, 0.0)  # the interval of the spectrum that the filter damps
        self._since_full = 0
        self._degree = self.settings.max_degree  # of the filter
        self._spare_share = self.settings.spare_share
        self._highest = 0.0  # eigenvalue
        self._lowest_vector: Single | None = None  # as Lanczos steps found it last
        self._step = 1.0  # the last one
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
        self._step = step
        # The direction u goes to the bottom of the spectrum, where the projection sends it to zero.
        matrix = compressed(primal, slope, step, self.direction, self._threads)
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
            self._highest = float(values[-1])
            self._damped = (lowest - self.settings.full_margin * abs(lowest) - _LEAST_MARGIN, float(values[keep]))
        else:
            self._basis = None
        return assemble(vectors[:, unused:], levels[unused:], self._threads)

    def _project_in_subspace(
        self,
        primal: FloatArray,
        slope: tuple[FloatArray, FloatArray],
        step: float,
        basis: Single,
        tolerance: float,
    ) -> Single | None:
        """Take one subspace step; ``None`` if it fails a check."""
        # Near the end, what is not wanted is a multiple of the step: another step stretches that part of the spectrum.
        low, high = (end * step / self._step for end in self._damped)
        self._step = step
        matrix = compressed(primal, slope, step, self.direction, self._threads, 0.5 * (low + high))
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
            if ritz.unused < self.settings.min_unused:  # there may be more wanted vectors than the subspace holds
                basis = self._extended(ritz.vectors)
                if basis.shape[1] >= self.settings.largest_share * len(self.direction):
                    return None
                self._degree = self.settings.max_degree
                continue
            self.error = ritz.error
            if ritz.error <= tolerance:
                break
            basis = ritz.vectors
            self._degree = min(self._degree + 1, self.settings.max_degree)
        else:
            self._spare_share = min(self.settings.spare_growth * self._spare_share, self.settings.max_spare_share)
            return None
        if ritz.error <= self.settings.easy * tolerance:
            self._degree = max(self._degree - 1, 1)
            self._spare_share = max(self.settings.spare_decay * self._spare_share, self.settings.spare_share)
        wanted = len(ritz.levels) - ritz.unused
        keep = max(0, ritz.unused - self._spare(wanted))
        self._basis = np.asfortranarray(ritz.vectors[:, keep:])
        self._damped = (low, float(ritz.values[keep]))
        return assemble(ritz.vectors[:, ritz.unused :], ritz.levels[ritz.unused :], self._threads)

    def _ritz_vectors(self, matrix: Single, basis: Single, low: float, high: float) -> _Ritz | None:
        """Filter the basis and solve the small eigenproblem on its span; ``None`` if that fails a check."""
        # What the filter amplifies too much, compared with the rest, single precision cannot tell apart any more.
        reach = np.arccosh(max((self._highest - 0.5 * (low + high)) / (0.5 * (high - low)), 1.0))
        degree = min(self._degree, max(int(np.log(_MOST_AMPLIFIED) / max(reach, 1e-3)), 1))
        orthonormal = orthonormalise(chebyshev_filter(matrix, basis, low, high, degree, self._threads), self._threads)
        if orthonormal is None:
            return None
        image = self._threads.product(matrix, orthonormal)
        small = self._threads.product(orthonormal.T, image)
        values, rotation, failed = ssyevd(0.5 * (small + small.T))
        if failed or not np.isfinite(values[0]) or values[0] < low:
            return None  # a Ritz value below the damped interval: the estimate of the spectrum's end was wrong
        self._highest = float(values[-1])
        levels = project_onto_capped_simplex(values.astype(np.float64), float(self.rank))
        unused = int(np.searchsorted(levels, 0.0, side="right"))
        vectors = self._threads.product(orthonormal, rotation)
        residual = self._threads.product(image, rotation[:, unused:])
        residual -= vectors[:, unused:] * values[unused:]
        return _Ritz(values, vectors, levels, unused, float(np.linalg.norm(residual)))

    def _extended(self, basis: Single) -> Single:
        """Add random vectors, as many as are spare; the filter turns them towards what is missing."""
        size, width = basis.shape
        more = min(self._spare(width), size - 1 - width)
        random = self._rng.standard_normal((size, more)).astype(np.float32) / np.float32(np.sqrt(size))
        for _ in range(2):  # what is in the subspace already would drown the rest
            random -= basis @ (basis.T @ random)
        return np.asfortranarray(np.hstack([random, basis]))

    def _spare(self, wanted: int) -> int:
        """Return how many vectors to keep beside the wanted ones."""
        least = max(self.settings.min_spare, int(self.settings.spare_share * wanted))
        room = int(self.settings.largest_grown_share * len(self.direction)) - wanted
        return max(least, min(int(self._spare_share * wanted), room))

    def _lowest_by_lanczos(self, matrix: Single) -> float:
        """Estimate the lowest eigenvalue from below with a few Lanczos steps from where the last ones ended."""
        steps = min(self.settings.lanczos_steps, len(matrix) - 1)
        vector = self._rng.standard_normal(len(matrix)).astype(np.float32)
        vector /= np.linalg.norm(vector)
        if self._lowest_vector is not None:
            vector = self._lowest_vector + np.float32(_SHARE_OF_CHANCE) * vector
            vector /= np.linalg.norm(vector)
        vectors = np.empty((steps, len(matrix)), dtype=np.float32)
        previous, off_diagonal = np.zeros_like(vector), 0.0
        tridiagonal = np.zeros((steps, steps + 1))
        for j in range(steps):
            vectors[j] = vector
            image = matrix @ vector - np.float32(off_diagonal) * previous
            tridiagonal[j, j] = float(image @ vector)
            image -= np.float32(tridiagonal[j, j]) * vector
            tridiagonal[j, j + 1] = off_diagonal = float(np.linalg.norm(image))
            previous, vector = vector, np.divide(image, max(off_diagonal, 1e-12), dtype=np.float32)
        if not np.isfinite(tridiagonal).all():
            return np.nan  # the iterates broke down, as the full decomposition will notice
        values, rotation = np.linalg.eigh(tridiagonal[:, :steps], UPLO="U")
        lowest: Single = rotation[:, 0].astype(np.float32) @ vectors
        self._lowest_vector = lowest / max(np.float32(np.linalg.norm(lowest)), np.float32(1e-12))
        return float(values[0]) - abs(off_diagonal * float(rotation[-1, 0]))  # some eigenvalue is as near as that
