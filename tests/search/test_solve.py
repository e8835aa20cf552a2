import math
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from certimeans import InfeasibleError, InputError, solve
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings
from certimeans.problem.instance import Instance
from certimeans.result import SolveResult, SolveStatus
from certimeans.search.limits import Limits, Progress
from certimeans.search.node import Decision
from certimeans.search.settings import NodeSettings
from certimeans.solver import solve_instance
from tests.oracles.brute_force import exact_cost, feasible_partitions
from tests.oracles.instances import SmallInstance, random_instance


def hard_points(size: int = 90) -> np.ndarray:
    """Draw points without clusters, of which 90 need about 3 nodes for k = 8."""
    return np.random.default_rng(0).random((size, 3))


def endless_points() -> np.ndarray:
    """Draw points without clusters that are left with a gap of 2.5 % after forty seconds for k = 8."""
    return np.random.default_rng(0).random((400, 10))


def branching_points() -> np.ndarray:
    """Draw points without clusters that need about 13 nodes and three seconds for k = 8."""
    return np.random.default_rng(0).random((80, 6))


WITHOUT_CUTS = NodeSettings(cutting_planes=CuttingPlaneSettings(use_cuts=False, max_rounds=3))


def keeps_identical_points_together(labels: tuple[int, ...], small: SmallInstance) -> bool:
    """Whether points that are alike, and that no link touches, share a cluster: nodes leave out what parts them."""
    linked = {point for pair in (*small.must_link, *small.cannot_link) for point in pair}
    free = [i for i in range(len(small.points)) if i not in linked]
    return all(labels[i] == labels[j] for i in free for j in free if small.points[i] == small.points[j])


def assert_every_node_holds(result: SolveResult, costs: dict[tuple[int, ...], Fraction], small: SmallInstance) -> None:
    """Compare the bound of each node of the tree with the best clustering inside it."""
    costs = {labels: cost for labels, cost in costs.items() if keeps_identical_points_together(labels, small)}
    for node in result.tree:
        decisions = result.search_tree.decisions(node.number)
        pairs = [decision for decision in decisions if isinstance(decision, Decision)]
        assert len(pairs) == len(decisions)
        inside = [
            cost for labels, cost in costs.items() if all((labels[d.i] == labels[d.j]) == d.together for d in pairs)
        ]
        if inside:
            assert math.isfinite(node.lower_bound)
            assert Fraction(node.lower_bound) <= min(inside) * (1 + Fraction(1, 10**15)) + Fraction(1, 10**300)


@pytest.mark.parametrize("block", range(10))
def test_small_instances_agree_with_brute_force(block: int) -> None:
    """500 random instances, serial and parallel, with cuts and without: status, cost to 1e-9, every node's bound."""
    with ThreadPoolExecutor(2) as executor:
        for seed in range(50 * block, 50 * block + 50):
            small = random_instance(seed, max_points=8, weighted=seed % 2 == 0)
            instance = small.build()
            costs = {
                tuple(labels): exact_cost(small.points, labels, small.weights)
                for labels in feasible_partitions(len(small.points), small.k, small.must_link, small.cannot_link)
            }
            if not costs:
                with pytest.raises(InfeasibleError):
                    solve_instance(instance, Limits())
                continue
            for options in ({}, {"settings": WITHOUT_CUTS}, {"executor": executor, "n_jobs": 2}):
                result = solve_instance(instance, Limits(gap=1e-6), **options)
                assert result.status is SolveStatus.OPTIMAL, seed
                assert result.objective == pytest.approx(float(min(costs.values())), rel=1e-9, abs=1e-12)
                assert_every_node_holds(result, costs, small)


def test_a_problem_with_a_tree_is_solved_alike_by_all_executors() -> None:
    """One process, two processes and a foreign executor prove the same optimum within the gap."""
    points = hard_points()
    serial = solve(points, 8)
    assert serial.status is SolveStatus.OPTIMAL
    assert serial.nodes > 1
    with ThreadPoolExecutor(2) as executor:
        others = [solve(points, 8, n_jobs=2), solve(points, 8, executor=executor, n_jobs=2)]
    for result in others:
        assert result.status is SolveStatus.OPTIMAL
        assert result.objective == pytest.approx(serial.objective, rel=1e-4)
        assert result.lower_bound <= serial.objective


def test_the_same_seed_gives_the_same_tree() -> None:
    """Labels, nodes and bounds repeat with one process."""
    first, second = (solve(hard_points(), 8, random_state=5, max_nodes=7) for _ in range(2))
    assert first.nodes == second.nodes
    assert first.lower_bound == second.lower_bound
    np.testing.assert_array_equal(first.labels, second.labels)


def test_bounds_never_fall_and_stay_below_the_incumbent() -> None:
    """Progress is told round by round with the bound that is proven at that moment, and kept in the history."""
    seen: list[Progress] = []
    result = solve(hard_points(), 8, callback=seen.append)
    bounds = [p.lower_bound for p in seen]
    assert bounds == sorted(bounds)
    assert all(p.lower_bound <= p.incumbent_cost for p in seen)
    assert len(seen) > result.nodes
    assert {p.phase for p in seen} == {"presolve", "heuristics", "root", "search"}
    moved = [(p.incumbent_cost, p.lower_bound) for p in result.history]
    assert list(dict.fromkeys(moved)) == list(dict.fromkeys((p.incumbent_cost, p.lower_bound) for p in seen))


def test_limits_return_the_incumbent_with_a_proven_bound() -> None:
    """A node limit and a time limit: labels, a valid bound, the right status, and the time is kept."""
    by_nodes = solve(hard_points(), 8, max_nodes=1)
    assert by_nodes.status is SolveStatus.NODE_LIMIT
    assert by_nodes.nodes == 1
    start = time.monotonic()
    by_time = solve(endless_points(), 8, time_limit=1.0)
    assert time.monotonic() - start < 2.0
    assert by_time.status is SolveStatus.TIME_LIMIT
    for result in (by_nodes, by_time):
        assert result.labels is not None
        assert 0 < result.lower_bound < result.objective
        assert 1e-4 < result.gap < 1


def test_ctrl_c_ends_the_search_cleanly() -> None:
    """A SIGINT in the middle returns incumbent and bound, and the old handler is back."""
    before = signal.getsignal(signal.SIGINT)
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    result = solve(endless_points(), 8)
    assert time.monotonic() - start < 4.0
    assert result.status is SolveStatus.INTERRUPTED
    assert result.labels is not None
    assert 0 < result.lower_bound < result.objective
    assert signal.getsignal(signal.SIGINT) is before


def test_trivial_problems_are_solved() -> None:
    """One cluster, as many clusters as points, equal points, a single point."""
    points = [[0.0], [1.0], [5.0]]
    assert solve(points, 1).objective == pytest.approx(14.0)
    for result in (solve(points, 3), solve([[2.0, 2.0]] * 5, 2, cannot_link=[(0, 3)]), solve([[1.0]], 1)):
        assert result.status is SolveStatus.OPTIMAL
        assert result.objective == 0.0
        assert result.gap == 0.0


def test_a_gap_of_zero_ends_with_what_rounding_leaves() -> None:
    """The tree is searched completely, and the result says why it is not called optimal."""
    result = solve(
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0], [6.0, 5.0], [5.0, 6.3]], 2, gap=0.0, cannot_link=[(0, 3)]
    )
    assert result.status is SolveStatus.INTERRUPTED
    assert "double precision cannot prove a smaller one" in result.message
    claimed = float(result.message.split("a gap of ")[1].split()[0])
    assert 0 < result.gap <= claimed < 1.2 * result.gap
    assert result.nodes < 30
    assert result.gap < 1e-10


def test_a_node_with_one_clustering_is_bounded_by_its_cost() -> None:
    """Inherited multipliers may be useless there; seed 14914 without cuts once ended with a gap of 7 %."""
    instance = random_instance(14914, max_points=9, weighted=True).build()
    assert solve_instance(instance, Limits(gap=1e-6), settings=WITHOUT_CUTS).status is SolveStatus.OPTIMAL


def test_initial_labels_are_used_only_if_they_are_feasible() -> None:
    """Good labels are the incumbent from the start, bad ones are left alone."""
    points = hard_points()
    best = solve(points, 8)
    assert solve(points, 8, max_nodes=1, initial_labels=best.labels).objective <= best.objective
    assert solve([[0.0], [1.0], [9.0]], 2, initial_labels=[0, 0, 0]).objective == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("options", "name"), [({"n_jobs": 0}, "n_jobs"), ({"random_state": -1}, "random_state"), ({"gap": 2.0}, "gap")]
)
def test_bad_options_are_refused_by_name(options: dict[str, object], name: str) -> None:
    """Each is an input error."""
    with pytest.raises(InputError, match=name):
        solve([[0.0], [1.0]], 1, **options)  # type: ignore[arg-type]


def test_the_result_speaks_plain_data() -> None:
    """All the fields of the command line's JSON are there, and the summary says what is proven."""
    result = solve([[0.0], [1.0], [9.0]], 2, must_link=[(0, 1)])
    fields = (
        "status message objective lower_bound gap target_gap root_lower_bound root_gap root_time nodes time n d k "
        "must_links cannot_links size_min size_max sizes cluster_sizes size cuts rounds parts part_size regions "
        "labels weightless missing notes seed version"
    )
    assert list(result.to_dict()) == fields.split()
    assert '"status": "optimal"' in result.to_json()
    assert "(proven)" in result.summary()


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_bounds_in_the_users_units_account_for_rounded_points(offset: float) -> None:
    """Converting there loses almost nothing, and a target converted back is reached exactly when the bound is."""
    instance = Instance.create(np.random.default_rng(0).random((30, 3)) + offset, 2)
    scale = instance.scaled.scale
    for bound in (1e-6, 0.1, 0.9):
        user = scale.to_user(bound)
        assert bound * scale.unit * (1 - 1e-6) < user < bound * scale.unit
        assert scale.to_user(scale.target(user)) >= user
