from __future__ import annotations

from typing import Any, cast

import numpy as np

from certimeans.heuristics.starts import fill_empty_clusters, smallest_last_order
from certimeans.presolve.graph import Graph
from certimeans.randomness import random_below, random_index, random_state, random_unit, shuffle


def test_the_order_shows_the_degeneracy() -> None:
    """A triangle with a tail and an isolated vertex has degeneracy 2; in the order nobody sees more before it."""
    edges = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4]])
    order, degeneracy = smallest_last_order(Graph(6, edges))
    assert degeneracy == 2
    assert sorted(order.tolist()) == list(range(6))
    place = np.argsort(order)
    before = [sum(place[u] < place[v] for e in edges.tolist() for u in e if v in e and u != v) for v in range(6)]
    assert max(before) == 2


def test_empty_clusters_are_filled_from_those_with_company() -> None:
    """As many clusters as points: each gets one."""
    labels = np.zeros(5, dtype=np.int64)
    fill_empty_clusters(labels, np.zeros(5, dtype=np.int64), random_state(0))
    assert sorted(labels.tolist()) == [0, 1, 2, 3, 4]


def test_random_numbers_are_spread_evenly() -> None:
    """Means of many draws, an index never drawn where its share is 0, and a shuffle that keeps all values."""
    state = random_state([1, 2])
    units = [random_unit(state) for _ in range(4000)]
    assert abs(np.mean(units) - 0.5) < 0.03
    assert {random_below(state, 3) for _ in range(200)} == {0, 1, 2}
    assert {cast("Any", random_index).py_func(state, np.array([0.0, 1.0, 0.0, 2.0])) for _ in range(200)} == {1, 3}
    values = np.arange(20)
    cast("Any", shuffle).py_func(state, values)
    assert sorted(values.tolist()) == list(range(20))
    assert values.tolist() != list(range(20))
