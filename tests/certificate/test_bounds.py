"""The bounds that steps prove: never above an optimum, whatever the multipliers, and as the formulas say."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from certimeans.certificate.check import verify
from certimeans.certificate.steps import Arithmetic
from certimeans.errors import CertificateError
from tests.oracles.certificates import (
    Cut,
    Draft,
    Task,
    add_relaxation,
    bound_by_definition,
    empty_certificate,
    optimality_certificate,
    scatter,
)
from tests.oracles.instances import SmallInstance, random_instance

ARITHMETICS: list[Arithmetic] = ["float", "ball"]
GEOMETRIES = ["points", "standardized", "gram"]
# Exponents of ten for points and weights; "each" draws one for every number, "all" one for all of them.
MAGNITUDES = {
    "points all": (-160, 150),
    "points each": (-300, 300),
    "features each": (-150, 150),
    "offsets": (-100, 150),
    "weights all": (-300, 300),
    "weights each": (-300, 0),
}


def drawn(seed: int, geometry: str, magnitude: str | None = None) -> Task | None:
    """Draw an instance without must-links; ``None`` if it has no clustering."""
    random = np.random.default_rng(seed)
    small = random_instance(seed, max_points=6, weighted=seed % 2 == 0)._replace(must_link=[])
    n = len(small.points)
    points, weights = np.array(small.points), np.array(small.weights or [1.0] * n)
    matrix = random.normal(size=(n, n))
    if magnitude is not None:
        low, high = MAGNITUDES[magnitude]
        what, _, how = magnitude.partition(" ")
        shape = {"points": points.shape, "weights": weights.shape}.get(what, points.shape[1:])
        factor = 10.0 ** random.uniform(low, high, size=() if how == "all" else shape)
        if what == "weights":
            weights = weights * factor
        elif what == "offsets":
            points = points + factor
        else:
            points = points * factor
        matrix = matrix * 10.0 ** random.uniform(low / 2, high / 2, size=(n, n) if how == "each" else ())
    small = small._replace(points=points.tolist(), weights=weights.tolist())
    task = Task(small, geometry == "standardized", (matrix + matrix.T).tolist() if geometry == "gram" else None)
    return None if task.optimum() is None else task


def random_multipliers(task: Task, seed: int, size: float) -> tuple[list[Cut], np.ndarray]:
    """Draw cuts of any kind and slacks of any size, negative only where points cannot link."""
    random = np.random.default_rng(seed)
    n = len(task.small.points)
    cuts = []
    for _ in range(random.integers(0, 8)):
        members = random.permutation(n)[: random.integers(1, n + 1)]
        b = {int(member): int(random.choice([-3, -2, -1, 1, 1, 1, 2, 5])) for member in members}
        lightest = min(task.weights[member] for member in b) / max(task.weights)
        cuts.append((size * float(random.random()) * float(lightest), b))
    slack = size * random.random((n, n)) * (random.random((n, n)) < 0.5)
    for i, j in task.small.cannot_link:
        slack[min(i, j), max(i, j)] = size * random.normal()
    return cuts, slack


def unit_of(task: Task) -> float:
    """Return a float near T0."""
    return float(min(max(abs(scatter(task)), Fraction(5e-324)), Fraction(10) ** 308))


def relaxation(task: Task, seed: int, size: float) -> Draft:
    draft = empty_certificate(task)
    cuts, slack = random_multipliers(task, seed, size)
    groups = range(len(task.small.points))
    weight_unit = float(max(task.weights))
    add_relaxation(draft, 0, groups, cuts, slack, unit=unit_of(task), weight_unit=weight_unit)
    return draft


def covariance(task: Task) -> Draft:
    draft = empty_certificate(task)
    draft.add(0, "covariance")
    return draft


def proven(draft: Draft, folder: Path, arithmetic: Arithmetic) -> float:
    """Return the bound that is proven; minus infinity if none is."""
    try:
        return verify(draft.write(folder), arithmetic=arithmetic).lower_bound
    except CertificateError as error:
        assert "proves only -inf" in str(error)  # noqa: PT017
        return -np.inf


@pytest.mark.parametrize("magnitude", [None, *MAGNITUDES])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_no_bound_is_above_the_optimum(geometry: str, magnitude: str | None, tmp_path: Path) -> None:
    """Whatever multipliers and magnitudes: at most the optimum, which is known without rounding."""
    proven_something = 0
    for seed in range(40):
        task = drawn(seed, geometry, magnitude)
        best = None if task is None else task.optimum()
        if task is None or best is None:
            continue
        size = 10.0 ** np.random.default_rng(seed).uniform(-4, 2)
        for draft in (covariance(task), relaxation(task, seed, size)):
            for arithmetic in ARITHMETICS[: 1 + (seed % 4 == 0)]:
                bound = proven(draft, tmp_path, arithmetic)
                assert bound < np.inf
                assert bound == -np.inf or Fraction(bound) <= best[0]
                proven_something += bound > (-np.inf if geometry == "gram" else 0)
    assert proven_something > 3


@pytest.mark.parametrize("magnitude", ["points all", "features each", "weights all", "weights each"])
def test_floats_prove_what_balls_prove(magnitude: str, tmp_path: Path) -> None:
    """Weights of 1e-300 beside 1, points near 1e-160 and 1e150: the same bound, but for some 1e-12 of the scatter."""
    compared = 0
    for seed in range(40):
        task = drawn(seed, "points", magnitude)
        if task is None or scatter(task) == 0:
            continue
        t0 = scatter(task)
        for draft in (covariance(task), relaxation(task, seed, 1e-2)):
            in_floats, in_balls = (Fraction(proven(draft, tmp_path, arithmetic)) for arithmetic in ARITHMETICS)
            if in_balls > 0:
                compared += 1
                assert in_floats > in_balls - t0 / 10**12 - Fraction(1e-323)
    assert compared > 5


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_bounds_are_those_of_the_formula(geometry: str, arithmetic: Arithmetic, tmp_path: Path) -> None:
    """Up to rounding the proven bound is what the format's formula gives, in any units; some use clique cuts."""
    with_clique_cuts = meaningful = 0
    for seed in range(60):
        task = drawn(seed, geometry)
        if task is None:
            continue
        random = np.random.default_rng(seed)
        cuts, slack = random_multipliers(task, seed, 1e-3)
        unit, weight_unit = unit_of(task) * 10.0 ** random.uniform(-1, 1), 10.0 ** random.uniform(-1, 1)
        groups = range(len(task.small.points))
        draft = empty_certificate(task)
        add_relaxation(draft, 0, groups, cuts, slack, unit=unit, weight_unit=weight_unit)
        expected = bound_by_definition(task, groups, cuts, slack, unit, weight_unit)
        bound = proven(draft, tmp_path, arithmetic)
        expected = expected if geometry == "gram" else max(0.0, expected)
        assert bound == pytest.approx(expected, rel=1e-5, abs=1e-6)  # slacks are stored as singles
        meaningful += abs(bound) > 1e-3
        with_clique_cuts += any(min(b.values()) > 0 and sum(b.values()) > task.small.k for _, b in cuts)
    assert meaningful > 10
    assert with_clique_cuts > 5


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("d", [2, 9])
def test_the_covariance_bound_has_no_multipliers(d: int, arithmetic: Arithmetic, tmp_path: Path) -> None:
    """It is the relaxation of the must-links' groups without any, with more groups than features and with fewer."""
    random = np.random.default_rng(d)
    small = SmallInstance(random.normal(size=(8, d)).tolist(), 3, [(0, 1), (1, 2)], [], random.random(8).tolist())
    gram = np.cov(random.normal(size=(8, 8))).tolist()
    for task in (Task(small), Task(small, standardize=True), Task(small, gram=gram)):
        bound = proven(covariance(task), tmp_path, arithmetic)
        assert bound == pytest.approx(bound_by_definition(task, [0, 0, 0, 1, 2, 3, 4, 5]), rel=1e-10)
        assert bound > 0


def test_large_proofs_agree_in_both_arithmetics(tmp_path: Path) -> None:
    """With 60 points, the allowance for rounding is small: floats prove what balls prove, less 1e-11 of the scatter."""
    random = np.random.default_rng(3)
    points = random.normal(size=(60, 8)) + 1e5
    small = SmallInstance(points.tolist(), 4, [], [], random.uniform(0.5, 2.0, size=60).tolist())
    cuts: list[Cut] = [
        (1e-4 * float(random.random()), dict(zip(random.permutation(60)[:3].tolist(), (1, 1, -1), strict=True)))
        for _ in range(500)
    ]
    draft = empty_certificate(small)
    add_relaxation(draft, 0, range(60), cuts, 1e-4 * random.random((60, 60)), unit=600.0)
    in_floats, in_balls = (proven(draft, tmp_path, arithmetic) for arithmetic in ARITHMETICS)
    assert 0 < in_floats < in_balls < in_floats + 1e-11 * float(np.var(points, axis=0).sum() * 100)


@pytest.mark.parametrize("magnitude", [name for name in MAGNITUDES if name != "points each"])
@pytest.mark.parametrize("geometry", ["points", "standardized"])
def test_optima_of_any_magnitude_are_reached(geometry: str, magnitude: str, tmp_path: Path) -> None:
    """Branched down to single clusterings, floats prove the optimum up to 1e-11 of the scatter, and never more."""
    reached = 0
    for seed in range(100, 110):
        task = drawn(seed, geometry, magnitude)
        best = None if task is None else task.optimum()
        if task is None or best is None:
            continue
        draft = optimality_certificate(task, seed)
        draft.content["lower_bound"] = 0.0
        bound = Fraction(proven(draft, tmp_path, "float"))
        assert best[0] - scatter(task) / 10**11 - Fraction(1e-322) <= bound <= best[0]
        reached += 1
    assert reached > 3
