from __future__ import annotations

from typing import Any, cast

import numpy as np

from certimeans.heuristics.descent import Members, make_members
from certimeans.heuristics.mixing import FRESH, Drawing, Family, draw_starts, make_family, match_clusters, mix_labels
from certimeans.heuristics.starts import make_room
from certimeans.heuristics.state import Space
from certimeans.randomness import random_state
from tests.heuristics.test_memetic import line


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
    cast("Any", match_clusters).py_func(np.array([0, 0, 1, 1, 2, 2]), np.array([2, 2, 1, 0, 1, 1]), weights, room)
    assert room.partner.tolist() == [2, 0, 1]


def test_every_cluster_gets_a_partner_of_its_own() -> None:
    """All of both clusters lies in one cluster of the other clustering; the second one takes what is free."""
    room = make_room(line([0.0] * 4, 2))
    cast("Any", match_clusters).py_func(np.array([0, 0, 1, 1]), np.array([1, 1, 1, 1]), np.ones(4), room)
    assert room.partner.tolist() == [1, 0]


def test_labels_are_mixed_cluster_by_cluster() -> None:
    """The mother gives her largest cluster, the father the one with most of the rest; point 5 keeps its label."""
    room = make_room(line([0.0] * 6, 2))
    labels = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 1, 0, 0, 1], [7, 7, 7, 7, 7, 7]])
    mix_labels(labels, 0, 1, 2, room)
    assert labels[2].tolist() == [0, 0, 0, 1, 1, 7]


def test_parents_are_the_better_of_two() -> None:
    """The first children have none, nor have a fifth of the others; the better of two members wins three in four."""
    family = make_family(list(range(4000)), [7, 5], 100, 0.2, random_state(0))
    assert family.child.tolist() == list(range(4000))
    assert (family.mother[:100] == FRESH).all()
    is_fresh = family.mother[100:] == FRESH
    assert (is_fresh == (family.father[100:] == FRESH)).all()
    assert 0.17 < is_fresh.mean() < 0.23
    for parents in (family.mother[100:][~is_fresh], family.father[100:][~is_fresh]):
        assert 0.72 < (parents == 7).mean() < 0.78
        assert set(parents.tolist()) == {5, 7}


def test_one_member_has_no_children() -> None:
    """Nor has nobody: all starts are fresh then."""
    for living in ([], [3]):
        assert (make_family([0, 1], living, 0, 0.0, random_state(0)).mother == FRESH).all()


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
