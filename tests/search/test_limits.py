import math

import numpy as np
import pytest

from certimeans.errors import InputError
from certimeans.result import SolveStatus, relative_gap
from certimeans.search.limits import Limits, Progress, reason_to_stop
from certimeans.status import pruning_cost


def progress(**changes: float) -> Progress:
    values = {"seconds": 1.0, "incumbent_cost": 10.0, "lower_bound": 5.0, "cuts": 0}
    counts = {"nodes_done": 3, "nodes_open": 2, "nodes_running": 1}
    return Progress(**{**values, **counts, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limits", "changes", "interrupted", "reason"),
    [
        (Limits(), {}, False, None),
        (Limits(), {"lower_bound": 9.9991}, False, SolveStatus.OPTIMAL),
        (Limits(), {"lower_bound": 9.998}, False, None),
        (Limits(gap=0.5), {}, True, SolveStatus.OPTIMAL),
        (Limits(), {}, True, SolveStatus.INTERRUPTED),
        (Limits(nodes=3), {}, False, SolveStatus.NODE_LIMIT),
        (Limits(nodes=4), {}, False, None),
        (Limits(), {"incumbent_cost": math.inf}, False, None),
        (Limits(), {"incumbent_cost": 0.0, "lower_bound": 0.0}, False, SolveStatus.OPTIMAL),
    ],
)
def test_each_limit_has_its_reason(
    limits: Limits, changes: dict[str, float], interrupted: bool, reason: SolveStatus | None
) -> None:
    """A proven gap comes before every other reason, and without a clustering nothing is optimal."""
    assert reason_to_stop(limits, progress(**changes), interrupted=interrupted, time_is_up=False) is reason
    timed_out = reason_to_stop(limits, progress(**changes), interrupted=interrupted, time_is_up=True)
    assert timed_out is (SolveStatus.TIME_LIMIT if reason in {None, SolveStatus.NODE_LIMIT} else reason)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"gap": -1.0}, "gap"),
        ({"gap": 1.0}, "gap"),
        ({"gap": "small"}, "gap"),
        ({"seconds": 0.0}, "time_limit"),
        ({"seconds": -5}, "time_limit"),
        ({"nodes": 0}, "max_nodes"),
        ({"nodes": 2.5}, "max_nodes"),
        ({"nodes": True}, "max_nodes"),
    ],
)
def test_bad_limits_are_refused_by_the_name_that_users_know(arguments: dict[str, object], name: str) -> None:
    """Negative and non-numeric limits are input errors."""
    with pytest.raises(InputError, match=name):
        Limits(**arguments)  # type: ignore[arg-type]


def test_the_gap_is_relative_to_the_clustering() -> None:
    """Zero cost has no gap, and no clustering an infinite one."""
    assert relative_gap(10.0, 9.0) == pytest.approx(0.1)
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(math.inf, 1.0) == math.inf
    assert relative_gap(0.0, -1.0) == math.inf
    assert relative_gap(-2.0, -math.inf) == math.inf
    assert relative_gap(-2.0, -3.0) == 0.5


def test_the_bound_at_which_a_node_is_pruned_proves_the_gap_and_hardly_more() -> None:
    """For costs of either sign; without a clustering nothing is pruned."""
    random = np.random.default_rng(0)
    for cost in random.normal(size=200) * 10.0 ** random.integers(-9, 9, size=200):
        for gap in (1e-9, 1e-4, 0.3):
            bound = pruning_cost(cost, gap)
            assert gap * (1 - 1e-4) <= relative_gap(cost, bound) <= gap
        assert pruning_cost(cost, 0.0) == cost
    assert pruning_cost(math.inf, 1e-4) == math.inf


def test_limits_may_be_as_strict_or_as_wide_as_can_be() -> None:
    """A gap of 0 asks for all that can be proven, infinitely many seconds for no limit."""
    assert Limits(gap=0, seconds=math.inf, nodes=1).gap == 0
    assert Limits(seconds=1e12).seconds == 1e12
    with pytest.raises(InputError, match="time_limit is too long"):
        Limits(seconds=1.1e12)
