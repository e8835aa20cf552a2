"""What clusters are like, and how several numbers of clusters compare."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, silhouette_score

from certimeans import InfeasibleError, InputError, load_result, solve, solve_range
from certimeans.analysis.choices import start_for_next
from certimeans.analysis.profile import profile_of
from certimeans.problem.clustering import Clustering

POINTS = np.array([[0.0, 100.0], [2.0, 100.0], [10.0, 300.0], [12.0, 300.0], [11.0, 300.0]])


@pytest.mark.parametrize("standardize", [False, True])
def test_a_profile_is_in_the_users_units(standardize: bool) -> None:
    """Means and standard deviations by hand, also if the solver scaled the features."""
    frame = solve(POINTS, 2, standardize=standardize).profile()
    assert frame.index.tolist() == [0, 1]
    assert frame["size"].tolist() == [2, 3]
    assert frame["share"].tolist() == [0.4, 0.6]
    assert frame["feature 0 mean"].tolist() == [1.0, 11.0]
    assert frame["feature 1 mean"].tolist() == [100.0, 300.0]
    assert frame["feature 0 spread"].tolist() == pytest.approx([1.0, np.std([10, 12, 11])])
    assert "feature 1 low (-1.2 sd)" in frame["distinguished by"][0]


def test_weights_count_in_a_profile() -> None:
    """A point of weight three pulls the mean."""
    profile = profile_of(solve(POINTS, 2, sample_weight=[3, 1, 1, 1, 1]))
    assert profile.means[0].tolist() == [0.5, 100.0]
    assert profile.shares.tolist() == pytest.approx([4 / 7, 3 / 7])


def test_a_gram_matrix_has_sizes_only() -> None:
    """There are no features to describe."""
    frame = solve(gram=POINTS @ POINTS.T, n_clusters=2).profile()
    assert frame.columns.tolist() == ["size", "share"]


def test_a_range_of_k_is_a_table() -> None:
    """Cost falls with k; silhouette and agreement are scikit-learn's."""
    points = np.random.default_rng(0).normal(size=(24, 2)) + 6 * (np.arange(24) % 3)[:, None]
    results = solve_range(points, range(2, 5), cannot_link=[(0, 1)])
    assert list(results) == [2, 3, 4]
    table = results.table()
    assert table["k"].tolist() == [2, 3, 4]
    assert (table["status"] == "optimal").all()
    assert table["cost"].is_monotonic_decreasing
    labels = {k: result.labels for k, result in results.items()}
    assert table["silhouette"][3] == pytest.approx(silhouette_score(points, labels[3]))
    assert table["agreement"][3] == pytest.approx(adjusted_rand_score(labels[2], labels[3]))
    assert np.isnan(table["agreement"][2])
    assert table["explained"][2] == pytest.approx(1 - results[2].objective / points.var(axis=0).sum() / 24)
    assert "the least cost is not the best" in results.summary()
    json.loads(results.to_json())


def test_a_number_that_constraints_forbid_is_a_row_without_numbers() -> None:
    """Three points that pairwise cannot link do not fit into two clusters."""
    apart = [(0, 2), (0, 4), (2, 4)]
    results = solve_range(POINTS, [2, 3], cannot_link=apart)
    assert list(results) == [3]
    assert results.table()["status"].tolist() == ["infeasible", "optimal"]
    with pytest.raises(InfeasibleError):
        results[2]
    with pytest.raises(InfeasibleError):
        solve_range(POINTS, [1, 2], cannot_link=apart)
    for wrong in (range(0), 3):
        with pytest.raises(InputError, match="n_clusters must be one or more integers"):
            solve_range(POINTS, wrong)  # type: ignore[arg-type]


def test_the_start_for_the_next_number_keeps_every_constraint() -> None:
    """One more cluster, must-links together, cannot-links apart."""
    random = np.random.default_rng(1)
    points = random.normal(size=(20, 3))
    found = solve(points, 2, must_link=[(0, 1), (2, 3), (4, 5)], cannot_link=[(0, 2), (6, 7)])
    start = start_for_next(found)
    assert start is not None
    again = solve(points, 3, must_link=[(0, 1), (2, 3), (4, 5)], cannot_link=[(0, 2), (6, 7)])
    assert Clustering.from_labels(again.instance, start).satisfies(again.instance)


def test_a_range_is_saved_as_a_page_and_a_folder_for_each_number(tmp_path: Path) -> None:
    """The page links to the reports; each folder verifies and can be loaded; other results are kept."""
    results = solve_range(POINTS, [2, 3])
    results.save(tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert 'href="k2/report.html"' in page
    assert "<svg" in page
    assert (tmp_path / "out" / "elbow.png").read_bytes().startswith(b"\x89PNG")
    assert load_result(tmp_path / "out" / "k3").instance.n_clusters == 3
    lines = (tmp_path / "out" / "range.csv").read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].startswith("k,status,cost,lower_bound,gap,explained,silhouette,agreement")
    with pytest.raises(InputError, match="there is another result"):
        results.save(tmp_path / "out")
    results.save(tmp_path / "out", overwrite=True)


@pytest.mark.parametrize("options", [{}, {"sample_weight": [1, 1, 1, 0, 1]}])
def test_more_clusters_than_points_are_refused_before_the_first_is_solved(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after the work on the others; points of weight zero do not count."""
    monkeypatch.setattr("certimeans.ranges.solve", lambda *_, **__: pytest.fail("solved"))
    with pytest.raises(InputError, match="goes up to 6, but there are only"):
        solve_range(POINTS, range(2, 7), **options)


def test_a_range_with_limits_on_sizes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Starts that break the limits are not offered; numbers that the limits rule out leave no folder."""
    results = solve_range(POINTS, range(1, 5), size_min=2)
    assert sorted(results) == [1, 2]
    assert sorted(results.infeasible) == [3, 4]
    assert "dropped" not in caplog.text
    (tmp_path / "k3").mkdir()
    (tmp_path / "k3" / "labels.csv").write_text("old", encoding="utf-8")
    results.save(tmp_path, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["k1", "k2"]
