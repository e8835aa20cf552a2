"""Local processes may need memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

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


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.5, 0.9])
def test_processes_that_are_killed_while_they_are_started_say_nothing(seconds: float) -> None:
    """A run may be interrupted at any moment, and its standard output is a JSON object and nothing else."""
    code = (
        "import time\n"
        "from certimeans.orphans import end_process_if_busy\n"
        "from certimeans.search.process_pool import StartingPool, make_process_pool\n"
        "pool = StartingPool(2, lambda: make_process_pool(2))\n"
        f"time.sleep({seconds})\n"
        "pool.kill()\n"
        "print('{}')\n"
        "end_process_if_busy(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")


def test_a_process_whose_parent_is_gone_before_it_asks_ends() -> None:
    """The parent was killed while it started its processes: they have another one from the beginning."""
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    code = f"import time; from certimeans.orphans import end_with_parent; end_with_parent({gone.pid}); time.sleep(60)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 1
