import numpy as np
import pytest

from certimeans.bounds.relaxation import safe_bound
from certimeans.bounds.relaxation.cuts.pool import MAX_SUPPORT, Cuts
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.safe_bound import safe_lower_bound
from certimeans.presolve.contract import contract
from certimeans.problem.instance import Instance
from tests.oracles.relaxations import enumerated


def random_cuts(random: np.random.Generator, size: int, count: int) -> Cuts:
    width = min(size, MAX_SUPPORT)
    members = np.array([random.permutation(size)[:width] for _ in range(count)])
    return Cuts.new(members, random.integers(-2, 3, size=members.shape))


def test_the_bound_of_a_hand_made_problem_is_its_optimum() -> None:
    """Points 0, 1 and 10 on a line, k = 3 and k = 1: a single matrix is feasible, so any multipliers prove its cost.

    With k = 3 the cost is 0; with k = 1 it is the scatter.
    """
    for k, cost in ((3, 0.0), (1, 1.0)):
        points = contract(Instance.create([[0.0], [1.0], [10.0]], k), np.arange(3))
        relaxation = Relaxation.from_super_points(points)
        rows = CutRows.build(Cuts.none(), relaxation)
        bound = safe_lower_bound(relaxation, rows, np.empty(0), np.zeros((3, 3)))
        assert cost - 1e-12 < bound.safe_lower_bound <= cost
        assert bound.safe_lower_bound < bound.unsafe_lower_bound


@pytest.mark.parametrize("block", range(10))
def test_garbage_multipliers_never_give_a_wrong_bound(block: int) -> None:
    """200 random problems: random, huge, tiny and badly signed multipliers with random cuts stay below the optimum."""
    random = np.random.default_rng(block)
    tried = 0
    for seed in range(100 * block, 100 * block + 30):
        problem = enumerated(seed)
        if problem is None:
            continue
        relaxation = problem.relaxation
        size = relaxation.size
        for scale in (1e-6, 1e-2, 1.0, 1e6, 1e150):
            cuts = random_cuts(random, size, 8)
            rows = CutRows.build(cuts, relaxation)
            multipliers = random.normal(size=8) * scale
            dual = random.normal(size=(size, size)) * scale
            bound = safe_lower_bound(relaxation, rows, multipliers, dual).safe_lower_bound
            assert bound <= problem.optimum * (1 + 1e-12)
            tried += 1
    assert tried >= 50


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e200, -1e200])
def test_numbers_that_are_not_finite_or_overflow_prove_nothing(poison: float) -> None:
    """NaN and infinity anywhere give minus infinity; huge numbers give that or a valid bound."""
    problem = enumerated(3)
    assert problem is not None
    relaxation = problem.relaxation
    rows = CutRows.build(random_cuts(np.random.default_rng(0), relaxation.size, 2), relaxation)
    zero = np.zeros((relaxation.size, relaxation.size))
    dual = zero.copy()
    dual[0, 1] = poison
    for multipliers, matrix in ((np.zeros(2), dual), (np.full(2, poison), zero)):
        bound = safe_lower_bound(relaxation, rows, multipliers, matrix).safe_lower_bound
        assert bound <= problem.optimum if np.isfinite(poison) else bound == -np.inf


def test_the_lower_triangle_of_the_dual_is_not_read() -> None:
    """Only the upper triangle counts, so half-updated matrices are harmless."""
    problem = enumerated(8)
    assert problem is not None
    rows = CutRows.build(Cuts.none(), problem.relaxation)
    dual = -np.triu(np.random.default_rng(0).random((problem.relaxation.size,) * 2))
    spoilt = dual + np.tril(np.full_like(dual, 7.0), -1)
    first, second = (safe_lower_bound(problem.relaxation, rows, np.empty(0), d) for d in (dual, spoilt))
    assert first.safe_lower_bound == second.safe_lower_bound


def test_the_allowance_for_rounding_is_small() -> None:
    """At 300 super-points it is below 1e-9 of the scatter."""
    random = np.random.default_rng(0)
    instance = Instance.create(random.normal(size=(300, 5)), 6)
    relaxation = Relaxation.from_super_points(contract(instance, np.arange(300)))
    rows = CutRows.build(Cuts.none(), relaxation)
    bound = safe_lower_bound(relaxation, rows, np.empty(0), -1e-4 * random.random((300, 300)))
    assert np.isfinite(bound.safe_lower_bound)
    assert 0 < bound.unsafe_lower_bound - bound.safe_lower_bound < 1e-9


def test_a_problem_of_equal_points_is_bounded_by_zero() -> None:
    """Without scatter the cost is 0 and so is the bound."""
    relaxation = Relaxation.from_super_points(contract(Instance.create([[1.0]] * 4, 2), np.arange(4)))
    rows = CutRows.build(Cuts.none(), relaxation)
    assert -1e-15 <= safe_lower_bound(relaxation, rows, np.empty(0), np.zeros((4, 4))).safe_lower_bound <= 0


def test_a_matrix_is_the_same_in_one_piece_and_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound and slack to the last bit, with cuts and cannot-links: rows are only worked on some at a time."""
    random = np.random.default_rng(0)
    instance = Instance.create(random.normal(size=(150, 3)), 4, cannot_link=[(0, 149), (70, 71)])
    relaxation = Relaxation.from_super_points(contract(instance, np.arange(150)))
    rows = CutRows.build(random_cuts(random, 150, 300), relaxation)
    multipliers, dual = 1e-3 * random.random(300), 1e-3 * random.normal(size=(150, 150))
    several = safe_lower_bound(relaxation, rows, multipliers, dual)
    monkeypatch.setattr(safe_bound, "_ROWS", 1000)
    one = safe_lower_bound(relaxation, rows, multipliers, dual)
    assert np.isfinite(one.safe_lower_bound)
    assert several.safe_lower_bound == one.safe_lower_bound
    assert np.array_equal(several.slack, one.slack)
    assert not np.tril(one.slack, -1).any()
