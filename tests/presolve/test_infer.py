import numpy as np
import pytest

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.presolve.graph import Contradiction, Graph, unique_edges
from certimeans.presolve.infer import implied_groups
from certimeans.problem.clustering import by_first_appearance
from tests.oracles.brute_force import is_feasible, partitions


def graph_of(n: int, *edges: tuple[int, int]) -> Graph:
    return Graph(n, unique_edges(np.array(edges, dtype=np.int64).reshape(-1, 2)))


def test_two_clusters_put_even_distances_together() -> None:
    """On the path 0-1-2-3 the ends alternate; 4 is free."""
    assert implied_groups(graph_of(5, (0, 1), (1, 2), (2, 3)), 2).group_of.tolist() == [0, 1, 0, 1, 2]


def test_an_odd_cycle_contradicts_two_clusters() -> None:
    """Five points around a circle need three clusters."""
    cycle = graph_of(5, (0, 1), (1, 2), (2, 3), (3, 4), (0, 4))
    with pytest.raises(Contradiction):
        implied_groups(cycle, 2)
    assert implied_groups(cycle, 3).group_of.tolist() == [0, 1, 2, 3, 4]


def test_a_point_that_conflicts_with_all_but_one_class_of_a_clique_joins_it() -> None:
    """With k = 3, point 3 conflicts with 1 and 2 of the triangle 0, 1, 2, so it shares the cluster of 0."""
    assert implied_groups(graph_of(4, (0, 1), (0, 2), (1, 2), (1, 3), (2, 3)), 3).group_of.tolist() == [0, 1, 2, 0]


def test_what_is_inferred_is_used_again() -> None:
    """A strip of triangles: each new point is determined by the two before it, all the way along."""
    n = 60
    strip = graph_of(n, *[(i, i + step) for step in (1, 2) for i in range(n - step)])
    assert implied_groups(strip, 3).group_of.tolist() == [i % 3 for i in range(n)]


def test_merged_points_inherit_cannot_links() -> None:
    """3 joins 0 and brings its conflict with 4; with 4 also against 1, 4 must join 2."""
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4), (1, 4)]
    assert implied_groups(graph_of(5, *edges), 3).group_of.tolist() == [0, 1, 2, 0, 2]


def test_a_clique_of_k_plus_one_is_a_contradiction() -> None:
    """Four points that are pairwise apart do not fit into three clusters."""
    with pytest.raises(Contradiction):
        implied_groups(graph_of(4, (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)), 3)


def test_a_single_cluster_takes_everything_or_nothing() -> None:
    """K = 1 merges all points, and any cannot-link contradicts it."""
    assert implied_groups(graph_of(3), 1).group_of.tolist() == [0, 0, 0]
    with pytest.raises(Contradiction):
        implied_groups(graph_of(3, (0, 2)), 1)


@pytest.mark.parametrize("seed", range(300))
def test_inference_never_loses_a_feasible_clustering(seed: int) -> None:
    """In every proper partition into at most k parts, inferred groups share a part; k = 2 finds all that is implied."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(2, 9)), int(random.integers(2, 5))
    edges = np.argwhere(np.triu(random.random((n, n)) < random.random(), k=1))
    pairs = [(int(a), int(b)) for a, b in edges]
    proper = [labels for parts in range(1, k + 1) for labels in partitions(n, parts) if is_feasible(labels, (), pairs)]
    try:
        implied = implied_groups(Graph(n, edges), k)
    except Contradiction:
        assert proper == []
        return
    groups = implied.group_of.tolist()
    assert replayed(Graph(n, edges), implied.merges) == groups
    together = {(i, j) for j in range(n) for i in range(j) if all(labels[i] == labels[j] for labels in proper)}
    inferred = {(i, j) for j in range(n) for i in range(j) if groups[i] == groups[j]}
    if proper:
        assert inferred <= together
    if k == 2:
        assert inferred == together
        assert len(implied.merges) < n  # a certificate has no room for more


@pytest.mark.parametrize("seed", range(60))
def test_the_rule_is_applied_until_nothing_more_follows(seed: int) -> None:
    """In the merged graph no vertex outside a k-clique conflicts with k - 1 of its members."""
    random = np.random.default_rng(seed)
    n, k = 40, int(random.integers(3, 6))
    hidden = random.integers(0, k, size=n)
    pairs = random.integers(0, n, size=(int(random.integers(40, 260)), 2))
    graph = Graph(n, unique_edges(pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]]))
    groups, merges = implied_groups(graph, k)
    assert replayed(graph, merges) == groups.tolist()
    size = int(groups.max()) + 1
    assert all(len(set(hidden[groups == group])) == 1 for group in range(size)) or size == n
    merged = Graph(size, unique_edges(groups[graph.edges])).neighbour_sets(np.arange(size))
    for clique in all_cliques(merged, k - 1):
        assert len(set.intersection(*(merged[v] for v in clique))) <= 1


def replayed(graph: Graph, merges: IntArray) -> list[int]:
    """Apply the recorded steps one by one, and see that each has its reason."""
    group = list(range(graph.n_vertices))

    def conflict(a: int, b: int) -> bool:
        return any({group[i], group[j]} == {group[a], group[b]} for i, j in graph.edges) and group[a] != group[b]

    for i, j, *clique in merges.tolist():
        if group[i] != group[j]:
            assert all(conflict(a, b) for n, a in enumerate(clique) for b in clique[:n])
            assert all(conflict(c, i) and conflict(c, j) for c in clique)
            group = [group[i] if g == group[j] else g for g in group]
    return [int(g) for g in by_first_appearance(np.array(group))]


def all_cliques(neighbours: dict[int, set[int]], size: int) -> list[tuple[int, ...]]:
    cliques: list[tuple[int, ...]] = [(v,) for v in neighbours]
    for _ in range(size - 1):
        cliques = [(*c, v) for c in cliques for v in set.intersection(*(neighbours[u] for u in c)) if v > c[-1]]
    return cliques


def test_a_passed_deadline_stops_the_inference_early() -> None:
    """What is returned then is less, but right."""
    strip = graph_of(6, *[(i, i + step) for step in (1, 2) for i in range(6 - step)])
    assert implied_groups(strip, 3, Deadline(0)).group_of.tolist() == [0, 1, 2, 3, 4, 5]
