"""Sizes of parts are chosen by pure functions of what pilots show."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from certimeans.search.parts.plan import (
    Circumstances,
    Pilot,
    QuickPilots,
    allowance,
    choose_quickly,
    choose_size,
    union_factor,
)


def given(**changes: float) -> Circumstances:
    """Ten thousand points, two workers, a gap of 0.1 %."""
    usual = {"size": 10_000, "first": 400, "smallest": 100, "largest": 1600, "gap": 1e-3, "seconds": math.inf}
    return Circumstances(**{**usual, "capacity": 2, **changes})  # type: ignore[arg-type]


def law(loss: float, seconds: float) -> Callable[[int, float], Pilot]:
    """Make up a pilot whose loss halves and whose time rises six-fold with twice the size, from that at size 400."""
    return lambda size, _: Pilot(loss * 400 / size, seconds * (size / 400) ** math.log2(6))


def test_the_smallest_parts_that_reach_the_gap_are_taken() -> None:
    """0.08 % at 400 points is enough; 0.3 % takes 1,600 if that is quick."""
    assert choose_size(given(), law(8e-4, 0.1)) == 400
    assert choose_size(given(), law(3e-3, 0.01)) == 1600


def test_a_time_limit_makes_parts_smaller() -> None:
    """25 parts of 2 s on two workers take 25 s: fine within 30 s; within 10 s only smaller ones do."""
    assert choose_size(given(seconds=30.0), law(3e-3, 2.0)) == 400
    assert choose_size(given(seconds=10.0), law(3e-3, 2.0)) == 200
    assert choose_size(given(seconds=0.01), law(3e-3, 2.0)) == 100


def test_pilots_within_the_time_of_a_part_decide() -> None:
    """Large parts have time for few iterations, and small ones lose by splitting: the size between is taken."""
    losses = {400: 0.2, 200: 0.03, 100: 0.08}
    shares: dict[int, float] = {}

    def pilot(size: int, seconds: float) -> Pilot:
        shares[size] = seconds
        return Pilot(losses[size], seconds, is_cut_short=True)

    assert choose_size(given(seconds=1.0), pilot) == 200
    assert shares == {400: 2 / 25, 200: 2 / 50, 100: 2 / 100}


def test_parts_become_larger_if_their_size_is_what_limits_them() -> None:
    """Even if pilots are cut short: most of what small parts lose is what no bound can avoid."""

    def pilot(size: int, seconds: float) -> Pilot:
        return Pilot(4.0 / size, seconds, is_cut_short=True, own_loss=3.0 / size if size < 1600 else 0.0)

    assert choose_size(given(seconds=1.0), pilot) == 1600


def test_smaller_parts_are_taken_if_they_reach_the_gap_sooner() -> None:
    """Both lose less than what is asked for; small ones take less time."""
    assert choose_size(given(gap=1e-2), law(2e-3, 1.0)) == 100


def test_sizes_that_cannot_reach_the_gap_get_no_pilots() -> None:
    """Own clusterings of parts of 400 lose 0.2 %, of 800 just the gap: 1,600 come first, and are enough."""
    looked_at = []

    def pilot(size: int, _: float) -> Pilot:
        looked_at.append(size)
        return Pilot(9e-4, 1.0)

    assert choose_size(given(), pilot, lambda size: 0.8 / size) == 1600
    assert looked_at == [1600]


def test_pilots_begin_with_the_smallest_size_that_may_be_enough() -> None:
    """Not with one that would be safer: larger ones can be tried afterwards, and take four times as long."""
    looked_at = []

    def pilot(size: int, _: float) -> Pilot:
        looked_at.append(size)
        return Pilot(9e-4, 1.0)

    choose_size(given(), pilot, {100: 9e-4, 200: 7e-4, 400: 5.5e-4}.__getitem__)
    assert looked_at == [400]


@pytest.mark.parametrize(
    ("by_bounds", "seconds", "expected"),
    [
        (5e-4, math.inf, 800),  # and 0.04 % by own clusterings: enough
        (7e-4, math.inf, 1131),  # 0.028 % are left: a step larger
        (9e-4, math.inf, 1600),  # nothing is enough: the largest
        (9e-4, 15.0, 800),  # 50 scouts' parts take 6 s, parts of 800 points 24 s, of 1,131 more than twice 15 s
        (9e-4, 1e-3, 566),  # no time for more than the smallest size that may be enough
    ],
)
def test_small_pilots_say_how_large_parts_have_to_be(by_bounds: float, seconds: float, expected: int) -> None:
    """Bounds of large parts lose about as much as those of small ones, and take far longer to say so."""
    scouted, looked_at = [], []

    def scout(size: int, _: float) -> Pilot:
        scouted.append(size)
        return Pilot(by_bounds + 0.32 / size, 0.24, own_loss=0.32 / size)

    def pilot(size: int, _: float) -> Pilot:
        looked_at.append(size)
        return Pilot(9e-4, 1e-3)

    choose_size(given(first=200, seconds=seconds), pilot, lambda size: 0.32 / size, scout=scout)
    assert scouted == [200]
    assert looked_at[0] == expected


@pytest.mark.parametrize(("capacity", "expected"), [(1, 800), (2, 566)])
def test_parts_do_not_grow_beyond_three_for_each_worker(capacity: int, expected: int) -> None:
    """Five parts of 800 are fine for one worker, but two have no three rounds of them."""
    looked_at: list[int] = []

    def pilot(size: int, _: float) -> Pilot:
        looked_at.append(size)
        return Pilot(9e-4, 1e-3)

    choose_size(
        given(size=4000, first=200, seconds=12.0, capacity=capacity),
        pilot,
        lambda size: 0.32 / size,
        scout=lambda *_: Pilot(9e-4 + 0.32 / 200, 0.24 * capacity, own_loss=0.32 / 200),
    )
    assert looked_at[0] == expected


def test_parts_that_may_be_small_need_no_scouts() -> None:
    """The usual size loses next to nothing by own clusterings: its own pilots say the rest."""

    def scout(*_: float) -> Pilot:
        raise AssertionError

    assert choose_size(given(), law(8e-4, 0.1), scout=scout) == 400


@pytest.mark.parametrize(("loss", "expected"), [(5.9e-4, 566), (6.1e-4, 800)])
def test_a_size_between_two_doubled_ones_may_be_enough(loss: float, expected: int) -> None:
    """400 are too few and 800 enough; 566 take half of the time for each part."""
    own = {566: loss, 800: 4e-4}
    assert choose_size(given(), lambda *_: Pilot(9e-4, 1.0), lambda size: own.get(size, 1e-3)) == expected


@pytest.mark.parametrize(("loss", "expected", "looked_at"), [(5.9e-4, 400, [400]), (6.1e-4, 800, [400, 800])])
def test_tuning_may_make_a_size_smaller_by_half(loss: float, expected: int, looked_at: list[int]) -> None:
    """800 are enough without; 400 with it, or not even then. Sizes below are not tuned."""
    own = {200: 9e-4, 400: 7e-4, 566: 6.5e-4, 800: 5e-4}
    tuned = []

    def tuned_loss(size: int) -> float:
        tuned.append(size)
        return loss if size == 400 else own[size]

    assert choose_size(given(first=200), lambda *_: Pilot(9e-4, 1.0), own.__getitem__, tuned_loss) == expected
    assert tuned == looked_at


@pytest.mark.parametrize(("loss", "expected"), [(5e-3, 200), (1.5e-3, 400)])
def test_parts_that_are_cut_short_far_from_the_gap_are_too_large(loss: float, expected: int) -> None:
    """Smaller ones are tried then, even if pilots have had their share of the time; not if the gap is near."""

    def pilot(size: int, seconds: float) -> Pilot:
        return Pilot({400: loss, 200: 1.2e-3}[size], 1.01 * seconds, is_cut_short=True)

    assert choose_size(given(seconds=1.0), pilot, has_time=lambda: False) == expected


def test_if_no_size_can_reach_the_gap_it_is_as_if_nothing_were_known() -> None:
    """Larger parts are tried as long as they are better."""
    assert choose_size(given(seconds=30.0), law(3e-3, 2.0), lambda _: 1.0) == 400


def test_pilots_end_when_they_have_taken_their_share_of_the_time() -> None:
    """Without time for another size, the first one is taken."""
    assert choose_size(given(), law(3e-3, 0.01), has_time=lambda: False) == 400


def test_bounds_may_lose_what_own_clusterings_leave_of_the_gap() -> None:
    """All of it, a part of it, or a fifth of the larger one."""
    for own_loss, expected in ((0.0, 1e-3), (4e-4, 6e-4), (9e-4, 2e-4), (2e-3, 4e-4)):
        assert allowance(1e-3, own_loss, 0.2) == pytest.approx(expected)


def test_as_few_parts_are_united_as_needed() -> None:
    """Own clusterings good enough at four times the size; no more than fit; no more than there is time for."""
    assert union_factor(400, 2500, 1e-3, math.inf, 10.0, lambda factor: 1e-3 / factor) == 2
    assert union_factor(400, 2500, 1e-3, math.inf, 10.0, lambda factor: 2e-3 / factor) == 4
    assert union_factor(400, 700, 1e-3, math.inf, 10.0, lambda _: 1.0) == 1
    assert union_factor(100, 2500, 1e-3, 100.0, 10.0, lambda _: 1.0) == 2


def quick_law(size: int, iterations: int) -> Pilot:
    """Make up parts without cuts: 1 % at 200 points and 12 iterations, in 12 ms."""
    return Pilot(0.01 * (200 / size) ** 0.5 * (12 / iterations) ** 0.5, 1e-3 * iterations * size / 200)


def test_if_time_is_short_parts_are_small_and_have_few_iterations() -> None:
    """All parts take 0.025 s for each iteration, whatever their size: 0.4 s are enough for 12, and for the largest."""
    chosen = choose_quickly(given(seconds=0.4), quick_law)
    assert (chosen.size, chosen.iterations) == (400, 12)
    chosen = choose_quickly(given(seconds=0.01), quick_law)  # nothing fits: as few as possible
    assert (chosen.size, chosen.iterations) == (200, 3)


def test_quick_pilots_end_when_they_have_taken_their_share_of_the_time() -> None:
    """Pilots of many clusters are large: with all of them, 20 clusters of 10,000 points got no bound in 60 s.

    Without time, the first is all there is; only if not all parts could be done, smaller ones are looked at.
    """
    looked_at: list[tuple[int, int]] = []

    def pilot(size: int, iterations: int) -> Pilot:
        looked_at.append((size, iterations))
        return quick_law(size, iterations)

    chosen = choose_quickly(given(seconds=0.4), pilot, lambda: False)
    assert looked_at == [(200, 3)]
    assert (chosen.size, chosen.iterations, chosen.most) == (200, 3, 3)
    choose_quickly(given(seconds=0.01), pilot, lambda: False)
    assert looked_at[1:] == [(200, 3), (100, 3)]


def test_if_there_is_time_cuts_are_worth_it() -> None:
    """A limit far away, or none; but not if a few iterations are enough."""
    assert choose_quickly(given(seconds=10.0), quick_law).is_ample
    assert choose_quickly(given(), quick_law).is_ample
    chosen = choose_quickly(given(gap=0.05), quick_law)
    assert (chosen.size, chosen.iterations, chosen.is_ample) == (200, 3, False)


@pytest.mark.parametrize(("seconds", "expected"), [(100.0, 40), (30.0, 12), (8.0, 3), (1.0, 3), (math.inf, 12)])
def test_a_first_bound_has_more_iterations_where_these_halve_what_it_loses(seconds: float, expected: int) -> None:
    """6 % of the time usually; within 30 s that is 5, but 12 cost 2 s of at most 6, and lose less than half."""
    quick = QuickPilots(100, 40, 40, {3: 1.0, 5: 1.2, 12: 2.0, 40: 6.0}, {3: 0.2, 5: 0.15, 12: 0.06, 40: 0.04})
    chosen = quick.to_begin_with(seconds)
    assert (chosen.iterations, chosen.most) == (expected, expected)


def test_parts_may_be_as_large_as_there_is_time_for_iterations() -> None:
    """32 s: half of it is twice what 40 iterations take, so parts may be 2^(2/3) times as large."""
    quick = QuickPilots(100, 12, 40, {12: 1.0, 40: 8.0})
    assert quick.largest_in_time(32.0) == pytest.approx(100 * 2 ** (2 / 3))
    assert quick.largest_in_time(math.inf) == math.inf
    foretold = QuickPilots(100, 5, 40, {3: 1.0, 5: 1.4})  # 0.2 s for each, 8.4 s for 40
    assert foretold.largest_in_time(16.8) == pytest.approx(100)


def test_without_time_for_larger_parts_small_ones_are_all_there_is() -> None:
    """1 s for each iteration of all parts: 100 s are ten times what three take, but cuts would need larger parts."""
    chosen = choose_quickly(given(seconds=60.0), lambda s, i: replace(quick_law(s, i), seconds=0.04 * i * s / 200))
    assert not chosen.is_ample
    assert chosen.iterations == 40


@pytest.mark.parametrize(("seconds", "expected"), [(1.0, [400, 200, 100]), (5.0, [400])])
def test_choosing_leaves_most_of_the_time_to_the_parts(seconds: float, expected: list[int]) -> None:
    """Pilots far from the gap: smaller ones are looked at only as long as that takes little of the 20 s."""
    looked_at: list[int] = []

    def pilot(size: int, share: float) -> Pilot:
        looked_at.append(size)
        return Pilot(0.5 * size / 400, share, is_cut_short=True)

    left = lambda: 20.0 - seconds * len(looked_at)  # noqa: E731
    choose_size(given(seconds=20.0), pilot, has_time=lambda: False, seconds_left=left)
    assert looked_at == expected


def test_fewer_iterations_if_parts_take_longer_than_it_seemed() -> None:
    """As many as fit, not more than are of use, and the fewest if nothing fits."""
    quick = QuickPilots(100, 5, 12, {5: 5.0, 12: 12.0, 40: 40.0})
    assert [quick.iterations_within(seconds) for seconds in (100.0, 12.0, 11.0, 1.0)] == [12, 12, 5, 5]
