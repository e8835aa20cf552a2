"""Limits on sizes through the whole solver, against enumeration."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certimeans
from certimeans import SolverSettings, solve
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings
from certimeans.errors import InfeasibleError
from certimeans.problem.instance import Instance
from certimeans.proof.steps import SizeBranchStep
from certimeans.search.limits import Limits
from certimeans.search.node import Decision, SizeDecision
from certimeans.search.tree import Tree, TreeNode, TreeStatus
from certimeans.solver import solve_instance
from tests.oracles.brute_force import exact_cost, feasible_partitions
from tests.oracles.sizes import limited_instance
from tests.search.test_solve import WITHOUT_CUTS


def check(seed: int, folder: Path) -> str:
    """Solve, compare with all clusterings, and verify the certificate."""
    stated = limited_instance(seed)
    base, best = stated.base, stated.optimum()
    try:
        result = solve(base.points, base.k, sample_weight=base.weights, gap=1e-6, **stated.arguments())
    except InfeasibleError:
        assert best is None, seed
        return "infeasible"
    assert best is not None, seed
    assert result.labels is not None
    assert stated.allows(result.labels.tolist()), seed
    assert result.lower_bound <= best <= result.objective, seed
    assert result.objective <= float(best) * (1 + 1.1e-6) + 1e-12, seed
    result.save(folder, overwrite=True, report=False)
    verification = certimeans.verify(folder, gap=None if best == 0 else 1e-5, instance=result.instance)
    assert verification.lower_bound <= best, seed
    return "solved"


@pytest.mark.parametrize("seeds", range(0, 60, 15))
def test_answers_agree_with_enumeration(seeds: int, tmp_path: Path) -> None:
    """Same status, same cost, every bound valid, every certificate verified."""
    outcomes = [check(seed, tmp_path / "out") for seed in range(seeds, seeds + 15)]
    assert {"solved", "infeasible"} == set(outcomes)


@pytest.mark.parametrize(
    "stated",
    [
        {"sizes": [8, 10, 12]},
        {"size_min": 9, "size_max": 11},
        {"size_min": 40, "size_max": 62, "capacity": [float(1 + i % 9) for i in range(30)]},
    ],
)
def test_trees_workers_and_resumed_searches_agree(stated: dict[str, Any], tmp_path: Path) -> None:
    """One process, two, and a search that was stopped and taken up again: the same optimum, and it is verified."""
    random = np.random.default_rng(3)
    points = random.normal(size=(30, 3)) + 3.0 * np.eye(3)[random.integers(0, 3, size=30)]  # overlapping groups
    links: Any = {"must_link": [(0, 1), (2, 3)], "cannot_link": [(0, 4), (4, 5), (6, 7)]}
    whole = solve(points, 3, **links, **stated)
    assert whole.status == "optimal"
    together = solve(points, 3, n_jobs=2, **links, **stated)
    solve(points, 3, max_nodes=1, checkpoint=tmp_path / "saved", **links, **stated)
    resumed = solve(points, 3, checkpoint=tmp_path / "saved", **links, **stated)
    for result in (together, resumed):
        assert result.objective == pytest.approx(whole.objective, rel=1e-4)
        result.save(tmp_path / "out", overwrite=True, report=False)
        certimeans.verify(tmp_path / "out", gap=1e-4, instance=result.instance)
    unlimited = solve(points, 3, **links)
    assert unlimited.lower_bound <= whole.objective


def unequal_points() -> Any:
    """Return points whose relaxation sees none of the sizes 8, 10 and 12: three groups of ten that overlap."""
    random = np.random.default_rng(1)
    return random.normal(size=(30, 2)) + 2.5 * np.repeat([[0, 0], [1, 0], [0, 1]], 10, axis=0)


@pytest.mark.parametrize(
    "settings",
    [
        replace(SolverSettings(), cutting_planes=CuttingPlaneSettings(max_rounds=1)),  # a block for each size
        replace(SolverSettings(), memory_limit=150_000.0),  # one matrix: there is no room for more
    ],
    ids=["blocks", "anchors"],
)
def test_a_search_that_decides_sizes_is_proven_saved_and_resumed(settings: SolverSettings, tmp_path: Path) -> None:
    """The tree branches on sizes; one process, two, and a resumed search agree, and certificates are verified."""
    points, sizes = unequal_points(), [6, 9, 15]
    whole = solve(points, 3, sizes=sizes, settings=settings)
    assert whole.status == "optimal"
    assert any(isinstance(node.decision, SizeDecision) for node in whole.tree)
    together = solve(points, 3, sizes=sizes, n_jobs=2, settings=settings)
    stopped = solve(points, 3, sizes=sizes, max_nodes=2, checkpoint=tmp_path / "saved", settings=settings)
    assert stopped.status == "node_limit"
    resumed = solve(points, 3, sizes=sizes, checkpoint=tmp_path / "saved", settings=settings)
    for result in (whole, together, resumed):
        assert result.objective == pytest.approx(whole.objective, rel=1e-4)
        result.save(tmp_path / "out", overwrite=True)  # with the page, on which the tree is drawn
        certimeans.verify(tmp_path / "out", gap=1e-4, instance=result.instance)


def test_nodes_with_decided_sizes_hold_what_is_inside() -> None:
    """Without cuts: the bound of every node is at most the best clustering that agrees with its decisions."""
    decided = 0
    for seed in range(12):
        random = np.random.default_rng([seed, 5])
        points, sizes = random.normal(size=(8, 2)), [[1, 3, 4], [2, 2, 4], [3, 5]][seed % 3]
        k = len(sizes)
        links = [(0, 1)] if seed % 2 else []
        costs = {
            labels: exact_cost(points.tolist(), labels)
            for labels in feasible_partitions(8, k, [], links)
            if sorted(np.bincount(labels)) == sizes
        }
        instance = Instance.create(points, k, sizes=sizes, cannot_link=links)
        result = solve_instance(instance, Limits(gap=1e-6), settings=WITHOUT_CUTS)
        assert result.lower_bound <= min(costs.values()) <= result.objective
        assert result.objective == pytest.approx(float(min(costs.values())))
        choices = sorted(set(sizes))
        for node in result.tree:
            decisions = result.search_tree.decisions(node.number)
            decided += sum(isinstance(d, SizeDecision) for d in decisions)
            inside = [
                cost
                for labels, cost in costs.items()
                if all(
                    labels.count(labels[d.point]) == choices[d.place]
                    if isinstance(d, SizeDecision)
                    else (labels[d.i] == labels[d.j]) == d.together
                    for d in decisions
                )
            ]
            assert not inside or node.lower_bound <= min(inside)
    assert decided > 10


def test_a_checkpoint_without_one_of_the_sizes_is_refused() -> None:
    """Children of a branch on sizes cover their parent only if every size is there once, for one point."""
    root = TreeNode(0, -1, None, TreeStatus.BRANCHED, 0.0)

    def tree(*decisions: Any) -> Tree:
        children = [TreeNode(1 + c, 0, decision, TreeStatus.OPEN, 0.0) for c, decision in enumerate(decisions)]
        return Tree.of([root, *children], n_sizes=2)

    assert tree(SizeDecision(4, 1), SizeDecision(4, 0)).proof()[0][-1] == SizeBranchStep(4, (2, 1))
    for wrong in (
        [SizeDecision(4, 0)],
        [SizeDecision(4, 0), SizeDecision(4, 0)],
        [SizeDecision(4, 0), SizeDecision(5, 1)],
        [SizeDecision(4, 0), SizeDecision(4, 1), SizeDecision(4, 2)],
        [SizeDecision(4, 0), Decision(4, 5, together=True)],
        [SizeDecision(4, 0), SizeDecision(4, 1), Decision(4, 5, together=True)],
    ):
        with pytest.raises(ValueError, match="do not cover"):
            tree(*wrong)


def test_a_proof_needs_the_limits(tmp_path: Path) -> None:
    """The optimum within limits costs more than without; summary and checker name the limits."""
    points = [[0.0], [1.0], [2.0], [3.0], [40.0], [41.0]]
    limited, free = solve(points, 2, size_min=3), solve(points, 2)
    assert limited.lower_bound > free.objective
    assert "sizes from 3" in limited.summary()
    limited.save(tmp_path, report=False)
    assert "sizes" in certimeans.verify(tmp_path).sentence()


def test_a_decided_size_is_not_decided_again() -> None:
    """Iterates that have not converged may doubt a decision; branching on it again would go on for ever."""
    first = [[2.22, -977.35], [-0.47, 0.53], [0.55, -0.39], [-0.9, 0.46], [-0.94, -1.01], [-0.66, 1.84]]
    others = [[-0.61, 1.62], [-1.01, 2.24], [0.77, 0.9], [1.45, 0.32], [0.24, -0.31], [0.58, 1.32]]
    points = np.array([*first, *others])
    tiny, small = 2.0**-10, 0.099609375
    amounts = np.array([tiny, 100.0, small, 10.0, 0.009765625, tiny, tiny, small, tiny, 10.0, tiny, 100.0])
    sizes = [20.1123046875, 200.1015625]
    result = solve(points, 2, sample_weight=amounts, capacity=amounts, sizes=sizes, gap=1e-7, max_nodes=60)
    for node in result.tree:
        decisions = result.search_tree.decisions(node.number)
        assert len(set(decisions)) == len(decisions)
