"""Pools of local processes: loky's, whose processes need no ``if __name__ == "__main__"`` in the user's script.

loky notices when a process is killed. It also ends processes that have grown by 300 MB since they were started, which
it takes for a leak, and warns the user: a relaxation of 1,500 points needs more than that. The processes of a pool live
no longer than a run, so they may grow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any


def make_process_pool(
    count: int, prepare: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Executor:
    """Make a pool of processes, each of which calls ``prepare`` first, if there is something to prepare."""
    from joblib.externals.loky import ProcessPoolExecutor  # noqa: PLC0415  # takes a while, and is rarely needed

    pool: Executor = ProcessPoolExecutor(count, initializer=_prepare, initargs=(prepare, arguments))
    return pool


def _prepare(prepare: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    from joblib.externals.loky import process_executor  # noqa: PLC0415  # there already, in a process of loky's

    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize  # there is no other way to say so
    if prepare is not None:
        prepare(*arguments)
