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
    value, error = lowest_eigenvalue_sum(matrix_with(spectrum), 3, 1e-12, may_estimate=True)
    assert exact - 1e-6 < value - error <= exact


def test_estimates_suffice_where_eigenvalues_are_separated(monkeypatch: pytest.MonkeyPatch) -> None:
    """No decomposition follows them."""
    monkeypatch.setattr(eigenvalues, "dsyevr", lambda *_, **__: pytest.fail("decomposed"))
    value, error = lowest_eigenvalue_sum(matrix_with(SPECTRA["separated"]), 3, 0.0, may_estimate=True)
    assert -6.0 - 1e-6 < value - error <= -6.0


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
        None,
    ):
        monkeypatch.setattr(eigenvalues, "_estimated_pairs", lambda *_, found=estimate: found)
        value, error = lowest_eigenvalue_sum(matrix, 3, 0.0, may_estimate=True)
        assert -6.0 - 1e-8 < value - error <= -6.0


def test_fewer_eigenvectors_than_asked_for_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of two of the three lowest eigenvalues is larger than that of all three, and must not pass for it."""
    import scipy.sparse.linalg  # noqa: PLC0415

    vectors = np.linalg.eigh(matrix_with(SPECTRA["separated"]))[1][:, :3]
    for found in (vectors[:, :2], vectors[:, :0], np.full_like(vectors, np.nan)):
        monkeypatch.setattr(scipy.sparse.linalg, "eigsh", lambda *_, found=found, **__: (None, found))
        value, error = lowest_eigenvalue_sum(matrix_with(SPECTRA["separated"]), 3, 0.0, may_estimate=True)
        assert -6.0 - 1e-8 < value - error <= -6.0


def test_the_same_matrix_has_the_same_bound() -> None:
    """Lanczos steps that have to begin anew, as with few different eigenvalues, do so with the same numbers."""
    matrix = np.diag(np.concatenate([np.full(3, -1.0), np.zeros(697)]))
    assert len({lowest_eigenvalue_sum(matrix, 2, 0.0, may_estimate=True) for _ in range(8)}) == 1
