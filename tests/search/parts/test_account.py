"""What parts may lose, and which of them are worth another time: pure functions of what is known."""

from __future__ import annotations

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

SETTINGS = PartSettings(margin=1.0, relaxation_share=0.2)


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
    [(True, 4, 0.0, 42.5), (True, 1, 30.0, 70.0), (False, 4, 30.0, 70.0), (False, 4, 200.0, 0.0)],
)
def test_the_last_parts_in_time_are_stopped_early_enough_to_be_proven(
    shares_time: bool, left: int, overrun: float, expected: float
) -> None:
    """100 s are left: a share of it for each part at first, and never the seconds that a proof has taken."""
    now = replace(Pass(left), longest_overrun=overrun)
    part = cast("Part", None)  # it is only handed on
    tasks = PassTasks(now, lambda _: part, Effort(0.01, 1), Budget(0.01, 400.0, 0.0, 0.2, 0.001), 2, lambda: 100.0, 0.0)
    assert replace(tasks, shares_time=shares_time).make(((0,),)).seconds == pytest.approx(expected)


def test_parts_are_bounded_again_if_their_bounds_are_to_blame() -> None:
    """4 of 400 may be lost, and 6.4 are: 4.4 by bounds, most of them by two parts; or by own clusterings alone."""
    cover = four_parts(97.5, 97.8, 99.1, 99.2)
    assert worth_another_time(cover, 400.0, 0.01) == [(0,), (1,)]
    assert worth_another_time(cover, 400.0, 0.001) == []
    assert worth_another_time(four_parts(97.5, 97.8, 99.1, 99.2, own_cost=99.2), 400.0, 0.01) == []
