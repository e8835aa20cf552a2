"""Multipliers of one problem prove bounds of a similar one."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from certimeans import verify
from certimeans.analysis.warm import bound_once_more
from certimeans.bounds.protocol import Question
from certimeans.bounds.relaxation.bounder import RelaxationBounder, WarmStart
from certimeans.bounds.relaxation.similar import carry_over
from certimeans.deadline import Deadline
from certimeans.presolve.reduce import reduced
from certimeans.problem.instance import Instance
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance
from tests.oracles.brute_force import optimum


def problem(seed: int, must_link: list[tuple[int, int]], cannot_link: list[tuple[int, int]]) -> Instance:
    """Build a problem of nine weighted points, the same for each seed."""
    random = np.random.default_rng(seed)
    points, weights = random.normal(size=(9, 2)), random.choice([0.5, 1.0, 3.0], size=9)
    return Instance.create(points, 3, must_link=must_link, cannot_link=cannot_link, weights=weights)


def left_by(instance: Instance) -> WarmStart:
    """Return what the bound of a problem leaves."""
    start = bound_once_more(instance, np.inf, 0.0, 0, Deadline())
    assert start is not None
    return start


@pytest.mark.parametrize("seed", range(6))
def test_a_bound_from_the_multipliers_of_a_similar_problem_is_true(seed: int) -> None:
    """Groups are cut, merged, and both; the first bound, before any iteration, is one already."""
    start = left_by(problem(seed, [(0, 1), (1, 2)], [(3, 4)]))
    for must_link, cannot_link in (
        ([(0, 1)], [(1, 2), (3, 4)]),
        ([(0, 1), (1, 2), (3, 4)], []),
        ([(0, 3), (2, 5)], [(0, 1)]),
    ):
        changed = problem(seed, must_link, cannot_link)
        points = reduced(changed).super_points
        carried = carry_over(start, points, changed.scaled.weights)
        assert carried.iterate.primal.shape == carried.iterate.dual.shape == (points.size, points.size)
        exact = optimum(changed.points.tolist(), 3, must_link, cannot_link, changed.weights.tolist()).cost
        assert exact is not None
        for target in (-np.inf, exact):
            answer = RelaxationBounder().bound(Question(points, partial(float, target), start=carried))
            assert answer.bound.value <= exact * (1 + 1e-12)


def test_the_same_problem_goes_on_where_it_ended() -> None:
    """Nothing changes on the way, so the first bound is what was proven before."""
    instance = problem(0, [(0, 1)], [(3, 4)])
    start, points = left_by(instance), reduced(instance).super_points
    carried = carry_over(start, points, instance.scaled.weights)
    assert np.allclose(np.triu(carried.iterate.dual), np.triu(start.iterate.dual))
    assert np.allclose(np.triu(carried.iterate.primal), np.triu(start.iterate.primal))
    assert len(carried.iterate.cuts) == len(start.iterate.cuts)


def test_a_search_that_starts_warm_has_a_complete_proof(tmp_path: Path) -> None:
    """Also where presolve merged points: with two clusters, 3 and 5 share one, because both are apart from 4."""
    random = np.random.default_rng(1)
    points = random.normal(size=(12, 2))
    before = Instance.create(points, 2, cannot_link=[(3, 4), (4, 5)])
    multipliers = left_by(before)
    changed = Instance.create(points, 2, cannot_link=[(3, 4), (4, 5), (0, 1)])
    assert len(reduced(changed).merges) > 0
    found = solve_instance(
        changed,
        Limits(1e-4),
        start=lambda root: carry_over(multipliers, root.super_points, changed.scaled.weights),
    )
    assert found.status == "optimal"
    assert found.objective == pytest.approx(solve_instance(changed, Limits(1e-4)).objective)
    found.save(tmp_path / "out", report=False)
    assert verify(tmp_path / "out", gap=1e-4).lower_bound >= found.objective * (1 - 1.1e-4)
