"""Points in regions far from each other: right answers, and certificates that hold."""

from __future__ import annotations

from benchmarks.reliability.answers import WITHOUT_CUTS, solve_and_compare
from benchmarks.reliability.outcome import Outcome
from tests.oracles.far import far_instance


def by_regions(seeds: range) -> Outcome:
    """Solve small instances with far points and groups, every third one with magnitudes from 1e-140 to 1e140."""
    outcome = Outcome()
    for seed in seeds:
        far = far_instance(60_000 + seed, extreme=seed % 3 == 0)
        settings = WITHOUT_CUTS if seed % 2 else None
        result = solve_and_compare(outcome, seed, far.build, far.statement(), settings)
        if result is not None and result.statistics.regions is not None:
            outcome.counts[f"{len(result.statistics.regions.points)} regions"] += 1
    return outcome
