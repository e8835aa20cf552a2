"""A clustering of the whole, for the parts to follow: found in a thread that may be left behind."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from queue import Empty, SimpleQueue

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


def find_clustering(
    presolved: Presolved,
    incumbent: Incumbent,
    deadline: Deadline,
    settings: SearchSettings,
    seed: int,
    must_stop: Callable[[], bool],
    announce: Callable[[], None],
    n_threads: int = 1,
) -> None:
    """Search for a clustering, and offer what is found to the incumbent.

    Parameters
    ----------
    deadline
        Of the whole run: the search takes a part of what is left.
    must_stop
        Asked again and again.
    announce
        Called when the incumbent may have changed.
    n_threads
        How many threads may search.
    """
    points = presolved.super_points
    if points.limits is not None:  # the search may take all the time there is, and this keeps the limits
        _offer(presolved, incumbent, presolved.colouring)
        announce()
    found: SimpleQueue[IntArray] = SimpleQueue()
    is_limited = math.isfinite(deadline.remaining())
    own = Deadline(_SHARE_OF_TIME * deadline.remaining() if is_limited else None)
    began = time.monotonic()
    last = math.inf  # when something was found
    least = _LEAST_SHARE * deadline.remaining()

    def keep(labels: IntArray) -> None:
        nonlocal last
        last = time.monotonic()
        found.put(labels)

    def is_in_vain() -> bool:
        """Whether the search found nothing for long; that of a sample tells of nothing until it ends."""
        is_silent = points.size > settings.largest_without_sample
        return not is_silent and time.monotonic() - last > max(least, _PATIENCE * (last - began))

    searching = in_background(
        search_clustering,
        points,
        colouring=presolved.colouring,
        seed=(seed, 1),
        deadline=own,
        settings=settings,
        on_improvement=keep,
        n_threads=n_threads,
    )
    told = time.monotonic()
    while not wait([searching], timeout=0.1).done:
        if must_stop():
            own.request_stop()
            break
        if is_in_vain():
            own.request_stop()
        if time.monotonic() - told > _SECONDS_BETWEEN_OFFERS:
            _offer(presolved, incumbent, _latest(found))
            announce()
            told = time.monotonic()
    _offer(presolved, incumbent, searching.result() if searching.done() else _latest(found))
    announce()


def extend_centres(
    presolved: Presolved,
    incumbent: Incumbent,
    deadline: Deadline,
    settings: SearchSettings,
    seed: int,
    must_stop: Callable[[], bool],
    centres: Sequence[FloatArray],
    n_threads: int = 1,
) -> bool:
    """Offer what centres that parts have of their own lead to; say whether that is better than what was known.

    Parameters
    ----------
    centres
        In working units.
    """
    points, clustering = presolved.super_points, incumbent.clustering
    if clustering is None or points.limits is not None:
        return False
    own = deadline
    if math.isfinite(deadline.remaining()):
        own = deadline.within(_SHARE_FOR_EXTENDING * deadline.remaining())
    searching = in_background(
        search_from_centres,
        points,
        clustering.labels[points.first_points],
        centres,
        settings,
        seed=(seed, 2),
        deadline=own,
        n_threads=n_threads,
    )
    while not wait([searching], timeout=0.1).done:
        if must_stop():
            return False
    labels = searching.result()
    return labels is not None and incumbent.offer(points.expand_labels(labels), "parts")


def _offer(presolved: Presolved, incumbent: Incumbent, labels: IntArray | None) -> None:
    if labels is not None:
        incumbent.offer(presolved.super_points.expand_labels(labels))


def _latest(found: SimpleQueue[IntArray]) -> IntArray | None:
    latest = None
    while True:
        try:
            latest = found.get_nowait()
        except Empty:
            return latest
