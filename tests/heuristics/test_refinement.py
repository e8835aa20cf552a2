import numpy as np
import pytest

from certimeans.deadline import Deadline
from certimeans.heuristics.refinement import Refiner

RANDOM = np.random.default_rng(0)
MEANS = np.concatenate([RANDOM.normal(size=(300, 3)), RANDOM.normal(size=(200, 3)) + 2.0])
WEIGHTS = RANDOM.choice([0.5, 1.0, 4.0], size=500)
CENTRES = MEANS[[3, 77, 250, 401]]


def plain_lloyd(centres: np.ndarray, passes: int) -> tuple[np.ndarray, float]:
    """Do the same by the definition."""
    for _ in range(passes):
        labels = ((MEANS[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.stack([np.average(MEANS[labels == c], axis=0, weights=WEIGHTS[labels == c]) for c in range(4)])
    return centres, float((WEIGHTS * ((MEANS - centres[labels]) ** 2).sum(axis=1)).sum())


@pytest.mark.parametrize("passes", [1, 2, 3, 8, 30])
def test_skipping_points_changes_nothing(passes: int) -> None:
    """After any number of passes centres and cost are those of Lloyd's algorithm, with two threads as well."""
    expected, cost = plain_lloyd(CENTRES, passes)
    for n_threads in (1, 2):
        refined = Refiner(MEANS, WEIGHTS, n_threads).refine(CENTRES, Deadline(), 0.0, passes)
        assert refined is not None
        np.testing.assert_allclose(refined.centres, expected, rtol=1e-12)
        assert refined.cost == pytest.approx(cost, rel=1e-12)


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    """Sums are added in the same order whoever computes them."""
    found = [Refiner(MEANS, WEIGHTS, n).refine(CENTRES, Deadline(), 1e-9) for n in (1, 2, 3)]
    assert all(refined is not None and (refined.centres == found[0].centres).all() for refined in found)  # type: ignore[union-attr]


def test_it_ends_when_a_pass_gains_little() -> None:
    """A share of the cost: with a large one, the first pass is the last."""
    once = Refiner(MEANS, WEIGHTS).refine(CENTRES, Deadline(), 1.0)
    expected, _ = plain_lloyd(CENTRES, 1)
    assert once is not None
    np.testing.assert_allclose(once.centres, expected, rtol=1e-12)


def test_a_centre_that_nobody_is_near_stays() -> None:
    """It has no mean; a descent fills the cluster later."""
    far = np.vstack([CENTRES, [[1e6, 0.0, 0.0]]])
    refined = Refiner(MEANS, WEIGHTS).refine(far, Deadline(), 1e-9)
    assert refined is not None
    assert refined.centres[4].tolist() == [1e6, 0.0, 0.0]


def test_without_time_there_is_no_answer() -> None:
    """The first pass has to be complete."""
    assert Refiner(MEANS, WEIGHTS).refine(CENTRES, Deadline(0.0), 1e-9) is None
