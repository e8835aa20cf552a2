import json

import numpy as np
import pytest

from certimeans.proof.steps import (
    BlockStep,
    BranchStep,
    CovarianceStep,
    InfeasibleStep,
    MergeStep,
    RelaxationStep,
    Step,
)
from certimeans.proof.store import from_plain, pack, unpack

BOUND = RelaxationStep(
    group_of=np.array([0, 1, 1]),
    cut_start=np.array([0, 2]),
    cut_member=np.array([0, 1], np.int32),
    cut_coefficient=np.array([-1, 1], np.int8),
    cut_multiplier=np.array([0.3]),
    slack=np.ones(3, np.float32),
    unit=2.5,
    weight_unit=1.0,
)
BLOCKS = BlockStep(
    group_of=np.array([0, 1, 1]),
    block_start=np.array([0, 1, 1]),
    cut_start=np.array([0, 2]),
    cut_member=np.array([0, 1], np.int32),
    cut_coefficient=np.array([-1, 1], np.int8),
    cut_multiplier=np.array([0.3]),
    links=np.array([[1, 0, 1]], np.int32),
    link_multiplier=np.array([0.2]),
    row_multiplier=np.ones((2, 2)),
    slack=np.ones((2, 3), np.float32),
    unit=2.5,
)
STEPS: tuple[Step, ...] = (
    MergeStep(np.array([[0, 1, 2]])),
    CovarianceStep(),
    BOUND,
    BLOCKS,
    InfeasibleStep(),
    BranchStep(0, 2, together=1, apart=2),
)


def test_every_kind_of_step_comes_back() -> None:
    """Through JSON and arrays, with values and types as before."""
    plain, arrays = pack(STEPS)
    back = unpack(json.loads(json.dumps(plain)), arrays)
    assert [step.kind for step in back] == [step.kind for step in STEPS]
    for step, before in zip(back, STEPS, strict=True):
        np.testing.assert_equal(vars(step), vars(before))
        for name, value in vars(before).items():
            assert getattr(vars(step)[name], "dtype", None) == getattr(value, "dtype", None)


def test_what_is_no_step_is_refused() -> None:
    """An unknown kind, an array that is missing, and arrays of a step that is not there."""
    with pytest.raises(ValueError, match="unknown kind of step 'magic'"):
        from_plain({"kind": "magic"}, {})
    with pytest.raises(KeyError):
        from_plain({"kind": "merge"}, {})
    with pytest.raises((IndexError, ValueError)):
        unpack([], {"s0_rows": np.zeros((1, 3))})
