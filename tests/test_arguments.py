from typing import Any

import numpy as np
import pytest
from joblib import cpu_count, parallel_config

from certimeans import CertifiedKMeans, InputError, Progress, SolveStatus, solve
from certimeans.arguments import as_n_jobs, as_seed
from tests.search.test_solve import branching_points

POINTS = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0], [0.0, 9.0]])


def test_n_jobs_follows_joblib() -> None:
    """None means one unless a context says otherwise, -1 all cores."""
    assert [as_n_jobs(n_jobs) for n_jobs in (None, 2, -1, np.int64(3))] == [1, 2, cpu_count(), 3]
    with parallel_config(backend="threading", n_jobs=3):
        assert as_n_jobs(None) == 3


@pytest.mark.parametrize("n_jobs", [0, True, 1.0, "2"])
def test_other_numbers_of_jobs_are_refused(n_jobs: object) -> None:
    """By name, by solve and by the estimator alike."""
    for call in (lambda: solve(POINTS, 2, n_jobs=n_jobs), lambda: CertifiedKMeans(2, n_jobs=n_jobs).fit(POINTS)):  # type: ignore[arg-type]
        with pytest.raises(InputError, match="n_jobs must be None or an integer other than 0"):
            call()


def test_a_seed_is_reported() -> None:
    """An integer is the seed; None and generators draw one; what was drawn repeats the run."""
    assert solve(POINTS, 2, random_state=7).seed == 7
    drawn = solve(POINTS, 2, random_state=None).seed
    assert solve(POINTS, 2, random_state=drawn).seed == drawn
    for generator in (np.random.default_rng(0), np.random.RandomState(0), None):
        assert as_seed(generator) != as_seed(generator)


@pytest.mark.parametrize("random_state", [-1, True, 1.5, "x"])
def test_other_seeds_are_refused(random_state: object) -> None:
    """By name."""
    with pytest.raises(InputError, match="random_state must be a non-negative integer, a NumPy generator or None"):
        as_seed(random_state)


def test_data_are_given_exactly_once() -> None:
    """None or several of points, gram and squared_distances are refused, and so is a missing number of clusters."""
    with pytest.raises(InputError, match=r"give the data once, .* got nothing"):
        solve(n_clusters=2)
    with pytest.raises(InputError, match="got points and gram"):
        solve(POINTS, 2, gram=POINTS @ POINTS.T)
    with pytest.raises(InputError, match="say how many clusters you want with n_clusters"):
        solve(POINTS)
    with pytest.raises(InputError, match="standardize needs points; this problem is given as a Gram matrix"):
        solve(gram=POINTS @ POINTS.T, n_clusters=2, standardize=True)


def test_a_wrong_keyword_gets_pythons_own_message() -> None:
    """About solve, not about something inside."""
    with pytest.raises(TypeError, match=r"solve\(\) got an unexpected keyword argument 'must_links'"):
        solve(POINTS, 2, must_links=[(0, 1)])  # type: ignore[call-arg]


def test_standardized_features_count_alike() -> None:
    """The unit of a feature makes no difference."""
    result = solve(POINTS, 2, standardize=True)
    again = solve(POINTS * [1.0, 1024.0], 2, standardize=True)
    assert result.labels is not None
    assert result.labels.tolist() == again.labels.tolist()  # type: ignore[union-attr]
    assert again.objective == pytest.approx(result.objective)
    assert result.objective < 2 * len(POINTS)  # the total scatter of standardised features


def test_verbose_writes_the_log_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, beside the callback; nothing is written otherwise."""
    seen: list[Progress] = []
    solve(POINTS, 2, callback=seen.append)
    assert capsys.readouterr() == ("", "")
    solve(POINTS, 2, callback=seen.append, verbose=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Instance(5 points" in captured.err
    assert "incumbent" in captured.err
    assert sum(entry.phase == "presolve" for entry in seen) == 4  # as it begins, and what it found, of both


def test_the_log_ends_where_the_search_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """Also at a limit, with nodes left, and sooner than the next line would be due."""
    result = solve(branching_points(), 8, max_nodes=1, gap=1e-6, verbose=1)
    last = capsys.readouterr().err.splitlines()[-1].split()
    assert result.status is SolveStatus.NODE_LIMIT
    assert last[1:3] == ["1", "2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": 10**400}, "time_limit is too long to be kept"),
        ({"gap": 10**400}, "gap must be a number from 0 to below 1; got 1000"),
        ({"diameter": 10**400}, "diameter must be a finite distance, zero or more; got a huge number"),
        ({"max_nodes": -(10**400)}, "max_nodes must be a positive integer"),
    ],
)
def test_numbers_that_no_float_can_hold_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    """One clear message, not an overflow."""
    with pytest.raises(InputError, match=message):
        solve([[0.0], [1.0]], 2, **options)


def test_an_infinite_time_limit_is_none() -> None:
    """As long as it takes."""
    assert solve([[0.0], [1.0]], 2, time_limit=float("inf")).status == "optimal"
