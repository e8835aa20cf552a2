import pickle
import time

import numpy as np
import pytest

from certimeans.deadline import Deadline
from certimeans.errors import InfeasibleError
from certimeans.presolve.conflict import Conflict
from certimeans.presolve.conflicts import contradicts, explain
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from tests.oracles.brute_force import feasible_partitions
from tests.oracles.instances import random_instance


def line(n: int, k: int, **constraints: object) -> Instance:
    return Instance.create(np.arange(float(n))[:, None], k, **constraints)  # type: ignore[arg-type]


def conflict_of(instance: Instance) -> Conflict:
    with pytest.raises(InfeasibleError) as caught:
        presolve(instance)
    return caught.value.conflict


def test_a_path_of_must_links_against_a_cannot_link_is_shown() -> None:
    """The shortest path between the two ends is named, not the detour."""
    instance = line(6, 3, must_link=[(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)], cannot_link=[(3, 0), (1, 5)])
    assert conflict_of(instance).describe() == (
        "no clustering satisfies the constraints: points 3 and 0 cannot link, but must-links join them: 0 = 4 = 3\n"
        "  must-link 0 4\n"
        "  must-link 4 3\n"
        "  cannot-link 3 0\n"
        "no single pair, given up, leaves a clustering"  # there are two groups for three clusters
    )


def test_must_link_and_cannot_link_on_one_pair_are_shown() -> None:
    """The shortest contradiction of all."""
    assert (
        "points 1 and 0 cannot link, but must-links join them: 0 = 1"
        in conflict_of(line(3, 2, must_link=[(0, 1)], cannot_link=[(1, 0)])).describe()
    )


def test_an_odd_cycle_is_shown_for_two_clusters() -> None:
    """A must-link inside the cycle shortens the alternation and is shown as such."""
    conflict = conflict_of(line(6, 2, must_link=[(2, 3)], cannot_link=[(0, 1), (1, 2), (3, 0), (4, 5)]))
    assert conflict.kind == "odd cycle"
    assert "odd cycle: 0 ≠ 1 ≠ 2 = 3 ≠ 0" in conflict.describe()


def test_a_clique_of_k_plus_one_groups_is_shown() -> None:
    """Must-links that hold a group together belong to the explanation."""
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 4)]
    conflict = conflict_of(line(6, 3, must_link=[(3, 4)], cannot_link=pairs))
    assert conflict.kind == "clique"
    assert conflict.groups == ((0,), (1,), (2,), (3, 4))
    assert conflict.must_links == [(3, 4)]
    assert len(conflict.cannot_links) == 6
    assert "4 groups of points that pairwise cannot link do not fit into 3 clusters: 0, 1, 2, 3=4" in str(
        InfeasibleError(conflict)
    )


def test_a_wheel_is_explained_by_a_minimal_subset() -> None:
    """A hub with an odd rim needs four clusters without containing a clique of four; the rest is left out."""
    rim = [(i, i % 5 + 1) for i in range(1, 6)]
    noise = [(6, 7), (7, 8), (6, 8), (8, 9), (0, 6)]
    conflict = conflict_of(line(12, 3, cannot_link=[*rim, *[(0, i) for i in range(1, 6)], *noise]))
    assert conflict.kind == "subset"
    assert conflict.is_minimal
    assert len(conflict.cannot_links) == 10
    assert "these 0 must-links and 10 cannot-links leave no way to form 3 clusters" in conflict.describe()


def test_must_links_that_leave_too_few_groups_are_shown() -> None:
    """Four points in two groups cannot make three clusters; the superfluous must-link is left out."""
    conflict = conflict_of(line(4, 3, must_link=[(0, 1), (1, 2), (0, 2)]))
    assert conflict.kind == "too few groups"
    assert conflict.must_links == [(0, 1), (0, 2)]
    assert "fewer groups of points than the 3 clusters asked for" in conflict.describe()


def test_one_cluster_and_a_cannot_link_is_shown() -> None:
    """With k = 1 any cannot-link is a contradiction."""
    assert (
        "but everything goes into 1 cluster\n  cannot-link 0 2"
        in conflict_of(line(3, 1, cannot_link=[(2, 0)])).describe()
    )


def test_pairs_from_labels_and_distances_are_explained_by_their_origin() -> None:
    """The user sees why a pair that was never typed is there, in the numbering asked for."""
    labelled = line(4, 2, partial_labels=["a", "b", "c", None])
    text = conflict_of(labelled).describe(name=lambda i: f"#{i + 1}")
    assert "cannot-link #1 #2 (labelled 'a' and 'b')" in text
    spread = conflict_of(line(5, 2, diameter=2.5, split=1.2)).describe()
    assert "(closer than 1.2)" in spread
    assert "(farther apart than 2.5)" in spread


@pytest.mark.parametrize("block", range(5))
def test_explanations_are_real_contradictions_and_minimal(block: int) -> None:
    """On random instances: infeasible exactly if no partition exists, and then dropping any one link resolves it."""
    infeasible = 0
    for seed in range(100 * block, 100 * block + 100):
        small = random_instance(seed, max_points=8)
        instance = small.build()
        n = instance.n_points
        has_solution = next(feasible_partitions(n, small.k, small.must_link, small.cannot_link), None) is not None
        try:
            presolve(instance)
        except InfeasibleError as error:
            infeasible += 1
            conflict = error.conflict
            assert not has_solution
            assert set(conflict.must_links) <= both_ways(small.must_link)
            assert set(conflict.cannot_links) <= both_ways(small.cannot_link)
            assert conflict.is_minimal
            assert not any(feasible_partitions(n, small.k, conflict.must_links, conflict.cannot_links))
            for position in range(len(conflict.links)):
                rest = [link for other, link in enumerate(conflict.links) if other != position]
                must = [(i, j) for kind, i, j in rest if kind == "must-link"]
                cannot = [(i, j) for kind, i, j in rest if kind == "cannot-link"]
                assert any(feasible_partitions(n, small.k, must, cannot))
        else:
            assert has_solution
    assert infeasible > 10


def both_ways(pairs: list[tuple[int, int]]) -> set[tuple[int, int]]:
    return set(pairs) | {(j, i) for i, j in pairs}


def test_large_contradictions_are_made_small() -> None:
    """300 points, 3 clusters, 1,500 random cannot-links without a hidden colouring: few of them are shown."""
    random = np.random.default_rng(0)
    pairs = random.integers(0, 300, size=(1500, 2))
    instance = line(300, 3, cannot_link=pairs[pairs[:, 0] != pairs[:, 1]])
    conflict = conflict_of(instance)
    assert len(conflict.links) < 150  # a few dozen on an idle machine: the search for a small set has a time limit
    assert contradicts(300, conflict.links, 3)


def test_the_search_for_a_small_explanation_keeps_its_deadline() -> None:
    """An explanation cut short is still a contradiction, and says that it may not be minimal."""
    random = np.random.default_rng(0)
    pairs = random.integers(0, 300, size=(1500, 2))
    instance = line(300, 3, cannot_link=pairs[pairs[:, 0] != pairs[:, 1]])
    start = time.monotonic()
    conflict = explain(instance, Deadline(0))
    assert time.monotonic() - start < 5
    assert contradicts(300, conflict.links, 3)
    if conflict.kind == "subset":
        assert not conflict.is_minimal


def test_an_infeasible_error_survives_the_way_between_processes() -> None:
    """The conflict arrives with the error, not only its text."""
    error = InfeasibleError(conflict_of(line(3, 1, cannot_link=[(0, 1)])))
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
    assert copy.conflict.links == error.conflict.links
    assert str(copy) == str(error)
