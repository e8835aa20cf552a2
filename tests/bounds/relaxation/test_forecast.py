import numpy as np
import pytest

from certimeans.bounds.relaxation.forecast import forecast_gain


@pytest.mark.parametrize("end", [8, 40, 200])
def test_a_curve_that_falls_behind_as_one_over_t_is_extrapolated_to_its_limit(end: int) -> None:
    """3 - 1/t approaches 3: what is missing is what is forecast, at any time."""
    work = np.arange(1.0, end + 1)
    assert forecast_gain(work, 3 - 1 / work) == pytest.approx(1 / end, rel=1e-9)


def test_a_geometric_curve_is_seen_to_have_arrived() -> None:
    """1 - 0.9^t arrives at 1: early on the forecast reaches the limit, later there is nothing left to expect."""
    early, late = np.arange(0.0, 21.0), np.arange(0.0, 201.0)
    assert forecast_gain(early, 1 - 0.9**early) >= 0.9**20
    assert forecast_gain(late, 1 - 0.9**late) < 1e-4


def test_points_need_not_be_equally_spaced() -> None:
    """Bounds between two known ones are interpolated: at 5, halfway to 10, the bound is 2.5."""
    assert forecast_gain([0, 4, 6, 10], [0.0, 2.0, 3.0, 4.0]) == pytest.approx(1.5)


def test_without_a_bound_at_first_nothing_can_be_said() -> None:
    """Then patience is right: the gain is unbounded as far as one can tell."""
    assert forecast_gain(range(5), [-np.inf, -np.inf, -np.inf, 1.5, 1.75]) == np.inf


def test_a_curve_that_has_come_to_rest_gains_nothing() -> None:
    """No gain in the last half: this is the limit."""
    assert forecast_gain(range(5), [0.0, 0.5, 1.0, 1.0, 1.0]) == 0.0
