"""Problems whose points lie in regions: right answers at every distance, limits kept, saved and resumed."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certimeans import InfeasibleError, InputError, Progress, SolveStatus, solve, verify
from certimeans._typing import FloatArray
from certimeans.result import SolveResult
from certimeans.search.limits import Limits
from certimeans.search.regions.account import Account, Pair
from certimeans.search.regions.problem import RegionProblem
from certimeans.search.regions.search import FOLDER
from certimeans.solver import solve_instance
from tests.oracles.far import far_instance

GAP = 1e-6


def messy(distance: float, n: int = 150, n_far: int = 1) -> FloatArray:
    """Return standard normal points, some of them replaced by points far away."""
    random = np.random.default_rng(0)
    points = random.normal(size=(n, 2))
    angles = np.arange(n_far) * 2.0
    points[5 : 5 + n_far] = distance * np.column_stack([np.cos(angles), np.sin(angles)])
    return points


def kinds_of(result: SolveResult) -> list[str]:
    """Return the kinds of the steps at the root."""
    return [step.kind for step in result.search_tree.proof()[0]]


@pytest.mark.parametrize("distance", [1e2, 1e3, 1e4, 1e8, 1e20, 1e150])
def test_one_row_with_a_fill_value_costs_nothing(distance: float, tmp_path: Path) -> None:
    """The gap stayed open at 10 to 100 per cent for ten seconds; now it is closed, and verified."""
    began = time.perf_counter()
    result = solve(messy(distance), 3, time_limit=20)
    assert result.status is SolveStatus.OPTIMAL
    assert time.perf_counter() - began < 10
    assert result.statistics.regions is not None
    assert result.statistics.regions.points == (149, 1)
    assert result.statistics.regions.clusters == (2, 1)
    without = solve(np.delete(messy(distance), 5, axis=0), 2)
    assert result.objective == pytest.approx(without.objective, rel=1e-4)
    result.save(tmp_path, report=False)
    assert verify(tmp_path, gap=1e-4).n_regions == 2
    assert "2 regions" in verify(tmp_path, arithmetic="ball").sentence()


@pytest.mark.parametrize("block", range(6))
def test_small_instances_agree_with_enumeration(block: int, tmp_path: Path) -> None:
    """Weights, links inside and across regions, standardised features, identical points, extreme magnitudes."""
    by_regions = 0
    for seed in range(40 * block, 40 * (block + 1)):
        far = far_instance(seed, extreme=seed % 3 == 0)
        best = far.statement().optimum()
        try:
            result = solve_instance(far.build(), Limits(GAP, 30.0))
        except InfeasibleError:
            assert best is None, seed
            continue
        except InputError:
            continue  # magnitudes that double precision cannot handle
        assert best is not None, seed
        assert result.labels is not None
        assert far.statement().allows(result.labels.tolist()), seed
        assert Fraction(result.lower_bound) <= best <= far.statement().cost(result.labels.tolist()), seed
        if result.status is SolveStatus.OPTIMAL:
            assert Fraction(result.objective) * (1 - Fraction(GAP)) <= best, seed
        else:
            assert "double precision" in result.message, seed
        if "regions" in kinds_of(result):
            by_regions += 1
            result.save(tmp_path, overwrite=True, report=False)
            assert Fraction(verify(tmp_path).lower_bound) <= best, seed
    assert by_regions > 10


def test_what_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The log, the summary and the JSON say in words that there are regions; progress is about the whole."""
    seen: list[Progress] = []
    result = solve(messy(1e3), 3, verbose=1, callback=seen.append)
    sentence = "the points lie in 2 regions that no better clustering joins: 149 and 1 points"
    assert f"regions:  {sentence}" in capsys.readouterr().err
    assert sentence in result.summary()
    assert json.loads(result.to_json())["regions"] == [149, 1]
    bounds = [progress.lower_bound for progress in seen if progress.phase != "presolve"]
    assert bounds == sorted(bounds)
    assert bounds[-1] == result.lower_bound
    assert [progress.seconds for progress in seen] == sorted(progress.seconds for progress in seen)


def test_identical_points_and_inference_come_first() -> None:
    """The proof begins with both; regions are about what they leave."""
    points = np.vstack([np.repeat(np.arange(4.0), 3), np.zeros(12)]).T
    points = np.vstack([points, [[1e4, 0.0], [1e4, 1.0], [0.5, 0.5], [0.6, 0.4]]])
    result = solve(points, 3, cannot_link=[(12, 14), (12, 15), (14, 13), (13, 15)])
    assert result.status is SolveStatus.OPTIMAL
    assert kinds_of(result)[0] == "identical"
    assert kinds_of(result)[-1] == "regions"


def test_a_region_that_cannot_have_so_few_clusters() -> None:
    """Three far points that are apart from each other need three clusters, although two would be cheaper elsewhere."""
    near = np.random.default_rng(1).normal(size=(20, 2)) + 8 * (np.arange(20) % 3)[:, None]
    points = np.vstack([near, [[1e5, 0.0], [1e5, 1.0], [1e5, 2.0]]])
    result = solve(points, 5, cannot_link=[(20, 21), (21, 22), (20, 22)])
    assert result.status is SolveStatus.OPTIMAL
    assert result.statistics.regions is not None
    assert result.statistics.regions.clusters == (2, 3)


def test_limits_are_kept_and_the_bound_is_valid() -> None:
    """Two hard regions share a short time, nodes are counted over both, and what is proven by then counts."""
    random = np.random.default_rng(2)
    points = random.random((160, 4)) + 1e4 * (np.arange(160) % 2)[:, None]
    best = solve(points, 16, time_limit=1)
    assert best.seconds < 2.5
    assert 0 <= best.lower_bound <= best.objective
    assert best.statistics.regions is not None
    assert best.statistics.regions.searched >= 2
    few = solve(points, 16, max_nodes=2)
    assert few.status in {SolveStatus.NODE_LIMIT, SolveStatus.OPTIMAL}
    assert few.nodes <= 3


def test_one_process_or_several_executors_agree() -> None:
    """To the bit with one process; within the gap elsewhere, also where features are standardised."""
    points = messy(50.0, n=60, n_far=2) * [1.0, 1e-3]
    first, again = (solve(points, 4, standardize=True) for _ in range(2))
    assert "regions" in kinds_of(first)
    assert first.lower_bound == again.lower_bound
    assert first.row_labels() == again.row_labels()
    with ThreadPoolExecutor(2) as executor:
        choices: list[dict[str, Any]] = [{"n_jobs": 2}, {"n_jobs": 2, "executor": executor}]
        for options in choices:
            result = solve(points, 4, standardize=True, **options)
            assert result.objective == pytest.approx(first.objective, rel=1e-4)
            assert result.status is SolveStatus.OPTIMAL


def saved_at_once(folder: Path, **options: Any) -> SolveResult:
    """Solve two regions that need a tree each."""
    random = np.random.default_rng(3)
    points = random.random((70, 3)) + 1e3 * (np.arange(70) % 2)[:, None]
    return solve(points, 12, checkpoint=folder, gap=1e-6, **options)


def test_a_search_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    """Each problem has a folder; the resumed search evaluates only what is missing, and ends with the same optimum."""
    whole = saved_at_once(tmp_path / "whole")
    stopped = saved_at_once(tmp_path / "stopped", max_nodes=1)
    assert stopped.status is SolveStatus.NODE_LIMIT or whole.nodes <= 1
    assert any((tmp_path / "stopped" / FOLDER).iterdir())
    resumed = saved_at_once(tmp_path / "stopped")
    assert resumed.status is whole.status is SolveStatus.OPTIMAL
    assert resumed.objective == whole.objective
    assert resumed.row_labels() == whole.row_labels()
    resumed.save(tmp_path / "result", report=False)
    assert verify(tmp_path / "result", gap=1e-6).n_regions == 2


def test_an_edited_checkpoint_of_a_region_claims_nothing(tmp_path: Path) -> None:
    """Bounds in the files of regions are raised, and all nodes pruned: they are proven again, and the nodes opened."""
    import hashlib  # noqa: PLC0415

    stopped = saved_at_once(tmp_path, max_nodes=1)
    paths = list((tmp_path / FOLDER).glob("*/checkpoint.json"))
    assert paths
    for path in paths:
        record = json.loads(path.read_text())
        search = json.loads(record["search"])
        for node in search["nodes"]:
            node[3], node[4] = "pruned", 1e9
        record["search"] = json.dumps(search)
        record["sha256"] = hashlib.sha256(record["search"].encode()).hexdigest()
        path.write_text(json.dumps(record))
    resumed = saved_at_once(tmp_path)
    assert resumed.status is SolveStatus.OPTIMAL
    assert resumed.lower_bound <= resumed.objective <= stopped.objective
    resumed.save(tmp_path / "result", report=False)
    verify(tmp_path / "result", gap=1e-6)


def test_another_instance_in_the_folder_is_refused(tmp_path: Path) -> None:
    """The folder of a search by regions knows its instance."""
    solve(messy(1e3, n=30), 3, checkpoint=tmp_path)
    with pytest.raises(InputError, match="another instance"):
        solve(messy(1e4, n=30), 3, checkpoint=tmp_path)


def test_a_region_that_cannot_be_saved_is_searched_all_the_same(tmp_path: Path) -> None:
    """A folder that became unusable hours after the start: what was proven is worth more than what could be saved."""
    folder = tmp_path / "saved"
    solve(messy(1e3), 3, checkpoint=folder)
    for region in (folder / FOLDER).iterdir():
        for file in region.glob("checkpoint*.json"):
            file.write_text("{", encoding="utf-8")
    result = solve(messy(1e3), 3, checkpoint=folder)
    assert result.status is SolveStatus.OPTIMAL
    assert "a region is searched without being saved: " in result.message
    assert "the checkpoint is damaged" in result.message


def test_time_is_kept_while_many_problems_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each allocation of many clusters needs problems that are not known yet; the limit ends that."""
    slow = Account.problem

    def problem(account: Account, pair: Pair) -> RegionProblem:
        if pair not in account.problems:
            time.sleep(0.3)
        return slow(account, pair)

    monkeypatch.setattr(Account, "problem", problem)
    began = time.perf_counter()
    result = solve(np.concatenate([messy(1e3), messy(1e3) + 1e6]), 40, time_limit=1.0)
    assert time.perf_counter() - began < 2.5
    assert result.status is SolveStatus.TIME_LIMIT


def test_questions_about_a_result_by_regions() -> None:
    """Prices of constraints and ambiguous pairs are problems like any others."""
    result = solve(messy(1e3, n=40), 3, cannot_link=[(0, 1)], must_link=[(2, 3)])
    prices = result.constraint_prices(time_limit=20)
    assert len(prices) == 2
    assert all(price.low <= price.high for price in prices)
    assert len(result.ambiguous_pairs(3, time_limit=20)) == 3


def test_a_region_without_digits_is_left_at_zero() -> None:
    """Costs of 1e-310 cannot be proven; beside a cost of 1 they do not matter."""
    tiny = 1e-155 * np.random.default_rng(4).normal(size=(6, 1))
    points = np.vstack([tiny, 1e6 + np.array([[0.0], [1.0], [5.0], [6.5]])])
    result = solve(points, 3)
    assert result.status is SolveStatus.OPTIMAL
    assert result.statistics.regions is not None


def test_statistics_can_be_replaced() -> None:
    """They are plain frozen data."""
    result = solve(messy(1e3, n=30), 3)
    assert replace(result.statistics, regions=None).regions is None


def test_standardised_points_that_are_very_close_by_the_deviations_of_all() -> None:
    """A region whose squared distances, over variances of the whole, are near 1e-340: the unit of costs became 0."""
    points = np.vstack([[[1e-30], [2e-30], [4e-30], [7e-30]], [[1e140], [-1e140]]])
    result = solve(points, 4, standardize=True, sample_weight=np.full(6, 1e60))
    assert result.status is SolveStatus.OPTIMAL
    assert 0 < result.lower_bound <= result.objective
