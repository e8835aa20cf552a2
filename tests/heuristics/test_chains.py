from __future__ import annotations

import numpy as np
import pytest

from certimeans._typing import IntArray
from certimeans.heuristics.chains import begin_chains, chain_gain, make_chains, swap_chain, swap_chains
from certimeans.heuristics.moves import BEGIN
from certimeans.heuristics.starts import fill_empty_clusters
from certimeans.heuristics.state import (
    Clusters,
    Space,
    count_violations,
    make_clusters,
    make_space,
    scatter,
    set_labels,
)
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


def coloured_clusters(seed: int, n_edges: int, *, by_gram: bool) -> tuple[SuperPoints, Space, Clusters]:
    """Draw super-points and start from a colouring of them."""
    super_points, colouring = random_super_points(seed, n_edges=n_edges)
    space = make_space(super_points, by_gram=by_gram)
    clusters = make_clusters(space)
    fill_empty_clusters(colouring, np.zeros(space.n_clusters, dtype=np.int64), random_state(seed))
    set_labels(space, clusters, colouring)
    return super_points, space, clusters


def cost_from_scratch(super_points: SuperPoints, labels: IntArray) -> float:
    """Cost without the scatter inside super-points, by its definition."""
    total = 0.0
    for c in range(super_points.n_clusters):
        members = labels == c
        means, weights = super_points.means[members], super_points.weights[members]
        centre = weights @ means / weights.sum()
        total += float(weights @ ((means - centre) ** 2).sum(axis=1))
    return total


@pytest.mark.parametrize("by_gram", [True, False])
def test_every_swap_keeps_the_constraints_and_gains_what_it_promised(by_gram: bool) -> None:
    """Checked from scratch after each of thousands of swaps, whether they gain or lose."""
    n_swaps = 0
    for seed in range(40):
        super_points, space, clusters = coloured_clusters(seed, 20 + 2 * seed, by_gram=by_gram)
        chains = make_chains(space)
        cost = cost_from_scratch(super_points, clusters.labels)
        random = np.random.default_rng(seed)
        for now in range(1, 60):
            i, b = int(random.integers(super_points.size)), int(random.integers(space.n_clusters))
            if b == clusters.labels[i]:
                continue
            gain, length = chain_gain(space, clusters, chains, i, b, now)
            assert 1 <= length <= super_points.size
            if gain == -np.inf:
                continue
            swap_chain(space, clusters, chains, i, b, now)
            new_cost = cost_from_scratch(super_points, clusters.labels)
            assert cost - new_cost == pytest.approx(gain, abs=1e-9)
            assert scatter(space, clusters) == pytest.approx(new_cost, abs=1e-9)
            assert count_violations(clusters) == 0
            assert (np.bincount(clusters.labels, minlength=space.n_clusters) > 0).all()
            cost = new_cost
            n_swaps += 1
    assert n_swaps > 1000


def test_chains_swap_until_none_gains_however_often_they_pause() -> None:
    """In pieces of seven visits the result is that of one piece, and no chain gains then."""
    super_points, colouring = random_super_points(3, size=60, n_edges=120)
    space = make_space(super_points)
    found = []
    for piece in (7, 10**9):
        clusters, chains = make_clusters(space), make_chains(space)
        set_labels(space, clusters, colouring)
        begin_chains(chains)
        order, sweep = np.random.default_rng(5).permutation(60), BEGIN
        while sweep.idle < 60:
            sweep = swap_chains(space, clusters, chains, order, sweep, piece)
        assert sweep.improvements > 0
        found.append(clusters.labels.tolist())
    assert found[0] == found[1]
    for i in range(super_points.size):
        for b in range(space.n_clusters):
            if b != clusters.labels[i] and clusters.conflicts[i, b] > 0:
                assert chain_gain(space, clusters, chains, i, b, 0)[0] <= 1e-9


def test_a_chain_swaps_a_pair_on_the_wrong_sides() -> None:
    """Each point of a cannot-linked pair blocks the other; the chain swaps them."""
    vectors = np.array([[0.0], [10.0], [0.1], [10.1], [0.2], [10.2]])
    super_points = SuperPoints(np.ones(6), vectors, Graph(6, np.array([[0, 1]])), 2, np.arange(6))
    space = make_space(super_points)
    clusters, chains = make_clusters(space), make_chains(space)
    set_labels(space, clusters, np.array([1, 0, 0, 1, 0, 1]))
    begin_chains(chains)
    swap_chains(space, clusters, chains, np.arange(6), BEGIN, 10**9)
    assert clusters.labels.tolist() == [0, 1, 0, 1, 0, 1]
