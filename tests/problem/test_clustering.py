import numpy as np
import pytest

from certimeans.errors import InputError
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from tests.oracles.brute_force import exact_cost


def test_cost_centres_and_sizes_of_a_hand_made_clustering() -> None:
    """(0,0) and (2,0) have their centre at (1,0) and cost 1 each; (9,9) costs nothing."""
    clustering = Clustering.from_labels(Instance.create([[0, 0], [9, 9], [2, 0]], 2), [7, 3, 7])
    assert clustering.labels.tolist() == [0, 1, 0]
    assert clustering.cost == 2.0
    assert clustering.centres is not None
    assert clustering.centres.tolist() == [[1.0, 0.0], [9.0, 9.0]]
    assert clustering.sizes.tolist() == [2, 1]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e4, 1e8])
def test_cost_agrees_with_rational_arithmetic_far_from_the_origin(seed: int, offset: float) -> None:
    """Weighted cost to 12 digits, also when the data are 1e8 times their spread away from the origin."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(8, 2)) + offset
    weights = random.choice([0.5, 1.0, 3.0], size=8)
    labels = random.integers(0, 3, size=8)
    clustering = Clustering.from_labels(Instance.create(points, 1, weights=weights), labels)
    exact = float(exact_cost(points.tolist(), labels.tolist(), weights.tolist()))
    assert clustering.cost == pytest.approx(exact, rel=1e-12)


def test_a_tight_cluster_far_from_the_others_keeps_its_digits() -> None:
    """The cost of points that differ in their last digits is not drowned by the distance between clusters."""
    points = [[0.0], [1e-9], [1e6], [1e6 + 2.0**-20]]
    clustering = Clustering.from_labels(Instance.create(points, 2), [0, 0, 1, 1])
    assert clustering.cost == pytest.approx(float(exact_cost(points, [0, 0, 1, 1])), rel=1e-6)


@pytest.mark.parametrize("exponent", [-300, -100, 100, 300])
def test_cost_scales_exactly_with_powers_of_two(exponent: int) -> None:
    """Scaling the data by 2^e scales the cost by 4^e and moves no digit."""
    points = np.random.default_rng(0).normal(size=(20, 3))
    labels = np.arange(20) % 4
    cost = Clustering.from_labels(Instance.create(points, 4), labels).cost
    scaled = Clustering.from_labels(Instance.create(np.ldexp(points, exponent), 4), labels).cost
    assert scaled == np.ldexp(cost, 2 * exponent)


def test_equal_points_cost_nothing() -> None:
    """The cost of identical points is exactly zero, wherever they are."""
    assert Clustering.from_labels(Instance.create([[0.1, 1e9]] * 5, 2), [0, 1, 0, 1, 0]).cost == 0.0


def test_violations_name_every_broken_constraint() -> None:
    """A wrong number of clusters, a broken must-link and a broken cannot-link are all reported."""
    instance = Instance.create([[0.0], [1.0], [2.0], [3.0]], 3, must_link=[(0, 1)], cannot_link=[(2, 3)])
    clustering = Clustering.from_labels(instance, [0, 1, 1, 1])
    assert clustering.violations(instance) == [
        "2 clusters instead of 3",
        "points 0 and 1 must link but are in different clusters",
        "points 2 and 3 cannot link but are in one cluster",
    ]
    assert not clustering.satisfies(instance)
    assert Clustering.from_labels(instance, ["a", "a", "b", "c"]).satisfies(instance)


def test_labels_of_the_wrong_shape_are_refused() -> None:
    """One label a point, no NaN."""
    instance = Instance.create([[0.0], [1.0]], 1)
    with pytest.raises(InputError, match=r"labels have shape \(3,\)"):
        Clustering.from_labels(instance, [0, 0, 0])
    with pytest.raises(InputError, match=r"labels\[1\] is NaN"):
        Clustering.from_labels(instance, [0.0, float("nan")])
