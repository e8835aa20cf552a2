from __future__ import annotations

import math

import pytest

from certimeans.problem.instance import Instance
from certimeans.search.incumbent import Incumbent


def make_instance() -> Instance:
    """Four points on a line: the first two must link, the last two cannot."""
    return Instance.create([[0.0], [1.0], [5.0], [9.0]], 2, must_link=[(0, 1)], cannot_link=[(2, 3)])


def test_only_cheaper_clusterings_get_in() -> None:
    """{0, 1, 5} {9} costs 4 + 1 + 9 = 14 in the user's units; nothing dearer or equal replaces it."""
    incumbent = Incumbent(make_instance())
    assert incumbent.clustering is None
    assert math.isinf(incumbent.cost)
    assert incumbent.offer([0, 0, 1, 0])
    assert incumbent.offer([0, 0, 0, 1])
    assert incumbent.cost == pytest.approx(14.0)
    assert not incumbent.offer([7, 7, 7, 3])
    assert not incumbent.offer([0, 0, 1, 0])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 0, 1], "points 0 and 1 must link"),
        ([0, 0, 1, 1], "2 and 3 cannot link"),
        ([0] * 4, "1 clusters"),
        ([0, 1], "labels have shape"),
    ],
)
def test_labels_that_break_a_constraint_are_dropped(
    labels: list[int], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    """They never get in and never end a solve; the first ones are logged with what is broken."""
    incumbent = Incumbent(make_instance())
    assert not incumbent.offer(labels)
    assert not incumbent.offer(labels)
    assert incumbent.clustering is None
    assert [message in record.getMessage() for record in caplog.records] == [True]
