import numpy as np
import pytest

from certimeans.errors import InfeasibleError
from certimeans.presolve.contract import SuperPoints, contract
from certimeans.presolve.graph import Contradiction, connected
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from tests.oracles.brute_force import exact_cost, feasible_partitions, partitions
from tests.oracles.instances import random_instance


def cost_of(super_points: SuperPoints, labels: np.ndarray) -> float:
    """Cost of a partition of super-points by the formula in the docstring of SuperPoints, through the Gram matrix."""
    explained = sum(
        super_points.gram[np.ix_(labels == c, labels == c)].sum() / super_points.weights[labels == c].sum()
        for c in np.unique(labels)
    )
    return float(1 - explained)


def test_must_links_and_two_colouring_work_together_to_a_fixpoint() -> None:
    """0=1, 1≠2, 2≠3: so 3 joins 0 and 1; 3=4 brings 4; 4≠5 puts 5 with 2. Two super-points are left."""
    instance = Instance.create(
        np.arange(6.0)[:, None], 2, must_link=[(0, 1), (3, 4)], cannot_link=[(1, 2), (2, 3), (4, 5)]
    )
    presolved = presolve(instance)
    assert presolved.super_points.group_of.tolist() == [0, 0, 1, 0, 0, 1]
    assert presolved.super_points.weights.tolist() == [4.0, 2.0]
    assert presolved.super_points.graph.edges.tolist() == [[0, 1]]
    assert (presolved.instance.n_points - presolved.n_groups, presolved.n_groups - presolved.super_points.size) == (
        2,
        2,
    )


@pytest.mark.parametrize("seed", range(200))
def test_presolve_and_undo_lose_nothing(seed: int) -> None:
    """Feasible partitions of the points are exactly the expanded feasible partitions of the super-points.

    Their costs agree too, through the Gram matrix on one side and from the raw data on the other. Where identical
    points were united, not all partitions remain, but one of least cost does.
    """
    small = random_instance(seed, max_points=7, weighted=seed % 2 == 0)
    instance = small.build()
    original = set(feasible_partitions(instance.n_points, small.k, small.must_link, small.cannot_link))
    try:
        presolved = presolve(instance)
    except InfeasibleError:
        assert original == set()
        return
    reduced = presolved.super_points
    edges = [(int(a), int(b)) for a, b in reduced.graph.edges]
    expanded = set()
    for labels in feasible_partitions(reduced.size, small.k, (), edges):
        clustering = Clustering.from_labels(instance, reduced.expand_labels(np.array(labels)))
        assert clustering.satisfies(instance)
        if instance.total_scatter > 0:
            cost = cost_of(reduced, np.array(labels)) * reduced.scale.unit
            assert cost == pytest.approx(clustering.cost, abs=1e-12 * instance.total_scatter)
        expanded.add(tuple(clustering.labels.tolist()))
    if presolved.n_identical:
        assert expanded <= original
        costs = {labels: exact_cost(small.points, labels, small.weights) for labels in original}
        assert min(costs[labels] for labels in expanded) == min(costs.values())
    else:
        assert expanded == original


@pytest.mark.parametrize("seed", range(50))
def test_the_colouring_is_a_proof_of_feasibility(seed: int) -> None:
    """It keeps every cannot-link with at most k colours."""
    small = random_instance(seed)
    try:
        presolved = presolve(small.build())
    except InfeasibleError:
        return
    colouring, graph = presolved.colouring, presolved.super_points.graph
    assert colouring is not None
    assert (colouring[graph.edges[:, 0]] != colouring[graph.edges[:, 1]]).all()
    assert 0 <= colouring.min() <= colouring.max() < small.k


@pytest.mark.parametrize("seed", range(20))
def test_merging_twice_is_merging_once(seed: int) -> None:
    """Contracting super-points further gives the same problem as contracting the points at once."""
    random = np.random.default_rng(seed)
    instance = Instance.create(random.normal(size=(12, 3)), 2, weights=random.random(12) + 0.5)
    first = connected(12, random.integers(0, 12, size=(4, 2)))
    second = connected(int(first.max()) + 1, random.integers(0, first.max() + 1, size=(3, 2)))
    step_by_step, at_once = contract(instance, first).merge(second), contract(instance, second[first])
    assert step_by_step.group_of.tolist() == at_once.group_of.tolist()
    np.testing.assert_allclose(step_by_step.weights, at_once.weights, rtol=1e-14)
    np.testing.assert_allclose(step_by_step.gram, at_once.gram, atol=1e-14)


def test_merging_adds_cannot_links_and_finds_contradictions() -> None:
    """A merge of two super-points that cannot link is refused; extra cannot-links are lifted with the others."""
    reduced = contract(Instance.create([[0.0], [1.0], [2.0], [3.0]], 2, cannot_link=[(0, 1)]), np.arange(4))
    merged = reduced.merge(np.array([0, 1, 1, 2]), np.array([[2, 3]]))
    assert merged.graph.edges.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(Contradiction):
        reduced.merge(np.array([0, 0, 1, 2]))


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("exponent", [-100, 0, 100])
def test_super_points_do_not_depend_on_place_and_scale(offset: float, exponent: int) -> None:
    """Moving and scaling the data leaves weights and Gram matrix as they are, up to the data's own rounding."""
    points = np.round(np.random.default_rng(0).normal(size=(15, 3)), 2)
    base = presolve(Instance.create(points, 3, must_link=[(0, 1), (4, 9)])).super_points
    moved = presolve(Instance.create(np.ldexp(points + offset, exponent), 3, must_link=[(0, 1), (4, 9)])).super_points
    np.testing.assert_array_equal(base.weights, moved.weights)
    np.testing.assert_allclose(base.gram, moved.gram, atol=1e-7 if offset else 1e-14)
    assert np.trace(presolve(Instance.create(points, 3)).super_points.gram) == pytest.approx(1.0)


def test_equal_points_are_solved_like_any_others() -> None:
    """All points equal: the Gram matrix is zero, not NaN."""
    reduced = presolve(Instance.create([[3.0, 3.0]] * 4, 2, cannot_link=[(0, 1)])).super_points
    assert (reduced.gram == 0).all()


def test_a_weight_equals_as_many_must_linked_copies() -> None:
    """A point of weight 2 and two must-linked copies of it become the same super-point."""
    weighted = presolve(Instance.create([[0.0], [4.0], [5.0]], 2, weights=[2, 1, 1])).super_points
    copies = presolve(Instance.create([[0.0], [0.0], [4.0], [5.0]], 2, must_link=[(0, 1)])).super_points
    np.testing.assert_array_equal(weighted.weights, copies.weights)
    np.testing.assert_allclose(weighted.gram, copies.gram, atol=1e-15)


def test_brute_force_lists_every_partition_once() -> None:
    """The oracle itself: Stirling numbers of the second kind."""
    assert [len(set(partitions(6, k))) for k in range(1, 7)] == [1, 31, 90, 65, 15, 1]
