"""Processes that work for another end when it does, also if it is killed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

_SECONDS_BETWEEN_LOOKS = 1.0


def end_with_parent(clean_up: Callable[[], object] | None = None) -> None:
    """Watch the parent process from now on, and end this one soon after it is gone.

    A thread looks once a second, which costs nothing and works wherever orphans get another parent: everywhere but on
    Windows.

    Parameters
    ----------
    clean_up
        What to do before ending: what the parent can no longer do.
    """
    threading.Thread(target=_watch, args=(os.getppid(), clean_up), name="parent watch", daemon=True).start()


def _watch(parent: int, clean_up: Callable[[], object] | None) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    try:
        if clean_up is not None:
            clean_up()
    finally:
        os._exit(1)
