"""Pairs by the labels of a DataFrame's index."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from certimeans import CertifiedKMeans, InputError, read_points, solve

VALUES = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
BY_NAME = pd.DataFrame(VALUES, index=list("abcdef"), columns=["x"])
BY_NUMBER = pd.DataFrame(VALUES, index=[5, 4, 3, 2, 1, 0], columns=["x"])
BY_DATE = pd.DataFrame(VALUES, index=pd.date_range("2020-01-01", periods=6), columns=["x"])
BY_LARGE_NUMBER = pd.DataFrame(VALUES, index=range(1001, 1007), columns=["x"])


@pytest.mark.parametrize(
    ("frame", "pair", "options"),
    [
        (BY_NAME, ("c", "d"), {}),
        (BY_NAME, (2, 3), {}),
        (BY_NUMBER, (3, 2), {"link_by": "label"}),
        (BY_NUMBER, (2, 3), {"link_by": "position"}),
        (BY_LARGE_NUMBER, (1003, 1004), {}),
        (pd.DataFrame(VALUES), (2, 3), {}),
        (pd.DataFrame(VALUES, index=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), (2, 3), {}),
        (pd.DataFrame(VALUES, index=list("012345")), (2, 3), {}),
        (pd.DataFrame(VALUES, index=list("543210")), ("3", "2"), {}),
        (BY_DATE, (BY_DATE.index[2], BY_DATE.index[3]), {}),
        (BY_DATE, ("2020-01-03", "2020-01-04"), {}),
        (pd.DataFrame(VALUES, index=pd.MultiIndex.from_product([["u", "v"], [0, 1, 2]])), (("u", 2), ("v", 0)), {}),
    ],
)
def test_labels_and_positions_mean_the_same_points(frame: Any, pair: Any, options: dict[str, Any]) -> None:
    """Strings and numbers, in solve and in the estimator."""
    found = solve(frame, 2, must_link=[pair], **options)
    assert found.instance.must_link.tolist() == [[2, 3]]
    model = CertifiedKMeans(2).fit(frame, must_link=[pair], **options)
    assert model.result_.instance.must_link.tolist() == [[2, 3]]


@pytest.mark.parametrize(
    ("frame", "pair", "options", "message"),
    [
        (BY_NUMBER, (3, 2), {}, r"must_link\[0\] = \(3, 2\): .*say which with link_by='label' or link_by='position'"),
        (pd.DataFrame(VALUES, index=list("543210")), (3, 2), {}, "say which with link_by"),
        (BY_DATE, ("2020-01-03", "2020-01-40"), {}, "no point is named '2020-01-40'; did you mean '2020-01-0"),
        (BY_NAME, ("c", "x"), {}, r"must_link\[0\] = .*no point is named 'x'"),
        (BY_LARGE_NUMBER, (1003, 1010), {}, "no point is named 1010"),
        (BY_NAME, ("c",), {}, "must_link must be a sequence of pairs"),
        (pd.DataFrame(VALUES, index=list("aabcde")), ("a", "b"), {}, "'a' is the name of 2 points, numbers 0, 1"),
        (np.array(VALUES), (0, 1), {"link_by": "label"}, "needs points with labels"),
        (BY_NAME, (0, 1), {"link_by": "name"}, "link_by must be 'auto', 'label' or 'position'"),
    ],
)
def test_what_may_be_meant_in_two_ways_is_refused(frame: Any, pair: Any, options: dict[str, Any], message: str) -> None:
    """So are unknown and repeated labels."""
    with pytest.raises(InputError, match=message):
        solve(frame, 2, must_link=[pair], **options)


def test_all_columns_of_text_of_a_frame_are_listed() -> None:
    """With the call that leaves them out."""
    frame = BY_NAME.assign(city="Köln", since=pd.Timestamp("2020-01-01"), kind=pd.Categorical(["a"] * 6))
    with pytest.raises(InputError, match=r"columns 'city', 'since', 'kind' .*select_dtypes\(\"number\"\)"):
        solve(frame, 2)


def test_the_rows_of_a_frame_come_back_with_their_clusters() -> None:
    """Index and columns stay; a column that is called cluster already is kept."""
    frame = BY_NAME.assign(cluster=7.0)
    back = solve(frame, 2).to_frame()
    assert back.index.tolist() == list("abcdef")
    assert back.columns.tolist() == ["x", "cluster", "cluster_2"]
    assert back["cluster_2"].tolist() == [0, 0, 0, 1, 1, 1]
    plain = solve(np.array(VALUES), 2).to_frame()
    assert plain["cluster"].tolist() == [0, 0, 0, 1, 1, 1]


def test_a_file_that_was_read_can_be_solved_by_name(tmp_path: Any) -> None:
    """Names, features and left-out rows come with it."""
    path = tmp_path / "x.csv"
    path.write_text("name,x\na,0\nb,1\nc,\nd,10\ne,11\n", encoding="utf-8")
    found = solve(read_points(path, missing="drop"), 2, must_link=[("a", "b")])
    assert found.instance.feature_names == ("x",)
    back = found.to_frame()
    assert back["name"].tolist() == list("abcde")
    assert back["cluster"].isna().tolist() == [False, False, True, False, False]
    assert found.to_dict()["labels"] == [0, 0, None, 1, 1]


def test_a_feature_that_is_nearly_all_of_the_variance_is_named() -> None:
    """In notes, with what can be done; not if features are scaled."""
    frame = pd.DataFrame({"small": [0.1, 0.2, 0.3, 0.4], "large": [0.0, 100.0, 1000.0, 1100.0]})
    assert "feature 'large' makes up 99.9 % of the variance" in solve(frame, 2).notes[0]
    assert "standardize=True" in solve(frame, 2).notes[0]
    assert solve(frame, 2, standardize=True).notes == ()
