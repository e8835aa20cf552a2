"""The best clustering so far: nothing gets in that is not checked against the raw data."""

from __future__ import annotations

import threading

from numpy.typing import ArrayLike

from certimeans.errors import InternalError
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance


class Incumbent:
    """Keeps the cheapest clustering offered; safe to share between threads.

    Every offer is checked from the raw data, independent of how it was found: each must-link, each cannot-link,
    exactly k non-empty clusters, and its cost, which is recomputed.

    Parameters
    ----------
    instance
        The problem as the user stated it.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._lock = threading.Lock()
        self._best: Clustering | None = None

    @property
    def clustering(self) -> Clustering | None:
        """The cheapest clustering, or ``None`` if there is none yet."""
        return self._best

    @property
    def cost(self) -> float:
        """Cost of the cheapest clustering, in the user's units; infinite if there is none yet."""
        best = self._best
        return float("inf") if best is None else best.cost

    def offer(self, labels: ArrayLike) -> bool:
        """Take labels of the points if they are cheaper than all before; say whether they were.

        Raises
        ------
        InternalError
            If the labels break a constraint: whoever found them has a bug.
        """
        clustering = Clustering.from_labels(self._instance, labels)
        violations = clustering.violations(self._instance)
        if violations:
            raise InternalError(f"a heuristic returned a clustering that is none: {'; '.join(violations)}")
        with self._lock:
            if self._best is not None and self._best.cost <= clustering.cost:
                return False
            self._best = clustering
            return True
