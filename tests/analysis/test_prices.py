"""What constraints cost: every interval is compared with the enumeration of all partitions."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certimeans import InputError, solve
from certimeans.analysis.questions import Interval, Link, enclose
from certimeans.prices import ConstraintPrice, _basis, price_interval
from tests.oracles.brute_force import exact_cost, is_feasible, optimum, partitions
from tests.oracles.sizes import limited_instance
from tests.report.examples import make_result

LINE = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]


def enumerated_price(points: Any, k: int, must_link: list[Any], cannot_link: list[Any], kind: str, pair: Any) -> float:
    """Return the optimum with a pair less the optimum without it."""
    fewer_must = [p for p in must_link if kind != "must-link" or tuple(p) != tuple(pair)]
    fewer_cannot = [p for p in cannot_link if kind != "cannot-link" or tuple(p) != tuple(pair)]
    with_it = optimum(points, k, must_link, cannot_link).cost
    without = optimum(points, k, fewer_must, fewer_cannot).cost
    assert with_it is not None
    assert without is not None
    return with_it - without


@pytest.mark.parametrize("seed", range(8))
def test_intervals_hold_the_price_that_enumeration_finds(seed: int) -> None:
    """Random points and links; what is said to cost nothing costs nothing, and what binds costs something."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(8, 2))
    classes = random.integers(3, size=8)
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    chosen = [pairs[c] for c in random.choice(len(pairs), 6, replace=False)]
    must_link = [(i, j) for i, j in chosen if classes[i] == classes[j]]
    cannot_link = [(i, j) for i, j in chosen if classes[i] != classes[j]]
    k = max(2, len(set(classes.tolist())))
    prices = solve(points, k, must_link=must_link, cannot_link=cannot_link, gap=1e-6).constraint_prices()
    assert len(prices) == 6
    for price in prices:
        kind, i, j = price.links[0]
        exact = enumerated_price(points.tolist(), k, must_link, cannot_link, kind, (i, j))
        assert price.low - 1e-9 <= exact <= price.high + 1e-9
        assert price.high - price.low <= 1e-5 * prices.cost.high
        if price.effect in {"costs nothing", "implied"}:
            assert price.high == 0
            assert exact == pytest.approx(0, abs=1e-9)
        if exact > 1e-4:
            assert price.effect == "binds"


def test_a_binding_link_is_priced_and_the_highest_comes_first() -> None:
    """2 = 10 moves one point into the other group; 0 = 1 changes nothing."""
    found = solve(LINE, 2, must_link=[(0, 1), (2, 3)])
    prices = found.constraint_prices()
    assert [price.effect for price in prices] == ["binds", "costs nothing"]
    exact = enumerated_price(LINE, 2, [(0, 1), (2, 3)], [], "must-link", (2, 3))
    assert prices[0].low <= exact <= prices[0].high
    assert prices[0].percent_low <= 100 * exact / found.objective + 1e-6 <= prices[0].percent_high + 2e-6
    assert prices.binding == (prices[0],)
    assert prices.groups[0].kind == "all"
    assert prices.groups[0].low <= exact <= prices.groups[0].high
    text = prices.summary()
    assert "2 = 3" in text
    assert "binds: without it, a cheaper clustering exists" in text


def test_links_that_imply_each_other_cost_something_together_only() -> None:
    """A triangle of must-links: each follows from the other two, and together they are not free."""
    triangle = [(2, 3), (3, 4), (2, 4)]
    found = solve(LINE, 2, must_link=[*triangle, (0, 1)])
    prices = found.constraint_prices()
    by_pair = {price.links[0][1:]: price for price in prices}
    assert [by_pair[pair].effect for pair in triangle] == ["implied"] * 3
    [group] = [price for price in prices.groups if price.kind == "group"]
    assert {link[1:] for link in group.links} == set(triangle)
    without = optimum(LINE, 2, [(0, 1)]).cost
    assert without is not None
    assert group.low <= found.objective - without <= group.high * (1 + 1e-12)
    assert group.effect == "binds"
    assert "together: 2 = 3, 2 = 4, 3 = 4" in prices.summary()


def test_cannot_links_between_the_same_groups_are_one_group() -> None:
    """0 and 1 must link, so 0 ≠ 2 and 1 ≠ 2 imply each other."""
    prices = solve(LINE, 3, must_link=[(0, 1)], cannot_link=[(0, 2), (1, 2), (3, 4)]).constraint_prices()
    [group] = [price for price in prices.groups if price.kind == "group"]
    assert {link[1:] for link in group.links} == {(0, 2), (1, 2)}


def test_distances_and_classes_have_a_price_as_a_whole() -> None:
    """They are stated at once, and so they are given up at once."""
    found = solve(LINE, 2, split=1.5, partial_labels=["a", "a", None, None, None, "b"])
    kinds = [price.kind for price in found.constraint_prices().groups]
    assert kinds == ["all", "split", "partial_labels"]
    assert not len(found.constraint_prices())


def test_weightless_points_keep_their_numbers() -> None:
    """Links are told in the numbers of all points."""
    found = solve(LINE, 2, must_link=[(2, 3)], sample_weight=[0, 1, 1, 1, 1, 1])
    assert found.constraint_prices()[0].links == (("must-link", 2, 3),)


def test_a_gram_matrix_has_prices_too() -> None:
    """Costs are the same as those of the points."""
    points = np.array(LINE)
    price = solve(gram=points @ points.T, n_clusters=2, must_link=[(2, 3)]).constraint_prices()[0]
    exact = enumerated_price(LINE, 2, [(2, 3)], [], "must-link", (2, 3))
    assert price.low <= exact <= price.high


def test_two_processes_find_the_same() -> None:
    """Which constraints bind does not depend on how many are priced at the same time."""
    found = solve(LINE, 2, must_link=[(0, 1), (2, 3)])
    alone, both = found.constraint_prices(), found.constraint_prices(n_jobs=2)
    assert [price.effect for price in alone] == [price.effect for price in both]


def test_without_time_the_intervals_are_wide_but_true() -> None:
    """A limit that has passed leaves every price between 0 and the whole cost."""
    found = solve(LINE, 2, must_link=[(2, 3)])
    price = found.constraint_prices(time_limit=1e-9)[0]
    assert (price.low, price.effect) == (0.0, "undecided")
    assert price.high >= found.objective


def test_prices_as_a_table() -> None:
    """A row per constraint, then the groups; plain data for JSON; no constraints, no prices."""
    prices = solve(LINE, 2, must_link=[(0, 1), (2, 3)]).constraint_prices()
    frame = prices.to_frame()
    assert frame["kind"].tolist() == ["must-link", "must-link", "all"]
    assert frame["i"].tolist()[:2] == [2, 0]
    plain = prices.to_dict()
    assert plain["prices"][0]["effect"] == "binds"
    assert "no constraints" in solve(LINE, 2).constraint_prices().summary()


def test_a_price_needs_a_clustering() -> None:
    """Without one there is nothing to compare with."""
    with pytest.raises(InputError, match="no clustering"):
        make_result(LINE, None, k=2).constraint_prices()


@pytest.mark.parametrize(
    ("with_it", "otherwise", "price"),
    [
        (Interval(5, 6), Interval(6, 9), Interval(0, 0)),
        (Interval(5, 6), Interval(math.inf, math.inf), Interval(0, 0)),
        (Interval(5, 6), Interval(1, 2), Interval(3, 5)),
        (Interval(5, 6), Interval(4, 7), Interval(0, 2)),
        (Interval(5, 6), Interval(-math.inf, math.inf), Interval(0, math.inf)),
    ],
)
def test_intervals_are_subtracted_outwards(with_it: Interval, otherwise: Interval, price: Interval) -> None:
    """Nothing is below 0: a constraint makes nothing cheaper."""
    assert price_interval(with_it, otherwise) == price
    third, tenth = Interval(1 / 3, 1 / 3), Interval(0.1, 0.1)
    low, high = price_interval(third, tenth)
    assert low < high or low == 1 / 3 - 0.1


@pytest.mark.parametrize("seed", [3, 7, 21, 35, 75, 113, 126, 129])
def test_limits_on_sizes_stay_when_a_link_goes(seed: int) -> None:
    """Links, the limits themselves, and all together, with weights and capacities, in rational arithmetic."""
    limited = limited_instance(seed, max_points=7)
    base = limited.base
    found = solve(base.points, base.k, sample_weight=base.weights, **limited.arguments())
    costs = [
        (labels, limited.allows(labels), exact_cost(base.points, labels, base.weights))
        for labels in partitions(len(base.points), base.k)
    ]
    prices = found.constraint_prices()
    assert [price.kind for price in prices.groups if price.kind == "cluster_sizes"] == ["cluster_sizes"]
    for price in (*prices, *prices.groups):
        gone = set(price.links)
        must_link, cannot_link = (
            [pair for pair in pairs if (kind, *sorted(pair)) not in gone]
            for kind, pairs in (("must-link", base.must_link), ("cannot-link", base.cannot_link))
        )
        without_sizes = price.kind in {"all", "cluster_sizes"}
        without = min(
            cost
            for labels, is_allowed, cost in costs
            if (is_allowed or without_sizes) and is_feasible(labels, must_link, cannot_link)
        )
        with_it = limited.optimum()
        assert with_it is not None
        assert Fraction(price.low) <= with_it - without <= Fraction(price.high)
        assert price.percent_high <= 100


def test_a_group_that_costs_nothing_is_proven_to() -> None:
    """0, 1 and 2 belong together anyway: each of three must-links is implied, and all of them cost exactly 0."""
    triangle = [(0, 1), (1, 2), (0, 2)]
    prices = solve(LINE, 2, must_link=[*triangle, (3, 4)]).constraint_prices()
    assert [price.effect for price in prices.groups] == ["costs nothing", "costs nothing"]
    assert [price.high for price in prices.groups] == [0.0, 0.0]


def test_links_from_which_the_others_follow() -> None:
    """A cycle of must-links without its last one; cannot-links all count."""
    links: list[Link] = [("must-link", 0, 1), ("must-link", 1, 2), ("must-link", 0, 2), ("must-link", 3, 4)]
    others: list[Link] = [("cannot-link", 0, 3), ("cannot-link", 1, 3)]
    assert _basis([*links, *others]) == [links[0], links[1], links[3], *others]


def test_a_long_group_is_named_by_its_first_pairs() -> None:
    """A comma in a name is no place to cut."""
    links: tuple[Link, ...] = (("must-link", 0, 1), ("must-link", 1, 2), ("must-link", 2, 3))
    names = (("Weber, Anna", "Groß, Karl"), ("Groß, Karl", "Zoë"), ("Zoë", "Ida"))
    price = ConstraintPrice("group", links, names, "binds", 1.0, 2.0, 1.0, 2.0)
    assert price.title(30) == "together: Weber, Anna = Groß, Karl, ... (3 pairs)"
    assert price.title(200).endswith("Zoë = Ida")


def test_a_ctrl_c_keeps_the_prices_that_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it comes, beside the solver too; the rest is undecided, and the table says why."""
    found = solve(LINE, 2, must_link=[(2, 3), (0, 1)], cannot_link=[(0, 5)])
    asked: list[Any] = []

    def enclose_once(*task: Any, **options: Any) -> Any:
        if asked:
            raise KeyboardInterrupt
        asked.append(task)
        return enclose(*task, **options)

    monkeypatch.setattr("certimeans.analysis.questions.enclose", enclose_once)
    prices = found.constraint_prices()
    assert not prices.is_complete
    assert sorted(price.effect for price in prices) == ["costs nothing", "undecided", "undecided"]
    assert "interrupted" in prices.summary()
