"""Bounds by parts, many times: small instances forced into two to five parts, against enumeration."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from benchmarks.reliability.answers import GAP, wrong_certificate
from benchmarks.reliability.outcome import Outcome
from certimeans.bounds.parts.bounding import Effort, bound_part
from certimeans.bounds.parts.splitting import make_part
from certimeans.errors import InfeasibleError
from certimeans.presolve.reduce import Presolved, presolve
from certimeans.result import SolveResult
from certimeans.search.limits import Limits
from certimeans.search.settings import NodeSettings
from certimeans.solver import solve_instance
from tests.bounds.parts.test_enumeration import EASY, split_anyhow
from tests.oracles.instances import SmallInstance, random_instance
from tests.oracles.subsets import Statement

# Sharing points and dividing heavy super-points is made easy, so that most splits have some of both.
SETTINGS = replace(NodeSettings(), parts=EASY)
_EFFORT = Effort(gap=1e-8, searches=2)


def by_parts(seeds: range) -> Outcome:
    """Solve each instance by parts and verify the certificate; then bound parts whose points are dealt at random.

    No bound may be above the optimum, no cost below it, whatever is shared between parts and whatever links are lost
    between them.
    """
    outcome = Outcome()
    for seed in seeds:
        small, presolved = splittable(seed)
        best = Statement.of(small).optimum()
        random = np.random.default_rng([seed, 5])
        n_parts = int(random.integers(2, min(5, presolved.super_points.size) + 1))
        size = max(1, math.ceil(presolved.super_points.size / n_parts))
        result = solve_instance(small.build(), Limits(GAP), part_size=size, settings=SETTINGS)
        outcome.counts[f"{result.parts} parts" if result.parts > 1 else "united"] += 1
        dealt = bound_of_dealt_parts(presolved, n_parts, random)
        wrong = _wrong(result, dealt, Statement.of(small), best) or wrong_certificate(result, best)
        outcome.count(not wrong, f"seed {seed}: {wrong}")
    return outcome


def splittable(seed: int) -> tuple[SmallInstance, Presolved]:
    """Draw an instance that has a clustering, two clusters or more, and enough super-points for two parts."""
    for attempt in range(1_000):
        small = random_instance(1_000 * seed + attempt, max_points=9, weighted=bool(seed % 2))
        try:
            presolved = presolve(small.build())
        except InfeasibleError:
            continue
        if small.k > 1 and presolved.super_points.size > 2:
            return small, presolved
    raise AssertionError("every other instance is such a one")


def bound_of_dealt_parts(presolved: Presolved, n_parts: int, random: np.random.Generator) -> Fraction:
    """Deal points to parts at random, let some be shared, and add up what is proven about the parts."""
    labels = random.integers(0, presolved.super_points.n_clusters, size=presolved.super_points.size)
    split = split_anyhow(presolved, n_parts, random)
    total = Fraction(0)
    for p in range(split.n_parts):
        if split.start[p] < split.start[p + 1] or len(split.shared) > 0:
            part = make_part(presolved, split, labels, (p,))
            total += Fraction(bound_part(part, _EFFORT, seed=p).value)
    return total


def _wrong(result: SolveResult, dealt: Fraction, stated: Statement, best: Fraction | None) -> str:
    """Say what is false about a result and about a bound of other parts, or empty."""
    if best is None or result.labels is None or not stated.allows(result.labels.tolist()):
        return "the labels do not keep what was stated"
    if not Fraction(result.lower_bound) <= best <= stated.cost(result.labels.tolist()) <= Fraction(result.objective):
        return f"bound {result.lower_bound!r}, optimum {float(best)!r}, objective {result.objective!r}"
    if result.status == "optimal" and Fraction(result.objective) * (1 - Fraction(GAP)) > best:
        return f"called optimal at {result.objective!r}, but {float(best)!r} is possible"
    return "" if dealt <= best else f"parts dealt at random prove {float(dealt)!r}, but {float(best)!r} is possible"
