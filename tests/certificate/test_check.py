import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from certimeans.certificate.check import Arithmetic, verify_directory
from certimeans.errors import CertificateError, InputError
from tests.oracles.brute_force import optimum
from tests.oracles.certificates import add_proof, bound_by_definition, empty_certificate, optimality_certificate
from tests.oracles.instances import SmallInstance, random_instance

ARITHMETICS: list[Arithmetic] = ["float", "ball"]


def garbage(seed: int) -> SmallInstance | None:
    """Draw an instance that has a clustering; ``None`` if it has none."""
    small = random_instance(seed, max_points=8, weighted=seed % 2 == 0)._replace(must_link=[])
    return None if optimum(*small).cost is None else small


def random_proof(small: SmallInstance, seed: int) -> tuple[list[tuple[float, dict[int, int]]], np.ndarray]:
    """Draw cuts of any kind and slacks of any size, negative only where points cannot link."""
    random = np.random.default_rng(seed)
    n, size = len(small.points), 10.0 ** random.uniform(-4, 3)
    cuts = []
    for _ in range(random.integers(0, 12)):
        members = random.permutation(n)[: random.integers(1, n + 1)]
        b = {int(member): int(random.choice([-3, -2, -1, 1, 1, 1, 2, 5])) for member in members}
        cuts.append((float(size * random.random()), b))
    slack = size * random.random((n, n)) * (random.random((n, n)) < 0.5)
    for i, j in small.cannot_link:
        slack[min(i, j), max(i, j)] = size * random.normal()
    return cuts, slack


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("seed", range(25))
def test_optimality_of_small_instances_is_re_proven(seed: int, arithmetic: Arithmetic, tmp_path: Path) -> None:
    """The proven bound is at most the enumerated optimum, and reaches it up to rounding; infeasibility is proven."""
    small = random_instance(seed, max_points=6, weighted=seed % 2 == 0)
    folder = optimality_certificate(small, seed).write(tmp_path)
    verification = verify_directory(folder, small.build(), arithmetic)
    best = optimum(small.points, small.k, small.must_link, small.cannot_link, small.weights)
    if best.cost is None:
        assert verification.cost is None
        assert verification.lower_bound == np.inf
    else:
        assert verification.cost == pytest.approx(best.cost, rel=1e-12, abs=1e-25)
        assert verification.cost is not None
        assert verification.claimed_bound <= verification.lower_bound <= verification.cost


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_garbage_multipliers_never_prove_too_much(arithmetic: Arithmetic, tmp_path: Path) -> None:
    """Whatever cuts, multipliers and slacks are given, the bound is below every clustering's cost."""
    tried = 0
    for seed in range(150):
        small = garbage(seed)
        if small is None:
            continue
        best = optimum(*small).cost
        assert best is not None
        draft = empty_certificate(small)
        add_proof(draft, 0, range(len(small.points)), *random_proof(small, seed))
        bound = verify_directory(draft.write(tmp_path), None, arithmetic).lower_bound
        assert 0 <= bound <= best * (1 + 1e-12)
        tried += 1
    assert tried > 80


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_bounds_are_those_of_the_formula(arithmetic: Arithmetic, tmp_path: Path) -> None:
    """Up to rounding the proven bound is what the format's formula gives; many are positive, some use clique cuts."""
    positive = with_clique_cuts = 0
    for seed in range(150):
        small = garbage(seed)
        if small is None:
            continue
        cuts, slack = random_proof(small, seed)
        cuts = [(1e-3 * multiplier, b) for multiplier, b in cuts]
        draft = empty_certificate(small)
        add_proof(draft, 0, range(len(small.points)), cuts, 1e-3 * slack)
        expected = bound_by_definition(small, cuts, 1e-3 * slack)
        bound = verify_directory(draft.write(tmp_path), None, arithmetic).lower_bound
        assert bound == pytest.approx(max(0.0, expected), rel=1e-5, abs=1e-6)  # slacks are stored as singles
        positive += bound > 1e-3
        with_clique_cuts += bound > 1e-3 and any(min(b.values()) > 0 and sum(b.values()) > small.k for _, b in cuts)
    assert positive > 20
    assert with_clique_cuts > 5


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize(("offset", "exponent"), [(0.0, 0), (1e8, 0), (1e8, 100), (-1e8, -100)])
def test_offsets_and_scales_cost_no_digits(
    arithmetic: Arithmetic, offset: float, exponent: int, tmp_path: Path
) -> None:
    """Points far from the origin, huge or tiny, are proven to the same relative accuracy."""
    points = np.ldexp(np.random.default_rng(5).normal(size=(6, 2)) + offset, exponent)
    small = SmallInstance(points.tolist(), 3, [(0, 1)], [(1, 2), (2, 3)], [1.0, 2.0, 1.0, 0.5, 1.0, 1.0])
    verification = verify_directory(optimality_certificate(small).write(tmp_path), small.build(), arithmetic)
    assert verification.cost is not None
    assert verification.cost > 0
    assert 0 <= verification.gap < 1e-12


def test_large_proofs_agree_in_both_arithmetics(tmp_path: Path) -> None:
    """With 60 points, the allowance for rounding is small: floats prove what balls prove, less 1e-11 of the scatter."""
    random = np.random.default_rng(3)
    points = random.normal(size=(60, 8)) + 1e5
    small = SmallInstance(points.tolist(), 4, [], [], random.uniform(0.5, 2.0, size=60).tolist())
    cuts = [
        (1e-4 * float(random.random()), dict(zip(random.permutation(60)[:3].tolist(), (1, 1, -1), strict=True)))
        for _ in range(500)
    ]
    draft = empty_certificate(small)
    add_proof(draft, 0, range(60), cuts, 1e-4 * random.random((60, 60)))
    folder = draft.write(tmp_path)
    in_floats, in_balls = (verify_directory(folder, None, arithmetic).lower_bound for arithmetic in ARITHMETICS)
    assert 0 < in_floats < in_balls < in_floats + 1e-11 * float(np.var(points, axis=0).sum() * 100)


def test_negative_slack_is_allowed_exactly_where_points_cannot_link(tmp_path: Path) -> None:
    """The sign depends on the state of the node, cannot-links of decisions included."""
    small = SmallInstance([[0.0], [1.0], [5.0]], 2, [], [(0, 1)], None)
    for pair, fails in (((0, 1), False), ((0, 2), True), ((2, 2), True)):
        draft = empty_certificate(small)
        slack = np.zeros((3, 3))
        slack[pair] = -0.1
        add_proof(draft, 0, range(3), (), slack)
        if fails:
            with pytest.raises(CertificateError, match=f"slack of super-points {pair[0]} and {pair[1]}"):
                verify_directory(draft.write(tmp_path))
        else:
            verify_directory(draft.write(tmp_path))


def test_forbidden_pairs_are_those_of_points_not_of_groups(tmp_path: Path) -> None:
    """Points 0 and 1 must link and 1 cannot link with 2: as super-points of their own, 0 and 2 are not forbidden."""
    small = SmallInstance([[0.0], [1.0], [5.0]], 2, [(0, 1)], [(1, 2)], None)
    for pair, fails in (((1, 2), False), ((0, 2), True)):
        slack = np.zeros((3, 3))
        slack[pair] = -0.1
        draft = empty_certificate(small)
        add_proof(draft, 0, range(3), (), slack)
        if fails:
            with pytest.raises(CertificateError, match="slack of super-points 0 and 2"):
                verify_directory(draft.write(tmp_path))
        else:
            verify_directory(draft.write(tmp_path))


def test_sentence_says_what_is_proven_and_stays_true(tmp_path: Path) -> None:
    """Numbers in the sentence are rounded up for costs and down for bounds."""
    small = SmallInstance([[0.0], [1 / 3], [5.0], [5.1]], 2, [(0, 1)], [(1, 2)], None)
    verification = verify_directory(optimality_certificate(small).write(tmp_path))
    assert verification.sentence() == (
        "Proven: the clustering keeps all 1 must-link and 1 cannot-link and costs 0.06055556; no clustering of the 4 "
        "points into 2 clusters costs less than 0.06055555 (gap 0 %); 2 leaves, 0 infeasible."
    ).replace("gap 0 %", f"gap {100 * verification.gap:.2g} %")


def test_original_data_are_compared(tmp_path: Path) -> None:
    """A certificate of other points, constraints or k is refused, and the message says what differs."""
    small = SmallInstance([[0.0], [1.0], [5.0], [6.0]], 2, [(0, 1)], [(1, 2)], None)
    folder = optimality_certificate(small).write(tmp_path)
    others = {
        "k = 2, not 3": small._replace(k=3),
        "points in the certificate differ": small._replace(points=[[0.0], [1.0], [5.0], [6.5]]),
        "cannot_link in the certificate differ": small._replace(cannot_link=[(1, 3)]),
        "must_link have shape": small._replace(must_link=[]),
        "weights in the certificate differ": small._replace(weights=[2.0] * 4),
    }
    for message, other in others.items():
        with pytest.raises(CertificateError, match=message):
            verify_directory(folder, other.build())


def test_unknown_arithmetic_is_refused(tmp_path: Path) -> None:
    """Only floats and balls are on offer."""
    with pytest.raises(InputError, match="'float' or 'ball'"):
        verify_directory(tmp_path, None, "decimal")  # type: ignore[arg-type]


def test_missing_flint_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the message says how to install it."""
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(InputError, match=r"certimeans\[verify\]"):
        verify_directory(tmp_path, None, "ball")


def test_checker_imports_nothing_of_the_solver(tmp_path: Path) -> None:
    """A run of the command without --data loads no part of the solver and no compiled code."""
    folder = optimality_certificate(random_instance(3, max_points=5)).write(tmp_path)
    program = (
        "import json, sys; from certimeans.cli import main; code = main(['verify', sys.argv[1]]); "
        "print(json.dumps([code, [m for m in sys.modules if m.startswith(('certimeans', 'numba'))]]))"
    )
    run = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True)
    code, modules = json.loads(run.stdout.splitlines()[-1])
    assert code == 0
    assert "certimeans.certificate.check" in modules
    foreign = ("presolve", "heuristics", "relaxation", "search", "solver", "baselines", "problem", "_compiled")
    assert [m for m in modules if m.startswith(("numba", *(f"certimeans.{name}" for name in foreign)))] == []
