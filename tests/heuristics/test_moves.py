from __future__ import annotations

import numpy as np
import pytest

from certimeans._typing import IntArray
from certimeans.heuristics.moves import EJECTION, KEMPE, NONE, SINGLE, apply_move, best_move, make_workspace
from certimeans.heuristics.starts import fill_empty_clusters
from certimeans.heuristics.state import count_violations, make_clusters, make_space, scatter, set_labels
from certimeans.presolve.colouring import find_colouring
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.graph import Graph, unique_edges
from certimeans.randomness import random_state


def random_super_points(seed: int, size: int = 24, k: int = 4, n_edges: int = 30) -> tuple[SuperPoints, IntArray]:
    """Draw super-points with real weights and a k-colourable cannot-link graph, and a colouring of it."""
    random = np.random.default_rng(seed)
    hidden = random.integers(0, k, size=size)
    pairs = random.integers(0, size, size=(n_edges, 2))
    edges = unique_edges(pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]])
    weights = random.uniform(0.2, 3.0, size=size)
    vectors = random.normal(size=(size, 3)) * weights[:, None]
    graph = Graph(size, edges)
    colouring = find_colouring(graph, k)
    assert colouring is not None
    return SuperPoints(weights, vectors, graph, k, np.arange(size)), colouring


def cost_from_scratch(super_points: SuperPoints, labels: IntArray) -> float:
    """Cost without the scatter inside super-points, by its definition."""
    total = 0.0
    for c in range(super_points.n_clusters):
        members = labels == c
        means = super_points.vectors[members] / super_points.weights[members, None]
        centre = super_points.vectors[members].sum(axis=0) / super_points.weights[members].sum()
        total += float(super_points.weights[members] @ ((means - centre) ** 2).sum(axis=1))
    return total


@pytest.mark.parametrize("by_gram", [True, False])
def test_every_accepted_move_keeps_the_constraints_and_gains_what_it_promised(by_gram: bool) -> None:
    """Checked from scratch after each of thousands of moves; every kind of move occurs."""
    kinds: dict[int, int] = {}
    for seed in range(40):
        super_points, colouring = random_super_points(seed, n_edges=20 + 2 * seed)
        space = make_space(super_points, by_gram=by_gram)
        clusters, work = make_clusters(space), make_workspace(space)
        fill_empty_clusters(colouring, np.zeros(space.n_clusters, dtype=np.int64), random_state(seed))
        set_labels(space, clusters, colouring)
        cost, now, idle = cost_from_scratch(super_points, clusters.labels), 0, 0
        while idle < super_points.size:
            idle += 1
            i = (now + idle) % super_points.size
            move = best_move(space, clusters, work, i, now)
            if move[1] == NONE:
                continue
            now, idle = now + 1, 0
            apply_move(space, clusters, work, i, move, now)
            kinds[move[1]] = kinds.get(move[1], 0) + 1
            new_cost = cost_from_scratch(super_points, clusters.labels)
            assert cost - new_cost == pytest.approx(move[0], abs=1e-9)
            assert scatter(space, clusters) == pytest.approx(new_cost, abs=1e-9)
            assert count_violations(clusters) == 0
            assert (np.bincount(clusters.labels, minlength=space.n_clusters) > 0).all()
            cost = new_cost
    assert set(kinds) == {SINGLE, KEMPE, EJECTION}


def test_a_kempe_chain_finds_what_no_single_move_can() -> None:
    """Two cannot-linked pairs on the wrong sides: each point blocks its partner, the chain swaps them."""
    vectors = np.array([[0.0], [10.0], [0.1], [10.1], [0.2], [10.2]])
    edges = np.array([[0, 1]])
    super_points = SuperPoints(np.ones(6), vectors, Graph(6, edges), 2, np.arange(6))
    space = make_space(super_points)
    clusters, work = make_clusters(space), make_workspace(space)
    set_labels(space, clusters, np.array([1, 0, 0, 1, 0, 1]))
    gain, kind, target, _, _ = best_move(space, clusters, work, 0, 0)
    assert (kind, target) == (KEMPE, 0)
    apply_move(space, clusters, work, 0, (gain, kind, target, -1, -1), 1)
    assert clusters.labels.tolist() == [0, 1, 0, 1, 0, 1]
