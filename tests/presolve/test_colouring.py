import time

import numpy as np
import pytest

from certimeans.deadline import Deadline
from certimeans.presolve.colouring import find_clique, find_colouring
from certimeans.presolve.graph import Contradiction, Graph, unique_edges
from tests.oracles.colouring import count_colourings


def random_graph(random: np.random.Generator, n: int, density: float) -> Graph:
    return Graph(n, np.argwhere(np.triu(random.random((n, n)) < density, k=1)))


def is_proper(graph: Graph, colour: np.ndarray, k: int) -> bool:
    differ = (colour[graph.edges[:, 0]] != colour[graph.edges[:, 1]]).all()
    return bool(differ and colour.min() >= 0 and colour.max() < k)


@pytest.mark.parametrize("block", range(10))
def test_verdicts_agree_with_counting_on_a_thousand_random_graphs(block: int) -> None:
    """100 graphs a block, all densities: a colouring is proper, and a contradiction means a count of zero."""
    random = np.random.default_rng(block)
    for _ in range(100):
        n, k = int(random.integers(1, 11)), int(random.integers(1, 6))
        graph = random_graph(random, n, random.random())
        count = count_colourings(n, [(int(a), int(b)) for a, b in graph.edges], k)
        try:
            colour = find_colouring(graph, k)
        except Contradiction:
            assert count == 0
        else:
            assert colour is not None
            assert count > 0
            assert is_proper(graph, colour, k)


def test_larger_graphs_with_a_hidden_colouring_are_coloured() -> None:
    """60 to 300 vertices, as many edges as the hidden colouring can bear: the search finds one."""
    random = np.random.default_rng(0)
    for trial in range(40):
        n, k = int(random.integers(60, 300)), int(random.integers(3, 8))
        hidden = random.integers(0, k, size=n)
        pairs = random.integers(0, n, size=(n * int(random.integers(1, 12)), 2))
        graph = Graph(n, unique_edges(pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]]))
        colour = find_colouring(graph, k, Deadline(20))
        assert colour is not None, trial
        assert is_proper(graph, colour, k)


def mycielski(steps: int) -> Graph:
    """Build a triangle-free graph of chromatic number steps + 2, so that no clique gives it away."""
    n, edges = 2, [(0, 1)]
    for _ in range(steps):
        edges += [(a, n + b) for a, b in edges] + [(b, n + a) for a, b in edges] + [(n + v, 2 * n) for v in range(n)]
        n = 2 * n + 1
    return Graph(n, unique_edges(np.array(edges)))


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_uncolourable_graphs_without_large_cliques_are_proven_so(steps: int) -> None:
    """Mycielski graphs have no triangle, yet need one colour more with each step."""
    graph = mycielski(steps)
    colour = find_colouring(graph, steps + 2)
    assert colour is not None
    assert is_proper(graph, colour, steps + 2)
    with pytest.raises(Contradiction):
        find_colouring(graph, steps + 1)


def test_a_passed_deadline_leaves_a_hard_question_open() -> None:
    """The answer is then neither yes nor no, and comes at once."""
    hard = random_graph(np.random.default_rng(3), 400, 0.35)
    start = time.monotonic()
    assert find_colouring(hard, 26, Deadline(0.2)) is None
    assert time.monotonic() - start < 5  # compiling included


def test_vertices_with_few_neighbours_need_no_search() -> None:
    """A long path and many isolated vertices are coloured greedily."""
    n = 20_000
    path = Graph(2 * n, np.column_stack([np.arange(n - 1), np.arange(1, n)]))
    colour = find_colouring(path, 2 + 1)
    assert colour is not None
    assert is_proper(path, colour, 3)


def test_cliques_are_found_and_not_invented() -> None:
    """A planted clique of six is found, a seventh vertex is not added to it."""
    random = np.random.default_rng(1)
    sparse = random_graph(random, 60, 0.1).edges
    planted = np.array([(a, b) for a in range(10, 16) for b in range(a + 1, 16)])
    graph = Graph(60, unique_edges(np.vstack([sparse, planted])))
    clique = find_clique(graph, 6)
    assert clique is not None
    assert sorted(clique) == list(range(10, 16))
    assert find_clique(graph, 7) is None
    assert find_clique(graph, 7, max_steps=1) is None


def test_a_clique_of_hundreds_is_found_at_once() -> None:
    """460 vertices that are all linked, among a thousand others: in less than a second, compiled before."""
    clique = np.argwhere(np.triu(np.ones((460, 460)), k=1))
    graph = Graph(1460, unique_edges(np.vstack([clique, random_graph(np.random.default_rng(0), 1460, 0.001).edges])))
    assert find_clique(Graph(3, np.array([[0, 1], [0, 2], [1, 2]])), 3) == [0, 1, 2]
    began = time.process_time()
    found = find_clique(graph, 451)
    assert time.process_time() - began < 1.0
    assert found is not None
    assert len(set(found)) == 451
    assert max(found) < 460
