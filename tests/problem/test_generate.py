from collections import Counter

import numpy as np
import pytest

from certimeans.errors import InputError
from certimeans.problem.generate import generate_constraints


@pytest.mark.parametrize(("must", "cannot"), [(0, 0), (10, 0), (0, 10), (25, 25)])
def test_the_wanted_numbers_are_drawn_and_agree_with_the_classes(must: int, cannot: int) -> None:
    """Exactly as many as asked for, without duplicates, never against the labels."""
    labels = np.random.default_rng(1).integers(0, 3, size=40)
    constraints = generate_constraints(labels, must, cannot, seed=5)
    assert (len(constraints.must_link), len(constraints.cannot_link)) == (must, cannot)
    assert all(labels[i] == labels[j] for i, j in constraints.must_link)
    assert all(labels[i] != labels[j] for i, j in constraints.cannot_link)


def test_the_same_seed_gives_the_same_constraints_and_another_seed_others() -> None:
    """Constraint sets can be reproduced from their seed."""
    labels = [0, 1] * 20
    first, again, other = (generate_constraints(labels, 9, 9, seed).must_link.tolist() for seed in (3, 3, 4))
    assert first == again != other


def test_all_pairs_can_be_asked_for_and_not_one_more() -> None:
    """Two classes of two and three points allow 1 + 3 must-links and 6 cannot-links."""
    labels = ["a", "b", "a", None, "b", "b"]
    constraints = generate_constraints(labels, 4, 6)
    assert constraints.must_link.tolist() == [[0, 2], [1, 4], [1, 5], [4, 5]]
    assert len(constraints.cannot_link) == 6
    with pytest.raises(InputError, match="5 must-links asked for, but the labels allow only 4"):
        generate_constraints(labels, 5, 0)
    with pytest.raises(InputError, match="7 cannot-links asked for, but the labels allow only 6"):
        generate_constraints(labels, 0, 7)
    with pytest.raises(InputError, match="must not be negative"):
        generate_constraints(labels, -1, 0)
    with pytest.raises(InputError, match="allow only 0"):
        generate_constraints([], 1, 0)


def test_every_pair_is_drawn_equally_often() -> None:
    """Over many seeds each of the 4 must-links and 6 cannot-links comes about as often as the others."""
    labels = [0, 0, 1, 1, 1]
    drawn: Counter[tuple[int, ...]] = Counter()
    for seed in range(1200):
        constraints = generate_constraints(labels, 1, 1, seed)
        drawn[tuple(constraints.must_link[0].tolist())] += 1
        drawn[tuple(constraints.cannot_link[0].tolist())] += 1
    must = [count for (i, j), count in drawn.items() if labels[i] == labels[j]]
    cannot = [count for (i, j), count in drawn.items() if labels[i] != labels[j]]
    assert len(must) == 4
    assert len(cannot) == 6
    assert min(must) > 240  # 300 expected, standard deviation 15
    assert min(cannot) > 145  # 200 expected, standard deviation 13
