"""A clustering of the whole, for the parts to follow: found in a thread that may be left behind."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.extension import search_from_centres
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.reduce import Presolved
from certimeans.search.background import in_background
from certimeans.search.incumbent import Incumbent

_SHARE_OF_TIME = 0.15
_SHARE_FOR_EXTENDING = 0.05
_PATIENCE, _LEAST_SHARE = 5.0, 0.04
"""With a time limit, the search ends if it found nothing for so many times as long as until then, and that share."""
_SECONDS_BETWEEN_OFFERS = 5.0


@dataclass(frozen=True)
class ClusteringSearch:
    """Searches for clusterings of the whole, and offers what is found to the incumbent.

    Attributes
    ----------
    deadline
        Of the whole run: a search takes a part of what is left.
    must_stop
        Asked again and again.
    n_threads
        How many threads may search.
    """

    presolved: Presolved
    incumbent: Incumbent
    deadline: Deadline
    settings: SearchSettings
    seed: int
    must_stop: Callable[[], bool]
    n_threads: int = 1

    def find(self, announce: Callable[[], None]) -> None:
        """Search for a clustering; ``announce`` is called when the incumbent may have changed."""
        points = self.presolved.super_points
        if points.limits is not None:  # the search may take all the time there is, and this keeps the limits
            self._offer(self.presolved.colouring)
            announce()
        found: SimpleQueue[IntArray] = SimpleQueue()
        is_limited = math.isfinite(self.deadline.remaining())
        own = Deadline(_SHARE_OF_TIME * self.deadline.remaining() if is_limited else None)
        began = time.monotonic()
        last = math.inf  # when something was found
        least = _LEAST_SHARE * self.deadline.remaining()

        def keep(labels: IntArray) -> None:
            nonlocal last
            last = time.monotonic()
            found.put(labels)

        def is_in_vain() -> bool:
            """Whether the search found nothing for long; that of a sample tells of nothing until it ends."""
            is_silent = points.size > self.settings.largest_without_sample
            return not is_silent and time.monotonic() - last > max(least, _PATIENCE * (last - began))

        searching = in_background(
            search_clustering,
            points,
            colouring=self.presolved.colouring,
            seed=(self.seed, 1),
            deadline=own,
            settings=self.settings,
            on_improvement=keep,
            n_threads=self.n_threads,
        )
        told = time.monotonic()
        while not wait([searching], timeout=0.1).done:
            if self.must_stop():
                own.request_stop()
                break
            if is_in_vain():
                own.request_stop()
            if time.monotonic() - told > _SECONDS_BETWEEN_OFFERS:
                self._offer(_latest(found))
                announce()
                told = time.monotonic()
        self._offer(searching.result() if searching.done() else _latest(found))
        announce()

    def extend(self, centres: Sequence[FloatArray]) -> bool:
        """Offer what centres that parts have of their own lead to; say whether that is better than what was known.

        Parameters
        ----------
        centres
            In working units.
        """
        points, clustering = self.presolved.super_points, self.incumbent.clustering
        if clustering is None or points.limits is not None:
            return False
        own = self.deadline
        if math.isfinite(self.deadline.remaining()):
            own = self.deadline.within(_SHARE_FOR_EXTENDING * self.deadline.remaining())
        searching = in_background(
            search_from_centres,
            points,
            clustering.labels[points.first_points],
            centres,
            self.settings,
            seed=(self.seed, 2),
            deadline=own,
            n_threads=self.n_threads,
        )
        while not wait([searching], timeout=0.1).done:
            if self.must_stop():
                return False
        labels = searching.result()
        return labels is not None and self.incumbent.offer(points.expand_labels(labels), "parts")

    def labels_to_follow(self) -> IntArray:
        """Return the labels of super-points that parts follow: of the best clustering, or of any that is allowed."""
        clustering, points, colouring = self.incumbent.clustering, self.presolved.super_points, self.presolved.colouring
        if clustering is not None:
            return clustering.labels[points.first_points]
        return np.zeros(points.size, dtype=np.int64) if colouring is None else colouring

    def _offer(self, labels: IntArray | None) -> None:
        if labels is not None:
            self.incumbent.offer(self.presolved.super_points.expand_labels(labels))


def _latest(found: SimpleQueue[IntArray]) -> IntArray | None:
    latest = None
    while True:
        try:
            latest = found.get_nowait()
        except Empty:
            return latest
