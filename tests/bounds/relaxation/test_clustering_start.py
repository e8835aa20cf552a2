import numpy as np
import pytest

from certimeans import Instance
from certimeans.bounds.relaxation.admm import Admm, AdmmSettings
from certimeans.bounds.relaxation.clustering_start import start_from_clustering
from certimeans.bounds.relaxation.cutting_planes import bound_by_cutting_planes
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering


def blobs(distance: float) -> tuple[Instance, np.ndarray]:
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 20)
    centres = distance * np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 1.0]])
    return Instance.create(centres[labels] + random.normal(size=(60, 2)), 3), labels


def test_the_multipliers_of_separated_clusters_prove_their_clustering() -> None:
    """Far apart, the closed form is the optimum of the dual problem: no iteration is needed."""
    instance, labels = blobs(30.0)
    points = presolve(instance).super_points
    relaxation = Relaxation.from_super_points(points)
    start = start_from_clustering(relaxation, labels[points.first_points])
    assert start is not None
    proven = points.scale.to_user(Admm(relaxation, start, AdmmSettings()).safe_bound().safe_lower_bound)
    cost = Clustering.from_labels(instance, labels).cost
    assert (1 - 1e-6) * cost <= proven <= cost


def test_overlapping_clusters_are_closed_in_fewer_iterations() -> None:
    """The multipliers prove little by themselves there, but the loop ends sooner than from nothing."""
    instance, labels = blobs(5.0)
    points = presolve(instance).super_points
    relaxation = Relaxation.from_super_points(points)
    target = points.scale.target(Clustering.from_labels(instance, labels).cost * (1 - 1e-4))
    start = start_from_clustering(relaxation, labels[points.first_points])
    warm, cold = (bound_by_cutting_planes(relaxation, target, start=given) for given in (start, None))
    assert warm.safe_lower_bound >= target
    assert sum(r.iterations for r in warm.rounds) < sum(r.iterations for r in cold.rounds)


def test_a_clustering_with_too_few_clusters_is_no_start() -> None:
    """Its matrix would have the wrong trace."""
    instance, labels = blobs(5.0)
    relaxation = Relaxation.from_super_points(presolve(instance).super_points)
    assert start_from_clustering(relaxation, np.minimum(labels, 1)) is None


@pytest.mark.filterwarnings("error")
def test_multipliers_that_overflow_are_no_start() -> None:
    """Weights from 1e-290 to 1: moderate multipliers or none, and nobody is warned."""
    random = np.random.default_rng(0)
    points, weights = random.normal(size=(12, 2)), np.full(12, 1e-290)
    points[:2], weights[:2] = 0.0, 1.0  # what varies weighs nothing
    instance = Instance.create(points, 3, weights=weights)
    relaxation = Relaxation.from_super_points(presolve(instance).super_points)
    for _ in range(20):
        start = start_from_clustering(relaxation, random.permutation(np.arange(relaxation.size) % 3))
        assert start is None or np.abs(start.dual).max() < 1e30
