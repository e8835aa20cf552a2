import math

import pytest

from certimeans.errors import InputError
from certimeans.result import SolveStatus, relative_gap
from certimeans.search.limits import Limits, Progress, reason_to_stop


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
