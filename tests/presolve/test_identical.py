from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from certimeans import solve, verify
from certimeans.errors import InfeasibleError
from certimeans.presolve import identical
from certimeans.presolve.graph import connected
from certimeans.presolve.identical import first_equal_rows, unite_identical
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from tests.oracles.brute_force import exact_cost, feasible_partitions
from tests.oracles.instances import SmallInstance


def small_with_duplicates(seed: int) -> SmallInstance:
    """Draw up to eight points at few places, with weights and links that touch some of them."""
    random = np.random.default_rng([seed, 15])
    n, k = int(random.integers(3, 9)), int(random.integers(1, 5))
    places = random.integers(-3, 4, size=(int(random.integers(1, 5)), 2)).astype(float)
    points = places[random.integers(0, len(places), size=n)]
    pairs = [tuple(sorted(random.choice(n, 2, replace=False).tolist())) for _ in range(int(random.integers(0, 4)))]
    is_must = random.random(len(pairs)) < 0.5
    must = [pair for pair, kind in zip(pairs, is_must, strict=True) if kind]
    cannot = [pair for pair, kind in zip(pairs, is_must, strict=True) if not kind]
    weights = random.choice([0.5, 1.0, 3.0], size=n).tolist() if random.random() < 0.5 else None
    return SmallInstance(points.tolist(), min(k, n), must, cannot, weights)


def united_groups(small: SmallInstance) -> list[int]:
    instance = small.build()
    groups: list[int] = unite_identical(instance, connected(instance.n_points, instance.must_link)).tolist()
    return groups


def test_some_best_clustering_keeps_united_points_together() -> None:
    """By enumeration, in rational arithmetic: the optimum is the same with and without the reduction."""
    n_united = 0
    for seed in range(80):
        small = small_with_duplicates(seed)
        groups = united_groups(small)
        best: Fraction | None = None
        best_whole: Fraction | None = None
        for labels in feasible_partitions(len(small.points), small.k, small.must_link, small.cannot_link):
            cost = exact_cost(small.points, labels, small.weights)
            best = cost if best is None else min(best, cost)
            is_whole = all(
                labels[i] == labels[j] for i, group in enumerate(groups) for j in range(i) if groups[j] == group
            )
            if is_whole:
                best_whole = cost if best_whole is None else min(best_whole, cost)
        if best is not None:
            assert best_whole == best
            n_united += len(small.points) - 1 - max(groups)
    assert n_united > 50


@pytest.mark.parametrize("seed", range(12))
def test_solve_with_identical_points_is_right_and_verified(seed: int, tmp_path: Path) -> None:
    """The whole pipeline agrees with enumeration, and the checker accepts its certificate."""
    small = small_with_duplicates(1000 + seed)
    choices = feasible_partitions(len(small.points), small.k, small.must_link, small.cannot_link)
    best = min((exact_cost(small.points, labels, small.weights) for labels in choices), default=None)
    arguments = {"must_link": small.must_link, "cannot_link": small.cannot_link, "sample_weight": small.weights}
    if best is None:
        with pytest.raises(InfeasibleError):
            solve(small.points, small.k, **arguments)  # type: ignore[arg-type]
        return
    result = solve(small.points, small.k, **arguments)  # type: ignore[arg-type]
    assert result.objective == pytest.approx(float(best), rel=1e-9)
    result.save(tmp_path, report=False)
    assert verify(tmp_path, gap=1e-4)


def test_parts_of_united_points_are_verified(tmp_path: Path) -> None:
    """A bound by parts may rest on united points: the parts' weights are those of whole places."""
    random = np.random.default_rng(0)
    points = np.round(random.normal(size=(900, 2)) + 6.0 * random.integers(0, 2, size=(900, 1)), 1)
    result = solve(points, 2, gap=0.05, part_size=150)
    assert 300 < result.size < 850
    assert result.parts
    result.save(tmp_path, report=False)
    assert verify(tmp_path, gap=0.05)


def test_only_free_points_are_united_and_k_groups_stay() -> None:
    """A link of either kind keeps a point out; with fewer than k places nothing is united; -0.0 is 0.0."""
    points = [[0.0], [-0.0], [0.0], [0.0], [5.0], [5.0], [9.0]]
    small = SmallInstance(points, 3, [(2, 6)], [(3, 4)], None)
    assert united_groups(small) == [0, 0, 1, 2, 3, 4, 1]
    assert united_groups(small._replace(k=5)) == [0, 0, 1, 2, 3, 4, 1]
    assert united_groups(small._replace(k=6)) == [0, 1, 2, 3, 4, 5, 2]
    gram = Instance.create(gram=np.ones((4, 4)), n_clusters=2)
    assert unite_identical(gram, np.arange(4)).tolist() == [0, 1, 2, 3]


def test_presolve_unites_a_table_of_counts_and_undoes_it() -> None:
    """Two thousand rows at ten places are ten super-points; labels of these are labels of all rows."""
    points = np.random.default_rng(0).integers(0, 10, size=(2000, 1)).astype(float)
    presolved = presolve(Instance.create(points, 3))
    assert presolved.super_points.size == 10
    assert presolved.n_identical == 1990
    labels = presolved.super_points.expand_labels(np.arange(10))
    assert all(len(np.unique(labels[points[:, 0] == place])) == 1 for place in range(10))


def test_a_single_pair_of_identical_points_is_left_alone() -> None:
    """Among a hundred points one pair less saves nothing, and costs a step in the proof."""
    points = np.random.default_rng(0).normal(size=(100, 2))
    points[1] = points[0]
    assert presolve(Instance.create(points, 3)).n_identical == 0


def test_rows_with_one_key_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of equal rows are equal; that different rows may share one costs time, not correctness."""
    rows = np.random.default_rng(0).integers(0, 3, size=(200, 2)).astype(np.float64)
    expected = [next(j for j in range(200) if (rows[j] == rows[i]).all()) for i in range(200)]
    assert first_equal_rows(rows).tolist() == expected
    monkeypatch.setattr(identical, "_mixed", lambda rows: np.zeros(len(rows), dtype=np.uint64))
    assert first_equal_rows(rows).tolist() == expected
