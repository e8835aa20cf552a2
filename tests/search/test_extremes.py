"""Only true claims: whatever the magnitudes, no bound above the optimum and no cost below the truth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certimeans import InputError, SolveStatus, solve
from tests.oracles.brute_force import exact_cost, feasible_partitions
from tests.oracles.extremes import extreme_problem

BLOCK = 100


@pytest.mark.parametrize("block", range(20))
def test_two_thousand_problems_from_1e_300_to_1e300(block: int) -> None:
    """Points, weights and offsets of mixed magnitudes against every partition in rational numbers."""
    solved = 0
    for seed in range(BLOCK * block, BLOCK * (block + 1)):
        points, weights, k = extreme_problem(seed)
        refusal = ""
        try:
            result = solve(points, k, sample_weight=weights, time_limit=20, random_state=seed)
        except InputError as error:
            refusal = str(error)
        if refusal:
            assert "double precision" in refusal
            continue
        rows = points.tolist()
        plain = None if weights is None else weights.tolist()
        best = min(exact_cost(rows, labels, plain) for labels in feasible_partitions(len(rows), k, [], []))
        assert Fraction(result.lower_bound) <= best, seed
        assert result.labels is not None
        assert Fraction(result.objective) >= exact_cost(rows, result.labels.tolist(), plain) >= best, seed
        assert result.status is not SolveStatus.TIME_LIMIT, seed
        if result.status is SolveStatus.OPTIMAL:
            solved += 1
            assert Fraction(result.objective) * (1 - Fraction(1, 10_000)) <= best, seed
        else:
            assert "double precision" in result.message, seed
    assert solved > BLOCK // 3


def far_row() -> np.ndarray:
    return np.vstack([np.random.default_rng(0).normal(size=(60, 2)) * 5, [[1e20, 1e20]]])


def fill_values() -> np.ndarray:
    points = np.random.default_rng(1).normal(size=(40, 3))
    points[[3, 17], 1] = 9.97e36
    return points


def tiny_beside_ordinary() -> np.ndarray:
    random = np.random.default_rng(2)
    return np.column_stack([random.integers(0, 2, size=40).astype(float), 1e-20 * random.normal(size=40)])


@pytest.mark.parametrize("points", [far_row(), fill_values(), tiny_beside_ordinary()], ids=["far", "fill", "tiny"])
def test_a_cost_that_rounding_hides_is_not_called_zero(points: np.ndarray) -> None:
    """Each of these was solved with "optimal, objective 0, gap 0 %", although the labels cost something."""
    result = solve(points, 3, time_limit=20)
    assert result.labels is not None
    truth = exact_cost(points.tolist(), result.labels.tolist())
    assert Fraction(result.objective) >= truth > 0
    assert result.gap >= 1 - result.lower_bound / float(truth) - 1e-12
    assert result.status is not SolveStatus.OPTIMAL or result.gap <= 1e-4


def test_the_number_that_hides_the_others_is_named() -> None:
    """A user with a fill value in the table is told where it is, if the proof suffers from it: here limits on sizes."""
    assert solve(far_row(), 3).status is SolveStatus.OPTIMAL
    result = solve(far_row(), 3, size_min=1)
    assert result.status is SolveStatus.INTERRUPTED
    assert "points[60, 0] = 1e+20" in result.message


def test_a_gap_that_doubles_cannot_prove_is_said_up_front(caplog: pytest.LogCaptureFixture) -> None:
    """And the search ends when only rounding is left, long before a time limit."""
    points = np.random.default_rng(3).normal(size=(40, 2)) + 5 * (np.arange(40) % 3)[:, None]
    result = solve(points, 3, gap=0.0, time_limit=60)
    assert "double precision proves about 1e-10" in caplog.text
    assert result.status is SolveStatus.INTERRUPTED
    assert "a gap of" in result.message
    assert result.gap < 1e-7


@pytest.mark.parametrize("seed", range(25))
def test_a_huge_constant_feature_changes_nothing(seed: int) -> None:
    """A constant at 1e300 beside numbers near 1e-21: bounds were up to 6.9 % above the optimum."""
    random = np.random.default_rng(seed)
    points = np.column_stack([np.full(7, 1e300), 1e-21 * random.normal(size=7)])
    result = solve(points, 2)
    best = min(exact_cost(points.tolist(), labels) for labels in feasible_partitions(7, 2, [], []))
    assert Fraction(result.lower_bound) <= best <= Fraction(result.objective)
    assert result.status is SolveStatus.OPTIMAL


def test_sums_of_weights_that_look_like_integers_are_not_exact() -> None:
    """0.1 + 0.2 + 0.7 is 1.0 in floating point, but these three floats do not add up to 1."""
    from certimeans.problem.scaling import sums_are_exact  # noqa: PLC0415

    assert not sums_are_exact(np.array([0.1, 0.2, 0.7]))
    assert sums_are_exact(np.array([0.5, 3.0, 1024.25]))
    assert not sums_are_exact(np.array([1.0, 2.0**-60]))
