from __future__ import annotations

import math

import pytest

from certimeans.errors import InternalError
from certimeans.heuristics.incumbent import Incumbent
from certimeans.problem.instance import Instance


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
    [([0, 1, 0, 1], "points 0 and 1 must link"), ([0, 0, 1, 1], "2 and 3 cannot link"), ([0] * 4, "1 clusters")],
)
def test_a_broken_constraint_is_an_internal_error(labels: list[int], message: str) -> None:
    """Whoever offers such labels has a bug, and the message says what is broken."""
    with pytest.raises(InternalError, match=message):
        Incumbent(make_instance()).offer(labels)
