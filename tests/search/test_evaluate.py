import math
from dataclasses import replace

import numpy as np
import pytest

from certimeans.errors import InfeasibleError
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from certimeans.search.evaluate import Surroundings, evaluate, search_only
from certimeans.search.node import Decision, NodeReport, NodeStatus, NodeTask, SearchTask
from certimeans.search.node_problem import prove_again
from certimeans.search.sharing import Blackboard, BlackboardReader
from tests.oracles.brute_force import exact_cost, feasible_partitions
from tests.oracles.instances import random_instance
from tests.search.test_solve import hard_points


def task(decisions: tuple[Decision, ...] = (), incumbent: float = math.inf, gap: float = 1e-4) -> NodeTask:
    return NodeTask(0, decisions, None, 0.0, incumbent, gap, seed=0, seconds=None)


@pytest.mark.parametrize("block", range(4))
def test_a_nodes_bound_holds_for_every_clustering_inside_it(block: int) -> None:
    """Random decisions on random instances: infeasible exactly if no partition is left, else the bound is below all."""
    infeasible = 0
    for seed in range(40 * block, 40 * block + 40):
        small = random_instance(seed, max_points=7, weighted=seed % 2 == 0)
        n = len(small.points)
        random = np.random.default_rng(seed)
        decisions = tuple(
            Decision(int(i), int(j), together=bool(random.integers(2)))
            for i, j in (random.choice(n, 2, replace=False) for _ in range(random.integers(0, 4)))
        )
        must = [*small.must_link, *((d.i, d.j) for d in decisions if d.together)]
        cannot = [*small.cannot_link, *((d.i, d.j) for d in decisions if not d.together)]
        inside = list(feasible_partitions(n, small.k, must, cannot))
        try:
            presolved = presolve(small.build())
        except InfeasibleError:
            assert inside == []
            continue
        # Identical points were united: only partitions that keep them together are looked for.
        groups = presolved.super_points.group_of
        inside = [
            labels for labels in inside if len(set(zip(groups.tolist(), labels, strict=True))) == groups.max() + 1
        ]
        outcome = evaluate(presolved, task(decisions))
        if outcome.status is NodeStatus.INFEASIBLE:
            assert inside == []
            infeasible += 1
        else:
            best = min(float(exact_cost(small.points, labels, small.weights)) for labels in inside)
            assert outcome.lower_bound <= best * (1 + 1e-12)
            assert outcome.labels is not None
    assert infeasible > 0


def test_children_start_no_lower_than_their_parent() -> None:
    """Both children of a root that was stopped early have at least its bound, and together they cover its optimum."""
    problem = presolve(Instance.create(hard_points(), 8))
    root = evaluate(problem, task(gap=0.0))
    assert root.status is NodeStatus.BRANCHED
    children = []
    for decision in root.children:
        child = NodeTask(1, (decision,), root.inheritance, 0.0, math.inf, 0.0, seed=0, seconds=None)
        children.append(evaluate(problem, child))
    assert min(child.lower_bound for child in children) >= root.lower_bound * (1 - 1e-9)
    assert {child.size for child in children} == {root.size, root.size - 1}


def test_a_node_is_pruned_by_a_good_incumbent_in_the_middle_of_its_work() -> None:
    """With a target far below the optimum the first bounds are enough."""
    problem = presolve(Instance.create(hard_points(), 8))
    full = evaluate(problem, task(gap=0.0))
    early = evaluate(problem, task(gap=0.2))
    assert early.status is NodeStatus.PRUNED
    assert early.work.iterations < full.work.iterations


def test_a_running_node_hears_of_better_clusterings() -> None:
    """A node without an incumbent of its own is pruned once somebody else has found one, and reports its rounds."""
    problem = presolve(Instance.create(hard_points(), 8))
    full = evaluate(problem, task(gap=0.0))
    asked: list[float] = []
    reports: list[NodeReport] = []

    def found_meanwhile() -> float:
        asked.append(math.inf if len(asked) < 3 else full.lower_bound)
        return asked[-1]

    surroundings = Surroundings(incumbent_cost=found_meanwhile, report=reports.append)
    outcome = evaluate(problem, task(gap=0.05), surroundings)
    assert outcome.status is NodeStatus.PRUNED
    assert full.lower_bound * 0.95 <= outcome.lower_bound < full.lower_bound
    assert reports[0].labels is not None
    assert [r.lower_bound for r in reports] == sorted(r.lower_bound for r in reports)
    for report in reports:
        if report.steps:
            assert prove_again(problem, (), report.steps) >= report.lower_bound * (1 - 1e-12)
    assert reports[-1].steps


def test_a_nodes_steps_prove_its_bound() -> None:
    """The inference comes first, the bound step last, and proving it again gives the same bound."""
    edges = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (4, 5)]
    problem = presolve(Instance.create(hard_points(30), 3, cannot_link=edges))
    outcome = evaluate(problem, task(gap=0.3))
    assert [step.kind for step in outcome.steps] == ["merge", "relaxation"]
    assert prove_again(problem, (), outcome.steps) == outcome.lower_bound
    with pytest.raises(ValueError, match="nothing holds together"):
        prove_again(problem, (), outcome.steps[1:])


def test_infeasible_nodes_say_so() -> None:
    """A decision against a cannot-link leaves no clustering, and that is the step."""
    problem = presolve(Instance.create(hard_points(10), 3, cannot_link=[(0, 1)]))
    outcome = evaluate(problem, task((Decision(0, 1, together=True),)))
    assert outcome.status is NodeStatus.INFEASIBLE
    assert [step.kind for step in outcome.steps] == ["infeasible"]


def test_the_search_beside_the_root_only_searches() -> None:
    """It returns labels that are better than the incumbent, or none."""
    problem = presolve(Instance.create(hard_points(30), 3))
    found = search_only(problem, SearchTask(math.inf, seed=0, seconds=0.3)).labels
    assert found is not None
    cost = Clustering.from_labels(problem.instance, found).cost
    assert search_only(problem, SearchTask(0.5 * cost, seed=0, seconds=0.3)).labels is None


def test_other_processes_see_the_problem_and_the_best_cost() -> None:
    """What the coordinator writes on the blackboard is what readers get, and closing removes it."""
    instance = Instance.create(
        hard_points(), 3, must_link=[(0, 1)], cannot_link=[(2, 3), (3, 4), (2, 4), (4, 5), (3, 5)]
    )
    board = Blackboard(presolve(instance))
    board.write_problem()
    reader = BlackboardReader(board.folder)
    assert reader.cost() == math.inf
    board.set_cost(3.5)
    assert reader.cost() == board.cost() == 3.5
    there, here = reader.presolved, presolve(instance)
    assert there.instance.fingerprint == instance.fingerprint
    np.testing.assert_array_equal(there.super_points.group_of, here.super_points.group_of)
    np.testing.assert_array_equal(there.super_points.graph.edges, here.super_points.graph.edges)
    np.testing.assert_array_equal(there.merges, here.merges)
    board.close()
    assert not board.folder.exists()


def test_the_links_of_decisions_do_not_bind_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without cannot-links of its own, a problem needs no search with links in any node, nor its compilation."""
    monkeypatch.setattr("certimeans.heuristics.memetic.descend_linked", None)  # a call would fail
    problem = presolve(Instance.create(hard_points(), 8))
    best = evaluate(problem, task()).labels
    assert best is not None
    i, j = np.flatnonzero(best == best[0])[:2].tolist()
    apart = evaluate(problem, replace(task((Decision(i, j, together=False),), gap=1e-9), number=1))
    assert apart.labels is not None
    assert Clustering.from_labels(problem.instance, apart.labels).satisfies(problem.instance)
    assert apart.labels[i] == apart.labels[j]  # the node excludes the best clustering, and the search found it
