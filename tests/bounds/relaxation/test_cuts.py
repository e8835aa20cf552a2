import numpy as np
import pytest

from certimeans.bounds.relaxation.cuts import separation
from certimeans.bounds.relaxation.cuts.kernels import spread_sets, violated_triangles
from certimeans.bounds.relaxation.cuts.pool import Cuts, right_sides
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.cuts.separation import SeparationSettings, Separator
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.presolve.contract import contract
from certimeans.problem.instance import Instance
from certimeans.randomness import random_state
from tests.bounds.relaxation.test_safe_bound import random_cuts
from tests.oracles.relaxations import Enumerated, enumerated


def dense(cuts: Cuts, size: int) -> np.ndarray:
    """One integer vector b a row."""
    vectors = np.zeros((len(cuts), size + 1), dtype=np.int64)
    np.put_along_axis(vectors, np.where(cuts.members < 0, size, cuts.members), cuts.coefficients, axis=1)
    return vectors[:, :size]


def left_sides(vectors: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Evaluate b'Zb - b'diag(Z) by its definition."""
    left: np.ndarray = np.einsum("ci,ij,cj->c", vectors, shared, vectors) - vectors @ np.diag(shared)
    return left


def shared_of(problem: Enumerated, labels: tuple[int, ...]) -> np.ndarray:
    return problem.matrix(labels) / np.outer(problem.relaxation.root_weights, problem.relaxation.root_weights)


@pytest.mark.parametrize("seed", range(60))
def test_every_cut_holds_at_every_clustering(seed: int) -> None:
    """Random integer vectors and sets of k + 1 points: the inequality with its right side, and its row for Y."""
    problem = enumerated(seed)
    if problem is None:
        return
    relaxation, random = problem.relaxation, np.random.default_rng(seed)
    cuts = random_cuts(random, relaxation.size, 20)
    if relaxation.n_clusters + 1 <= relaxation.size:
        sets = np.array([random.permutation(relaxation.size)[: relaxation.n_clusters + 1] for _ in range(5)])
        cuts = cuts.extended(Cuts.new(sets, np.ones(sets.shape, dtype=np.int64)))
    rows = CutRows.build(cuts, relaxation)
    sides = right_sides(cuts, relaxation.n_clusters, relaxation.max_cluster_weight)
    for labels in problem.labels:
        left = left_sides(dense(cuts, relaxation.size), shared_of(problem, labels))
        assert (left >= sides - 1e-12).all()
        total = np.array([rows.weighted_sum(unit)[0].ravel() for unit in np.eye(len(cuts))])
        products = total @ problem.matrix(labels).ravel()
        np.testing.assert_allclose(products * rows.norms, -left, atol=1e-12)
        assert (products <= rows.right_sides + 1e-12).all()


@pytest.mark.parametrize("seed", range(60))
def test_merged_cuts_are_the_same_inequalities_on_merged_points(seed: int) -> None:
    """For clusterings that keep the merged points together, left and right sides do not change."""
    random = np.random.default_rng(seed)
    size, k = 7, 3
    group_of = np.array([0, 1, 2, 3, 4, 4, 1]) if seed % 2 else np.array([0, 0, 0, 1, 2, 3, 4])
    weights = random.random(size) + 0.5
    cuts = random_cuts(random, size, 12).with_multipliers(random.random(12))
    merged = cuts.merged(group_of)
    group_weights = np.bincount(group_of, weights=weights)
    label = np.array([0, 1, 2, 0, 1])
    cluster_weight = np.bincount(label, weights=group_weights)
    merged_shared = (label[:, None] == label) / cluster_weight[label]
    shared = merged_shared[np.ix_(group_of, group_of)]
    before = cuts.multipliers @ left_sides(dense(cuts, size), shared)
    after = merged.multipliers @ left_sides(dense(merged, 5), merged_shared)
    assert after == pytest.approx(before)
    assert right_sides(merged, k, 9.0).tolist() == [
        2 / 9 if (b >= 0).all() and b.sum() > k else 0.0 for b in dense(merged, 5)
    ]


def test_a_list_of_cuts_keeps_each_cut_once() -> None:
    """The order of members does not matter; cuts without multiplier can be purged."""
    cuts = Cuts.new(np.array([[3, 1], [1, 3], [1, 3]]), np.array([[1, -1], [-1, 1], [1, -1]]))
    twice = Cuts.none().extended(cuts).extended(cuts)
    assert twice.members[:, :2].tolist() == [[1, 3], [1, 3]]
    assert twice.coefficients[:, :2].tolist() == [[-1, 1], [1, -1]]
    assert len(twice.with_multipliers(np.array([0.0, 2.0])).purged()) == 1
    assert len(np.unique(random_cuts(np.random.default_rng(0), 30, 20_000).keys())) > 19_990


def fractional(seed: int, size: int, k: int) -> tuple[Relaxation, np.ndarray]:
    """Make a relaxation and a matrix between clusterings that violates many cuts."""
    random = np.random.default_rng(seed)
    instance = Instance.create(random.normal(size=(size, 3)), k, weights=random.integers(1, 4, size=size))
    relaxation = Relaxation.from_super_points(contract(instance, np.arange(size)))
    vectors = np.linalg.qr(np.column_stack([relaxation.direction, random.normal(size=(size, 2 * k))]))[0]
    matrix = vectors @ np.diag([1.0] + [(k - 1) / (2 * k)] * (2 * k)) @ vectors.T
    return relaxation, np.maximum(matrix, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_what_separation_finds_is_violated_and_found_once(seed: int) -> None:
    """Every returned cut is violated by more than the threshold, by an independent formula."""
    relaxation, matrix = fractional(seed, 40, 3)
    found = Separator(SeparationSettings(), seed).find(matrix, relaxation)
    shared = matrix / np.outer(relaxation.root_weights, relaxation.root_weights)
    left = left_sides(dense(found, 40), shared)
    sides = right_sides(found, 3, relaxation.max_cluster_weight)
    clique = sides > 0
    assert (left[~clique] < -0.005 * np.diag(shared).mean()).all()
    assert (left[clique] < sides[clique]).all()
    assert len(np.unique(found.keys())) == len(found)
    supports = (found.coefficients != 0).sum(axis=1)
    assert set(supports.tolist()) >= {2, 3, 4}


@pytest.mark.parametrize("limit", [5, 50, 10_000])
def test_triangles_are_the_most_violated_ones(limit: int) -> None:
    """Against enumeration of all triples: the largest violations are among those returned."""
    _, shared = fractional(1, 25, 3)
    size = len(shared)
    every = sorted(
        (
            shared[i, j] + shared[i, h] - shared[i, i] - shared[j, h]
            for i in range(size)
            for j in range(size)
            for h in range(j)
            if i not in {j, h} and min(shared[i, j], shared[i, h]) > 1e-3
        ),
        reverse=True,
    )
    expected = [violation for violation in every if violation > 1e-3][:limit]
    rows = np.random.default_rng(0).permutation(size)
    _, found = violated_triangles(shared, rows, 1e-3, limit, size, random_state(0))
    np.testing.assert_allclose(sorted(found, reverse=True)[: len(expected)], expected)


def test_a_sample_of_companions_finds_some_of_the_triangles() -> None:
    """With five companions for each super-point at most ten triangles each are looked at; what is found is violated."""
    _, shared = fractional(1, 25, 3)
    members, found = violated_triangles(shared, np.arange(25), 1e-3, 10_000, 5, random_state(0))
    assert 0 < len(found) <= 25 * 10
    i, j, h = members.T
    np.testing.assert_allclose(found, shared[i, j] + shared[i, h] - shared[i, i] - shared[j, h])
    assert (found > 1e-3).all()


def test_more_threads_find_the_same_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random numbers belong to parts of the work, not to threads."""
    relaxation, matrix = fractional(2, 40, 3)
    monkeypatch.setattr(separation, "_WORK_WORTH_THREADS", 0.0)  # threads are for large problems
    alone, together = (Separator(SeparationSettings(), 5, threads).find(matrix, relaxation) for threads in (1, 3))
    np.testing.assert_array_equal(alone.members, together.members)
    np.testing.assert_array_equal(alone.coefficients, together.coefficients)


def test_the_threshold_falls_to_its_last_value_and_no_further() -> None:
    """Weaker violations count when cuts run dry; halving 0.004 three times would go below 0.001."""
    separator = Separator(SeparationSettings(threshold=0.004, final_threshold=0.001, threshold_decay=0.4), 0)
    assert separator.lower_threshold()
    assert separator.threshold == pytest.approx(0.0016)
    assert separator.lower_threshold()
    assert separator.threshold == 0.001
    assert not separator.lower_threshold()
    assert separator.threshold == 0.001


def test_sets_that_share_little_are_found() -> None:
    """In a matrix of three blocks, a set of four must repeat a block, and the best such sets share one pair only."""
    blocks = np.kron(np.eye(3), np.full((3, 3), 1 / 3))
    sets, inside = spread_sets(blocks, 4)
    assert (inside == 1 / 3).all()
    assert all(len(set(row)) == 4 for row in sets.tolist())


def test_separation_of_a_matrix_that_is_not_finite_finds_nothing() -> None:
    """A breakdown of the solver does not spread into the cuts."""
    relaxation, matrix = fractional(0, 12, 2)
    matrix[3, 4] = np.nan
    assert len(Separator(SeparationSettings(), 0).find(matrix, relaxation)) == 0


def test_separation_settings_are_checked_by_name() -> None:
    """A negative number is refused with the field's name."""
    with pytest.raises(ValueError, match=r"SeparationSettings\.max_cliques must not be negative; got -1"):
        SeparationSettings(max_cliques=-1)
