"""What limits on sizes say about the relaxation: true at every clustering, and never above the optimum."""

import numpy as np
import pytest

from certimeans._typing import FloatArray
from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.safe_bound import safe_lower_bound
from certimeans.bounds.relaxation.sizes import most_unequal_sizes
from certimeans.presolve.contract import contract
from certimeans.presolve.graph import Contradiction, connected
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from certimeans.search.node import NodeTask, SizeDecision
from certimeans.search.node_problem import node_super_points
from tests.oracles.brute_force import exact_cost, feasible_partitions
from tests.oracles.sizes import LimitedInstance, limited_instance


def matrix_of(relaxation: Relaxation, labels: list[int]) -> FloatArray:
    """Return Y of a clustering of the super-points."""
    weights = relaxation.root_weights**2
    label = np.array(labels)
    totals = np.bincount(label, weights)
    same = label[:, None] == label
    return np.where(same, np.outer(relaxation.root_weights, relaxation.root_weights) / totals[label], 0.0)


def relaxed(stated: LimitedInstance) -> tuple[Relaxation, list[FloatArray], Instance] | None:
    """Return the relaxation, and the matrix of every clustering."""
    instance = stated.build()
    groups = connected(instance.n_points, instance.must_link)
    try:
        points = contract(instance, groups)
    except Contradiction:
        return None
    partitions = stated.partitions()
    if not partitions:
        return None
    relaxation = Relaxation.from_super_points(points)
    first = points.first_points
    return relaxation, [matrix_of(relaxation, [labels[i] for i in first]) for labels in partitions], instance


def sizes_decided(seed: int) -> tuple[Relaxation, list[FloatArray], float]:
    """Decide the sizes of the clusters of some points as a clustering has them.

    Returns the relaxation, the matrix of every clustering that agrees, and the least cost of these in working units.
    """
    random = np.random.default_rng(seed)
    n, k = int(random.integers(5, 8)), int(random.integers(2, 4))
    labels = [*range(k), *random.integers(0, k, size=n - k).tolist()]
    points = random.normal(size=(n, 2))
    sizes = np.bincount(labels)
    instance = Instance.create(points, k, sizes=sizes, must_link=[(k, labels[k])])
    limits = instance.limits
    assert limits is not None
    chosen = random.choice(n, size=int(random.integers(1, k + 1)), replace=False).tolist()
    decisions = [SizeDecision(i, limits.choices.index(int(sizes[labels[i]]))) for i in chosen]
    problem = presolve(instance)
    task = NodeTask(1, tuple(decisions), None, 0.0, np.inf, 0.0, seed=0, seconds=None)
    node, _ = node_super_points(problem, task)
    relaxation = Relaxation.from_super_points(node)
    agreeing = [
        found
        for found in feasible_partitions(n, k, [(k, labels[k])], [])
        if sorted(np.bincount(found)) == sorted(sizes)
        and all(found.count(found[i]) == sizes[labels[i]] for i in chosen)
    ]
    matrices = [matrix_of(relaxation, [found[i] for i in node.first_points]) for found in agreeing]
    best = min(exact_cost(points.tolist(), found) for found in agreeing)
    return relaxation, matrices, float(best) / node.scale.unit


@pytest.mark.parametrize("seeds", range(0, 90, 30))
def test_decided_sizes_say_what_is_true(seeds: int) -> None:
    """Box, rows, forbidden pairs and bounds of random multipliers, at every clustering that agrees with decisions."""
    random, anchored = np.random.default_rng(seeds), 0
    for seed in range(seeds, seeds + 30):
        relaxation, matrices, best = sizes_decided(seed)
        size, box, rows = relaxation.size, relaxation.box, relaxation.size_rows
        assert box is not None
        for matrix in matrices:
            assert not matrix[relaxation.forbidden].any(), seed
            assert (matrix <= box.upper * (1 + 1e-12)).all(), seed
            assert (matrix.diagonal() >= box.lower * (1 - 1e-12)).all(), seed
            slack = np.triu(random.normal(size=(size, size))).astype(np.float32)
            value, error = box.least(slack, relaxation.forbidden)
            full = slack + np.triu(slack, 1).T
            assert value - error <= (np.where(relaxation.forbidden, 0, full) * matrix).sum() + 1e-9, seed
            if rows is not None:
                anchored += 1
                multipliers = random.random((size, 2))
                total, _ = rows.weighted_sum(multipliers)
                assert (total * matrix).sum() <= rows.right_side(multipliers)[0] + 1e-9, seed
        empty = CutRows.build(Cuts.none(), relaxation)
        for scale in (0.0, 0.1, 10.0):
            dual, sizes = scale * random.normal(size=(size, size)), scale * random.normal(size=(size, 2))
            bound = safe_lower_bound(relaxation, empty, np.empty(0), dual, None if rows is None else sizes)
            assert bound.safe_lower_bound <= best * (1 + 1e-12), seed
    assert anchored > 20


def test_all_anchors_but_one_leave_no_freedom() -> None:
    """Two clusters, sizes 1 and 3, the first point alone: the rows hold with equality at the one clustering."""
    problem = presolve(Instance.create(np.eye(4), 2, sizes=[1, 3]))
    task = NodeTask(1, (SizeDecision(0, 0),), None, 0.0, np.inf, 0.0, seed=0, seconds=None)
    relaxation = Relaxation.from_super_points(node_super_points(problem, task)[0])
    rows, matrix = relaxation.size_rows, matrix_of(relaxation, [0, 1, 1, 1])
    assert rows is not None
    assert rows.anchors == (0,)
    for column in range(2):
        multipliers = np.zeros((4, 2))
        multipliers[:, column] = 1.0
        assert (rows.weighted_sum(multipliers)[0] * matrix).sum() == pytest.approx(rows.right_side(multipliers)[0])


@pytest.mark.parametrize("seeds", range(0, 150, 50))
def test_every_clustering_satisfies_what_is_said(seeds: int) -> None:
    """Box, diagonal, rows and forbidden pairs; both ways of stating limits occur."""
    random, boxes, rows = np.random.default_rng(seeds), 0, 0
    for seed in range(seeds, seeds + 50):
        found = relaxed(limited_instance(seed, max_points=7))
        if found is None:
            continue
        relaxation, matrices, _ = found
        size = relaxation.size
        for matrix in matrices[:30]:
            assert not matrix[relaxation.forbidden].any(), seed
            if relaxation.box is not None:
                box = relaxation.box
                boxes += 1
                assert (matrix <= box.upper * (1 + 1e-12)).all(), seed
                assert (matrix.diagonal() >= box.lower * (1 - 1e-12)).all(), seed
                slack = np.triu(random.normal(size=(size, size))).astype(np.float32)
                value, error = box.least(slack, relaxation.forbidden)
                full = slack + np.triu(slack, 1).T
                assert value - error <= (np.where(relaxation.forbidden, 0, full) * matrix).sum() + 1e-9, seed
            if relaxation.size_rows is not None:
                rows += 1
                multipliers = random.random((size, 2))
                total, sizes = relaxation.size_rows.weighted_sum(multipliers)
                right_side, _ = relaxation.size_rows.right_side(multipliers)
                assert (total * matrix).sum() <= right_side + 1e-12 * np.abs(sizes * matrix).sum() + 1e-12, seed
    assert boxes > 20
    assert rows > 20


@pytest.mark.parametrize("seeds", range(0, 100, 50))
def test_garbage_multipliers_prove_nothing_false(seeds: int) -> None:
    """Random duals of any size give bounds below the optimum."""
    random, tried = np.random.default_rng(seeds), 0
    for seed in range(seeds, seeds + 50):
        stated = limited_instance(seed, max_points=7)
        found = relaxed(stated)
        if found is None:
            continue
        relaxation, _, instance = found
        best = stated.optimum()
        assert best is not None
        tried += 1
        empty = CutRows.build(Cuts.none(), relaxation)
        for scale in (0.0, 1e-3, 0.1, 1.0, 100.0):
            dual = scale * random.normal(size=(relaxation.size, relaxation.size))
            sizes = scale * random.normal(size=(relaxation.size, 2))
            bound = safe_lower_bound(relaxation, empty, np.empty(0), dual, sizes)
            assert instance.scaled.scale.to_user(bound.safe_lower_bound) <= best, seed
    assert tried > 10


def test_the_most_unequal_sizes_are_found() -> None:
    """As many small clusters as possible, then one in between; none is empty."""
    points = [[float(i)] for i in range(10)]
    for stated, expected in [
        ({"size_min": 2, "size_max": 5}, (2, 3, 5)),
        ({"size_min": 3, "size_max": 4}, (3, 3, 4)),
        ({"size_max": 6}, (1, 3, 6)),
        ({"size_min": 3}, (3, 3, 4)),
        ({"sizes": [5, 2, 3]}, (2, 3, 5)),
    ]:
        limits = Instance.create(points, 3, **stated).limits  # type: ignore[arg-type]
        assert limits is not None
        assert most_unequal_sizes(limits, 3) == expected


def test_prescribed_sizes_bound_the_diagonal_by_sorting() -> None:
    """Four points, sizes 1 and 3: the smallest value is alone, the others are averaged."""
    relaxation = Relaxation.from_super_points(contract(Instance.create(np.eye(4), 2, sizes=[1, 3]), np.arange(4)))
    assert relaxation.box is not None
    value, _ = relaxation.box.least_diagonal(np.array([5.0, -1.0, 2.0, 0.5]))
    assert value == pytest.approx(-1 + (5.0 + 2.0 + 0.5) / 3)
