"""The paper's instances, for scripts that compare heuristics and bounds with its results.

Loading is the package's own, see :mod:`certimeans.bench.suite`. These scripts have no lower bound that would tell which
published values do not belong to their files, as ``certimeans bench`` finds out; they are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from certimeans.bench.suite import Case, find_cases, load_case

__all__ = ["NOT_COMPARABLE", "Case", "is_comparable", "load_case", "load_cases"]

NOT_COMPARABLE = frozenset({"vertebral"})
"""Data sets with published values that were computed from other constraint files than the published ones."""


def load_cases(folder: Path, datasets: list[str] | None = None) -> Iterator[Case]:
    """Yield the instances of a folder by data set, number of constraints and seed."""
    yield from find_cases(folder, datasets)


def is_comparable(case: Case) -> bool:
    """Whether the published result belongs to this constraint set."""
    return case.published is not None and case.dataset not in NOT_COMPARABLE
