"""What all tests share.

One BLAS thread, as in every worker of the solver: results repeat and cores are not fought over. Hypothesis draws the
same examples every time, so that a change is never blamed for another's luck; longer random runs are benchmarks.
"""

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread() -> Iterator[None]:
    with threadpool_limits(limits=1, user_api="blas"):
        yield


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Figures that pyplot knows stay open until somebody closes them."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
