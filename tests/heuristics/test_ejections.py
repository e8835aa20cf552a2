from __future__ import annotations

import numpy as np
import pytest

from certimeans.heuristics.ejections import begin_trees, grow_trees, make_tree
from certimeans.heuristics.moves import BEGIN, make_recency
from certimeans.heuristics.settings import SearchSettings
from certimeans.heuristics.state import (
    count_violations,
    make_clusters,
    make_space,
    scatter,
    set_labels,
)
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.graph import Graph
from tests.heuristics.test_chains import coloured_clusters, cost_from_scratch

QUICK, THOROUGH = SearchSettings().quick_tries, SearchSettings().thorough_tries
LONGEST_PATH = SearchSettings().longest_path


@pytest.mark.parametrize("by_gram", [True, False])
@pytest.mark.parametrize("max_tries", [1, QUICK, THOROUGH])
def test_every_improvement_keeps_the_constraints_and_gains_what_it_promised(by_gram: bool, max_tries: int) -> None:
    """Checked from scratch visit by visit: what was tried in vain is undone, and what is kept lowers the cost."""
    n_improvements = n_undone = 0
    for seed in range(20):
        super_points, space, clusters = coloured_clusters(seed, 20 + 4 * seed, by_gram=by_gram)
        recency, tree = make_recency(space), make_tree(space, LONGEST_PATH)
        begin_trees(space, clusters, recency, tree)
        labels, sweep = clusters.labels.copy(), BEGIN
        cost = cost_from_scratch(super_points, labels)
        while sweep.idle < super_points.size:
            before = sweep
            sweep = grow_trees(space, clusters, recency, tree, sweep, max_tries, 1)
            new_cost = cost_from_scratch(super_points, clusters.labels)
            if sweep.improvements > before.improvements:
                assert cost - new_cost == pytest.approx(sweep.gain - before.gain, abs=1e-9)
                assert new_cost < cost
            else:
                assert (clusters.labels == labels).all()
            assert scatter(space, clusters) == pytest.approx(new_cost, abs=1e-9)
            assert count_violations(clusters) == 0
            assert (np.bincount(clusters.labels, minlength=space.n_clusters) > 0).all()
            assert not tree.is_moved.any()
            cost, labels = new_cost, clusters.labels.copy()
        n_improvements += sweep.improvements
        n_undone += sweep.trials
        for i in np.flatnonzero(clusters.members[clusters.labels] > 1).tolist():
            for b in np.flatnonzero(clusters.conflicts[i] == 0).tolist():
                if b != clusters.labels[i]:  # no single move is left
                    moved = labels.copy()
                    moved[i] = b
                    assert cost_from_scratch(super_points, moved) >= cost - 1e-9
    assert n_improvements > 100
    assert n_undone > 100 or max_tries == 1


def test_a_tree_rehouses_all_that_it_drives_out() -> None:
    """Point 0 waits at the right, but belongs to the left, where points 1 and 2, half-way to the middle, bar it.

    It enters and both leave: the first move gains much, the others together lose less.
    """
    vectors = np.array([[0.0], [4.9], [4.9], [0.0], [0.1], [0.2], [10.0], [10.1], [10.2], [20.0], [20.1], [20.2]])
    edges = np.array([[0, 1], [0, 2]])
    super_points = SuperPoints(np.ones(12), vectors, Graph(12, edges), 3, np.arange(12))
    space = make_space(super_points)
    clusters, recency, tree = make_clusters(space), make_recency(space), make_tree(space, LONGEST_PATH)
    set_labels(space, clusters, np.array([2, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2]))
    begin_trees(space, clusters, recency, tree)
    sweep = grow_trees(space, clusters, recency, tree, BEGIN, QUICK, 10**9)
    assert clusters.labels.tolist() == [0, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert sweep.improvements == 1


def test_a_pair_that_cannot_gain_stays() -> None:
    """A wish is given up when what it drives out would lose more."""
    vectors = np.array([[5.2], [0.0], [0.1], [10.0], [10.1]])
    super_points = SuperPoints(np.ones(5), vectors, Graph(5, np.array([[0, 3], [0, 4]])), 2, np.arange(5))
    space = make_space(super_points)
    clusters, recency, tree = make_clusters(space), make_recency(space), make_tree(space, LONGEST_PATH)
    labels = np.array([0, 0, 0, 1, 1])
    set_labels(space, clusters, labels)
    begin_trees(space, clusters, recency, tree)
    grow_trees(space, clusters, recency, tree, BEGIN, THOROUGH, 10**9)
    assert (clusters.labels == labels).all()
