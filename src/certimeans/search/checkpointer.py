"""When the search is saved, and what happens if it cannot be."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from certimeans.errors import InputError
from certimeans.search.checkpoint import CheckpointStore, SavedSearch

_LOGGER = logging.getLogger("certimeans")

SECONDS_BETWEEN_SAVES = 2.0
_SHARE_OF_TIME = 0.05
"""No more than this share of the time is spent on saving."""


class Checkpointer:
    """Saves every few seconds. A save that fails is no reason to stop: it is logged once, and tried again later.

    Parameters
    ----------
    store
        Where to; ``None`` to save nothing.
    """

    def __init__(self, store: CheckpointStore | None) -> None:
        self._store = store
        self._next_save = 0.0
        self._has_warned = False
        self._problem = ""

    @property
    def message(self) -> str:
        """What the user should know at the end: that the last save failed, and why; else empty."""
        return f"the search could not be saved: {self._problem}" if self._problem else ""

    @property
    def seconds_to_next(self) -> float | None:
        """In how many seconds the next save is due; ``None`` if nothing is saved."""
        return None if self._store is None else max(0.0, self._next_save - time.monotonic())

    def save(self, snapshot: Callable[[], SavedSearch], *, force: bool = False) -> None:
        """Save what ``snapshot`` returns, if it is time or if ``force`` is set."""
        began = time.monotonic()
        if self._store is None or (not force and began < self._next_save):
            return
        try:
            self._store.save(snapshot())
        except (OSError, InputError) as error:
            self._problem = str(error)
            if not self._has_warned:
                _LOGGER.warning("the search could not be saved and goes on; the next save is tried later: %s", error)
            self._has_warned = True
        else:
            self._problem = ""
        ended = time.monotonic()
        self._next_save = ended + max(SECONDS_BETWEEN_SAVES, (ended - began) / _SHARE_OF_TIME)
