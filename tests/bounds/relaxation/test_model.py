import numpy as np
import pytest

from certimeans.bounds.relaxation.model import Relaxation
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from tests.oracles.brute_force import exact_cost
from tests.oracles.relaxations import enumerated


@pytest.mark.parametrize("seed", range(30))
def test_every_clustering_is_a_feasible_point_with_its_cost(seed: int) -> None:
    """Y u = u, trace k, projector, zero on cannot-links, and scatter + <C, Y> is the exact cost."""
    problem = enumerated(seed)
    if problem is None:
        return
    relaxation = problem.relaxation
    best = np.inf
    for labels in problem.labels[:200]:
        matrix = problem.matrix(labels)
        np.testing.assert_allclose(matrix @ relaxation.direction, relaxation.direction, atol=1e-14)
        np.testing.assert_allclose(matrix @ matrix, matrix, atol=1e-14)
        assert np.trace(matrix) == pytest.approx(relaxation.n_clusters)
        assert (matrix[relaxation.forbidden] == 0).all()
        cost = relaxation.scatter + float((relaxation.objective * matrix).sum())
        best = min(best, cost)
        heaviest = max(problem.super_points.weights[np.array(labels) == c].sum() for c in labels)
        assert heaviest <= relaxation.max_cluster_weight
    if len(problem.labels) <= 200:
        assert best == pytest.approx(problem.optimum, abs=1e-13)


def test_most_small_problems_can_be_enumerated() -> None:
    """Tests that leave out the others would show nothing if there were many."""
    assert sum(enumerated(seed) is not None for seed in range(60)) > 30


def test_the_objective_error_covers_what_rounding_does_to_the_cost() -> None:
    """Against rational arithmetic, for points far from the origin in many dimensions, merged in large groups."""
    random = np.random.default_rng(0)
    points = 1e3 + random.normal(size=(60, 40))
    labels = np.arange(60) % 3
    instance = Instance.create(points, 3, must_link=[(i, i + 3) for i in range(57)])
    relaxation = Relaxation.from_super_points(presolve(instance).super_points)
    cost = relaxation.scatter + float(np.trace(relaxation.objective))
    exact = float(exact_cost(points.tolist(), labels.tolist())) / float(exact_cost(points.tolist(), [0] * 60))
    # The points themselves were rounded once when they were centred; that is the caller's to account for.
    assert abs(cost - exact) <= relaxation.objective_error + 1e-13
    assert relaxation.objective_error < 1e-12


def test_integer_weights_are_exact_and_others_are_not() -> None:
    """Sums of integers carry no error, sums of other numbers do."""
    points = [[0.0], [1.0], [5.0]]
    whole = presolve(Instance.create(points, 2, weights=[1, 2, 3])).super_points
    broken = presolve(Instance.create(points, 2, weights=[0.1, 0.2, 0.3])).super_points
    assert Relaxation.from_super_points(whole).weight_error == 0.0
    assert 0.0 < Relaxation.from_super_points(broken).weight_error < 1e-14
