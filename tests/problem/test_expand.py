import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from certimeans.errors import InputError
from certimeans.presolve.graph import connected
from certimeans.problem import expand as expand_module
from certimeans.problem.constraints import Constraints, PartialLabels
from certimeans.problem.expand import expand, pairs_closer_than, pairs_farther_than, pairs_from_labels


def test_labels_become_few_pairs_that_say_the_same() -> None:
    """Five points of two classes need three must-links and one cannot-link, not four and six."""
    must_link, cannot_link = pairs_from_labels(PartialLabels.encode(["b", None, "a", "b", "a", "b"]))
    assert sorted(map(tuple, must_link.tolist())) == [(0, 3), (0, 5), (2, 4)]
    assert cannot_link.tolist() == [[0, 2]]


def test_ten_thousand_labels_do_not_become_quadratically_many_pairs() -> None:
    """A class of m points gives m - 1 must-links, a pair of classes one cannot-link."""
    must_link, cannot_link = pairs_from_labels(PartialLabels.encode(np.arange(10_000) % 4))
    assert (len(must_link), len(cannot_link)) == (9_996, 6)


@pytest.mark.parametrize("dense_from", [0, 10**9])
@pytest.mark.parametrize("seed", range(20))
def test_split_links_exactly_the_points_that_chains_of_close_pairs_connect(
    seed: int, dense_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways to find the forest give the components of the full graph, with no more pairs than needed."""
    monkeypatch.setattr(expand_module, "_DENSE_NEIGHBOURS", dense_from)
    random = np.random.default_rng(seed)
    points = np.round(random.normal(size=(30, 2)), 1)
    distance = float(random.choice([0.1, 0.3, 0.5, 3.0]))
    close = np.argwhere(np.triu(squareform(pdist(points)) < distance, k=1))
    forest = pairs_closer_than(points, distance)
    assert connected(30, forest).tolist() == connected(30, close).tolist()
    assert len(forest) == 30 - (connected(30, close).max() + 1)
    assert {tuple(sorted(pair)) for pair in forest.tolist()} <= set(map(tuple, close.tolist()))


@pytest.mark.parametrize("seed", range(10))
def test_diameter_forbids_exactly_the_pairs_farther_apart(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against all pairwise distances, in blocks of a few rows."""
    monkeypatch.setattr(expand_module, "_BLOCK_ENTRIES", 100)
    points = np.random.default_rng(seed).normal(size=(40, 3))
    found = pairs_farther_than(points + 1000.0, 2.5)
    expected = np.argwhere(np.triu(squareform(pdist(points + 1000.0)) > 2.5, k=1))
    assert sorted(map(tuple, found.tolist())) == list(map(tuple, expected.tolist()))


def test_distances_are_compared_strictly() -> None:
    """At exactly the given distance, points are neither closer nor farther."""
    points = np.array([[0.0], [1.0], [3.0]])
    assert len(expand(Constraints.create(split=1.0), points).must_link) == 0
    assert expand(Constraints.create(diameter=2.0), points).cannot_link.tolist() == [[0, 2]]
    assert len(expand(Constraints.create(split=0.0), points).must_link) == 0
    assert len(expand(Constraints.create(diameter=0.0), points).cannot_link) == 3


@pytest.mark.parametrize("exponent", [-900, -100, 0, 100, 400])
def test_distances_work_at_every_scale(exponent: int) -> None:
    """Neither overflow nor underflow changes what is close and what is far."""
    points = np.ldexp(np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0]]), exponent)
    unit = float(np.ldexp(1.0, exponent))
    pairs = expand(Constraints.create(split=2 * unit, diameter=4.5 * unit), points)
    assert pairs.must_link.tolist() == [[0, 1]]
    assert pairs.cannot_link.tolist() == [[0, 2]]


def test_a_diameter_that_forbids_too_many_pairs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is stated instead of filling the memory."""
    monkeypatch.setattr(expand_module, "MAX_DIAMETER_PAIRS", 100)
    with pytest.raises(InputError, match="forbids more than 100 pairs"):
        pairs_farther_than(np.arange(50.0)[:, None], 0.5)
