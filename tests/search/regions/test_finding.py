"""Which super-points are far from each other: lower bounds that hold, and components of what is near."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from certimeans.deadline import Deadline
from certimeans.errors import InfeasibleError, InputError
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from certimeans.search.incumbent import Incumbent
from certimeans.search.regions.finding import Places, Regions, regions_of
from certimeans.search.settings import NodeSettings
from tests.oracles.far import far_instance
from tests.oracles.subsets import Statement


def regions_in(instance: Instance) -> Regions | None:
    """Look for the regions of an instance."""
    return regions_of(presolve(instance), Incumbent(instance), None, 0, Deadline(), NodeSettings())


def test_two_points_far_away_are_regions_of_their_own() -> None:
    """The four others cost 1 in pairs; two that are farther apart than the root of 2 may be far, but not the chain."""
    points = np.array([[0.0], [1.0], [2.0], [100.0], [-100.0], [3.0]])
    found = regions_in(Instance.create(points, 4))
    assert found is not None
    assert found.region_of.tolist() == [0, 0, 0, 1, 2, 0]
    assert found.least_join == pytest.approx(2.0)  # points 0 and 2: what is far within a region counts, too


@pytest.mark.parametrize("k", [1, 2, 6])
def test_one_region_is_none(k: int) -> None:
    """Nothing is far; one cluster, or as many as points, leave no choice."""
    assert regions_in(Instance.create(np.arange(6.0)[:, None] ** 1.5, k)) is None


def test_what_has_no_regions() -> None:
    """A Gram matrix has no points, and limits on sizes are about all of them."""
    points = np.array([[0.0], [1.0], [2.0], [100.0]])
    assert regions_in(Instance.create(gram=points @ points.T, n_clusters=2)) is None
    assert regions_in(Instance.create(points, 2, size_min=1)) is None


def test_far_points_that_must_share_a_cluster_are_no_regions() -> None:
    """More places than clusters: the best clustering joins two of them, and costs as much."""
    assert regions_in(Instance.create([[0.0], [1.0], [1000.0], [-1000.0]], 2)) is None


@pytest.mark.parametrize("block", range(4))
def test_joining_costs_no_less_than_is_said(block: int) -> None:
    """For 200 instances with ordinary and extreme magnitudes: no pair of super-points is cheaper, in exact numbers."""
    n_found = 0
    for seed in range(50 * block, 50 * (block + 1)):
        far = far_instance(seed, extreme=bool(seed % 2))
        try:
            presolved = presolve(far.build())
        except (InfeasibleError, InputError):
            continue
        groups = presolved.super_points.group_of
        stated, places = far.statement(), Places.of(presolved)
        unit = Fraction(2) ** presolved.super_points.scale.weight_exponent
        for a in range(presolved.super_points.size):
            for b in range(a):
                root = float(places.joined(a, np.array([b]))[0])
                exact = _join_cost(stated, groups.tolist(), a, b)
                assert Fraction(root) ** 2 * unit <= exact, seed
                if math.isfinite(root) and root > 0 and exact > 0:
                    n_found += Fraction(root) ** 2 * unit >= exact * (1 - Fraction(1, 10**6))
    assert n_found > 100


def _join_cost(stated: Statement, groups: list[int], a: int, b: int) -> Fraction:
    """Return what the union of two groups costs more than the two, exactly."""
    both = [i for i, group in enumerate(groups) if group in {a, b}]
    part = stated._replace(
        products=[[stated.products[i][j] for j in both] for i in both], weights=[stated.weights[i] for i in both]
    )
    return part.cost([0] * len(both)) - part.cost([int(groups[i] == a) for i in both])
