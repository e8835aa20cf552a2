"""Whether groups fit into clusters of limited sizes, and why not."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from certimeans.deadline import Deadline
from certimeans.errors import InfeasibleError
from certimeans.presolve.contract import contract
from certimeans.presolve.graph import Contradiction, connected
from certimeans.presolve.packing import find_packing, guess_packing
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from tests.oracles.sizes import limited_instance


@pytest.mark.parametrize("seeds", range(0, 300, 50))
def test_the_exact_search_agrees_with_enumeration(seeds: int) -> None:
    """It finds a clustering where there is one, and a contradiction where there is none."""
    decided = 0
    for seed in range(seeds, seeds + 50):
        stated = limited_instance(seed)
        instance = stated.build()
        exists = bool(stated.partitions())
        groups = connected(instance.n_points, instance.must_link)
        try:
            points = contract(instance, groups)
            packing = find_packing(points)
        except Contradiction:
            assert not exists, seed
            continue
        assert packing is not None
        assert exists, seed
        assert Clustering.from_labels(instance, points.expand_labels(packing)).satisfies(instance)
        decided += 1
    assert decided > 10


def test_a_search_that_gives_up_says_nothing() -> None:
    """Too few steps are no proof; the mixed-integer programme may still find a way, which is checked."""
    random = np.random.default_rng(0)
    capacity = random.integers(20, 90, size=24)
    instance = Instance.create(random.normal(size=(24, 2)), 4, size_max=-(-capacity.sum() // 4), capacity=capacity)
    points = contract(instance, np.arange(24))
    assert find_packing(points, max_steps=10) is None
    guess = guess_packing(points, Deadline())
    assert guess is None or Clustering.from_labels(instance, guess).satisfies(instance)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"sizes": [3, 6]}, "the sizes add up to 9, but there are 8 points"),
        ({"sizes": [0, 8]}, "sizes has a 0, but no cluster may be empty"),
        ({"size_max": 3}, "2 clusters of at most 3 points hold 6, but there are 8 points"),
        ({"size_min": 5}, "2 clusters of at least 5 points need 10, but there are 8 points"),
        (
            {"size_max": 5, "must_link": [(i, i + 1) for i in range(6)]},
            "the 7 points tied together by must-links exceed size_max 5",
        ),
        (
            {"sizes": [4, 4], "must_link": [(0, 1), (1, 2), (2, 3), (3, 4)]},
            "the 5 points tied together by must-links exceed the largest of the sizes, 4",
        ),
        ({"size_max": 9, "capacity": [10, *[1] * 7]}, "point 0 has a capacity of 10, above size_max 9"),
        (
            {"sizes": [4, 4], "must_link": [(0, 1), (1, 2), (3, 4), (4, 5), (6, 7)]},
            "no way to form 2 clusters keeps the sizes 4/4 and these constraints",
        ),
        ({"size_max": 0.3, "capacity": [*[0.1] * 6, 0, 0]}, r"hold 0.6, but the capacities add up to 0.6 \(they diff"),
    ],
)
def test_infeasible_sizes_are_explained(stated: dict[str, Any], message: str) -> None:
    """In the user's own terms."""
    with pytest.raises(InfeasibleError, match=message):
        presolve(Instance.create([[float(i)] for i in range(8)], 2, **stated))


def test_links_that_contradict_each_other_are_explained_as_ever() -> None:
    """Limits that add up do not hide a contradiction of links; those not needed are not named."""
    with pytest.raises(InfeasibleError, match="cannot alternate around an odd cycle"):
        presolve(Instance.create(np.eye(6), 2, size_min=2, cannot_link=[(0, 1), (1, 2), (0, 2)]))
    with pytest.raises(InfeasibleError) as caught:
        presolve(
            Instance.create(np.eye(6), 2, sizes=[3, 3], must_link=[(4, 5)], cannot_link=[(0, i) for i in range(1, 5)])
        )
    found = caught.value.conflict.links
    assert 1 <= len(found) <= 4
    kept = [(i, j) for _, i, j in found]
    for labels in product(range(2), repeat=6):
        together = [labels[i] == labels[j] for i, j in kept]
        wanted = [kind == "must-link" for kind, _, _ in found]
        assert sum(labels) != 3 or together != wanted
