from unittest.mock import Mock

import numpy as np
import pytest

from certimeans.bounds.protocol import Question
from certimeans.bounds.relaxation import bounder
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.proof import prove_again
from certimeans.certificate import read
from certimeans.presolve.contract import contract
from certimeans.problem.instance import Instance
from certimeans.proof.steps import RelaxationStep


def step(members: list[int], coefficients: list[int]) -> RelaxationStep:
    """Make a step with one cut for three points."""
    return RelaxationStep(
        group_of=np.arange(3),
        cut_start=np.array([0, len(members)]),
        cut_member=np.array(members, np.int32),
        cut_coefficient=np.array(coefficients, np.int8),
        cut_multiplier=np.array([0.3]),
        slack=np.zeros(6, np.float32),
        unit=1.0,
        weight_unit=1.0,
    )


@pytest.mark.parametrize("members", [[0, 0, 1], [1, 0], [0, 1, 3], [-1, 1]])
def test_a_stored_cut_that_is_none_is_refused(members: list[int]) -> None:
    """A super-point twice, not in order, or none of this problem: the row would stand for another inequality."""
    relaxation = Relaxation.from_super_points(contract(Instance.create([[0.0], [1.0], [3.0]], 2), np.arange(3)))
    assert prove_again(step([0, 1], [1, -1]), relaxation).safe_lower_bound < 1
    with pytest.raises(ValueError, match=r"order|belong"):
        prove_again(step(members, [1] * (len(members) - 1) + [-1]), relaxation)


def test_rows_of_cuts_are_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """To prove again takes one look at the cuts."""
    build = Mock(wraps=CutRows.build)
    monkeypatch.setattr(CutRows, "build", build)
    relaxation = Relaxation.from_super_points(contract(Instance.create([[0.0], [1.0], [3.0]], 2), np.arange(3)))
    prove_again(step([0, 1], [1, -1]), relaxation)
    assert build.call_count == 1


def test_no_bound_is_made_that_no_certificate_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is the format's, and one super-point more is refused before any work."""
    assert bounder.LARGEST_SIZE == read._MOST_SUPER_POINTS == 10_000
    monkeypatch.setattr(bounder, "LARGEST_SIZE", 3)
    for n in (3, 4):
        points = contract(Instance.create(np.arange(float(n)).reshape(-1, 1), 2), np.arange(n))
        question = Question(points, lambda: np.inf)
        if n == 3:
            assert bounder.RelaxationBounder().bound(question).bound.value <= 0.5
        else:
            with pytest.raises(ValueError, match="room for 3 super-points, not for 4"):
                bounder.RelaxationBounder().bound(question)
