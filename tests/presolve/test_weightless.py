import numpy as np
import pytest

from certimeans import InputError, solve
from certimeans.presolve.weightless import leave_out_weightless
from certimeans.problem.clustering import Clustering
from certimeans.problem.constraints import Constraints
from certimeans.problem.expand import expand
from certimeans.problem.validation import as_weights

POINTS = np.array([[0.0], [1.0], [5.0], [6.0], [20.0]])
WEIGHTS = np.array([1.0, 2.0, 0.0, 1.0, 1.0])


def test_constraints_follow_the_points_that_remain() -> None:
    """Without point 2, points 3 and 4 become 2 and 3 in pairs and partial labels alike."""
    constraints = Constraints.create([(0, 1)], [(3, 4)], partial_labels=[None, "a", None, "b", "b"])
    reduction = leave_out_weightless(POINTS, 3, constraints, WEIGHTS)
    kept, renumbered = reduction.kept, reduction.instance.constraints
    assert kept.tolist() == [0, 1, 3, 4]
    assert renumbered.must_link.tolist() == [[0, 1]]
    assert renumbered.cannot_link.tolist() == [[2, 3]]
    pairs = expand(renumbered, POINTS[kept])
    assert pairs.must_link.tolist() == [[0, 1], [2, 3]]
    assert pairs.cannot_link.tolist() == [[1, 2], [2, 3]]


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ({"must_link": [(0, 2)]}, r"must-link \(0, 2\);"),
        ({"cannot_link": [(2, 4)]}, r"cannot-link \(2, 4\);"),
        ({"partial_labels": ["a", -1, "a", -1, -1]}, "both labelled 'a'"),
        ({"split": 1.5}, "closer than 1.5"),
        ({"diameter": 10.0}, "farther apart than 10"),
    ],
)
def test_a_constraint_on_a_point_of_weight_zero_is_refused(stated: dict[str, object], reason: str) -> None:
    """Whatever its kind, the message names the point, the pair and where the pair came from."""
    with pytest.raises(InputError, match=rf"sample_weight\[2\] is 0.*{reason}"):
        leave_out_weightless(POINTS, 3, Constraints.create(**stated), WEIGHTS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0], r"sample_weight\[1\] is -1"),
        ([np.nan, 1.0], r"sample_weight\[0\] is nan"),
        ([0.0, 0.0], "zero for every point"),
        ([1.0], r"shape \(1,\)"),
        ([[1.0], [1.0]], r"shape \(2, 1\)"),
        (["a", "b"], "must be numbers"),
    ],
)
def test_bad_weights_are_named(weights: list[object], message: str) -> None:
    """Negative, missing, all zero, too few, a table, text."""
    with pytest.raises(InputError, match=message):
        as_weights(weights, 2, name="sample_weight", zero_allowed=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("geometry", ["points", "gram"])
def test_who_was_left_out_goes_to_the_nearest_centre(geometry: str) -> None:
    """Point 2, at 5, lies nearest to point 3, at 6; centres of a Gram matrix are only implied."""
    table = POINTS if geometry == "points" else POINTS @ POINTS.T
    reduction = leave_out_weightless(table, 3, Constraints(), WEIGHTS, geometry=geometry)  # type: ignore[arg-type]
    clustering = Clustering.from_labels(reduction.instance, [0, 0, 1, 2])
    assert reduction.restore_labels(clustering).tolist() == [0, 0, 1, 1, 2]


def test_distances_to_points_of_weight_zero_are_measured_like_all_others() -> None:
    """Standardised, the point of weight zero is closer than 0.3 to both its neighbours and would join them.

    The points themselves are 10 apart, so that a comparison of raw distances would see no constraint on it.
    """
    points = [[0.0], [10.0], [20.0], [100.0]]
    with pytest.raises(InputError, match=r"sample_weight\[1\] is 0.*closer than 0.3"):
        leave_out_weightless(points, 2, Constraints.create(split=0.3), [1.0, 0.0, 1.0, 1.0], standardize=True)


def test_solve_labels_all_points_and_proves_about_those_that_count() -> None:
    """Weights of zero mean the same to ``solve`` as to the estimator."""
    result = solve(POINTS, 2, sample_weight=WEIGHTS)
    assert result.labels is not None
    assert result.labels.tolist() == [0, 0, 0, 0, 1]
    assert result.instance.n_points == 4
