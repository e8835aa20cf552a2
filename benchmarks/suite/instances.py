"""The paper's instances, for scripts that compare heuristics and bounds with its results.

Loading is the package's own, see :mod:`certimeans.bench.suite`. These scripts have no lower bound that would tell which
published values do not belong to their files, as ``certimeans bench`` finds out; they are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from certimeans._typing import IntArray
from certimeans.bench.suite import Case, find_cases, load_case
from certimeans.presolve.contract import SuperPoints
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance

__all__ = ["NOT_COMPARABLE", "Case", "checked_clustering", "is_comparable", "load_case", "load_cases"]

NOT_COMPARABLE = frozenset({"vertebral"})
"""Data sets with published values that were computed from other constraint files than the published ones."""


def load_cases(folder: Path, datasets: list[str] | None = None) -> Iterator[Case]:
    """Yield the instances of a folder by data set, number of constraints and seed."""
    yield from find_cases(folder, datasets)


def is_comparable(case: Case) -> bool:
    """Whether the published result belongs to this constraint set."""
    return case.published is not None and case.dataset not in NOT_COMPARABLE


def checked_clustering(instance: Instance, groups: SuperPoints, labels: IntArray) -> Clustering:
    """Return what a heuristic found for super-points as a clustering of the points; it must keep every constraint."""
    found = Clustering.from_labels(instance, groups.expand_labels(labels))
    if not found.satisfies(instance):
        raise AssertionError(found.violations(instance))
    return found
