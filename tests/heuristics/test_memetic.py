from __future__ import annotations

import numpy as np

from certimeans.deadline import Deadline
from certimeans.heuristics.descent import Members, make_members
from certimeans.heuristics.memetic import (
    FRESH,
    Drawing,
    Family,
    MemeticSearch,
    Population,
    draw_starts,
    match_clusters,
    mix_labels,
)
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.starts import make_room
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


def fill_slot(space: Space, members: Members, slot: int, labels: list[int]) -> None:
    """Store a clustering with its centres."""
    members.labels[slot] = labels
    for c in range(space.n_clusters):
        inside = members.labels[slot] == c
        members.weight[slot, c] = space.weights[inside].sum()
        members.sums[slot, c] = space.weights[inside] @ space.rows[inside]


def test_clusters_are_matched_by_the_weight_they_have_in_common() -> None:
    """Cluster 0 shares points 0 and 1 with cluster 2 of the other clustering; a heavy point decides for cluster 1."""
    weights = np.array([1.0, 1.0, 1.0, 5.0, 1.0, 1.0])
    space = line([0.0] * 6, 3)
    room = make_room(space)
    match_clusters(np.array([0, 0, 1, 1, 2, 2]), np.array([2, 2, 1, 0, 1, 1]), weights, room)
    assert room.partner.tolist() == [2, 0, 1]


def test_every_cluster_gets_a_partner_of_its_own() -> None:
    """All of both clusters lies in one cluster of the other clustering; the second one takes what is free."""
    room = make_room(line([0.0] * 4, 2))
    match_clusters(np.array([0, 0, 1, 1]), np.array([1, 1, 1, 1]), np.ones(4), room)
    assert room.partner.tolist() == [1, 0]


def test_labels_are_mixed_cluster_by_cluster() -> None:
    """The mother gives her largest cluster, the father the one with most of the rest; point 5 keeps its label."""
    room = make_room(line([0.0] * 6, 2))
    labels = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 1, 0, 0, 1], [7, 7, 7, 7, 7, 7]])
    mix_labels(labels, 0, 1, 2, room)
    assert labels[2].tolist() == [0, 0, 0, 1, 1, 7]


def test_a_child_of_equal_parents_has_their_centres_but_one() -> None:
    """Three pairs, each with a centre: the one that is drawn anew splits at most the pair that it is drawn from."""
    space = line([0.0, 1.0, 90.0, 91.0, 200.0, 201.0], 3)
    members, room = make_members(space, 3), make_room(space)
    for slot in (0, 1):
        fill_slot(space, members, slot, [0, 0, 1, 1, 2, 2])
    family = Family(np.array([2]), np.array([0]), np.array([1]))
    for seed in range(20):
        at = draw_starts(space, members, room, family, np.arange(6), Drawing(0, 0), True, 3, 10, random_state(seed))
        assert at == Drawing(1, 0)
        labels = members.labels[2]
        assert sorted(set(labels.tolist())) == [0, 1, 2]
        together = sum(labels[i] == labels[i + 1] for i in (0, 2, 4))
        assert together >= 2


def test_starts_do_not_depend_on_pauses() -> None:
    """One centre per call or all of them in one: the fresh starts are the same."""
    space = line([0.0, 1.0, 5.0, 6.0, 9.0, 12.0], 3)
    family = Family(np.array([0, 1]), np.array([FRESH, FRESH]), np.array([FRESH, FRESH]))
    found = []
    for max_centres in (1, 100):
        members, room, random, at = make_members(space, 2), make_room(space), random_state(4), Drawing(0, 0)
        while at.child < 2:
            at = draw_starts(space, members, room, family, np.arange(6), at, True, 3, max_centres, random)
        found.append(members.labels.tolist())
    assert found[0] == found[1]


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
