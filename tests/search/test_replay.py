import numpy as np
import pytest

from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from certimeans.proof.steps import MergeStep
from certimeans.search.node import Decision
from certimeans.search.replay import check_groups, proven_groups

INSTANCE = Instance.create(np.arange(6.0)[:, None], 3, must_link=[(4, 5)], cannot_link=[(0, 1), (0, 2), (1, 2), (0, 3)])


def test_inference_is_accepted_exactly_if_it_has_a_reason() -> None:
    """1 and 2 take two of three clusters: what is apart from both, like 0, shares one; 3 is apart from 0 only."""
    apart = (Decision(3, 1, together=False),)
    row = MergeStep(np.array([[2, 3, 0, 1]]))
    groups = proven_groups(INSTANCE, apart, [row])
    assert groups[2] == groups[3]
    assert groups[4] == groups[5]
    with pytest.raises(ValueError, match="united without a reason"):
        proven_groups(INSTANCE, (), [row])
    with pytest.raises(ValueError, match="united for 1 others"):
        proven_groups(INSTANCE, apart, [MergeStep(np.array([[2, 3, 0]]))])
    with pytest.raises(ValueError, match="without a reason"):  # one point twice is no clique
        proven_groups(INSTANCE, apart, [MergeStep(np.array([[2, 3, 0, 0]]))])
    with pytest.raises(ValueError, match="name no points"):
        proven_groups(INSTANCE, apart, [MergeStep(np.array([[2, 3, 0, 6]]))])
    with pytest.raises(ValueError, match="together and apart"):
        proven_groups(INSTANCE, (Decision(0, 1, together=True),), [])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_presolve_infers_is_accepted(k: int) -> None:
    """Its rows prove its groups, for every rule: one cluster, two-colouring, cliques."""
    edges = {1: [], 2: [(0, 1), (1, 2), (2, 3)], 3: [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)]}[k]
    presolved = presolve(Instance.create(np.arange(8.0)[:, None], k, cannot_link=edges))
    proven = proven_groups(presolved.instance, (), [MergeStep(presolved.merges)])
    assert len(np.unique(proven)) == presolved.super_points.size
    check_groups(presolved.super_points.group_of, proven, k)


@pytest.mark.parametrize("groups", [[0, 0, 1], [0, 1, 3], [0, 1], [-1, 0, 1], [0, 0, 0]])
def test_groups_that_nothing_proves_are_refused(groups: list[int]) -> None:
    """Points that are not together, gaps in the numbers, another length, a negative number, too few."""
    with pytest.raises(ValueError, match="group"):
        check_groups(np.array(groups), np.array([0, 1, 2]), 2)
