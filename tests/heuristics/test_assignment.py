from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from certimeans.deadline import Deadline
from certimeans.heuristics import assignment
from certimeans.heuristics.assignment import Assigner
from certimeans.presolve.graph import Graph, unique_edges


def cheapest(costs: np.ndarray, edges: np.ndarray) -> float | None:
    """Try all labels that keep the cannot-links and use every cluster."""
    size, k = costs.shape
    totals = [
        sum(costs[i, c] for i, c in enumerate(labels))
        for labels in product(range(k), repeat=size)
        if len(set(labels)) == k and all(labels[i] != labels[j] for i, j in edges)
    ]
    return min(totals, default=None)


@pytest.mark.parametrize("max_table", [300_000, 1])
def test_the_assignment_is_optimal(max_table: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against all labels, by dynamic programming and (with no room for tables) by the integer programme."""
    monkeypatch.setattr(assignment, "_MAX_TABLE", max_table)
    n_feasible = 0
    for seed in range(60 if max_table > 1 else 15):
        random = np.random.default_rng(seed)
        size, k = int(random.integers(3, 7)), int(random.integers(2, 4))
        pairs = random.integers(0, size, size=(int(random.integers(0, 8)), 2))
        edges = unique_edges(pairs[pairs[:, 0] != pairs[:, 1]])
        costs = random.normal(size=(size, k)) + np.where(random.random(k) < 0.2, 100.0, 0.0)
        labels = Assigner(Graph(size, edges), k).assign(costs)
        best = cheapest(costs, edges)
        assert (labels is None) == (best is None)
        if labels is not None:
            n_feasible += 1
            assert len(set(labels.tolist())) == k
            assert (labels[edges[:, 0]] != labels[edges[:, 1]]).all()
            assert costs[np.arange(size), labels].sum() == pytest.approx(best)
    assert n_feasible > 5


def test_a_passed_deadline_stops_the_integer_programme(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is claimed then."""
    monkeypatch.setattr(assignment, "_MAX_TABLE", 1)
    graph = Graph(3, np.array([[0, 1], [1, 2]]))
    assert Assigner(graph, 2).assign(np.eye(3, 2), Deadline(0.0)) is None
