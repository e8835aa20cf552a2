"""How large parts should be: measured on a few pilot parts, for this problem, on this machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from certimeans.bounds.parts.settings import PartSettings

_GROWTH = 4.0
"""About how much longer all parts together take if they are twice as large."""
_QUICK = 60.0
"""Without a time limit, the first pass over all parts is meant to take about so many seconds."""


@dataclass(frozen=True)
class Pilot:
    """What a pilot part showed.

    Attributes
    ----------
    loss
        How far its bound stayed below the cost of the clustering in it, relatively.
    seconds
        How long a part takes that starts from a solved one.
    is_cut_short
        Whether it ended for want of time.
    """

    loss: float
    seconds: float
    is_cut_short: bool = False


@dataclass(frozen=True)
class Circumstances:
    """What a choice depends on besides the pilots.

    Attributes
    ----------
    size
        Super-points of the whole.
    first, smallest, largest
        Sizes of parts: the one to begin with, and the range.
    gap
        What parts have to reach.
    seconds
        The time that there is for all of them; infinite without a limit.
    capacity
        How many parts are bounded at a time.
    """

    size: int
    first: int
    smallest: int
    largest: int
    gap: float
    seconds: float
    capacity: int


def first_size(n_clusters: int, settings: PartSettings, largest: int) -> int:
    """Return the size of parts to begin with."""
    return max(min(settings.per_cluster * n_clusters, largest), min(settings.smallest, largest))


def choose_size(given: Circumstances, pilot: Callable[[int], Pilot]) -> int:
    """Choose the smallest parts that reach the gap, or the largest that there is time for.

    Parameters
    ----------
    pilot
        Bounds a part of the given size, or two.
    """
    known: dict[int, Pilot] = {}
    size = given.first
    budget = given.seconds if math.isfinite(given.seconds) else math.inf
    while True:
        found = known[size] = pilot(size)
        total = -(-given.size // size) * found.seconds / given.capacity
        too_slow = found.is_cut_short or total > budget
        smaller, larger = max(given.smallest, size // 2), min(given.largest, 2 * size)
        if too_slow:
            if smaller == size:
                return size
            if smaller in known:
                return smaller
            size = smaller
            continue
        enough_time = _GROWTH * total <= (budget if math.isfinite(budget) else _QUICK)
        if found.loss <= given.gap or larger == size or larger in known or not enough_time:
            return size
        size = larger


def union_factor(
    size: int, largest: int, gap: float, seconds: float, seconds_now: float, own_loss: Callable[[int], float]
) -> int:
    """Choose how many parts to unite: as few as make their own clusterings good enough, or as the time allows.

    Parameters
    ----------
    size, largest
        Of the parts now, and at most.
    seconds, seconds_now
        The time that is left, and what a pass over all parts takes at the present size.
    own_loss
        Estimates, for a factor, how much cheaper the own clusterings of parts are than the whole's, relatively.
    """
    factor = 1
    while 2 * factor * size <= largest:
        takes = seconds_now * (2 * factor) ** math.log2(_GROWTH)
        if factor > 1 and takes > seconds:
            break
        factor *= 2
        if own_loss(factor) <= 0.5 * gap:
            break
    return factor
