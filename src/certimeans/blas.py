"""One thread for linear algebra while solves run, and as many as before when the last of them is done."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


class _Limit:
    """The limit is the process's, not a thread's: the first user sets it, and the last one restores what was before."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._users = 0
        self._limits: threadpool_limits | None = None

    def enter(self) -> None:
        with self._turn:
            if self._limits is None:
                self._limits = threadpool_limits(limits=1, user_api="blas")
            self._users += 1

    def leave(self) -> None:
        with self._turn:
            self._users -= 1
            if self._users == 0 and self._limits is not None:
                self._limits.restore_original_limits()
                self._limits = None


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread; several threads of a program may be inside at once."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
