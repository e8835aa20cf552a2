"""Points of weight zero beside standardised features and distances."""

import pytest

from certimeans import InputError, solve

POINTS = [[0.0, 5.0], [1.0, 5.0], [9.0, 5.0], [10.0, 5.0], [5.0, 900.0]]
"""The second feature is constant but for the last point."""


def test_a_feature_that_is_constant_among_the_others_is_no_distance() -> None:
    """The last point, of weight zero, is as near as the first feature says: no diameter of two deviations parts it."""
    found = solve(POINTS, 2, sample_weight=[1, 1, 1, 1, 0], standardize=True, diameter=2.5)
    assert found.status == "optimal"
    assert found.labels is not None
    assert found.labels.tolist()[:4] == [0, 0, 1, 1]


def test_a_distance_that_counts_still_mentions_it() -> None:
    """A point of weight zero that is too far away is part of a constraint, and refused by name."""
    points = [*POINTS[:4], [500.0, 5.0]]
    with pytest.raises(InputError, match=r"sample_weight\[4\] is 0, but a constraint mentions that point"):
        solve(points, 2, sample_weight=[1, 1, 1, 1, 0], standardize=True, diameter=2.5)
