"""Local processes may need memory."""

from __future__ import annotations

import os
import time
import warnings

import numpy as np

from certimeans.search.process_pool import make_process_pool

_KEPT: list[np.ndarray] = []


def keep(megabytes: int) -> int:
    """Keep so much memory, and tell which process has it."""
    _KEPT.append(np.ones(megabytes << 17))
    return os.getpid()


def test_a_process_that_grows_goes_on_without_a_warning() -> None:
    """400 MB more than at first: loky would take that for a leak, end the process and tell the user."""
    pool = make_process_pool(1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        first = pool.submit(keep, 1).result()
        time.sleep(1.1)  # loky looks once a second
        grown = pool.submit(keep, 400).result()
        waiting = [pool.submit(keep, 1) for _ in range(2)]
        assert {first, grown, *(future.result() for future in waiting)} == {first}
    assert told == []
    pool.shutdown(wait=True)
