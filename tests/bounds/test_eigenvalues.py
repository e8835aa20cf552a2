"""Sums of lowest eigenvalues are bounded from below, however poor the eigenpairs are that the proof starts from."""

from __future__ import annotations

import numpy as np
import pytest

from certimeans._typing import FloatArray
from certimeans.bounds import eigenvalues
from certimeans.bounds.eigenvalues import lowest_eigenvalue_sum


def matrix_with(spectrum: FloatArray, seed: int = 0) -> FloatArray:
    """Rotate a diagonal matrix by three reflections, whose rounding is far below what is looked at."""
    random = np.random.default_rng(seed)
    matrix = np.diag(spectrum)
    for _ in range(3):
        direction = random.normal(size=len(spectrum))
        direction /= np.linalg.norm(direction)
        half = matrix @ direction - (direction @ matrix @ direction) * direction
        matrix -= 2 * (np.outer(direction, half) + np.outer(half, direction))
    return 0.5 * (matrix + matrix.T)


SPECTRA = {
    "separated": np.concatenate([[-3.0, -2.0, -1.0], np.linspace(0.0, 5.0, 797)]),
    "crowded": np.concatenate([[-1.0, -1.0, -1.0, -1.0, -1.0], np.linspace(-0.999, 5.0, 795)]),
    "nearly equal": np.linspace(-1.0, -1.0 + 1e-7, 800),
}


@pytest.mark.parametrize("kind", SPECTRA)
@pytest.mark.parametrize("size", [40, 800])
def test_the_bound_is_below_the_sum_and_close_to_it(kind: str, size: int) -> None:
    """Large matrices have estimates of their eigenpairs, small ones a decomposition."""
    spectrum = SPECTRA[kind][:size]
    exact = float(np.sort(spectrum)[:3].sum())
    value, error = lowest_eigenvalue_sum(matrix_with(spectrum), 3, 1e-12)
    assert exact - 1e-6 < value - error <= exact


def test_estimates_that_are_wrong_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors at random, the wrong end of the spectrum, and no numbers at all: a decomposition follows."""
    matrix = matrix_with(SPECTRA["separated"])
    values, vectors = np.linalg.eigh(matrix)
    random = np.random.default_rng(0).normal(size=(800, 3))
    for estimate in (
        (np.array([-3.0, -2.0, -1.0]), random),
        (values[-3:], vectors[:, -3:]),
        (values[1:4], vectors[:, 1:4]),
        (np.full(3, np.nan), random),
    ):
        monkeypatch.setattr(eigenvalues, "_estimated_pairs", lambda *_, found=estimate: found)
        value, error = lowest_eigenvalue_sum(matrix, 3, 0.0)
        assert -6.0 - 1e-8 < value - error <= -6.0
