"""Small relaxations with all their clusterings, for tests of bounds and cuts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certimeans.bounds.relaxation.model import Relaxation
from certimeans.presolve.contract import SuperPoints, contract
from tests.oracles.brute_force import feasible_partitions, optimum
from tests.oracles.instances import random_instance


class Enumerated(NamedTuple):
    """A relaxation, the labels of every feasible partition of its super-points, and the optimum in its units."""

    super_points: SuperPoints
    relaxation: Relaxation
    labels: list[tuple[int, ...]]
    optimum: float

    def matrix(self, labels: tuple[int, ...]) -> np.ndarray:
        """Y of a clustering, from its definition."""
        weights, label = self.super_points.weights, np.array(labels)
        same = label[:, None] == label[None, :]
        cluster_weight = np.array([weights[label == c].sum() for c in label])
        matrix: np.ndarray = np.sqrt(np.outer(weights, weights)) * same / cluster_weight[:, None]
        return matrix


def enumerated(seed: int, max_points: int = 7) -> Enumerated | None:
    """Draw a small instance with weights, without must-links; ``None`` if it is infeasible or all points are equal."""
    small = random_instance(seed, max_points=max_points, weighted=True)._replace(must_link=[])
    instance = small.build()
    found = list(feasible_partitions(instance.n_points, small.k, (), small.cannot_link))
    if not found or instance.total_scatter == 0:
        return None
    best = optimum(small.points, small.k, (), small.cannot_link, small.weights).cost
    assert best is not None
    super_points = contract(instance, np.arange(instance.n_points))
    return Enumerated(super_points, Relaxation.from_super_points(super_points), found, best / instance.total_scatter)
