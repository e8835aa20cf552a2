import doctest
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError, UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from certimeans import CertifiedKMeans, InfeasibleError, InputError, NoClusteringError, estimator, solve, solver
from certimeans.problem.clustering import Clustering, by_first_appearance
from certimeans.result import SolveStatus
from certimeans.solver import solve_instance
from tests.oracles.brute_force import optimum

MUST_LINK, CANNOT_LINK = [(0, 1), (0, 30)], [(0, 2), (10, 11)]


def blobs(size: int = 40, seed: int = 0) -> np.ndarray:
    """Draw points around three places of different scale in each feature."""
    random = np.random.default_rng(seed)
    places = np.array([[0.0, 0.0], [4.0, 300.0], [8.0, 0.0]])
    return places[random.integers(3, size=size)] + random.normal(size=(size, 2)) * [1.0, 60.0]


@parametrize_with_checks([CertifiedKMeans(n_clusters=2), CertifiedKMeans(n_clusters=3)])
def test_scikit_learns_own_checks(estimator: CertifiedKMeans, check: Callable[[object], None]) -> None:
    """All of them, sample weights included, without an exception."""
    check(estimator)


def test_fitted_attributes_say_what_the_solver_proved() -> None:
    """The same optimum as ``solve`` with the same seed; attributes agree with the result and with one another."""
    points = blobs()
    model = CertifiedKMeans(3, random_state=5).fit(points, must_link=MUST_LINK, cannot_link=CANNOT_LINK)
    result = solve(points, 3, must_link=MUST_LINK, cannot_link=CANNOT_LINK, random_state=5)
    assert by_first_appearance(model.labels_).tolist() == result.labels.tolist()  # type: ignore[union-attr]
    assert (model.inertia_, model.lower_bound_, model.gap_) == (result.objective, result.lower_bound, result.gap)
    assert type(model.status_) is str
    assert (model.status_, model.n_nodes_) == ("optimal", result.nodes)
    for cluster in range(3):
        np.testing.assert_allclose(model.cluster_centers_[cluster], points[model.labels_ == cluster].mean(axis=0))
    assert Clustering.from_labels(model.result_.instance, model.labels_).satisfies(model.result_.instance)


@pytest.mark.parametrize(
    "constraints",
    [
        {"must_link": [(1, 2)]},
        {"cannot_link": [(0, 1)]},
        {"diameter": 1.95},
        {"split": 1.95},
        {"partial_labels": ["b", "a", -1, "a", -1]},
    ],
)
def test_every_kind_of_constraint_reaches_the_solver(constraints: dict[str, Any]) -> None:
    """Joining 0 and 2 costs 2, joining 2 and three times 3.9 costs 2.7: the better one unless it is forbidden."""
    points = [[0.0], [2.0], [3.9], [3.9], [3.9]]
    assert CertifiedKMeans(2).fit(points).labels_.tolist() == [0, 0, 1, 1, 1]
    model = CertifiedKMeans(2).fit(points, **constraints)
    assert model.labels_.tolist() == [0, 1, 1, 1, 1]
    assert model.inertia_ == pytest.approx(0.75 * 1.9**2)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Record what the solver is asked."""
    calls: list[dict[str, Any]] = []

    def record(*arguments: Any, **options: Any) -> Any:
        calls.append(options)
        return solve_instance(*arguments, **options)

    monkeypatch.setattr(solver, "solve_instance", record)
    return calls


def test_initial_labels_follow_the_points_with_weight(asked: list[dict[str, Any]]) -> None:
    """The solver gets those of the points that it gets; their number is checked before."""
    CertifiedKMeans(2).fit(blobs(6), sample_weight=[1, 0, 1, 1, 1, 1], initial_labels=["a", "b", "c", "c", "a", "c"])
    assert by_first_appearance(asked[0]["initial_labels"]).tolist() == [0, 1, 1, 0, 1]
    with pytest.raises(InputError, match=r"labels have shape \(5,\)"):
        CertifiedKMeans(2).fit(blobs(6), sample_weight=[1, 0, 1, 1, 1, 1], initial_labels=np.zeros(5))


def test_points_of_weight_zero_are_labelled_but_do_not_count() -> None:
    """The same centres as without them, although one of them is far away; they get the nearest centre."""
    points = blobs()
    extra = np.vstack([[[1e4, 1e4]], points, points[:1]])
    weights = np.r_[0.0, np.ones(len(points)), 0.0]
    plain = CertifiedKMeans(3).fit(points, must_link=[(0, 1)])
    model = CertifiedKMeans(3).fit(extra, sample_weight=weights, must_link=[(1, 2)])
    np.testing.assert_array_equal(model.cluster_centers_, plain.cluster_centers_)
    assert model.labels_[1:-1].tolist() == plain.labels_.tolist()
    assert model.labels_[[0, -1]].tolist() == plain.predict(extra[[0, -1]]).tolist()


def test_contradictions_are_told_in_the_numbers_of_the_caller() -> None:
    """Also if points of weight zero were left out before the solver saw them."""
    with pytest.raises(InfeasibleError, match=r"points 4 and 2 cannot link.*: 2 = 3 = 4") as caught:
        CertifiedKMeans(2).fit(
            blobs(6), sample_weight=[1, 0, 1, 1, 1, 1], must_link=[(2, 3), (3, 4)], cannot_link=[(2, 4)]
        )
    assert caught.value.conflict.cannot_links == [(4, 2)]


def test_more_clusters_than_points_with_weight_are_refused() -> None:
    """The message counts the points that can fill a cluster."""
    with pytest.raises(InputError, match="n_samples=2 with a positive weight should be at least n_clusters=3"):
        CertifiedKMeans(3).fit(blobs(4), sample_weight=[0, 1, 1, 0])


def test_numbers_of_clusters_do_not_depend_on_the_order_of_the_points() -> None:
    """Shuffled points get the same labels, centre by centre."""
    points = blobs()
    order = np.random.default_rng(1).permutation(len(points))
    model, shuffled = CertifiedKMeans(3).fit(points), CertifiedKMeans(3).fit(points[order])
    assert model.labels_[order].tolist() == shuffled.labels_.tolist()
    np.testing.assert_allclose(model.cluster_centers_, shuffled.cluster_centers_, rtol=1e-12)


def test_predict_transform_and_score_measure_distances_to_the_centres() -> None:
    """Checked against plain formulas; under constraints predict may differ from labels_, and score from inertia_."""
    points, new = blobs(), blobs(20, seed=2)
    model = CertifiedKMeans(3).fit(points, cannot_link=[(0, i) for i in range(1, 40)])
    distances = np.sqrt(((new[:, None, :] - model.cluster_centers_) ** 2).sum(axis=2))
    np.testing.assert_allclose(model.transform(new), distances)
    assert model.predict(new).tolist() == distances.argmin(axis=1).tolist()
    assert model.score(new) == pytest.approx(-(distances.min(axis=1) ** 2).sum())
    weights = np.arange(20.0)
    assert model.score(new, sample_weight=weights) == pytest.approx(-weights @ distances.min(axis=1) ** 2)
    assert (model.labels_ == model.labels_[0]).sum() == 1
    assert -model.score(points) < model.inertia_


@pytest.mark.parametrize("scale", [2.0**-450, 2.0**500])
def test_tiny_and_huge_points_are_predicted(scale: float) -> None:
    """Squared distances that would vanish or overflow make no difference."""
    points = blobs()
    model, scaled = CertifiedKMeans(3).fit(points), CertifiedKMeans(3).fit(points * scale)
    assert scaled.predict(points * scale).tolist() == model.labels_.tolist()
    np.testing.assert_array_equal(scaled.transform(points * scale), model.transform(points) * scale)


def test_without_any_clustering_fit_fails_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error with the result attached, also after an earlier success; a real one needs a very hard colouring."""
    model = CertifiedKMeans(3).fit(blobs())
    nothing = replace(model.result_, clustering=None, status=SolveStatus.TIME_LIMIT)
    monkeypatch.setattr(solver, "solve_instance", lambda *_, **__: nothing)
    with pytest.raises(NoClusteringError, match="time_limit") as caught:
        model.fit(blobs())
    assert isinstance(caught.value, RuntimeError)
    assert pickle.loads(pickle.dumps(caught.value)).result.status == "time_limit"  # noqa: S301  # as process pools do
    assert [name for name in vars(model) if name.endswith("_")] == ["n_features_in_"]
    with pytest.raises(NotFittedError):
        model.predict(blobs())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1; got 0"),
        ({"n_clusters": 2.0}, "n_clusters must be an integer"),
        ({"gap": -1.0}, "gap must be"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"max_nodes": 0}, "max_nodes must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"n_jobs": "2"}, "n_jobs must be"),
        ({"random_state": "x"}, "random_state must be .* got 'x'"),
        ({"random_state": -1}, "random_state must be"),
        ({"kernel": "rbf"}, "kernel must be 'linear' or 'precomputed'; got 'rbf'"),
    ],
)
def test_bad_parameters_are_refused_by_fit(parameters: dict[str, Any], message: str) -> None:
    """Not by the constructor, and by name."""
    model = CertifiedKMeans(**parameters)
    with pytest.raises(InputError, match=message):
        model.fit(blobs())


def test_bad_points_are_named() -> None:
    """scikit-learn's message, and where the entry is; it is an InputError and so a ValueError."""
    points = blobs()
    points[7, 1] = np.nan
    with pytest.raises(InputError, match=r"(?s)Input X contains NaN.*points\[7, 1\] is nan"):
        CertifiedKMeans(2).fit(points)
    with pytest.raises(InputError, match="2 features"):
        CertifiedKMeans(2).fit(blobs()).predict([[1.0, 2.0, 3.0]])


def test_random_state_takes_what_scikit_learn_takes() -> None:
    """A generator is drawn from, so two fits differ in seed; None works; an integer is the solver's seed."""
    points = blobs(12)
    generator = np.random.RandomState(3)
    seeds = [CertifiedKMeans(2, random_state=generator).fit(points).result_.seed for _ in range(2)]
    assert seeds[0] != seeds[1]
    assert CertifiedKMeans(2, random_state=None).fit(points).status_ == "optimal"
    assert CertifiedKMeans(2, random_state=7).fit(points).result_.seed == 7


def test_progress_is_reported_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, and only then."""
    CertifiedKMeans(2).fit(blobs(8))
    assert capsys.readouterr() == ("", "")
    CertifiedKMeans(2, verbose=True).fit(blobs(8))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "8 points" in captured.err
    assert "incumbent" in captured.err


def test_a_limit_is_a_warning_that_names_limit_and_gap() -> None:
    """The labels are set all the same. Without a limit that is hit there is none: any warning is an error here."""
    points = np.random.default_rng(0).random((60, 2))
    model = CertifiedKMeans(7, gap=0.0, max_nodes=1)
    with pytest.warns(ConvergenceWarning, match=r"max_nodes=1 with a proven gap of .* %, where gap=0.0 was asked for"):
        model.fit(points)
    assert (model.status_, len(model.labels_)) == ("node_limit", 60)


def test_classes_in_y_are_not_ignored_silently() -> None:
    """A ``y`` that holds -1, scikit-learn's mark for unknown, looks like partial labels; other values do not."""
    points, known = blobs(6), [0, -1, 1, -1, -1, -1]
    with pytest.warns(UserWarning, match=r"fit\(X, partial_labels=y\)"):
        CertifiedKMeans(2).fit(points, known)
    CertifiedKMeans(2).fit(points, np.arange(6))
    CertifiedKMeans(2).fit(points, ["a", "b", "-1", "a", "b", "a"])
    CertifiedKMeans(2).fit(points, known, partial_labels=known)


def test_a_pipeline_passes_constraints_to_its_last_step() -> None:
    """Scaled points, the constraints of the caller, and the clusterer's methods on the pipeline."""
    points = blobs()
    pipeline = make_pipeline(StandardScaler(), CertifiedKMeans(3))
    pipeline.fit(points, certifiedkmeans__must_link=MUST_LINK, certifiedkmeans__cannot_link=CANNOT_LINK)
    scaled = StandardScaler().fit_transform(points)
    alone = CertifiedKMeans(3).fit(scaled, must_link=MUST_LINK, cannot_link=CANNOT_LINK)
    assert pipeline[-1].labels_.tolist() == alone.labels_.tolist()
    assert pipeline.predict(points).tolist() == alone.predict(scaled).tolist()
    assert pipeline.fit_predict(points).tolist() == CertifiedKMeans(3).fit_predict(scaled).tolist()
    assert pipeline[:-1].get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
    assert pipeline.get_feature_names_out(["a", "b"]).tolist() == [f"certifiedkmeans{i}" for i in range(3)]


def test_metadata_routing_passes_requested_constraints() -> None:
    """What was requested arrives, in fit and in fit_predict; what was not is refused by scikit-learn."""
    points, weights = blobs(), np.arange(1.0, 41.0)
    scaled = StandardScaler().fit_transform(points)
    alone = CertifiedKMeans(3).fit(scaled, sample_weight=weights, must_link=MUST_LINK, cannot_link=CANNOT_LINK)
    with sklearn.config_context(enable_metadata_routing=True):
        model = CertifiedKMeans(3).set_fit_request(must_link=True, cannot_link=True, sample_weight=True)
        pipeline = Pipeline([("scale", StandardScaler().set_fit_request(sample_weight=False)), ("cluster", model)])
        known = {"must_link": MUST_LINK, "cannot_link": CANNOT_LINK, "sample_weight": weights}
        assert pipeline.fit(points, **known)[-1].inertia_ == alone.inertia_
        assert pipeline.fit_predict(points, **known).tolist() == alone.labels_.tolist()
        with pytest.raises((UnsetMetadataPassedError, TypeError), match="split"):
            pipeline.fit(points, split=1.0)


def test_partial_labels_follow_the_folds_of_a_grid_search() -> None:
    """One entry per point, so scikit-learn cuts them to the training points; the score chooses more clusters."""
    points = blobs()
    known = np.full(len(points), -1)
    known[:4] = [0, 1, 0, 1]
    search = GridSearchCV(CertifiedKMeans(), {"n_clusters": [2, 3]}, cv=4).fit(points, partial_labels=known)
    assert search.best_params_ == {"n_clusters": 3}
    labels = search.best_estimator_.labels_
    assert labels[0] == labels[2] != labels[1] == labels[3]


def test_data_frames_keep_their_column_names() -> None:
    """Names are stored, checked by predict, known to the result, and numbers are rows if that is said."""
    pandas = pytest.importorskip("pandas")
    points = blobs()
    frame = pandas.DataFrame(points, columns=["width", "height"], index=np.arange(40)[::-1])
    model = CertifiedKMeans(3).fit(frame, must_link=MUST_LINK, cannot_link=CANNOT_LINK, link_by="position")
    assert model.feature_names_in_.tolist() == ["width", "height"]
    assert model.result_.instance.feature_names == ("width", "height")
    plain = CertifiedKMeans(3).fit(points, must_link=MUST_LINK, cannot_link=CANNOT_LINK)
    assert model.labels_.tolist() == plain.labels_.tolist()
    with pytest.raises(InputError, match="feature names"):
        model.predict(frame[["height", "width"]])
    distances = model.set_output(transform="pandas").transform(frame)
    assert list(distances.columns) == [f"certifiedkmeans{i}" for i in range(3)]
    assert list(distances.index) == list(frame.index)
    assert model.predict(frame).tolist() == distances.to_numpy().argmin(axis=1).tolist()


def test_clones_and_copies() -> None:
    """A clone has the parameters and no fit; a pickled copy predicts alike and keeps the result."""
    points = blobs()
    model = CertifiedKMeans(3, gap=1e-3, time_limit=60).fit(points)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(points)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301  # ours, of a moment ago: what joblib does with estimators
    assert again.predict(points).tolist() == model.predict(points).tolist()
    assert again.result_.summary() == model.result_.summary()


def test_the_example_in_the_docstring_runs() -> None:
    """It prints what it says."""
    outcome = doctest.testmod(estimator)
    assert outcome.failed == 0
    assert outcome.attempted > 0


def test_the_package_imports_scikit_learn_only_for_the_estimator() -> None:
    """``import certimeans`` stays light; the name is there all the same."""
    script = (
        "import sys, certimeans; heavy = {'sklearn', 'numba', 'scipy'} & set(sys.modules); "
        "print(sorted(heavy), 'CertifiedKMeans' in certimeans.__all__, certimeans.CertifiedKMeans.__name__)"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output.split("\n")[0] == "[] True CertifiedKMeans"


def test_small_problems_agree_with_brute_force() -> None:
    """The estimator's labels have the least cost of all partitions that keep the constraints."""
    for seed in range(5):
        points = np.random.default_rng(seed).normal(size=(7, 2))
        best = optimum(points.tolist(), 3, [(0, 1)], [(1, 2)])
        model = CertifiedKMeans(3, gap=1e-6).fit(points, must_link=[(0, 1)], cannot_link=[(1, 2)])
        assert model.inertia_ == pytest.approx(best.cost, rel=1e-9)
