"""Bounds by parts against all clusterings of a few points."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certimeans._typing import IntArray
from certimeans.bounds.parts.bounding import Effort, bound_part, prove_part_again
from certimeans.bounds.parts.settings import PartSettings
from certimeans.bounds.parts.splitting import Split, make_part, rounded_shares, split_into_parts
from certimeans.errors import InfeasibleError
from certimeans.presolve.reduce import Presolved, presolve
from tests.oracles.brute_force import optimum
from tests.oracles.instances import SmallInstance, random_instance

EFFORT = Effort(gap=1e-8, searches=2)
EASY = PartSettings(share_above=0.02, most_shared=0.5, heavy=0.4)


def split_anyhow(presolved: Presolved, n_parts: int, random: np.random.Generator) -> Split:
    """Deal points to parts at random, across super-points too, and let some be shared, with no regard to quality."""
    n = presolved.instance.n_points
    shared = np.flatnonzero(random.random(n) < 0.3)
    part = random.integers(0, n_parts, size=n)
    part[shared] = n_parts
    order = np.argsort(part, kind="stable")[: n - len(shared)]
    start = np.searchsorted(part[order], np.arange(n_parts + 1))
    fractions = random.random((n_parts, len(shared))) + 1e-3
    return Split(
        start, order, shared, rounded_shares(fractions / fractions.sum(axis=0), presolved.instance.weights[shared])
    )


def bound_by(presolved: Presolved, split: Split, labels: IntArray) -> float:
    """Add up what is proven about the parts."""
    bounds = []
    for p in range(split.n_parts):
        if split.start[p] == split.start[p + 1] and len(split.shared) == 0:
            continue
        part = make_part(presolved, split, labels, (p,))
        found = bound_part(part, EFFORT, seed=p)
        bounds.append(found.value)
        if found.step is not None:
            assert prove_part_again(part, found.step) == pytest.approx(found.value, rel=1e-6)
    return math.fsum(bounds)


@pytest.mark.parametrize("block", range(10))
def test_no_split_bounds_above_the_optimum(block: int) -> None:
    """A thousand instances in two to five parts: split well or anyhow, with weights divided and constraints dropped."""
    n_solved = 0
    for seed in range(100 * block, 100 * (block + 1)):
        random = np.random.default_rng([seed, 5])
        small = random_instance(seed, max_points=8, weighted=bool(seed % 2))
        try:
            presolved = presolve(small.build())
        except InfeasibleError:
            continue
        points = presolved.super_points
        n_parts = int(random.integers(2, 6))
        labels = random.integers(0, small.k, size=points.size)
        best = optimum(*small).cost
        assert best is not None
        for split in (
            split_into_parts(presolved, labels, n_parts, EASY, seed=seed),
            split_anyhow(presolved, n_parts, random),
        ):
            assert bound_by(presolved, split, labels) <= best * (1 + 1e-12)
        n_solved += 1
    assert n_solved > 50


def test_a_united_part_proves_at_least_what_its_parts_do() -> None:
    """Two parts of three points each, and the six points together: hand-made so that the bounds are exact."""
    points = [[0.0], [1.0], [10.0], [0.5], [9.0], [10.5]]
    presolved = presolve(SmallInstance(points, 2, [], [], None).build())
    labels = np.array([0, 0, 1, 0, 1, 1])
    split = Split(np.array([0, 3, 6]), np.arange(6), np.empty(0, dtype=np.int64), np.empty((2, 0)))
    apart = [bound_part(make_part(presolved, split, labels, (p,)), EFFORT).value for p in (0, 1)]
    together = bound_part(make_part(presolved, split, labels, (0, 1)), EFFORT).value
    assert apart == pytest.approx([0.5, 1.125], rel=1e-4)  # {0, 1}, {10}; {0.5}, {9, 10.5}
    assert together == pytest.approx(0.5 + (9.0**2 + 10.0**2 + 10.5**2 - 29.5**2 / 3), rel=1e-4)
    assert together > sum(apart)


def test_a_part_with_fewer_super_points_than_clusters_proves_nothing() -> None:
    """Two points, three clusters: as a problem of its own it would be infeasible, as a part it costs nothing."""
    presolved = presolve(SmallInstance([[0.0], [5.0], [9.0], [11.0]], 3, [], [], None).build())
    split = Split(np.array([0, 2, 4]), np.arange(4), np.empty(0, dtype=np.int64), np.empty((2, 0)))
    for p in (0, 1):
        found = bound_part(make_part(presolved, split, np.array([0, 1, 2, 2]), (p,)), EFFORT)
        assert (found.value, found.step) == (0.0, None)
