import threading
import time

import numpy as np
import pytest
from scipy.linalg import lapack as scipys

from certimeans.bounds.lapack import dpotrf, dsyevr, shared_by_threads, ssyevd


@pytest.mark.parametrize("n", [1, 7, 599, 601])
def test_results_are_those_of_scipy(n: int) -> None:
    """Bit for bit: the same library is called with the same arguments."""
    matrix = np.random.default_rng(n).normal(size=(n, n))
    matrix += matrix.T
    single, count = matrix.astype(np.float32), min(n, 5)
    values, vectors, failed = ssyevd(single)
    np.testing.assert_equal((values, vectors, failed), scipys.ssyevd(single, lower=0))
    lowest, below, failed = dsyevr(matrix, il=1, iu=count, lower=1)
    expected = scipys.dsyevr(matrix, range="I", il=1, iu=count, lower=1)
    np.testing.assert_equal((lowest, below, failed), (expected[0][:count], expected[1][:, :count], expected[4]))
    for shifted in (matrix + 9 * n * np.eye(n), matrix - 9 * n * np.eye(n)):
        np.testing.assert_equal(dpotrf(shifted, lower=1), scipys.dpotrf(shifted, lower=1, clean=0))


def test_threads_that_share_the_work_get_the_same() -> None:
    """Also of small matrices, for which the lock is released then."""
    matrix = np.random.default_rng(0).normal(size=(120, 120))
    matrix += matrix.T
    alone = ssyevd(matrix.astype(np.float32)), dsyevr(matrix, il=1, iu=3, lower=1), dpotrf(matrix, lower=1)
    with shared_by_threads():
        both = ssyevd(matrix.astype(np.float32)), dsyevr(matrix, il=1, iu=3, lower=1), dpotrf(matrix, lower=1)
    np.testing.assert_equal(both, alone)


def test_other_threads_go_on_meanwhile() -> None:
    """A decomposition in a thread does not stop this one, as scipy's would for as long as it takes."""
    matrix = np.random.default_rng(0).normal(size=(1200, 1200)).astype(np.float32)
    thread = threading.Thread(target=ssyevd, args=(matrix + matrix.T,))
    began = last = time.monotonic()
    thread.start()
    pauses = []
    while thread.is_alive():
        time.sleep(0.002)
        pauses.append(time.monotonic() - last)
        last = time.monotonic()
    assert max(pauses) < 0.5 * (last - began)
