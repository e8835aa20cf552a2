"""What to ask next: intervals against enumeration, and which pairs are chosen."""

import numpy as np
import pytest

from certimeans import InputError, solve
from certimeans.analysis.doubtful import move_costs
from certimeans.analysis.questions import Answer, Interval
from certimeans.presolve.contract import contract
from certimeans.problem.instance import Instance
from tests.oracles.brute_force import exact_cost, optimum, partitions

LINE = [[0.0], [1.0], [5.4], [10.0], [11.0], [12.0]]


@pytest.mark.parametrize("seed", range(5))
def test_intervals_hold_what_either_answer_costs(seed: int) -> None:
    """Against enumeration with the pair as a must-link and as a cannot-link."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(8, 2))
    found = solve(points, 3, must_link=[(0, 1)], cannot_link=[(2, 3)], gap=1e-6)
    pairs = found.ambiguous_pairs(4, decided=1000.0)
    assert 1 <= len(pairs) <= 4
    for pair in pairs:
        together = optimum(points.tolist(), 3, [(0, 1), (pair.i, pair.j)], [(2, 3)]).cost
        apart = optimum(points.tolist(), 3, [(0, 1)], [(2, 3), (pair.i, pair.j)]).cost
        assert together is not None
        assert apart is not None
        assert pair.together.low - 1e-9 <= together <= pair.together.high + 1e-9
        assert pair.apart.low - 1e-9 <= apart <= pair.apart.high + 1e-9
        other = max(together, apart)
        assert pair.percent_low - 1e-6 <= 100 * (other / found.objective - 1) <= pair.percent_high + 1e-6


def test_the_point_between_the_clusters_is_asked_about_first() -> None:
    """5.4 lies nearly in the middle; the pairs are sorted by what the other answer costs."""
    pairs = solve(LINE, 2).ambiguous_pairs(3, decided=1000.0)
    assert 2 in (pairs[0].i, pairs[0].j)
    assert [pair.percent_high for pair in pairs] == sorted(pair.percent_high for pair in pairs)


def test_decided_pairs_are_not_asked_about() -> None:
    """Two clusters far apart: every other answer costs far more than five per cent."""
    far = [[0.0], [1.0], [1000.0], [1001.0]]
    pairs = solve(far, 2).ambiguous_pairs()
    assert len(pairs) == 0
    assert "the data decide" in pairs.summary()


def test_pairs_that_constraints_decide_are_not_asked_about() -> None:
    """Everything is linked to one of two points that cannot link."""
    found = solve(LINE, 2, must_link=[(0, 1), (1, 2), (3, 4), (4, 5)], cannot_link=[(0, 5)])
    assert len(found.ambiguous_pairs(decided=1e9)) == 0


def test_pairs_as_a_table_with_room_for_answers() -> None:
    """The column type is empty; i, j and type are what a constraint file needs."""
    pairs = solve(LINE, 2).ambiguous_pairs(2, decided=1000.0)
    frame = pairs.to_frame()
    assert frame.columns[:3].tolist() == ["i", "j", "type"]
    assert frame["type"].tolist() == [""] * len(pairs)
    assert "together would cost" in pairs.summary()


def test_bad_arguments_are_named() -> None:
    """How many pairs, and what counts as decided."""
    found = solve(LINE, 2)
    with pytest.raises(InputError, match="count must be a positive integer; got 0"):
        found.ambiguous_pairs(0)
    with pytest.raises(InputError, match="decided must be a number of per cent"):
        found.ambiguous_pairs(decided=-1.0)


def test_move_costs_are_differences_of_exact_costs() -> None:
    """For points and for their Gram matrix; where a cannot-link forbids a move it is infinite."""
    points = np.random.default_rng(0).normal(size=(6, 2))
    labels = np.array([0, 0, 1, 1, 1, 0])
    before = float(exact_cost(points.tolist(), labels.tolist()))
    by_points = Instance.create(points, 2, cannot_link=[(0, 2)])
    by_gram = Instance.create(gram=points @ points.T, n_clusters=2, cannot_link=[(0, 2)])
    for instance in (by_points, by_gram):
        super_points = contract(instance, np.arange(6))
        costs = move_costs(super_points, labels)
        assert np.isinf(costs[0, 1])
        assert np.isinf(costs[0, 0])
        moved = labels.copy()
        moved[1] = 1
        difference = float(exact_cost(points.tolist(), moved.tolist())) - before
        ratio = costs[1, 1] / costs[3, 0]  # its units are not the user's
        moved = labels.copy()
        moved[3] = 0
        other = float(exact_cost(points.tolist(), moved.tolist())) - before
        assert ratio == pytest.approx(difference / other, rel=1e-6)


def test_limits_on_sizes_hold_for_either_answer() -> None:
    """Two clusters of three points: whoever joins takes the place of another one."""
    pairs = solve(LINE, 2, sizes=[3, 3]).ambiguous_pairs(3, decided=1e9)
    assert len(pairs) > 0
    for pair in pairs:
        for interval, together in ((pair.together, True), (pair.apart, False)):
            exact = min(
                exact_cost(LINE, labels)
                for labels in partitions(6, 2)
                if sum(labels) == 3 and (labels[pair.i] == labels[pair.j]) == together
            )
            assert interval.low <= exact <= interval.high


def test_an_interrupted_search_for_pairs_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nobody takes wide intervals for all that could be found."""
    unanswered = Answer(Interval(0.0, float("inf")), was_stopped=True)
    monkeypatch.setattr("certimeans.analysis.questions.enclose", lambda *_, **__: unanswered)
    pairs = solve(LINE, 2).ambiguous_pairs(2)
    assert not pairs.is_complete
    assert "interrupted" in pairs.summary()
