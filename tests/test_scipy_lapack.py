import subprocess
import sys

import numpy as np
import pytest
from scipy.linalg import eigh

from certimeans import scipy_lapack
from certimeans.scipy_lapack import largest_eigenvectors


@pytest.mark.parametrize("n", [1, 2, 7, 150])
def test_results_are_those_of_scipy(n: int) -> None:
    """Eigenvectors bit for bit: the same library is called with the same arguments."""
    random = np.random.default_rng(n)
    matrix = random.normal(size=(n, n))
    matrix += matrix.T
    for count in {1, (n + 1) // 2, n}:
        np.testing.assert_equal(largest_eigenvectors(matrix, count), eigh(matrix, subset_by_index=[n - count, n - 1]))


@pytest.mark.parametrize("first", ["certimeans.scipy_lapack", "scipy.linalg"])
def test_scipy_is_whole_before_and_after(first: str) -> None:
    """Whichever is imported first; scipy's wrappers are loaded alone only if nobody needs the rest."""
    code = (
        f"import sys, {first}; print('scipy.linalg' in sys.modules); import certimeans.scipy_lapack as ours; "
        "import numpy as np, scipy.linalg, scipy.linalg.cython_lapack, scipy.linalg.lapack; "
        "print(scipy.linalg.cython_lapack.__name__, scipy.linalg.lapack._flapack.__name__); "
        "print(np.array_equal(ours.lapack.dsyevd(np.eye(3))[0], scipy.linalg.eigvalsh(np.eye(3))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    is_whole = str(first == "scipy.linalg")
    assert done.stdout.split() == [is_whole, "scipy.linalg.cython_lapack", "scipy.linalg._flapack", "True"]


def test_another_scipy_is_imported_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the wrappers are not in the place that we know, or lack what we need."""
    monkeypatch.delitem(sys.modules, "scipy.linalg")
    monkeypatch.setattr(scipy_lapack, "_EXTENSION", "_elsewhere")
    assert scipy_lapack._load().__name__ == "scipy.linalg.lapack"
