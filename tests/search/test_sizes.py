"""Limits on sizes through the whole solver, against enumeration."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certimeans
from certimeans import solve
from certimeans.errors import InfeasibleError
from tests.oracles.sizes import limited_instance


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


def test_a_proof_needs_the_limits(tmp_path: Path) -> None:
    """The optimum within limits costs more than without; summary and checker name the limits."""
    points = [[0.0], [1.0], [2.0], [3.0], [40.0], [41.0]]
    limited, free = solve(points, 2, size_min=3), solve(points, 2)
    assert limited.lower_bound > free.objective
    assert "sizes from 3" in limited.summary()
    limited.save(tmp_path, report=False)
    assert "sizes" in certimeans.verify(tmp_path).sentence()
