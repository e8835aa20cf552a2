"""Results that were saved can be asked more."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from certimeans import CertificateError, InputError, load_result, solve, solve_range

POINTS = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [10.0, 3.0], [11.0, 1.0], [12.0, 2.0]]


def test_a_result_comes_back_with_names_and_constraints(tmp_path: Path) -> None:
    """Stated links stay apart from what follows from classes; cost and bound are proven again."""
    frame = pd.DataFrame(POINTS, index=list("abcdef"), columns=["x", "y"])
    found = solve(frame, 2, must_link=[("a", "d")], partial_labels=[None, "u", None, None, "v", None])
    found.save(tmp_path / "out")
    again = load_result(tmp_path / "out")
    assert again.objective == found.objective
    assert again.lower_bound == pytest.approx(found.lower_bound, rel=1e-6)
    assert again.instance.fingerprint == found.instance.fingerprint
    assert again.instance.constraints.must_link.tolist() == [[0, 3]]
    assert again.instance.feature_names == ("x", "y")
    assert again.short_name_of(3) == "d"
    assert again.constraint_prices()[0].names == (("a", "d"),)
    with pytest.raises(InputError, match="has no proof with it, so it cannot be saved"):
        again.save(tmp_path / "other")


def test_weightless_points_keep_their_numbers(tmp_path: Path) -> None:
    """A point of the instance leads to the user's row."""
    solve(POINTS, 2, must_link=[(2, 3)], sample_weight=[1, 0, 1, 1, 1, 1]).save(tmp_path / "out")
    again = load_result(tmp_path / "out")
    assert again.constraint_prices()[0].links == (("must-link", 2, 3),)


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    """An edited problem, an edited certificate, a folder that is none, a result without a clustering."""
    out = tmp_path / "out"
    solve(POINTS, 2, must_link=[(2, 3)]).save(out, report=False)
    problem = json.loads((out / "problem.json").read_text(encoding="utf-8"))
    for change in (
        {"constraints": {**problem["constraints"], "must_link": [[0, 1]]}},
        {"constraints": {"must_link": 3}},
    ):
        (out / "problem.json").write_text(json.dumps({**problem, **change}), encoding="utf-8")
        with pytest.raises(InputError, match=r"problem\.json"):
            load_result(out)
    (out / "problem.json").unlink()
    assert load_result(out).instance.must_link.tolist() == [[2, 3]]  # the pairs are in the certificate
    certificate = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    (out / "certificate.json").write_text(json.dumps({**certificate, "lower_bound": 1e6}), encoding="utf-8")
    with pytest.raises(CertificateError):
        load_result(out)
    with pytest.raises(InputError):
        load_result(tmp_path / "nowhere")


def test_standardized_features_and_a_gram_matrix_come_back(tmp_path: Path) -> None:
    """Profiles and prices are the same."""
    solve(POINTS, 2, standardize=True).save(tmp_path / "a", report=False)
    assert load_result(tmp_path / "a").instance.standardize
    points = np.array(POINTS)
    solve(gram=points @ points.T, n_clusters=2).save(tmp_path / "b", report=False)
    assert load_result(tmp_path / "b").instance.geometry == "gram"


def test_limits_on_sizes_come_back(tmp_path: Path) -> None:
    """With capacities, and also from a folder without problem.json."""
    found = solve(POINTS, 2, must_link=[(0, 1)], size_max=7, capacity=[1, 2, 3, 3, 2, 1])
    found.save(tmp_path / "out", report=False)
    for _ in range(2):
        again = load_result(tmp_path / "out")
        assert again.instance.fingerprint == found.instance.fingerprint
        assert [price.effect for price in again.constraint_prices()] == ["costs nothing"]
        (tmp_path / "out" / "problem.json").unlink(missing_ok=True)


def test_a_folder_without_a_result_says_where_one_is(tmp_path: Path) -> None:
    """The folder of a range has one for each number; elsewhere there is none."""
    solve_range(POINTS, [2, 3]).save(tmp_path / "range")
    with pytest.raises(InputError, match="choose one: k2, k3"):
        load_result(tmp_path / "range")
    with pytest.raises(InputError, match="there is no such folder"):
        load_result(tmp_path / "nowhere")
