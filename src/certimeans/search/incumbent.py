"""The best clustering so far: nothing gets in that is not checked against the raw data."""

from __future__ import annotations

import logging
import threading

from numpy.typing import ArrayLike

from certimeans.errors import InputError
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance

_LOGGER = logging.getLogger("certimeans")


class Incumbent:
    """Keeps the cheapest clustering offered; safe to share between threads.

    Every offer is checked from the raw data, independent of how it was found: each must-link, each cannot-link,
    exactly k non-empty clusters, and its cost, which is recomputed. What fails is dropped, and logged once.

    Parameters
    ----------
    instance
        The problem as the user stated it.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._lock = threading.Lock()
        self._best: Clustering | None = None
        self.source = ""
        """Where the cheapest clustering comes from."""
        self._has_warned = False

    @property
    def clustering(self) -> Clustering | None:
        """The cheapest clustering, or ``None`` if there is none yet."""
        return self._best

    @property
    def nothing_proven(self) -> float:
        """What every clustering costs at least, without any proof: 0, or minus infinity for a Gram matrix."""
        return self._instance.scaled.scale.nothing_proven

    @property
    def cost(self) -> float:
        """Cost of the cheapest clustering, in the user's units; infinite if there is none yet."""
        best = self._best
        return float("inf") if best is None else best.cost

    def offer(self, labels: ArrayLike, source: str = "search") -> bool:
        """Take labels of the points if they are feasible and cheaper than all before; say whether they were.

        Parameters
        ----------
        source
            Where they come from, for the log and for the warning about labels that break a constraint.
        """
        try:
            clustering = Clustering.from_labels(self._instance, labels)
            violations = clustering.violations(self._instance)
        except InputError as error:
            violations = [str(error)]
        if violations:
            self._warn(source, violations)
            return False
        with self._lock:
            if self._best is not None and self._best.cost <= clustering.cost:
                return False
            self._best, self.source = clustering, source
            return True

    def _warn(self, source: str, violations: list[str]) -> None:
        with self._lock:
            first, self._has_warned = not self._has_warned, True
        if first:
            _LOGGER.warning("labels from %s were dropped: %s", source, "; ".join(violations))
