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
from certimeans.problem.instance import Instance
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
                total, sizes = relaxation.size_rows.weighted_sum(random.random((size, 2)))
                assert (total * matrix).sum() <= 1e-12 * np.abs(sizes * matrix).sum() + 1e-12, seed
    assert boxes > 20
    assert rows > 20


@pytest.mark.parametrize("seeds", range(0, 100, 50))
def test_garbage_multipliers_prove_nothing_false(seeds: int) -> None:
    """Random duals of any size give bounds below the optimum."""
    random = np.random.default_rng(seeds)
    for seed in range(seeds, seeds + 50):
        stated = limited_instance(seed, max_points=7)
        found = relaxed(stated)
        if found is None:
            continue
        relaxation, _, instance = found
        best = stated.optimum()
        assert best is not None
        empty = CutRows.build(Cuts.none(), relaxation)
        for scale in (0.0, 1e-3, 0.1, 1.0, 100.0):
            dual = scale * random.normal(size=(relaxation.size, relaxation.size))
            sizes = scale * random.normal(size=(relaxation.size, 2))
            bound = safe_lower_bound(relaxation, empty, np.empty(0), dual, sizes)
            assert instance.scaled.scale.to_user(bound.safe_lower_bound) <= best, seed


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
