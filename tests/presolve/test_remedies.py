"""Which single constraints, given up, leave a clustering: against enumeration."""

from typing import Any

import numpy as np
import pytest

from certimeans import InfeasibleError, solve
from certimeans._typing import FloatArray
from tests.oracles.brute_force import feasible_partitions


@pytest.mark.parametrize("seed", range(40))
def test_remedies_are_those_that_enumeration_finds(seed: int) -> None:
    """Random links on seven points, most of them contradictory."""
    random = np.random.default_rng(seed)
    k = int(random.integers(2, 4))
    pairs = [(i, j) for i in range(7) for j in range(i + 1, 7)]
    chosen = [pairs[c] for c in random.choice(len(pairs), 9, replace=False)]
    must_link, cannot_link = chosen[:4], chosen[4:]
    points = random.normal(size=(7, 1))
    found = _remedies(points, k, must_link, cannot_link)
    assert (found is None) == _exists(k, must_link, cannot_link)
    if found is not None:
        assert found == {
            *(("must-link", *p) for p in must_link if _exists(k, [q for q in must_link if q != p], cannot_link)),
            *(("cannot-link", *p) for p in cannot_link if _exists(k, must_link, [q for q in cannot_link if q != p])),
        }


def _remedies(points: FloatArray, k: int, must_link: Any, cannot_link: Any) -> set[tuple[str, int, int]] | None:
    try:
        solve(points, k, must_link=must_link, cannot_link=cannot_link, max_nodes=1)
    except InfeasibleError as error:
        return {(kind, min(i, j), max(i, j)) for kind, i, j in error.conflict.remedies or ()}
    return None


def test_a_pair_that_classes_state_as_well_is_no_remedy() -> None:
    """Given up as a pair, it would still follow from the classes."""
    with pytest.raises(InfeasibleError) as error:
        solve([[0.0], [1.0], [2.0]], 2, must_link=[(0, 1)], partial_labels=["a", "b", None])
    assert error.value.conflict.remedies == (("must-link", 0, 1),)
    with pytest.raises(InfeasibleError) as error:
        solve([[0.0], [1.0], [2.0]], 2, must_link=[(0, 1)], cannot_link=[(0, 1)], partial_labels=["a", "b", None])
    assert error.value.conflict.remedies == (("must-link", 0, 1),)


def _exists(k: int, must_link: list[tuple[int, int]], cannot_link: list[tuple[int, int]]) -> bool:
    return next(feasible_partitions(7, k, must_link, cannot_link), None) is not None
