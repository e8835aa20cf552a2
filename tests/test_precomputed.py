"""Problems without points: a Gram matrix or squared distances, through every door."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_circles
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold

from certimeans import CertifiedKMeans, InputError, SolveResult, SolveStatus, solve, verify, write_points
from certimeans.bounds import covariance
from certimeans.cli import main
from certimeans.errors import CertificateError
from certimeans.problem.nearest import KernelCentres
from certimeans.report.html import render_report
from certimeans.report.plots import plot_centres, plot_clusters
from tests.oracles.certificates import Task
from tests.oracles.instances import SmallInstance
from tests.report.test_html import Page

POINTS = np.random.default_rng(0).normal(size=(30, 2)) + 4.0 * (np.arange(30) % 3)[:, None]
GRAM = POINTS @ POINTS.T
SQUARES = squareform(pdist(POINTS, "sqeuclidean"))
LINKS: dict[str, Any] = {"must_link": [(0, 1)], "cannot_link": [(2, 5)]}


def test_centres_in_the_space_of_a_kernel_are_the_centres_of_the_points() -> None:
    """For the linear kernel both find the same nearest centre, with weights."""
    weights, labels = np.arange(1.0, 31.0), np.arange(30) % 3
    centres = np.array([np.average(POINTS[labels == c], axis=0, weights=weights[labels == c]) for c in range(3)])
    new = np.random.default_rng(1).normal(size=(50, 2)) * 5
    nearest = ((new[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    found = KernelCentres.of(GRAM, weights, labels).nearest(new @ POINTS.T)
    assert found.tolist() == nearest.tolist()


@pytest.fixture(scope="module")
def by_points() -> SolveResult:
    """Solve the same problem with points."""
    return solve(POINTS, 3, **LINKS)


@pytest.mark.parametrize("matrix", [{"gram": GRAM}, {"squared_distances": SQUARES}], ids=["gram", "squared distances"])
def test_a_matrix_gives_the_same_optimum_as_the_points(matrix: dict[str, Any], by_points: SolveResult) -> None:
    """The same clusters at the same cost, proven; there are no centres."""
    result = solve(n_clusters=3, **matrix, **LINKS)
    assert result.status == "optimal"
    assert result.labels.tolist() == by_points.labels.tolist()  # type: ignore[union-attr]
    assert result.objective == pytest.approx(by_points.objective, rel=1e-9)
    assert result.centres is None


def test_the_estimator_takes_a_kernel_matrix(by_points: SolveResult) -> None:
    """The labels of the points, numbered by first appearance, and the nearest centre of new points."""
    model = CertifiedKMeans(3, kernel="precomputed").fit(GRAM, **LINKS)
    assert model.labels_.tolist() == by_points.labels.tolist()  # type: ignore[union-attr]
    usual = CertifiedKMeans(3).fit(POINTS, **LINKS)
    new = np.random.default_rng(2).normal(size=(20, 2)) * 6
    number = {int(a): int(b) for a, b in zip(usual.labels_, model.labels_, strict=True)}
    assert model.predict(new @ POINTS.T).tolist() == [number[int(label)] for label in usual.predict(new)]


def test_the_estimator_says_what_it_cannot_do_without_points() -> None:
    """Centres, distances and scores need coordinates; a matrix must be square; new points need every fitted one."""
    model = CertifiedKMeans(2, kernel="precomputed")
    with pytest.raises(NotFittedError):
        model.predict(GRAM)
    with pytest.raises(InputError, match=r"X must be a square matrix; got shape \(30, 2\)"):
        model.fit(POINTS)
    model.fit(GRAM)
    for name in ("transform", "score", "get_feature_names_out"):
        assert not hasattr(model, name)
        with pytest.raises(
            AttributeError, match=f"{name} needs points; with kernel='precomputed' there is only predict"
        ):
            getattr(model, name)
    with pytest.raises(AttributeError, match="no cluster_centers_ with kernel='precomputed'"):
        model.cluster_centers_  # noqa: B018
    with pytest.raises(InputError, match="30 features"):
        model.predict(GRAM[:, :5])


def test_cross_validation_cuts_rows_and_columns() -> None:
    """scikit-learn knows from the estimator's tag that X is a matrix of pairs."""
    model = CertifiedKMeans(2, kernel="precomputed")
    assert model.__sklearn_tags__().input_tags.pairwise
    assert not CertifiedKMeans(2).__sklearn_tags__().input_tags.pairwise
    train, test = next(KFold(3).split(GRAM))
    model.fit(GRAM[np.ix_(train, train)])
    assert model.predict(GRAM[np.ix_(test, train)]).shape == test.shape


def test_a_grid_search_without_scores_is_refused_at_once() -> None:
    """A kernel matrix has no score, so scikit-learn asks for one instead of returning NaN."""
    with pytest.raises(TypeError, match="score"):
        GridSearchCV(CertifiedKMeans(kernel="precomputed"), {"n_clusters": [2, 3]}, cv=2).fit(GRAM)


def test_columns_of_distances_have_names_once_there_are_centres() -> None:
    """Before that the estimator is not fitted, and says so."""
    with pytest.raises(NotFittedError):
        CertifiedKMeans(2).get_feature_names_out()
    names = CertifiedKMeans(2).fit(POINTS).get_feature_names_out()
    assert names.tolist() == ["certifiedkmeans0", "certifiedkmeans1"]


def test_what_needs_points_says_so() -> None:
    """Distances as constraints, standardising, pictures of points and of centres."""
    options: dict[str, Any]
    for options in ({"diameter": 1.0}, {"split": 1.0}, {"standardize": True}):
        with pytest.raises(InputError, match=r"points|features"):
            solve(gram=GRAM, n_clusters=2, **options)
    result = solve(gram=GRAM, n_clusters=2)
    for draw in (plot_clusters, plot_centres):
        with pytest.raises(InputError, match=r"need.? points; this problem was given as a Gram matrix"):
            draw(result)
    assert "Gram" in Page(result._repr_html_()).text


def test_the_report_does_without_a_picture_of_the_points() -> None:
    """It says why, and has sizes, bounds and the guarantee."""
    page = Page(render_report(solve(gram=GRAM, n_clusters=3, **LINKS)))
    assert "30 points given by a Gram matrix" in page.text
    assert "there are no centres, and no picture of the clusters" in page.text
    assert page.count("svg") == 3
    assert "certimeans.solve(gram=..., n_clusters=3" in page.text
    assert "Cost means the (weighted) sum of the diagonal entries of the Gram matrix" in page.text
    assert "What the constraints changed" in page.text or "The constraints cost nothing" in page.text


def test_two_rings_are_told_apart_and_the_proof_is_verified(tmp_path: Path) -> None:
    """A kernel sees what distances of the points do not; the certificate stands as any other."""
    points, ring = make_circles(40, factor=0.3, noise=0.05, random_state=0)
    result = solve(gram=rbf_kernel(points, gamma=3.0), n_clusters=2, cannot_link=[(0, int(np.argmax(ring != ring[0])))])
    assert result.labels is not None
    assert len({(int(a), int(b)) for a, b in zip(result.labels, ring, strict=True)}) == 2
    result.save(tmp_path)
    assert verify(tmp_path, gap=1e-4, instance=result.instance).gap <= 1e-4


@pytest.mark.parametrize(("option", "matrix"), [("--gram", GRAM), ("--squared-distances", SQUARES)])
def test_the_command_line_reads_a_matrix(
    option: str, matrix: np.ndarray, tmp_path: Path, by_points: SolveResult, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the formats of points; the results directory is written and verified."""
    write_points(tmp_path / "matrix.csv", matrix)
    (tmp_path / "links.txt").write_text("ML 0 1\nCL 2 5\n", encoding="utf-8")
    arguments = [option, str(tmp_path / "matrix.csv"), "-k", "3", "--constraints", str(tmp_path / "links.txt")]
    assert main(["solve", *arguments, "--json", "--quiet", "--out", str(tmp_path / "out")]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == by_points.labels.tolist()  # type: ignore[union-attr]
    assert main(["verify", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("offset", [1.0, 1e10])
def test_certificates_follow_where_a_large_offset_hides_the_costs(tmp_path: Path, k: int, offset: float) -> None:
    """The solver claims no bound that its own checker cannot prove in floats."""
    points = np.arange(4.0)
    solve(gram=offset + 1e-6 * np.outer(points, points), n_clusters=k, time_limit=5).save(tmp_path, report=False)
    verify(tmp_path)


def test_the_smallest_numbers_are_taken_as_they_are_or_refused() -> None:
    """Their halves are rounded to 0, which made their cost exactly 0."""
    least = 5e-324
    with pytest.raises(InputError, match="too small for double precision"):
        solve(gram=least * np.eye(3), n_clusters=2)
    with pytest.raises(InputError, match=r"squared_distances\[0, 1\] is 4.94066e-324, too small"):
        solve(squared_distances=least * (1 - np.eye(3)), n_clusters=2)


@pytest.mark.parametrize("block", range(5))
def test_costs_that_drown_in_large_entries_are_never_undercut(block: int, tmp_path: Path) -> None:
    """Entries up to 2^50 times the costs, against all partitions in rational arithmetic; the checker follows."""
    random = np.random.default_rng(block)
    for _ in range(12):
        n, k = int(random.integers(3, 7)), int(random.integers(1, 4))
        factors = random.integers(-4, 5, size=(n, n))
        drift = random.normal(size=n) * 2.0 ** random.integers(-20, 50)
        gram = 2.0 ** random.integers(-3, 3) * (factors + factors.T) * random.integers(0, 2)
        gram = gram + (drift[:, None] + drift) + 2.0 ** random.integers(-20, 51)
        weights = random.integers(1, 4, size=n).astype(float)
        small = SmallInstance([[0.0]] * n, k, [], [], weights.tolist())
        task = Task(small, gram=gram.tolist())
        optimum = task.optimum()
        assert optimum is not None
        result = solve(gram=gram, n_clusters=k, sample_weight=weights, time_limit=20)
        assert result.status is not SolveStatus.TIME_LIMIT  # rounding is noticed
        assert result.labels is not None
        assert Fraction(result.lower_bound) <= optimum[0] <= task.cost(result.labels.tolist())
        assert task.cost(result.labels.tolist()) <= Fraction(result.objective)
        result.save(tmp_path, overwrite=True, report=False)
        assert verify(tmp_path).lower_bound >= result.lower_bound


def test_a_cost_of_zero_beside_huge_entries_ends_soon() -> None:
    """Every clustering costs 0, and rounding hides that: branching cannot help, and is not tried."""
    result = solve(gram=np.full((9, 9), 1e15), n_clusters=3, time_limit=20)
    assert result.objective == 0
    assert result.nodes == 1
    assert result.status is SolveStatus.INTERRUPTED


def test_a_result_without_any_bound_is_saved_and_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Gram matrix has no bound before one is proven; what is claimed then is the cost alone."""
    monkeypatch.setattr(covariance, "covariance_bound", lambda _: -np.inf)  # on a fast machine it would be in time
    points = np.random.default_rng(0).normal(size=(1200, 3))
    result = solve(gram=points @ points.T, n_clusters=3, time_limit=1e-6)
    assert result.lower_bound == -np.inf
    result.save(tmp_path, report=False)
    sentence = verify(tmp_path).sentence()
    assert sentence.startswith("Proven: the clustering costs ")
    assert "nothing about other clusterings" in sentence
    with pytest.raises(CertificateError, match="is not proven: none is"):
        verify(tmp_path, gap=1.0)
