from typing import Any

import numpy as np
import pytest

from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints
from certimeans.problem.instance import Instance

POINTS = [[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0.0, 1.0], [float("nan"), 2.0]], r"points\[1, 0\] is nan"),
        ([[0.0, float("inf")]], r"points\[0, 1\] is inf"),
        ([[0.0], ["a"]], r"points\[1, 0\] is 'a'"),
        ([["1", "2"]], "pass numbers, not text"),
        ([["a"]], r"points\[0, 0\] is 'a': every coordinate must be a number"),
        (np.array([[1 + 2j]]), "complex"),
        ([1.0, 2.0], r"2-D table.*shape \(2,\); for one feature pass points.reshape\(-1, 1\)"),
        ([[[1.0]]], r"shape \(1, 1, 1\)"),
        ([[1.0, 2.0], [3.0]], "every row of the same length"),
        ([], r"shape \(0,\)"),
        (np.empty((0, 3)), "points are empty: got 0 rows and 3 columns"),
        (np.empty((3, 0)), "points are empty: got 3 rows and 0 columns"),
        ([[1e200], [0.0]], "too large for double precision"),
        ([[10**400]], r"points\[0, 0\]"),
        ([[None, 1.0]], r"points\[0, 0\] is"),
        ("points", "2-D table"),
        (None, "2-D table"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "2020-01-01"),
    ],
)
def test_points_that_are_not_a_finite_table_are_refused_by_name(points: Any, message: str) -> None:
    """Every kind of bad points is an InputError that says what and where."""
    with pytest.raises(InputError, match=message):
        Instance(points, 1)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "at least 1; got 0"),
        (-3, "at least 1; got -3"),
        (2.0, "must be an integer; got 2.0"),
        ("2", "must be an integer; got '2'"),
        (True, "must be an integer; got True"),
        (None, "must be an integer; got None"),
        (4, "n_clusters is 4, but there are only 3 points"),
    ],
)
def test_a_number_of_clusters_that_makes_no_sense_is_refused(k: Any, message: str) -> None:
    """K is an integer from 1 to n."""
    with pytest.raises(InputError, match=message):
        Instance.create(POINTS, k)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"shape \(2,\)"),
        ([1.0, 0.0, 1.0], r"weights\[1\] is 0.0"),
        ([1.0, 1.0, -2.0], r"weights\[2\] is -2.0"),
        ([float("nan"), 1.0, 1.0], r"weights\[0\] is nan"),
        (["a", "b", "c"], "must be numbers"),
    ],
)
def test_weights_must_be_positive_and_one_a_point(weights: Any, message: str) -> None:
    """Bad weights are refused with their position."""
    with pytest.raises(InputError, match=message):
        Instance.create(POINTS, 2, weights=weights)


def test_pairs_and_labels_beyond_the_points_are_refused() -> None:
    """The message names the pair and the range."""
    with pytest.raises(InputError, match=r"cannot_link pair \(0, 3\): there are only 3 points, numbered 0 to 2"):
        Instance.create(POINTS, 2, cannot_link=[(3, 0)])
    with pytest.raises(InputError, match="partial_labels has 2 entries for 3 points"):
        Instance.create(POINTS, 2, partial_labels=["a", "b"])


def test_an_instance_is_frozen_and_keeps_its_own_copy() -> None:
    """Neither the caller's array nor the instance's can change it later."""
    points = np.array(POINTS)
    instance = Instance.create(points, 2)
    points[0, 0] = 99.0
    assert instance.points[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        instance.points[0, 0] = 1.0
    with pytest.raises(AttributeError):
        instance.n_clusters = 3  # type: ignore[misc]


def test_the_fingerprint_depends_on_the_problem_and_on_nothing_else() -> None:
    """Order and direction of pairs do not matter, the points, weights, k and pairs do."""
    base = Instance.create(POINTS, 2, must_link=[(0, 1)])
    assert base.fingerprint == Instance.create(np.array(POINTS) * 1, 2, must_link=[(1, 0), (0, 1)]).fingerprint
    assert base.fingerprint == Instance.create([[-0.0, 0.0], *POINTS[1:]], 2, must_link=[(0, 1)]).fingerprint
    different = [
        Instance.create(POINTS, 3, must_link=[(0, 1)]),
        Instance.create(POINTS, 2, cannot_link=[(0, 1)]),
        Instance.create(POINTS, 2, must_link=[(0, 2)]),
        Instance.create(POINTS, 2, must_link=[(0, 1)], weights=[1, 1, 2]),
        Instance.create(np.array(POINTS) + 1e-12, 2, must_link=[(0, 1)]),
        Instance.create(np.array(POINTS).reshape(1, -1).T[:3], 2, must_link=[(0, 1)]),
    ]
    assert len({base.fingerprint, *(instance.fingerprint for instance in different)}) == 7


def test_every_kind_of_constraint_becomes_pairs() -> None:
    """Pairs, labels, diameter and split together."""
    constraints = Constraints.create([(0, 2)], diameter=4.0, split=0.5, partial_labels=["a", "b", None, None])
    instance = Instance(np.array([[0.0], [1.0], [1.2], [5.0]]), 2, constraints)
    assert instance.must_link.tolist() == [[0, 2], [1, 2]]
    assert instance.cannot_link.tolist() == [[0, 1], [0, 3]]


def test_data_frames_bring_their_column_names() -> None:
    """Anything with columns and an array form is read like a DataFrame."""

    class Frame:
        columns = ("length", "width")

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
            return np.array(POINTS, dtype=dtype, copy=True if copy is None else copy)

    assert Instance(Frame(), 2).feature_names == ("length", "width")  # type: ignore[arg-type]


@pytest.mark.parametrize("exponent", [-500, -100, 0, 100, 500])
def test_scatter_scales_with_the_data(exponent: int) -> None:
    """Total scatter is exact under powers of two, as long as it is a double at all."""
    scatter = Instance.create(np.ldexp(np.array(POINTS), exponent), 2).total_scatter
    assert scatter == np.ldexp(Instance.create(POINTS, 2).total_scatter, 2 * exponent)


def test_a_feature_that_hardly_varies_is_not_standardized() -> None:
    """Its standard deviation is no ordinary double: it was 0, and everything not a number."""
    with pytest.raises(InputError, match="feature 1 varies by"):
        Instance.create([[0.0, 0.0], [1.0, 5e-324], [3.0, 0.0], [7.0, 0.0]], 2, standardize=True)
