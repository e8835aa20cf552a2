import numpy as np
import pytest

from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints, PartialLabels


def test_pairs_are_sorted_and_listed_once() -> None:
    """Reversed and repeated pairs are fine and change nothing."""
    constraints = Constraints.create(must_link=[(5, 2), (2, 5), (1, 0)], cannot_link={(3, 4)})
    assert constraints.must_link.tolist() == [[0, 1], [2, 5]]
    assert constraints.cannot_link.tolist() == [[3, 4]]


@pytest.mark.parametrize("empty", [None, [], (), np.empty((0, 2)), np.empty((0, 2), dtype=int), iter([])])
def test_no_pairs_can_be_said_in_many_ways(empty: object) -> None:
    """Whatever stands for nothing gives an empty array of pairs."""
    assert Constraints.create(must_link=empty).must_link.shape == (0, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 1), (2, 2)], r"must_link\[1\] = \(2, 2\): a pair needs two different points"),
        ([(0, -1)], r"must_link\[0\] = \(0, -1\): points are numbered from 0"),
        ([(0, 1), (0, 1.5)], r"must hold integers; must_link\[1\] is \(0, 1.5\)"),
        ([(0, 1, 2)], r"got an array of shape \(1, 3\)"),
        ([(0, 1), (2,)], r"must_link\[1\] is \(2,\)"),
        ([0, 1], r"shape \(2,\); for one pair write \[\(0, 1\)\]$"),
        ([("a", "b")], r"must_link\[0\] is \('a', 'b'\); names need points that have them"),
        ("0 1", "got a string"),
        (7, "must be a sequence of pairs"),
        ([(True, False)], "must hold integers"),
        ([(0, 2**70)], "must hold integers"),
        (np.array([[0, 2**63]], dtype=np.uint64), "too large"),
        ([[[0, 1]]], r"shape \(1, 1, 2\)"),
    ],
)
def test_what_is_not_a_pair_of_two_points_is_refused_by_name(pairs: object, message: str) -> None:
    """Each bad entry is an InputError that names the entry."""
    with pytest.raises(InputError, match=message):
        Constraints.create(must_link=pairs)  # type: ignore[arg-type]


@pytest.mark.parametrize("distance", [-1.0, float("nan"), float("inf"), "far", True])
def test_distances_must_be_finite_and_not_negative(distance: object) -> None:
    """Diameter and split are refused when they are not distances."""
    for name in ("diameter", "split"):
        with pytest.raises(InputError, match=f"{name} must be a finite distance"):
            Constraints.create(**{name: distance})  # type: ignore[arg-type]


def test_combining_constraints_keeps_the_stricter_distance() -> None:
    """The union forbids and demands all that either part does."""
    both = Constraints.create([(0, 1)], diameter=5.0, split=0.1) | Constraints.create([(1, 2)], diameter=4.0, split=0.2)
    assert both.must_link.tolist() == [[0, 1], [1, 2]]
    assert (both.diameter, both.split) == (4.0, 0.2)


def test_partial_labels_given_twice_are_refused() -> None:
    """Two lists of labels might disagree, so the user merges them."""
    labelled = Constraints.create(partial_labels=["a", None])
    with pytest.raises(InputError, match="given twice"):
        _ = labelled | labelled


def test_unknown_labels_are_recognised_in_every_spelling() -> None:
    """None, NaN, -1, the empty string, ? and NA are unknown; 1, 1.0 and "1" are one class."""
    labels = PartialLabels.encode([1, "1", 1.0, None, float("nan"), -1, "", "?", "NA", "b", np.int64(-1), "-1"])
    assert labels.codes.tolist() == [0, 0, 0, -1, -1, -1, -1, -1, -1, 1, -1, -1]
    assert labels.names == ("1", "b")


def test_the_reason_of_a_pair_says_where_it_came_from() -> None:
    """Pairs that the user stated, labels and distances are told apart."""
    constraints = Constraints.create(
        [(0, 1)], [(2, 3)], diameter=9.0, split=0.5, partial_labels=["x", "x", "y", None, "y", None]
    )
    assert constraints.reason("must-link", 1, 0) == "must-link"
    assert constraints.reason("cannot-link", 3, 2) == "cannot-link"
    assert constraints.reason("must-link", 2, 4) == "both labelled 'y'"
    assert constraints.reason("cannot-link", 0, 4) == "labelled 'x' and 'y'"
    assert constraints.reason("must-link", 3, 5) == "closer than 0.5"
    assert constraints.reason("cannot-link", 3, 5) == "farther apart than 9"
