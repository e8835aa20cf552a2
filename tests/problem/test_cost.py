"""Costs are proven: the reported number is never below the exact one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certimeans.errors import InputError
from certimeans.problem import cost
from certimeans.problem.clustering import Clustering
from certimeans.problem.cost import cost_by_feature, cost_of_gram, cost_of_points
from certimeans.problem.instance import Instance
from tests.oracles.brute_force import exact_cost
from tests.oracles.extremes import extreme_numbers


@pytest.mark.parametrize("seed", range(300))
def test_the_interval_holds_the_exact_cost(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For magnitudes from 1e-300 to 1e300, mixed in one column, and weights likewise; small tables are exact."""
    random = np.random.default_rng(seed)
    monkeypatch.setattr(cost, "_SMALL_TABLE", 5000 if seed % 3 == 0 else 0)
    n, d, k = int(random.integers(2, 12)), int(random.integers(1, 4)), int(random.integers(1, 4))
    points = np.column_stack([extreme_numbers(random, n) for _ in range(d)])
    weights = np.abs(extreme_numbers(random, n, zeros=False))
    labels = random.permutation(np.arange(n) % min(k, n))
    k = min(k, n)
    total = Fraction(0)
    for j, (low, high) in enumerate(cost_by_feature(points, weights, labels, k)):
        exact = exact_cost(points[:, [j]].tolist(), labels.tolist(), weights.tolist())
        assert low <= exact <= high
        assert high - low <= Fraction(1, 10**9) * exact
        total += exact
    low, high = cost_of_points(points, weights, labels, k)
    assert low <= total <= high
    assert high - low <= Fraction(1, 10**9) * total


@pytest.mark.parametrize("seed", range(60))
def test_the_interval_of_a_gram_matrix_holds_the_exact_cost(seed: int) -> None:
    """Also where large inner products cancel, and where costs are negative."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(2, 9)), 2
    rows = random.normal(size=(n, 3)) + 10.0 ** random.integers(0, 7)
    gram = rows @ rows.T if seed % 2 else random.normal(size=(n, n)) * 10.0 ** random.integers(-100, 100)
    gram = gram + gram.T
    weights = random.uniform(0.1, 2.0, size=n) * 10.0 ** random.integers(-100, 100)
    labels = np.arange(n) % k
    exact_weights = [Fraction(w) for w in weights.tolist()]
    exact = sum((w * Fraction(x) for w, x in zip(exact_weights, gram.diagonal().tolist(), strict=True)), Fraction(0))
    for c in range(k):
        members = np.flatnonzero(labels == c).tolist()
        inside, total = Fraction(0), Fraction(0)
        for i in members:
            total += exact_weights[i]
            inside += sum(
                (exact_weights[i] * exact_weights[j] * Fraction(float(gram[i, j])) for j in members), Fraction(0)
            )
        exact -= inside / total
    low, high = cost_of_gram(gram, weights, labels, k)
    assert low <= exact <= high
    assert high - low <= Fraction(1, 10**8) * abs(exact)


def test_one_far_row_does_not_make_the_others_free() -> None:
    """Sixty ordinary points and one at 1e20: their cost was rounded to 0, and counted as a proof."""
    points = np.vstack([np.random.default_rng(0).normal(size=(60, 2)) * 5, [[1e20, 1e20]]])
    instance = Instance.create(points, 3)
    labels = np.array([0] * 30 + [1] * 30 + [2])
    exact = exact_cost(points.tolist(), labels.tolist())
    reported = Clustering.from_labels(instance, labels).cost
    assert exact <= Fraction(reported) <= exact * (1 + Fraction(1, 10**12))


def test_a_cost_is_zero_only_if_it_is_exactly_zero() -> None:
    """Two points that differ in the last bit of one coordinate cost something; equal ones nothing."""
    points = np.array([[1.0], [np.nextafter(1.0, 2.0)], [3.0]])
    assert Clustering.from_labels(Instance.create(points, 2), [0, 0, 1]).cost > 0
    assert Clustering.from_labels(Instance.create(points[[0, 0, 2]], 2), [0, 0, 1]).cost == 0


def test_standardised_costs_are_exact_rationals() -> None:
    """Squares are divided by the exact variance of their feature, constant features are left out."""
    points = np.array([[0.0, 7.0, 1e9], [1.0, 7.0, 1e9 + 1], [5.0, 7.0, 1e9 + 5]])
    instance = Instance.create(points, 2, standardize=True)
    # Both varying features are 0, 1, 5 plus an offset: variance 14/3; the cluster {0, 1} costs 1/2 in each.
    expected = 2 * Fraction(1, 2) / Fraction(14, 3)
    reported = Fraction(Clustering.from_labels(instance, [0, 0, 1]).cost)
    assert expected <= reported <= expected * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize(
    ("points", "weights", "words"),
    [
        ([[0.0], [1e170], [3e170]], None, "too large"),
        ([[0.0], [1e-162], [3e-162]], None, "too small"),
        ([[0.0], [1.0], [3.0]], [1.0, 1e-323, 1e-323], "differ by more"),
        ([[0.0], [1.0], [3.0]], [2e-323, 2e-323, 2e-323], "too small"),
        ([[0.0], [1.0], [3.0]], [1e-300, 1.0, 1e300], "differ by more"),
        ([[0.0], [1.0], [3.0]], [1e308, 1e308, 1e308], "too large"),
    ],
)
def test_what_doubles_cannot_express_is_refused_by_name(
    points: list[list[float]], weights: list[float] | None, words: str
) -> None:
    """Costs that overflow or lose their digits to underflow, and weights that cannot be added."""
    with pytest.raises(InputError, match=words):
        Instance.create(points, 2, weights=weights)
