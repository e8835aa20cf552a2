"""Right answers and proofs, many times: against enumeration, with garbage, under changes that must not matter."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.reliability.outcome import Outcome, error_of
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings
from certimeans.bounds.relaxation.safe_bound import safe_lower_bound
from certimeans.certificate.check import verify
from certimeans.errors import InfeasibleError, InputError
from certimeans.problem.instance import Instance
from certimeans.problem.io.files import read_constraints, read_labels, read_points
from certimeans.proof.certificate import write_certificate
from certimeans.result import SolveResult
from certimeans.search.limits import Limits
from certimeans.search.settings import NodeSettings
from certimeans.solver import solve_instance
from tests.bounds.relaxation.test_safe_bound import random_cuts
from tests.oracles.extremes import extreme_problem
from tests.oracles.instances import SmallInstance, random_instance
from tests.oracles.metamorphic import variants
from tests.oracles.relaxations import enumerated
from tests.oracles.sizes import limited_instance
from tests.oracles.subsets import Sizes, Statement
from tests.problem.io.test_files_fuzz import VALID, WORDS

WITHOUT_CUTS = NodeSettings(cutting_planes=CuttingPlaneSettings(use_cuts=False, max_rounds=3))
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108  # no disk has to turn for small files
GAP = 1e-6
_SECONDS = 60.0  # no small instance takes as long


def brute_force(seeds: range) -> Outcome:
    """Solve small instances, cuts on and off in turn."""
    outcome = Outcome()
    for seed in seeds:
        small = random_instance(10_000 + seed, max_points=9, weighted=seed % 2 == 0)
        settings = WITHOUT_CUTS if seed % 4 >= 2 else None
        solve_and_compare(outcome, seed, small.build, Statement.of(small), settings)
    return outcome


def cluster_sizes(seeds: range) -> Outcome:
    """Solve small instances with sizes, capacities and links, cuts on and off in turn."""
    outcome = Outcome()
    for seed in seeds:
        limited = limited_instance(30_000 + seed)
        said = limited.sizes
        sizes = Sizes.stated(limited.amounts(), said.get("size_min"), said.get("size_max"), said.get("sizes"))
        settings = WITHOUT_CUTS if seed % 2 else None
        solve_and_compare(outcome, seed, limited.build, Statement.of(limited.base, sizes), settings)
    return outcome


def extreme_magnitudes(seeds: range) -> Outcome:
    """Solve small instances with points, weights and offsets from 1e-300 to 1e300, some with links."""
    outcome = Outcome()
    for seed in seeds:
        points, weights, k = extreme_problem(40_000 + seed)
        random = np.random.default_rng([seed, 8])
        together: list[tuple[int, int]] = []
        apart: list[tuple[int, int]] = []
        for _ in range(int(random.integers(0, 3)) if len(points) > 2 else 0):
            i, j = random.choice(len(points), 2, replace=False)
            (apart if random.integers(2) else together).append((int(i), int(j)))
        small = SmallInstance(points.tolist(), k, together, apart, None if weights is None else weights.tolist())
        solve_and_compare(outcome, seed, small.build, Statement.of(small), None)
    return outcome


def solve_and_compare(
    outcome: Outcome, seed: int, build: Callable[[], Instance], stated: Statement, settings: NodeSettings | None
) -> SolveResult | None:
    """Solve an instance; status, cost and bound must agree with enumeration, and its certificate must hold.

    What double precision cannot do may be refused, or left with a gap; the message must say so.
    """
    best = stated.optimum()
    try:
        result = solve_instance(build(), Limits(GAP, _SECONDS), settings=settings)
    except InfeasibleError:
        outcome.counts["infeasible"] += 1
        outcome.count(best is None, f"seed {seed}: declared infeasible")
        return None
    except InputError as error:
        outcome.counts["refused"] += 1
        outcome.count("double precision" in str(error), f"seed {seed}: refused: {error}")
        return None
    outcome.counts["with a tree" if result.nodes > 1 else "at the root"] += 1
    outcome.counts[result.status] += 1
    wrong = wrong_result(result, stated, best) or wrong_certificate(result, best)
    outcome.count(not wrong, f"seed {seed}: {wrong}")
    return result


def wrong_result(result: SolveResult, stated: Statement, best: Fraction | None) -> str:
    """Say what is false about a result, or empty; all comparisons are exact."""
    if result.status == "interrupted" and not result.message:
        raise KeyboardInterrupt("the solver was told to stop, and so was this run")
    if best is None:
        return f"{result.status}, but there is no clustering"
    if result.labels is None or not stated.allows(result.labels.tolist()):
        return "the labels do not keep what was stated"
    if not Fraction(result.lower_bound) <= best <= stated.cost(result.labels.tolist()) <= Fraction(result.objective):
        return f"bound {result.lower_bound!r}, optimum {float(best)!r}, objective {result.objective!r}"
    if result.status == "optimal":
        is_near = Fraction(result.objective) * (1 - Fraction(GAP)) <= best
        return "" if is_near else f"called optimal at {result.objective!r}, but {float(best)!r} is possible"
    return "" if "double precision" in result.message else f"{result.status}: {result.message}"


def wrong_certificate(result: SolveResult, best: Fraction | None) -> str:
    """Write a certificate and verify it; say what is false about what is proven, or empty."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as name:
        folder = Path(name)
        labels, proof = result.labels, result.search_tree.proof()
        write_certificate(folder, result.instance, proof, labels, result.objective, result.lower_bound)
        found: list[float] = []
        error = error_of(lambda: found.append(verify(folder, instance=result.instance).lower_bound))
    if error:
        return f"certificate: {error}"
    if best is not None and (math.isinf(found[0]) or Fraction(found[0]) > best):
        return f"certificate: {found[0]!r} is proven, but {float(best)!r} is possible"
    return ""


def garbage_multipliers(seeds: range) -> Outcome:
    """Bound small problems from random multipliers and cuts of every size; no bound may exceed the optimum."""
    outcome = Outcome()
    for seed in seeds:
        random = np.random.default_rng([1, seed])
        problem = None
        while problem is None:
            problem = enumerated(int(random.integers(2**31)))
        size = problem.relaxation.size
        rows = CutRows.build(random_cuts(random, size, 8), problem.relaxation)
        scale = 10.0 ** random.integers(-8, 160)
        multipliers, dual = random.normal(size=8) * scale, random.normal(size=(size, size)) * scale
        if random.random() < 0.1:
            dual.flat[random.integers(size * size)] = random.choice([np.nan, np.inf, -np.inf])
        bound = safe_lower_bound(problem.relaxation, rows, multipliers, dual).safe_lower_bound
        outcome.count(bound <= problem.optimum * (1 + 1e-12), f"seed {seed}: {bound} above {problem.optimum}")
    return outcome


def metamorphic(seeds: range) -> Outcome:
    """Change instances in ways that must not matter, and solve them again."""
    outcome = Outcome()
    for seed in seeds:
        instance = random_instance(20_000 + seed, max_points=16, weighted=seed % 2 == 0).build()
        try:
            base = solve_instance(instance, Limits(gap=GAP))
        except InfeasibleError:
            continue
        for variant in variants(instance, seed):
            if np.isnan(variant.cost_factor):
                continue
            result = solve_instance(variant.instance, Limits(gap=GAP))
            expected = base.objective * variant.cost_factor
            tolerance = 1e-5 * expected + 1e-9 * instance.total_scatter * variant.cost_factor
            outcome.count(abs(result.objective - expected) <= tolerance, f"seed {seed}: {variant.name}")
    return outcome


def hostile_files(seeds: range) -> Outcome:
    """Give the readers damaged files; nothing but an input error may come out."""
    outcome = Outcome()
    readers: list[Callable[[Path], object]] = [read_points, read_constraints, read_labels]
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        path = Path(folder) / "data"
        for seed in seeds:
            random = np.random.default_rng([2, seed])
            content = bytearray(VALID[seed % len(VALID)])
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
