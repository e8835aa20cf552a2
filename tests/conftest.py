"""What all tests share.

One BLAS thread, as in every worker of the solver: results repeat and cores are not fought over. Hypothesis draws the
same examples every time, so that a change is never blamed for another's luck; longer random runs are benchmarks.
"""

import inspect
import re
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


_NOT_ON_WINDOWS = re.compile(
    r"SIGKILL|os\.kill|mkfifo|/proc/|/dev/|os\.fork|chmod|symlink_to|geteuid|openpty|run_in_terminal|/bin/bash"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out, on Windows, what needs signals, links, devices or terminals as other systems have them."""
    if sys.platform == "win32":
        for item in items:
            if _NOT_ON_WINDOWS.search(inspect.getsource(getattr(item, "function", type(item)))):
                item.add_marker(pytest.mark.skip(reason="not on Windows"))


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
