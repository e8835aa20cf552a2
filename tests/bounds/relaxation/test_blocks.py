"""One matrix for each prescribed size: true at every clustering, never above the optimum, and inherited by children."""

from dataclasses import replace

import numpy as np
import pytest

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.protocol import Question
from certimeans.bounds.relaxation.admm import AdmmSettings
from certimeans.bounds.relaxation.blocks.bounder import BlockBounder, BlockStart
from certimeans.bounds.relaxation.blocks.model import BlockCuts, Links, SizeBlocks, has_blocks
from certimeans.bounds.relaxation.blocks.proof import prove_blocks_again
from certimeans.bounds.relaxation.blocks.rows import BlockRows, Scales
from certimeans.bounds.relaxation.blocks.safe_bound import block_bound
from certimeans.bounds.relaxation.blocks.shifted import violated_shifted_cuts
from certimeans.bounds.relaxation.blocks.solver import BlockAdmm, BlockIterate
from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from certimeans.proof.steps import BlockStep
from certimeans.search.branching import branches
from certimeans.search.node import NodeTask, SizeDecision
from certimeans.search.node_problem import node_super_points
from tests.oracles.brute_force import exact_cost, feasible_partitions


def drawn(seed: int) -> tuple[SuperPoints, list[IntArray], float] | None:
    """Draw points, sizes, links and decided sizes as a clustering has them.

    Returns the super-points, all clusterings of these that agree, and the least cost of them in working units.
    """
    random = np.random.default_rng(seed)
    n, k = int(random.integers(5, 8)), int(random.integers(2, 4))
    labels = [*range(k), *random.integers(0, k, size=n - k).tolist()]
    points = random.normal(size=(n, 2)) + 10
    points[:, 1] = (points[:, 1] > 9.5) * np.where(random.random(n) < 0.2, 1e8, 1.0)  # the mean is far from the median
    sizes = np.bincount(labels)
    if len(set(sizes.tolist())) == 1:
        return None
    together = [(k, labels[k])]
    apart = [(i, j) for i in range(n) for j in range(i) if labels[i] != labels[j] and random.random() < 0.1]
    weight = float(random.choice([1.0, 0.3]))
    instance = Instance.create(points, k, sizes=sizes, must_link=together, cannot_link=apart, weights=[weight] * n)
    assert instance.limits is not None
    chosen = random.choice(n, size=int(random.integers(0, k)), replace=False).tolist()
    decisions = [SizeDecision(i, instance.limits.choices.index(int(sizes[labels[i]]))) for i in chosen]
    task = NodeTask(1, tuple(decisions), None, 0.0, np.inf, 0.0, seed=0, seconds=None)
    node, _ = node_super_points(presolve(instance), task)
    agreeing = [
        found
        for found in feasible_partitions(n, k, together, apart)
        if sorted(np.bincount(found)) == sorted(sizes)
        and all(found.count(found[i]) == sizes[labels[i]] for i in chosen)
    ]
    best = min(exact_cost(points.tolist(), found, [weight] * n) for found in agreeing)
    return node, [np.array(found)[node.first_points] for found in agreeing], float(best) / node.scale.unit


def matrices_of(blocks: SizeBlocks, labels: IntArray) -> FloatArray:
    """Return Y^g of a clustering of the super-points."""
    matrices = np.zeros((blocks.n_blocks, blocks.size, blocks.size))
    for cluster in np.unique(labels):
        inside = labels == cluster
        g = int(np.argmin(np.abs(blocks.sizes - (blocks.roots**2)[inside].sum())))
        matrices[g] += np.where(np.outer(inside, inside), blocks.most[g], 0.0)
    return matrices


def random_cuts(blocks: SizeBlocks, random: np.random.Generator, scale: float) -> BlockCuts:
    """Draw cuts and all links, with multipliers."""
    size, count = blocks.size, blocks.n_blocks
    cuts = []
    for _ in range(count):
        coefficients = random.integers(-2, 3, size=(4, size + 1))  # of the point 0, too
        own = Cuts.new(np.tile(np.arange(size + 1), (4, 1)), coefficients)
        cuts.append(own.with_multipliers(scale * random.random(4)))
    places = [(g, i, j) for g in range(count) if blocks.counts[g] == 1 for j in range(size) for i in range(j)]
    links = np.array(places, dtype=np.int32).reshape(-1, 3)
    return BlockCuts(tuple(cuts), Links(links, scale * random.random(len(links))))


@pytest.mark.parametrize("seeds", range(0, 120, 40))
def test_blocks_say_what_is_true(seeds: int) -> None:
    """Equations, links and closed entries at every clustering, and bounds of random multipliers."""
    random, seen = np.random.default_rng(seeds), 0
    for seed in range(seeds, seeds + 40):
        problem = drawn(seed)
        if problem is None:
            continue
        node, clusterings, best = problem
        assert has_blocks(node)
        blocks = SizeBlocks.from_super_points(node)
        seen += 1
        for labels in clusterings:
            matrices = matrices_of(blocks, labels)
            x = blocks.sizes[:, None] * matrices.diagonal(axis1=1, axis2=2) / blocks.roots**2
            assert not matrices[blocks.closed].any(), seed
            assert np.allclose(x.sum(axis=0), 1), seed
            assert np.allclose(matrices @ blocks.roots, blocks.roots * x), seed
            shared = matrices / blocks.most
            for g, _ in (pair for pair in enumerate(blocks.counts) if pair[1] == 1):
                left = np.add.outer(x[g], x[g]) - 2 * shared[g] + shared.sum(axis=0)
                assert (left - np.diag(np.diag(left)) <= 1 + 1e-9).all(), seed
        for scale in (0.0, 0.01, 1.0):
            rows = scale * random.normal(size=(blocks.n_blocks, blocks.size))
            wish = scale * random.normal(size=(blocks.n_blocks, blocks.size, blocks.size))
            bound = block_bound(blocks, random_cuts(blocks, random, scale), rows, lambda g, _, v=wish: v[g])  # type: ignore[misc]
            assert -np.inf < bound.safe_lower_bound <= best * (1 + 1e-12), seed
    assert seen > 20


def test_cuts_with_the_point_0_hold_at_every_clustering_and_are_found() -> None:
    """Rows of the solver are what (4) says, and where pairs share too little, violated ones are found."""
    violated = 0
    for seed in range(30):
        problem = drawn(seed)
        if problem is None:
            continue
        node, clusterings, _ = problem
        blocks = SizeBlocks.from_super_points(node)
        scales = Scales(np.ones((blocks.n_blocks, blocks.size, blocks.size)), np.ones((blocks.n_blocks, blocks.size)))
        cuts = random_cuts(blocks, np.random.default_rng(seed), 1.0)
        rows = BlockRows.build(blocks, scales, cuts)
        values = [matrices_of(blocks, labels) / blocks.most for labels in clusterings]
        for shared in values:
            sums = np.add.reduceat(np.append(rows.coefficient * shared.ravel()[rows.position], 0.0), rows.start[:-1])
            assert (np.where(np.diff(rows.start) > 0, sums, 0.0) <= rows.right_sides + 1e-9).all(), seed
        for mean, count in zip(np.mean(values, axis=0), blocks.counts, strict=True):
            own = np.diag(mean)
            matrix = np.where(np.eye(len(mean), dtype=bool), mean, 0.5 * mean)  # pairs share too little
            found = violated_shifted_cuts(matrix, count, 0.01, 50, seed)
            violated += len(found)
            lifted = np.vstack([np.column_stack([matrix, own]), np.append(own, count)])
            for members, coefficients in zip(found.members, found.coefficients.astype(float), strict=True):
                here = members[members >= 0]
                part, b = lifted[np.ix_(here, here)], coefficients[: len(here)]
                assert b @ part @ b - b @ np.diag(part) < -0.01 + 1e-9, seed
    assert violated > 20


def _problem() -> SuperPoints:
    """Return twelve points to be put into clusters of three sizes, of which two have the same."""
    points = np.random.default_rng(5).normal(size=(12, 2))
    return presolve(Instance.create(points, 4, sizes=[1, 3, 4, 4])).super_points


def test_the_bounder_proves_what_its_step_proves_again() -> None:
    """The bound rises, is proven by the stored step alone, and children of a node start where it ended."""
    points = _problem()
    answer = BlockBounder(CuttingPlaneSettings(max_rounds=4)).bound(Question(points, target=lambda: np.inf))
    step = answer.bound.step
    assert isinstance(step, BlockStep)
    assert points.scale.to_user(prove_blocks_again(step, points).safe_lower_bound) == answer.bound.value
    assert answer.sizes is not None
    assert answer.sizes.sum(axis=0) == pytest.approx(1, abs=0.1)
    again = BlockBounder(CuttingPlaneSettings(max_rounds=1)).bound(
        Question(points, target=lambda: answer.bound.value * (1 - 1e-9), start=answer.start)
    )
    assert again.bound.value >= answer.bound.value * (1 - 1e-9)
    assert not again.rounds
    saved = BlockBounder(CuttingPlaneSettings(max_rounds=1)).bound(
        Question(points, target=lambda: np.inf, start=BlockStart.from_step(points, step))
    )
    cold = BlockBounder(CuttingPlaneSettings(max_rounds=1)).bound(Question(points, target=lambda: np.inf))
    assert saved.bound.value >= answer.bound.value * 0.99 > cold.bound.value
    assert isinstance(answer.start, BlockStart)
    merged = points.merge(np.array([0, 0, *range(1, 11)]), np.empty((0, 2), dtype=np.int64))
    first = BlockBounder(CuttingPlaneSettings(max_rounds=1)).bound(
        Question(merged, target=lambda: answer.bound.value * 0.99, start=answer.start)
    )
    assert first.bound.value >= answer.bound.value * 0.99
    assert not first.rounds  # links of the two merged points are all that is lost


def test_threads_change_no_number() -> None:
    """Blocks are shared between them, and rows move in the same order."""
    settings = CuttingPlaneSettings(max_rounds=4)
    alone, both = (
        BlockBounder(settings).bound(Question(_problem(), target=lambda: np.inf, n_threads=n_threads))
        for n_threads in (1, 2)
    )
    assert alone.bound.value == both.bound.value
    assert isinstance(alone.bound.step, BlockStep)
    assert isinstance(both.bound.step, BlockStep)
    np.testing.assert_equal(alone.bound.step.slack, both.bound.step.slack)


@pytest.mark.parametrize(
    "change",
    [
        {"block_start": np.array([0, 1, 0, 0])},
        {"links": np.array([[2, 0, 1]], dtype=np.int32), "link_multiplier": np.ones(1)},  # two clusters have that size
        {"links": np.array([[0, 1, 1]], dtype=np.int32), "link_multiplier": np.ones(1)},
        {"links": np.array([[0, 0, 1]] * 2, dtype=np.int32), "link_multiplier": np.ones(2)},
        {"links": np.array([[0, 0, 1]], dtype=np.int32), "link_multiplier": -np.ones(1)},
        {"row_multiplier": np.zeros((3, 11))},
        {"slack": np.zeros((2, 78), dtype=np.float32)},
    ],
)
def test_what_is_no_step_is_refused(change: dict[str, FloatArray]) -> None:
    """A saved search may have been edited."""
    points = _problem()
    answer = BlockBounder(CuttingPlaneSettings(max_rounds=1)).bound(Question(points, target=lambda: np.inf))
    assert isinstance(answer.bound.step, BlockStep)
    with pytest.raises(ValueError, match=r"sizes|cuts|twice"):
        prove_blocks_again(replace(answer.bound.step, **change), points)  # type: ignore[arg-type]


def test_a_clustering_is_where_the_solver_starts() -> None:
    """Its lifted matrices are in both sets: the first iterate without objective stays there."""
    points = _problem()
    blocks = SizeBlocks.from_super_points(points)
    labels = np.array([0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3])
    start = BlockIterate.from_clustering(blocks, labels)
    still = replace(blocks, relaxation=replace(blocks.relaxation, objective=np.zeros((12, 12))))
    solver = BlockAdmm(still, start, AdmmSettings())
    solver.iterate()
    assert np.abs(np.triu(solver.primal - start.primal)).max() < 1e-5
    assert np.allclose(solver.shared(), matrices_of(blocks, labels) / blocks.most, atol=1e-4)


def test_the_point_whose_size_is_in_doubt_is_decided_on() -> None:
    """One entry for each different size; if all sizes are known, a pair is next."""
    points = _problem()
    sizes = np.zeros((3, 12))
    sizes[1] = 1.0
    matrix = np.eye(12) / 3
    assert len(branches(matrix, points, sizes)) == 2
    sizes[:, 7] = [0.5, 0.5, 0.0]
    decisions = branches(matrix, points, sizes)
    assert [decision.point for decision in decisions if isinstance(decision, SizeDecision)] == [7, 7, 7]
