from __future__ import annotations

import numpy as np

from certimeans.deadline import Deadline
from certimeans.heuristics.memetic import MemeticSearch, Population
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.state import Space, make_space
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.graph import Graph
from certimeans.randomness import random_state


def line(coordinates: list[float], k: int, weights: list[float] | None = None) -> Space:
    """Put points without cannot-links on a line."""
    size = len(coordinates)
    masses = np.ones(size) if weights is None else np.array(weights)
    vectors = np.array(coordinates)[:, None] * masses[:, None]
    no_links = Graph(size, np.empty((0, 2), dtype=np.int64))
    return make_space(SuperPoints(masses, vectors, no_links, k, np.arange(size)))


def test_the_better_half_survives() -> None:
    """With two survivors, the fourth member starts a selection; equal costs count once, and freed slots come back."""
    population = Population(n_survivors=2, n_children=1, same_cost=1e-9)
    for cost, is_new in ((5.0, True), (5.0 + 1e-12, False), (3.0, True), (4.0, True)):
        assert population.add(population.free_slots(1)[0], cost) is is_new
    assert population.costs == [3.0, 4.0, 5.0]
    assert population.add(population.free_slots(1)[0], 6.0)
    assert population.costs == [3.0, 4.0]
    assert len(set(population.slots)) == 2
    assert not set(population.free_slots(4)) & set(population.slots)
    assert population.best_cost == 3.0


def test_costs_may_be_negative() -> None:
    """Costs of an indefinite Gram matrix are sorted and compared like others."""
    population = Population(n_survivors=2, n_children=1, same_cost=1e-9)
    assert population.add(0, -1.0)
    assert not population.add(1, -1.0 - 1e-12)
    assert population.add(1, -2.0)
    assert population.best_cost == -2.0


def test_a_tournament_prefers_the_better() -> None:
    """Of two members, the better one wins three times in four."""
    population = Population(n_survivors=2, n_children=1, same_cost=1e-9)
    population.add(0, 2.0)
    population.add(1, 1.0)
    random = random_state(0)
    wins = sum(population.tournament(random) == 1 for _ in range(2000))
    assert 1400 < wins < 1600


def test_a_search_that_is_advanced_finds_the_pairs() -> None:
    """Three pairs on a line: the first children already find them."""
    space = line([0.0, 1.0, 100.0, 101.0, 200.0, 201.0], 3)
    search = MemeticSearch(space, np.arange(6), SearchSettings(), is_dense=False, colouring=None)
    search.begin(0)
    search.advance(10, Deadline())
    assert search.born == 10
    assert search.best_cost == 1.5
    assert len(set(search.best_labels[::2].tolist())) == 3
