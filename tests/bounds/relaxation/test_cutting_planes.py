import time

import numpy as np
import pytest

from certimeans.bounds import eigenvalues
from certimeans.bounds.protocol import RoundStatistics, StopReason
from certimeans.bounds.relaxation.admm import Admm, AdmmSettings, Iterate
from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.bounds.relaxation.cuts.separation import SeparationSettings
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings, bound_by_cutting_planes
from certimeans.bounds.relaxation.inherit import inherit
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.proof import pack, prove_again
from certimeans.deadline import Deadline
from certimeans.errors import InfeasibleError
from certimeans.presolve.contract import contract
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from tests.oracles.brute_force import optimum
from tests.oracles.instances import random_instance

QUICK = CuttingPlaneSettings(max_rounds=4)


def blobs(size: int, k: int, seed: int = 0, spread: float = 0.6, **constraints: object) -> Instance:
    random = np.random.default_rng(seed)
    centres = random.normal(size=(k, 2)) * 3
    points = centres[random.integers(0, k, size=size)] + spread * random.normal(size=(size, 2))
    return Instance.create(points, k, **constraints)  # type: ignore[arg-type]


def relaxation_of(instance: Instance) -> Relaxation:
    return Relaxation.from_super_points(presolve(instance).super_points)


@pytest.mark.parametrize("use_cuts", [True, False])
@pytest.mark.parametrize("block", range(5))
def test_the_bound_never_exceeds_the_enumerated_optimum(block: int, use_cuts: bool) -> None:
    """Random instances with all kinds of points and constraints, after presolve; cuts prove most of them optimal."""
    settings = CuttingPlaneSettings(max_rounds=6, use_cuts=use_cuts)
    tight = solved = 0
    for seed in range(50 * block, 50 * block + 50):
        small = random_instance(seed, max_points=7, weighted=seed % 3 == 0)
        best = optimum(small.points, small.k, small.must_link, small.cannot_link, small.weights).cost
        instance = small.build()
        try:
            relaxation = relaxation_of(instance)
        except InfeasibleError:
            assert best is None
            continue
        assert best is not None
        outcome = bound_by_cutting_planes(relaxation, np.inf, settings=settings)
        bound = instance.scaled.scale.to_user(outcome.safe_lower_bound)
        assert bound <= best * (1 + 1e-12)
        solved += 1
        tight += bound >= best * (1 - 1e-3) - 1e-9 * instance.total_scatter
    assert tight >= (0.8 if use_cuts else 0.5) * solved


def test_bounds_beside_the_iterations_are_those_of_their_iterates() -> None:
    """With a second thread the loop reaches the target as well, and what it returns proves its bound."""
    instance = blobs(110, 3, spread=1.5)
    points = presolve(instance).super_points
    relaxation = Relaxation.from_super_points(points)
    alone = bound_by_cutting_planes(relaxation, np.inf, settings=QUICK)
    beside = bound_by_cutting_planes(relaxation, alone.safe_lower_bound - 1e-4, n_threads=2)
    assert beside.reason is StopReason.REACHED
    again = prove_again(pack(points, beside.best.cuts, beside.proven), relaxation)
    assert again.safe_lower_bound == pytest.approx(beside.safe_lower_bound, abs=1e-9)


def test_cuts_close_a_gap_that_the_plain_relaxation_leaves() -> None:
    """On overlapping blobs the bound with cuts is strictly better, and the proof behind it can be evaluated again."""
    points = presolve(blobs(40, 4, spread=1.5)).super_points
    relaxation = Relaxation.from_super_points(points)
    with_cuts = bound_by_cutting_planes(relaxation, np.inf, settings=CuttingPlaneSettings(max_rounds=12))
    without = bound_by_cutting_planes(relaxation, np.inf, settings=CuttingPlaneSettings(max_rounds=30, use_cuts=False))
    assert with_cuts.safe_lower_bound > without.safe_lower_bound + 1e-4
    again = prove_again(pack(points, with_cuts.best.cuts, with_cuts.proven), relaxation)
    assert again.safe_lower_bound == pytest.approx(with_cuts.safe_lower_bound, abs=1e-12)


def test_the_loop_stops_the_moment_the_bound_reaches_the_pruning_value() -> None:
    """A modest target is reached long before the best bound, in the middle of a round."""
    relaxation = relaxation_of(blobs(40, 4, spread=1.5))
    best = bound_by_cutting_planes(relaxation, np.inf, settings=QUICK)
    early = bound_by_cutting_planes(relaxation, 0.8 * best.safe_lower_bound)
    assert early.reason is StopReason.REACHED
    assert early.safe_lower_bound >= 0.8 * best.safe_lower_bound
    assert sum(r.iterations for r in early.rounds) < sum(r.iterations for r in best.rounds)


def test_rounds_are_told_and_account_for_their_time() -> None:
    """Statistics arrive round by round; bounds never fall and the parts of the time do not exceed the whole."""
    told: list[RoundStatistics] = []
    relaxation = relaxation_of(blobs(60, 4, spread=1.5))
    outcome = bound_by_cutting_planes(relaxation, np.inf, settings=QUICK, on_round=lambda r, *_: told.append(r))
    assert tuple(told) == outcome.rounds
    assert told[0].iterations == 20
    assert all(20 <= r.iterations <= 120 for r in told[1:])
    bounds = [r.safe_lower_bound for r in told]
    assert bounds == sorted(bounds)
    for r in told:
        parts = r.spectral_seconds + r.polyhedral_seconds + r.separation_seconds + r.bound_seconds
        assert 0 < parts <= r.seconds


def test_an_easy_problem_stalls_instead_of_running_for_ever() -> None:
    """With an unreachable target the loop gives up by itself."""
    outcome = bound_by_cutting_planes(relaxation_of(blobs(30, 3)), np.inf)
    assert outcome.reason is StopReason.STALLED


def test_the_deadline_is_kept_and_the_bound_is_valid() -> None:
    """A passed deadline ends the loop after one iteration."""
    relaxation = relaxation_of(blobs(120, 5, spread=1.5))
    bound_by_cutting_planes(relaxation, np.inf, settings=QUICK)  # compiled by now
    start = time.monotonic()
    outcome = bound_by_cutting_planes(relaxation, np.inf, deadline=Deadline(0.0))
    assert time.monotonic() - start < 1.0
    assert outcome.reason is StopReason.DEADLINE
    assert np.isfinite(outcome.safe_lower_bound)


def test_a_broken_start_ends_in_a_valid_bound() -> None:
    """NaN in the iterates stops the loop; what it returns is minus infinity or less than the optimum."""
    instance = blobs(12, 3)
    relaxation = relaxation_of(instance)
    cold = Iterate.cold(relaxation)
    broken = Iterate(np.full_like(cold.primal, np.nan), np.full_like(cold.dual, np.nan), Cuts.none())
    outcome = bound_by_cutting_planes(relaxation, np.inf, start=broken, settings=QUICK)
    assert outcome.reason is StopReason.BROKE_DOWN
    assert outcome.safe_lower_bound == -np.inf


def test_the_same_seed_gives_the_same_bound() -> None:
    """Runs are reproducible, and seeds matter only to the choice of cuts."""
    relaxation = relaxation_of(blobs(50, 4, spread=1.5))
    first, second = (bound_by_cutting_planes(relaxation, np.inf, settings=QUICK, seed=3) for _ in range(2))
    assert first.safe_lower_bound == second.safe_lower_bound
    np.testing.assert_array_equal(first.best.cuts.members, second.best.cuts.members)


@pytest.mark.parametrize(("offset", "exponent"), [(0.0, 100), (0.0, -100), (1e6, 0)])
def test_the_bound_does_not_depend_on_place_and_scale(offset: float, exponent: int) -> None:
    """Moved or scaled data have the same relative bound."""
    instance = blobs(40, 3, spread=1.2)
    moved = Instance.create(np.ldexp(instance.points + offset, exponent), 3)
    bounds = [
        bound_by_cutting_planes(relaxation_of(i), np.inf, settings=QUICK).safe_lower_bound for i in (instance, moved)
    ]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-3 if offset else 1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_a_child_starts_with_the_bound_of_its_parent(seed: int) -> None:
    """After merging super-points or forbidding pairs, the inherited multipliers prove no less, but for V's rounding."""
    random = np.random.default_rng(seed)
    size = 25
    instance = blobs(size, 4, seed=seed, spread=1.5, weights=random.random(size) + 0.5)
    parent = contract(instance, np.arange(size))
    relaxation = Relaxation.from_super_points(parent)
    outcome = bound_by_cutting_planes(relaxation, np.inf, settings=QUICK)
    i, j, h, g = random.permutation(size)[:4]
    merged = np.arange(size)
    merged[max(i, j)] = min(i, j)
    groups = np.unique(merged, return_inverse=True)[1]
    for group_of, extra in ((np.arange(size), [[i, j]]), (groups, None), (groups, [[h, g]])):
        extra_links = None if extra is None else np.array(extra)
        child = Relaxation.from_super_points(parent.merge(group_of, extra_links))
        inherited = inherit(outcome.best, parent.weights, child, group_of)
        bound = Admm(child, inherited, AdmmSettings()).safe_bound().safe_lower_bound
        assert bound >= outcome.safe_lower_bound - 1e-9  # V is rounded to single precision anew
        resumed = bound_by_cutting_planes(child, np.inf, start=inherited, settings=QUICK)
        assert resumed.safe_lower_bound >= bound


@pytest.mark.parametrize(("primal", "dual", "factor"), [(0.8, 0.1, 2**0.5), (0.4, 0.1, 1.0), (1.0, 1e-9, 1.5)])
def test_the_penalty_moves_to_where_residuals_are_balanced(primal: float, dual: float, factor: float) -> None:
    """Primal residuals four times the dual ones are right; otherwise the penalty rises by the root, but not too far."""
    relaxation = relaxation_of(blobs(12, 3))
    solver = Admm(relaxation, Iterate.cold(relaxation), AdmmSettings(balance=4.0, largest_balancing=1.5))
    before = solver.penalty
    solver.primal_residual, solver.dual_residual = primal, dual
    solver._balance_penalty()
    assert solver.penalty == pytest.approx(before * factor)


def test_a_child_goes_on_with_penalty_and_threshold_of_its_parent() -> None:
    """Otherwise it would look for strong cuts again where only weak ones are left."""
    relaxation = relaxation_of(blobs(40, 4, spread=1.5))
    separation = SeparationSettings(threshold=0.01, final_threshold=0.001)
    settings = CuttingPlaneSettings(max_rounds=12, separation=separation, few_new_cuts=1.0)
    outcome = bound_by_cutting_planes(relaxation, np.inf, settings=settings)
    assert outcome.best.penalty is not None
    assert outcome.best.threshold is not None
    assert 0.001 <= outcome.best.threshold < 0.01
    child = inherit(outcome.best, relaxation.root_weights**2, relaxation, np.arange(40))
    assert (child.penalty, child.threshold) == (outcome.best.penalty, outcome.best.threshold)


def test_patience_decides_when_a_hopeless_node_is_given_up() -> None:
    """With an unreachable target more patience means more iterations, and a bound that is no lower."""
    relaxation = relaxation_of(blobs(30, 4, spread=1.5))
    hasty, patient = (
        bound_by_cutting_planes(
            relaxation, np.inf, settings=CuttingPlaneSettings(patience=patience, min_iterations=60, max_rounds=40)
        )
        for patience in (0.0, 1e9)
    )
    assert hasty.reason is StopReason.STALLED
    before_last = sum(r.iterations for r in hasty.rounds[:-1])
    assert before_last < 60 <= before_last + hasty.rounds[-1].iterations
    assert len(patient.rounds) > len(hasty.rounds)
    assert patient.safe_lower_bound >= hasty.safe_lower_bound


def test_bounds_within_a_round_are_left_out_where_they_are_hopeless() -> None:
    """An unreachable target is asked for after rounds only; one that is in reach is noticed as early as before."""
    relaxation = relaxation_of(blobs(40, 4, spread=1.5))
    best = bound_by_cutting_planes(relaxation, np.inf, settings=QUICK).safe_lower_bound

    def iterations_and_bounds(target: float, hopeful: float) -> tuple[int, int]:
        proven: list[float] = []
        with pytest.MonkeyPatch.context() as patch:
            whole = Admm.safe_bound
            patch.setattr(Admm, "safe_bound", lambda *given, **more: proven.append(0.0) or whole(*given, **more))  # type: ignore[func-returns-value]
            settings = CuttingPlaneSettings(hopeful=hopeful, max_rounds=8, max_iterations=20)
            outcome = bound_by_cutting_planes(relaxation, target, settings=settings)
        return sum(r.iterations for r in outcome.rounds), len(proven)

    assert iterations_and_bounds(np.inf, 2.0) == (160, 1 + 8)
    thrifty, eager = (iterations_and_bounds(0.99 * best, hopeful) for hopeful in (2.0, 1e9))
    assert thrifty[0] == eager[0]
    assert thrifty[1] <= eager[1]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (lambda: AdmmSettings(penalty=0.0), "penalty"),
        (lambda: AdmmSettings(balance=-1.0), "balance"),
        (lambda: AdmmSettings(over_relaxation=2.0), "over_relaxation"),
        (lambda: AdmmSettings(sweeps=0), "sweeps"),
        (lambda: CuttingPlaneSettings(iterations=0), "iterations"),
        (lambda: CuttingPlaneSettings(patience=-1.0), "patience"),
    ],
)
def test_settings_name_the_field_that_is_wrong(settings, field: str) -> None:  # type: ignore[no-untyped-def]
    """Bad settings are refused where they are made."""
    with pytest.raises(ValueError, match=field):
        settings()


def test_estimates_of_eigenvalues_are_given_up_where_only_rounding_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What decompositions reach is reached, though estimates, which are quicker, leave more to rounding."""
    relaxation, settings = relaxation_of(blobs(160, 2, spread=0.3)), CuttingPlaneSettings(large_size=100)
    monkeypatch.setattr(eigenvalues, "_LARGE", 10**9)
    best = bound_by_cutting_planes(relaxation, np.inf, settings=settings).safe_lower_bound
    value = bound_by_cutting_planes(relaxation, best - 1e-7, settings=settings).safe_lower_bound
    monkeypatch.setattr(eigenvalues, "_LARGE", 100)
    farther = bound_by_cutting_planes(relaxation, 0.99 * value, settings=settings)
    allowances = [farther.proven.unsafe_lower_bound - farther.safe_lower_bound]
    reached = bound_by_cutting_planes(relaxation, value, settings=settings)
    allowances.append(reached.proven.unsafe_lower_bound - reached.safe_lower_bound)
    assert reached.reason is StopReason.REACHED
    assert allowances[0] > 5 * allowances[1]
