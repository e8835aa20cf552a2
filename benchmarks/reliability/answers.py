"""Right answers and proofs, many times: against enumeration, with garbage, under changes that must not matter."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.reliability.outcome import Outcome
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings
from certimeans.bounds.relaxation.safe_bound import safe_lower_bound
from certimeans.certificate.check import verify
from certimeans.errors import InfeasibleError, InputError
from certimeans.problem.io.files import read_constraints, read_labels, read_points
from certimeans.search.limits import Limits
from certimeans.search.settings import NodeSettings
from certimeans.solver import solve_instance
from tests.bounds.relaxation.test_safe_bound import random_cuts
from tests.oracles.brute_force import optimum
from tests.oracles.instances import random_instance
from tests.oracles.metamorphic import variants
from tests.oracles.relaxations import enumerated
from tests.problem.io.test_files_fuzz import VALID, WORDS

WITHOUT_CUTS = NodeSettings(cutting_planes=CuttingPlaneSettings(use_cuts=False, max_rounds=3))


def brute_force(count: int) -> Outcome:
    """Solve small instances, cuts on and off in turn; compare with enumeration and verify each certificate."""
    outcome = Outcome("brute force, each certificate verified")
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(10_000, 10_000 + count):
            small = random_instance(seed, max_points=9, weighted=seed % 2 == 0)
            best = optimum(small.points, small.k, small.must_link, small.cannot_link, small.weights).cost
            settings = WITHOUT_CUTS if seed % 4 >= 2 else None
            try:
                result = solve_instance(small.build(), Limits(gap=1e-6), settings=settings)
            except InfeasibleError:
                outcome.count(best is None, f"seed {seed}: declared infeasible")
                continue
            right = best is not None and abs(result.objective - best) <= 1e-9 * best + 1e-12
            # Rounding hides a gap of 1e-6 if the cost is a tiny part of the scatter; the result must say so then.
            hidden = "double precision" in result.message and result.objective < 1e-6 * result.instance.total_scatter
            is_proven = result.status == "optimal" or hidden
            outcome.count(right and is_proven, f"seed {seed}: {result.status} {result.objective}, optimum {best}")
            result.save(folder, report=False, overwrite=True)
            outcome.expect_no_error(lambda: verify(Path(folder)), f"seed {seed}: certificate")
    return outcome


def garbage_multipliers(count: int) -> Outcome:
    """Bound small problems from random multipliers and cuts of every size; no bound may exceed the optimum."""
    outcome = Outcome("garbage multipliers")
    random = np.random.default_rng(1)
    seed = 50_000
    while outcome.tried < count:
        problem = enumerated(seed)
        seed += 1
        if problem is None:
            continue
        size = problem.relaxation.size
        rows = CutRows.build(random_cuts(random, size, 8), problem.relaxation)
        scale = 10.0 ** random.integers(-8, 160)
        multipliers, dual = random.normal(size=8) * scale, random.normal(size=(size, size)) * scale
        if random.random() < 0.1:
            dual.flat[random.integers(size * size)] = random.choice([np.nan, np.inf, -np.inf])
        bound = safe_lower_bound(problem.relaxation, rows, multipliers, dual).safe_lower_bound
        outcome.count(bound <= problem.optimum * (1 + 1e-12), f"seed {seed}: {bound} above {problem.optimum}")
    return outcome


def metamorphic(count: int) -> Outcome:
    """Change instances in ways that must not matter, and solve them again."""
    outcome = Outcome("metamorphic variants")
    for seed in range(20_000, 20_000 + count):
        instance = random_instance(seed, max_points=16, weighted=seed % 2 == 0).build()
        try:
            base = solve_instance(instance, Limits(gap=1e-6))
        except InfeasibleError:
            continue
        for variant in variants(instance, seed):
            if np.isnan(variant.cost_factor):
                continue
            result = solve_instance(variant.instance, Limits(gap=1e-6))
            expected = base.objective * variant.cost_factor
            tolerance = 1e-5 * expected + 1e-9 * instance.total_scatter * variant.cost_factor
            outcome.count(abs(result.objective - expected) <= tolerance, f"seed {seed}: {variant.name}")
    return outcome


def hostile_files(count: int) -> Outcome:
    """Give the readers damaged files; nothing but an input error may come out."""
    outcome = Outcome("damaged files, each by three readers")
    random = np.random.default_rng(2)
    readers: list[Callable[[Path], object]] = [read_points, read_constraints, read_labels]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        for number in range(count):
            content = bytearray(VALID[number % len(VALID)])
            for _ in range(random.integers(1, 6)):
                start = int(random.integers(len(content) + 1))
                word = WORDS[random.integers(len(WORDS))]
                content[start : start + random.integers(5)] = word if isinstance(word, bytes) else bytes([word])
            path.write_bytes(content)
            for reader in readers:
                outcome.expect_no_error(
                    lambda reader=reader: reader(path),  # type: ignore[misc]
                    f"{bytes(content)!r}",
                    allowed=InputError,
                )
    return outcome
