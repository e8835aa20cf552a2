"""What parts may lose, and which of them are worth another time: pure functions of what is known."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from certimeans.bounds.parts.bounding import Effort
from certimeans.bounds.parts.problem import Part
from certimeans.bounds.parts.settings import PartSettings
from certimeans.search.parts.account import budget_for, worth_another_time
from certimeans.search.parts.cover import Cover, Known
from certimeans.search.parts.passes import Budget, Pass, PassTasks
from certimeans.search.parts.tasks import Key, PartOutcome, PartTask

SETTINGS = PartSettings(margin=1.0, relaxation_share=0.2)


def tasks_of(now: Pass) -> PassTasks:
    """Hand out parts that nobody looks at to two workers; 100 s are left."""
    part = cast("Part", None)
    budget = Budget(0.01, 400.0, 0.0, 0.2, 0.001)
    return PassTasks(now, lambda _: part, Effort(0.01, 1), budget, lambda: 2, lambda: 100.0, 0.0)


def four_parts(*values: float, own_cost: float = 99.5) -> Cover:
    """Make up parts whose clusterings cost 100; some are bounded."""
    cover = Cover(4)
    for p, value in enumerate(values):
        cover.take((p,), Known(value, 100.0, [], Path("x"), own_cost))
    return cover


def test_those_that_are_left_share_what_is_left() -> None:
    """Four parts may lose 4 in all: two that are done lost 1.5 and 0.5, so it is 1 for each other one."""
    cover = four_parts(98.5, 99.5)
    budget = budget_for([(2,), (3,)], cover, 0.0, 400.0, 0.01, 2e-3, SETTINGS)
    assert budget.gap == pytest.approx(0.01)
    assert budget.allowed(Pass(2)) == pytest.approx(0.008)  # own clusterings lose the other fifth
    assert budget.allowed(replace(Pass(2), done=1, cost=100.0, value=98.6)) == pytest.approx(0.004)


def test_parts_that_were_bounded_before_tell_what_their_own_clusterings_lose() -> None:
    """Half a percent here, whatever was estimated."""
    cover = four_parts(98.0, 98.0, 98.0, 98.0)
    budget = budget_for(cover.tops, cover, 0.0, 400.0, 0.01, 0.0, SETTINGS)
    assert budget.allowed(Pass(4)) == pytest.approx(0.005)


def test_no_part_aims_at_nothing() -> None:
    """However much others have lost, and if all is lost."""
    all_lost = replace(Pass(4), cost=100.0, value=0.0)
    assert Budget(0.01, 400.0, 0.0, 0.2, 0.001).allowed(all_lost) == pytest.approx(0.001)
    assert Budget(0.01, 400.0, 0.05, 0.2, 0.001).allowed(Pass(4)) == pytest.approx(0.01)
    assert budget_for([(3,)], four_parts(9.0, 9.0, 9.0), 0.0, 400.0, 0.01, 0.0, SETTINGS).floor == pytest.approx(0.001)


@pytest.mark.parametrize(
    ("shares_time", "left", "overrun", "expected"),
    [(True, 4, 0.0, 47.5), (True, 1, 30.0, 70.0), (False, 4, 30.0, 70.0), (False, 4, 200.0, 0.0)],
)
def test_the_last_parts_in_time_are_stopped_early_enough_to_be_proven(
    shares_time: bool, left: int, overrun: float, expected: float
) -> None:
    """100 s are left: a share of it for each part at first, and never the seconds that a proof has taken."""
    now = replace(Pass(left), longest_overrun=overrun)
    tasks = replace(tasks_of(now), shares_time=shares_time)
    assert tasks.make(((0,),), []).seconds == pytest.approx(expected)


def test_shares_of_the_time_are_such_that_all_parts_are_done_in_it() -> None:
    """Two workers, 100 s, five parts: three rounds, of which one worker has two.

    The first part takes 95 % of its third, so that the second may have half of what is left on that worker. If the
    first is done at once, three are left: one beside the second part and two elsewhere, for which each has half.
    """
    now = Pass(5)
    tasks = tasks_of(now)
    first = tasks.make(((0,),), [])
    second = tasks.make(((1,),), [first])
    assert first.seconds == pytest.approx(0.95 * 100 / 3, rel=1e-3)
    assert second.seconds == pytest.approx(0.95 * (100 - 95 / 3) / 2, rel=1e-3)
    now.add(PartOutcome((0,), 1.0, 1.0, [], b""))
    assert tasks.make(((2,),), [second]).seconds == pytest.approx(0.95 * 50, rel=1e-3)


def test_a_part_that_waits_for_a_worker_begins_when_that_has_nothing_else() -> None:
    """Two parts take 47.5 s each; two that are made ahead begin after them, and share what is left then."""
    tasks, running = tasks_of(Pass(4)), list[PartTask]()
    for p in range(4):
        running.append(tasks.make(((p,),), running))
    shares = [task.seconds for task in running]
    assert shares == pytest.approx([47.5, 47.5, 0.95 * 52.5, 0.95 * 52.5], rel=1e-3)


@pytest.mark.parametrize(("n_workers", "seconds", "needed"), [(2, 30.0, math.inf), (8, 12.0, 0.1), (3, 10.0, math.inf)])
def test_many_quick_parts_use_the_time_up_and_none_is_left_without(
    n_workers: int, seconds: float, needed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """600 parts in tasks of several, on a clock of our own: each takes its share, or no more than it needs."""
    clock, now = [0.0], Pass(600)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    tasks = replace(
        tasks_of(now), capacity=lambda: n_workers, remaining=lambda: seconds - clock[0], seconds_per_task=0.5
    )
    waiting, running, shares = list(range(600)), list[PartTask](), list[float]()
    ends: dict[tuple[Key, ...], float] = {}
    while waiting or running:
        while waiting and len(running) < tasks.at_a_time():
            chosen, waiting = waiting[: tasks.batch()], waiting[tasks.batch() :]
            task = tasks.make(tuple((p,) for p in chosen), running)
            assert task.seconds is not None
            shares.append(task.seconds)
            free = sorted(ends.values())[-n_workers] if len(ends) >= n_workers else clock[0]
            ends[task.keys] = max(clock[0], free) + len(chosen) * min(task.seconds, needed)
            running.append(task)
        done = min(running, key=lambda task: ends[task.keys])
        running.remove(done)
        clock[0] = ends.pop(done.keys)
        for key in done.keys:
            now.add(PartOutcome(key, 1.0, 1.0, [], b"", seconds=min(done.seconds or 0.0, needed)))
    assert min(shares) > 0.7 * shares[0]
    assert clock[0] < seconds
    assert clock[0] > 0.9 * min(seconds, 600 * needed / n_workers)


def test_tasks_are_made_ahead_of_time_only_while_parts_are_quick() -> None:
    """The share of a part that waits cannot follow what others leave; milliseconds are worth more than that."""
    for seconds, expected in ((0.5, 3), (50.0, 2)):
        now = Pass(9)
        tasks = tasks_of(now)
        assert tasks.at_a_time() == 2
        now.add(PartOutcome((0,), 1.0, 1.0, [], b"", seconds=seconds))
        assert tasks.at_a_time() == expected


def test_parts_are_bounded_again_if_their_bounds_are_to_blame() -> None:
    """4 of 400 may be lost, and 6.4 are: 4.4 by bounds, most of them by two parts; or by own clusterings alone."""
    cover = four_parts(97.5, 97.8, 99.1, 99.2)
    assert worth_another_time(cover, 400.0, 0.01) == [(0,), (1,)]
    assert worth_another_time(cover, 400.0, 0.001) == []
    assert worth_another_time(four_parts(97.5, 97.8, 99.1, 99.2, own_cost=99.2), 400.0, 0.01) == []


def test_the_gap_that_is_expected_is_that_of_the_whole() -> None:
    """Means cost a fifth of the whole; of the rest, parts lose a quarter: 0.8 * 0.75 of the cost is proven."""
    now = replace(Pass(4, split_loss=0.2), done=4, cost=80.0, value=60.0)
    assert now.expected_gap == pytest.approx(0.4)


def test_a_better_bound_leaves_what_is_known_of_own_clusterings() -> None:
    """A part that was bounded again without a look at its own clustering, as after a resume."""
    cover = four_parts(98.0)
    cover.take((0,), Known(98.5, 100.0, [], Path("y")))
    assert (cover.value((0,)), cover.known[(0,)].own_cost) == (98.5, 99.5)
