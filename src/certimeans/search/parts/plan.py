"""How large parts should be: measured on a few pilot parts, for this problem, on this machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from certimeans.bounds.parts.settings import PartSettings

_HOPELESS = 0.6
"""Share of the gap: parts that lose more by clusterings of their own are too small."""
_FAR = 2.0
"""So many times the gap: parts that are cut short there are too large."""
_MOST_FOR_PILOTS = 0.3
"""So much of the time may be taken by pilots of smaller parts, after those of too large ones."""
_GROWTH = 4.0
"""About how much longer all parts together take if they are twice as large."""
_STRETCH = 2.0
"""Parts may need so many times the time that there is until their bounds stall: most of the gain comes early."""
_ROUNDS = 3
"""Parts for each worker, at least: with fewer, some workers wait in the end, and pilots take most of the time."""
_STEP = math.sqrt(2.0)
"""From one size to the next larger one."""
_MOSTLY = 0.5
"""If this share of the loss is due to the size of parts, larger ones are tried, however little time there is."""
_QUICK = 60.0
"""Without a time limit, the first pass over all parts is meant to take about so many seconds."""
_FEW_ITERATIONS = (3, 5, 12, 40)
"""Of parts without cuts, if time is short: about there the bound has gained most of what it will."""
_SHARE_TO_BEGIN_WITH, _MOST_TO_BEGIN_WITH = 0.06, 0.2
"""Of the time, for a first bound: usually, and at most."""
_WORTH_MORE = 0.5
"""A first bound may have more than the usual time if it loses only so much of what it would lose."""
_FOR_ITERATIONS = 0.5
"""Of the time may be taken by some dozens of iterations of all parts: what cuts take comes on top."""
_AMPLE = 10.0
"""With so many times what the quickest parts take, templates and cuts prove more than iterations without them."""


@dataclass(frozen=True)
class Pilot:
    """What pilot parts of one size showed, within the time that each part of that size would have.

    Attributes
    ----------
    loss
        How far their bounds stayed below the cost of the clustering in them, relatively; what splitting loses included.
    seconds
        How long a part takes that starts from a solved one.
    is_cut_short
        Whether it ended for want of time, or took longer than its share.
    own_loss
        How much of the loss no bound can avoid, because parts of this size have better clusterings of their own.
    """

    loss: float
    seconds: float
    is_cut_short: bool = False
    own_loss: float = 0.0


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


@dataclass(frozen=True)
class QuickPilots:
    """How small parts do with a few iterations and without cuts, if time is short.

    Attributes
    ----------
    size, iterations
        What was chosen.
    most
        Iterations at most: no more than were chosen if those are enough.
    totals, losses
        Seconds that all parts of this size take, and what their bounds lose, by the number of iterations.
    is_ample
        Whether there is time for more than that: larger parts, with cuts.
    """

    size: int
    iterations: int
    most: int
    totals: dict[int, float] = field(default_factory=dict)
    losses: dict[int, float] = field(default_factory=dict)
    is_ample: bool = False

    def to_begin_with(self, seconds: float) -> QuickPilots:
        """Return what a first bound has: iterations for a small share of the time, or more where the loss halves."""
        seconds = seconds if math.isfinite(seconds) else _QUICK
        chosen = self.iterations_within(_SHARE_TO_BEGIN_WITH * seconds)
        for n, total in self.totals.items():
            is_worth_it = n in self.losses and self.losses[n] <= _WORTH_MORE * self.losses[chosen]
            if chosen < n <= self.most and total <= _MOST_TO_BEGIN_WITH * seconds and is_worth_it:
                chosen = n
        return replace(self, iterations=chosen, most=chosen)

    def largest_in_time(self, seconds: float) -> float:
        """Return how large parts may be for some dozens of iterations of all of them to take half of the time.

        An iteration takes time with the power 2.5 of the size of a part, and there are fewer parts.
        """
        if math.isinf(seconds):
            return math.inf
        *before, (n, total) = self.totals.items()
        each = (total - before[-1][1]) / (n - before[-1][0]) if before else total / n
        usual = total + (_FEW_ITERATIONS[-1] - n) * max(each, 0.0)
        return self.size * (_FOR_ITERATIONS * seconds / usual) ** (2 / 3) if usual > 0 else math.inf

    def iterations_within(self, seconds: float) -> int:
        """Return how many iterations there is time for."""
        fitting = [n for n, total in self.totals.items() if n <= self.most and total <= seconds]
        return max(fitting, default=min(self.totals))


def first_size(n_clusters: int, settings: PartSettings, largest: int) -> int:
    """Return the size of parts to begin with."""
    return max(min(settings.per_cluster * n_clusters, largest), min(settings.smallest, largest))


def allowance(gap: float, own_loss: float, least: float) -> float:
    """Return how far bounds of parts may stay below the costs of their own clusterings, relatively.

    What these leave of the gap; if that is little, or less than nothing, a share of the gap, or of what they lose.
    """
    return max(gap - own_loss, least * max(gap, own_loss))


def choose_size(
    given: Circumstances,
    pilot: Callable[[int, float], Pilot],
    own_loss: Callable[[int], float] = lambda _: 0.0,
    tuned_loss: Callable[[int], float] | None = None,
    has_time: Callable[[], bool] = lambda: True,
    scout: Callable[[int, float], Pilot] | None = None,
    seconds_left: Callable[[], float] | None = None,
) -> int:
    """Choose the size whose parts reach the gap soonest, or come closest to it in the time that there is.

    Parameters
    ----------
    pilot
        Bounds some parts of the given size, each within so many seconds.
    own_loss
        Estimates what parts of a size lose, relatively, whatever their bounds: sizes that cannot reach the gap need no
        pilots, if larger ones can.
    tuned_loss
        Estimates the same if more points are shared, where that is worth it; it takes longer to say.
    has_time
        Whether there is time for pilots of another size.
    scout
        Bounds some parts that are too small, within so many seconds each, to learn how much bounds lose.
    seconds_left
        What is left of the time for all parts; choosing takes time, too.
    """
    left = seconds_left or (lambda: given.seconds)
    known: dict[int, Pilot] = {}

    def total(size: int) -> float:
        return -(-given.size // size) * known[size].seconds / given.capacity

    def merit(size: int) -> tuple[float, float]:
        """Order sizes: what is missing counts first, then time; of parts that there is no time for, all is missing."""
        is_in_time = known[size].is_cut_short or total(size) <= given.seconds  # each was cut short at its share
        done = 1.0 if is_in_time else given.seconds / total(size)
        return max(done * known[size].loss + 1 - done, given.gap), total(size)

    def may_be_larger(size: int) -> bool:
        found, budget = known[size], given.seconds if math.isfinite(given.seconds) else _QUICK
        has_time = not found.is_cut_short and _GROWTH * total(size) <= budget
        return found.loss > given.gap and (has_time or found.own_loss > _MOSTLY * found.loss)

    def look_at(size: int) -> None:
        known[size] = pilot(size, min(given.seconds, left()) * given.capacity / -(-given.size // size))

    def may_be_smaller(size: int, smaller: int) -> bool:
        return smaller < size and smaller not in known and (merit(size)[0] > given.gap or not is_hopeless(smaller))

    def is_hopeless(size: int) -> bool:
        return own_loss(size) > _HOPELESS * given.gap

    def is_far_off(size: int) -> bool:
        """Whether there is too little time for a size by far: pilots of smaller parts are well spent then."""
        return known[size].is_cut_short and merit(size)[0] > _FAR * given.gap

    best = first = _large_enough(given, _first_to_look_at(given, own_loss, tuned_loss or own_loss), scout, own_loss)
    look_at(best)
    while (larger := min(given.largest, 2 * best)) > best and may_be_larger(best) and has_time():
        look_at(larger)
        if merit(larger) > merit(best):
            break
        best = larger
    while (
        best <= first
        and may_be_smaller(best, smaller := max(given.smallest, best // 2))
        and (has_time() or (is_far_off(best) and _may_look_again(given.seconds, left(), len(known))))
    ):
        look_at(smaller)
        if merit(smaller) > merit(best):
            break
        best = smaller
    return best


def _may_look_again(seconds: float, left: float, n_looked_at: int) -> bool:
    """Whether one more size leaves most of the time, if it takes as long as those before."""
    used = 0.0 if math.isinf(seconds) else seconds - left
    return used * (1 + 1 / n_looked_at) <= _MOST_FOR_PILOTS * seconds


def _first_to_look_at(
    given: Circumstances, own_loss: Callable[[int], float], tuned_loss: Callable[[int], float]
) -> int:
    """Return the smallest size that may reach the gap, among doubled ones and one between; if none may, the usual one.

    Larger ones are easily tried afterwards: pilots take four times as long with each doubling. Tuning is looked at from
    one size below that which does without.
    """
    sizes = [given.first]
    while own_loss(sizes[-1]) > _HOPELESS * given.gap and sizes[-1] < given.largest:
        sizes.append(min(given.largest, 2 * sizes[-1]))
    is_enough = own_loss(sizes[-1]) <= _HOPELESS * given.gap
    if is_enough and len(sizes) > 1:
        between = round(math.sqrt(sizes[-2] * sizes[-1]))
        if own_loss(between) <= _HOPELESS * given.gap:
            sizes[-1] = between
    to_tune = sizes[-2:] if is_enough else sizes
    return next((size for size in to_tune if tuned_loss(size) <= _HOPELESS * given.gap), given.first)


def _large_enough(
    given: Circumstances, size: int, scout: Callable[[int, float], Pilot] | None, own_loss: Callable[[int], float]
) -> int:
    """Return a size whose parts reach the gap if their bounds are like those of small parts, or the largest in time.

    Bounds of large parts lose about as much as those of small ones, and take far longer to say so.

    Parameters
    ----------
    size
        The smallest size that may be enough: its parts lose little by clusterings of their own.
    """
    if scout is None or size <= given.first:
        return size
    smaller = max(given.first, size // 4)
    n_parts = -(-given.size // smaller)
    seen = scout(smaller, given.seconds * given.capacity / n_parts)
    if math.isinf(seen.loss):  # there was no time even for these
        return size
    lost_by_bounds, takes = seen.loss - seen.own_loss, n_parts * seen.seconds / given.capacity
    while size < given.largest and (lost_by_bounds > given.gap or lost_by_bounds + own_loss(size) > given.gap):
        larger = min(given.largest, round(_STEP * size))
        # Each part starts from a solved one: its time grows with the square of its size, and there are fewer of them.
        if takes * larger / smaller > _STRETCH * given.seconds or -(-given.size // larger) < _ROUNDS * given.capacity:
            break
        size = larger
    return size


def choose_quickly(
    given: Circumstances, pilot: Callable[[int, int], Pilot], has_time: Callable[[], bool] = lambda: True
) -> QuickPilots:
    """Choose size and iterations of parts without cuts, and say whether there is time for more than that.

    Parameters
    ----------
    pilot
        Bounds some parts of the given size, with so many iterations each.
    has_time
        Whether there is time for further pilots; smaller parts, which take little, are looked at in any case if there
        is no time for all parts.
    """
    best: tuple[float, float, QuickPilots] | None = None

    def look_at(size: int) -> float:
        """Bound parts of a size with more and more iterations; return what all would take with the fewest."""
        nonlocal best
        totals: dict[int, float] = {}
        losses: dict[int, float] = {}
        for iterations in _FEW_ITERATIONS:
            found = pilot(size, iterations)
            losses[iterations] = found.loss
            total = totals[iterations] = -(-given.size // size) * found.seconds / given.capacity
            done = min(1.0, given.seconds / total) if total > 0 else 1.0
            merit = max(done * found.loss + 1 - done, given.gap), total
            if best is None or merit < best[:2]:
                best = *merit, QuickPilots(size, iterations, iterations, totals, losses)
            if found.loss <= given.gap or total > given.seconds or not has_time():
                break
        return totals[_FEW_ITERATIONS[0]]

    size = middle = max(given.smallest, given.first // 2)
    quickest = look_at(size)
    assert best is not None  # noqa: S101  # one pilot is better than none
    has_time_for_larger = best[2].largest_in_time(given.seconds) >= _STEP * size
    if best[0] > given.gap and _AMPLE * quickest <= given.seconds and has_time_for_larger:
        return replace(best[2], most=max(best[2].totals), is_ample=True)
    while best[0] > given.gap and quickest <= given.seconds and 2 * size <= given.first and has_time():
        size *= 2
        quickest = look_at(size)
    size = middle
    while best[1] > given.seconds and size > given.smallest:
        size = max(given.smallest, size // 2)
        look_at(size)
    chosen = best[2]
    return chosen if best[0] <= given.gap else replace(chosen, most=max(chosen.totals))


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
