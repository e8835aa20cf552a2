import numpy as np
import pytest

from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.polyhedral import PolyhedralProjector
from certimeans.bounds.relaxation.spectral import SpectralError, SpectralProjector
from certimeans.bounds.relaxation.spectral_kernels import project_onto_capped_simplex
from certimeans.bounds.relaxation.threads import Threads
from tests.bounds.relaxation.test_cuts import fractional


def unit_vector(random: np.random.Generator, size: int) -> np.ndarray:
    direction: np.ndarray = np.sqrt(random.random(size) + 0.1)
    direction /= np.linalg.norm(direction)
    return direction


def reference_projection(matrix: np.ndarray, direction: np.ndarray, rank: int) -> np.ndarray:
    """R by a full decomposition in double precision on a basis of the complement of u."""
    if rank == 0:
        return np.zeros_like(matrix)
    basis = np.linalg.svd(direction[None, :])[2][1:].T
    values, vectors = np.linalg.eigh(basis.T @ matrix @ basis)
    levels = project_onto_capped_simplex(values, float(rank))
    projected: np.ndarray = basis @ (vectors * levels) @ vectors.T @ basis.T
    return projected


@pytest.mark.parametrize("seed", range(50))
def test_the_capped_simplex_projection_is_feasible_and_optimal(seed: int) -> None:
    """0 <= x <= 1 and the right sum; and it is a clipped shift of the input, which makes it the nearest point."""
    random = np.random.default_rng(seed)
    values = np.sort(random.normal(size=12) * 10.0 ** random.integers(-3, 3))
    total = float(random.integers(0, 12))
    levels = project_onto_capped_simplex(values, total)
    assert levels.min() >= 0
    assert levels.max() <= 1
    assert levels.sum() == pytest.approx(total, abs=1e-9)
    between = (levels > 0) & (levels < 1)
    if between.any():
        shift = (values - levels)[between]
        assert np.ptp(shift) < 1e-9
        assert (values[levels == 0] <= shift.max() + 1e-9).all()
        assert (values[levels == 1] >= shift.min() + 1 - 1e-9).all()


@pytest.mark.parametrize(("size", "rank"), [(1, 0), (2, 1), (30, 0), (30, 4), (30, 29), (200, 6)])
def test_the_full_projection_agrees_with_a_reference(size: int, rank: int) -> None:
    """Single precision against double precision by another route."""
    random = np.random.default_rng(size)
    direction = unit_vector(random, size)
    primal, first, second = (random.normal(size=(size, size)) for _ in range(3))
    matrices = [np.triu(m) + np.triu(m, 1).T for m in (primal, first, second)]
    expected = reference_projection(matrices[0] - 2.0 * (matrices[1] + matrices[2]), direction, rank)
    found = SpectralProjector(direction, rank).project(primal, (first, second), 2.0)
    np.testing.assert_allclose(found, expected, atol=2e-5)
    np.testing.assert_allclose(found @ direction, 0, atol=2e-5)


def test_subspace_steps_follow_a_slowly_changing_matrix() -> None:
    """Over 150 steps the cheap projection stays close to the exact one, and full decompositions are rare."""
    random = np.random.default_rng(0)
    size, rank = 200, 5
    direction = unit_vector(random, size)
    low_rank = random.normal(size=(size, 12))
    noise = random.normal(size=(size, size)) * 0.02
    projector = SpectralProjector(direction, rank)
    worst = 0.0
    for _ in range(150):
        low_rank += 0.005 * random.normal(size=low_rank.shape)
        matrix = low_rank @ low_rank.T / size + noise + noise.T
        zero = np.zeros_like(matrix)
        found = projector.project(matrix, (zero, zero), 1.0)
        worst = max(worst, float(np.abs(found - reference_projection(matrix, direction, rank)).max()))
    assert worst < 5e-3
    assert projector.n_subspace > 8 * projector.n_full


def test_a_sudden_change_is_noticed() -> None:
    """After the spectrum moved entirely, the checks send the projector back to a full decomposition."""
    random = np.random.default_rng(1)
    size, rank = 180, 3
    direction = unit_vector(random, size)
    projector = SpectralProjector(direction, rank)
    zero = np.zeros((size, size))
    for scale in (1.0, -50.0):
        low_rank = random.normal(size=(size, 6))
        matrix = scale * low_rank @ low_rank.T / size
        for _ in range(30):
            found = projector.project(matrix, (zero, zero), 1.0)
        np.testing.assert_allclose(found, reference_projection(matrix, direction, rank), atol=0.05)


def test_another_step_stretches_what_is_damped() -> None:
    """Steps change the scale of the spectrum; the subspace follows them without a full decomposition."""
    random = np.random.default_rng(2)
    size, rank = 200, 5
    direction = unit_vector(random, size)
    low_rank = random.normal(size=(size, 12))
    slope = -(low_rank @ low_rank.T) / size
    zero = np.zeros((size, size))
    projector = SpectralProjector(direction, rank)
    for number in range(80):
        step = 1.4 ** (number // 10 % 4)
        found = projector.project(zero, (slope, zero), step, tolerance=1e-3)
        np.testing.assert_allclose(found, reference_projection(-step * slope, direction, rank), atol=2e-3)
    assert projector.n_full == 1


def test_a_subspace_grows_with_what_is_wanted() -> None:
    """More eigenvectors are wanted than before: random ones are added and filtered, nothing is decomposed again."""
    random = np.random.default_rng(3)
    size, rank = 300, 6
    direction = unit_vector(random, size)
    vectors = np.linalg.qr(np.column_stack([direction, random.normal(size=(size, 60))]))[0][:, 1:]
    zero = np.zeros((size, size))
    projector = SpectralProjector(direction, rank)
    for wanted in range(6, 60):
        values = np.zeros(60)
        values[:wanted] = 1.0
        matrix = vectors * values @ vectors.T
        found = projector.project(matrix, (zero, zero), 1.0, tolerance=1e-3)
    np.testing.assert_allclose(found, reference_projection(matrix, direction, rank), atol=2e-3)
    assert projector.n_full < 10


@pytest.mark.parametrize("count", [2, 3])
def test_threads_share_products_without_changing_them(count: int) -> None:
    """Ranges cover everything once, and results are those of one thread up to rounding."""
    random = np.random.default_rng(4)
    size, rank = 203, 5
    direction = unit_vector(random, size)
    matrix = random.normal(size=(size, size)) / np.sqrt(size)
    zero = np.zeros((size, size))
    alone = SpectralProjector(direction, rank)
    with Threads(count) as threads:
        shared = SpectralProjector(direction, rank, threads=threads)
        for _ in range(4):
            matrix += 1e-3 * random.normal(size=(size, size))
            expected = alone.project(matrix, (zero, zero), 1.0)
            np.testing.assert_allclose(shared.project(matrix, (zero, zero), 1.0), expected, atol=1e-4)
        for multiple in (1, 64):
            rows = threads.rows_of_triangle(size, multiple)
            assert [i for first, last in rows for i in range(first, last)] == list(range(size))
        areas = [sum(1000 - i for i in range(first, last)) for first, last in threads.rows_of_triangle(1000)]
        assert max(areas) < 1.01 * min(areas)
    assert shared.n_subspace == 3


def test_a_matrix_that_is_not_finite_is_reported() -> None:
    """Breakdown is an exception of its own, which the loop turns into a stop."""
    direction = unit_vector(np.random.default_rng(0), 5)
    broken = np.full((5, 5), np.nan)
    with pytest.raises(SpectralError):
        SpectralProjector(direction, 1).project(broken, (broken, broken), 1.0)


def test_a_matrix_that_ceases_to_be_finite_is_reported() -> None:
    """In a subspace step, too: its estimates of the spectrum are no numbers then."""
    random = np.random.default_rng(0)
    size = 120
    direction = unit_vector(random, size)
    projector = SpectralProjector(direction, 3)
    low_rank = random.normal(size=(size, 3))
    zero = np.zeros((size, size))
    projector.project(low_rank @ low_rank.T, (zero, zero), 1.0)
    broken = np.full((size, size), np.nan)
    with np.errstate(invalid="ignore"), pytest.raises(SpectralError):
        projector.project(broken, (zero, zero), 1.0)
    assert projector.n_full == 2


def test_without_cuts_the_polyhedral_projection_clips() -> None:
    """X = max(T, 0) off cannot-links and 0 on them; L keeps what was cut off, non-positive off cannot-links."""
    random = np.random.default_rng(0)
    relaxation, _ = fractional(0, 10, 3)
    forbidden = np.zeros((10, 10), dtype=np.bool_)
    forbidden[2, 5] = forbidden[5, 2] = True
    primal, dual = random.random((10, 10)), random.normal(size=(10, 10))
    spectral = random.normal(size=(10, 10)).astype(np.float32)
    rank_one = np.outer(relaxation.direction, relaxation.direction)
    relaxed = 1.6 * (spectral + rank_one) - 0.6 * primal
    target = np.triu(relaxed + dual / 0.1)
    projector = PolyhedralProjector(relaxation.direction, forbidden, sweeps=2)
    rows = CutRows.build(Cuts.none(), relaxation)
    projector.begin(dual, np.empty(0), rows)
    projector.update(spectral, primal, dual, np.empty(0), rows, 0.1, 1.6)
    expected = np.where(forbidden, 0, np.maximum(target, 0))
    np.testing.assert_allclose(np.triu(primal), np.triu(expected), atol=1e-6)
    np.testing.assert_allclose(np.triu(dual), 0.1 * (target - np.triu(expected)), atol=1e-6)
    assert (np.triu(dual)[~forbidden] <= 1e-12).all()
