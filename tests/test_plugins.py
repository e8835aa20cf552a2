"""Cut families, heuristics and bounders from outside the package. docs/extending.md is a worked example that runs."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certimeans import InputError, SolverSettings, solve, verify
from certimeans.bounds.covariance import CovarianceBounder
from certimeans.bounds.protocol import Answer, Question
from certimeans.bounds.relaxation.cuts.families import cuts_of_families
from certimeans.cli import main
from certimeans.plugins import _find, load_plugin
from certimeans.presolve.contract import SuperPoints

POINTS = np.random.default_rng(0).normal(size=(12, 2))


def no_labels(*_: Any) -> None:
    """Find nothing."""


def one_cluster(points: SuperPoints, *_: Any) -> Any:
    """Put all into one cluster, which leaves others empty: to be mended."""
    return np.zeros(points.size, dtype=np.int64)


def too_few_labels(*_: Any) -> list[int]:
    """Return no labels of the super-points."""
    return [0]


class Boaster(CovarianceBounder):
    """Claims a hundred times what its step proves."""

    def bound(self, question: Question) -> Answer:
        """Exaggerate."""
        answer = super().bound(question)
        return replace(answer, bound=replace(answer.bound, value=100.0 * answer.bound.value))


def test_a_bounder_cannot_claim_more_than_its_step_proves(tmp_path: Path) -> None:
    """Its bound is proven again, so that the result and its certificate stay true."""
    result = solve(POINTS, 3, settings=SolverSettings(bounders=(Boaster,)))
    assert result.objective == pytest.approx(solve(POINTS, 3).objective, rel=1e-4)
    assert result.lower_bound <= result.objective
    result.save(tmp_path / "result")
    assert verify(tmp_path / "result", gap=1e-4)


def test_what_a_heuristic_finds_is_mended_and_checked() -> None:
    """Labels that break constraints are a start, not a result; none is fine, too; two processes load it by its name."""
    settings = SolverSettings(heuristics=(f"{__name__}:one_cluster", no_labels))
    result = solve(POINTS, 3, cannot_link=[(0, 1)], settings=settings, n_jobs=2)
    assert result.status == "optimal"
    assert result.labels is not None
    assert result.labels[0] != result.labels[1]


def test_what_is_no_clustering_is_refused() -> None:
    """The message names the heuristic."""
    with pytest.raises(InputError, match="the heuristic too_few_labels must return a cluster"):
        solve(POINTS, 3, settings=SolverSettings(heuristics=(too_few_labels,)))


@pytest.mark.parametrize(
    ("members", "coefficients", "message"),
    [
        ([[0, 1]], [[1]], "one shape"),
        ([[0, 9]], [[1, 1]], "numbers of super-points"),
        ([[0, 0]], [[1, -1]], "twice"),
        ([[0, 1]], [[1, 101]], "at most 100"),
        ([[0, 1]], [[1.0, 1.0]], "integers"),
        ([list(range(11))], [[1] * 11], "at most 10 columns"),
    ],
)
def test_what_is_no_cut_is_refused(members: Any, coefficients: Any, message: str) -> None:
    """A member twice, or one that is none, would make another inequality of it."""
    with pytest.raises(InputError, match=message):
        cuts_of_families((lambda *_: (members, coefficients),), np.eye(4), 0.0, 0)


@pytest.mark.parametrize("nothing", [None, ([], []), (np.empty((0, 5), int), np.empty((0, 5), int))])
def test_a_family_may_find_nothing(nothing: Any) -> None:
    """However it says so."""
    assert len(cuts_of_families((lambda *_: nothing,), np.eye(4), 0.0, 0).members) == 0


def test_a_family_that_returns_something_else_is_named() -> None:
    """One table instead of two, for instance."""
    with pytest.raises(InputError, match=r"the cut family .*lambda.* returned no cuts"):
        cuts_of_families((lambda *_: 5,), np.eye(4), 0.0, 0)


@pytest.mark.parametrize("place", ["heuristics", "bounders", "cutting_planes.separation.families"])
def test_a_name_that_leads_nowhere_is_told_before_the_solve(place: str, tmp_path: Path) -> None:
    """Whether or not the search would have come to it: this problem needs none of them."""
    path = tmp_path / "settings.toml"
    path.write_text(f'{place} = ["nowhere:f"]\n')
    with pytest.raises(InputError, match=r"'nowhere:f' cannot be imported.*PYTHONPATH"):
        solve([[0.0], [1.0], [5.0]], 3, settings=path)


def test_the_command_line_takes_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A TOML file that names a heuristic of a module beside it; a mistake in it is bad input."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "starts_of_a_stranger.py").write_text("seen = []\ndef nothing(*given):\n    seen.append(given)\n")
    (tmp_path / "points.txt").write_text("".join(f"{i * 7919 % 101} {i * 104729 % 97}\n" for i in range(40)))
    settings = tmp_path / "settings.toml"
    settings.write_text('heuristics = ["starts_of_a_stranger:nothing"]\n')
    command = ["solve", str(tmp_path / "points.txt"), "-k", "5", "--quiet", "--settings", str(settings)]
    assert main(command) == 0
    assert len(import_module("starts_of_a_stranger").seen) == 1
    settings.write_text('heuristic = ["starts_of_a_stranger:nothing"]\n')
    assert main(command) == 2
    assert "did you mean 'heuristics'?" in capsys.readouterr().err


def test_cuts_of_families_are_brought_into_form() -> None:
    """Members in order, entries of 0 left out, each cut once; the family cannot change the matrix."""

    def family(matrix: Any, *_: Any) -> Any:
        assert not matrix.flags.writeable
        return [[3, 1, 0], [1, 3, 2]], [[1, -1, 0], [-1, 1, 0]]

    cuts = cuts_of_families((family,), np.eye(4), 0.0, 0)
    assert cuts.members[:, :3].tolist() == [[1, 3, -1]]
    assert cuts.coefficients[:, :3].tolist() == [[-1, 1, 0]]


def test_plug_ins_are_named_by_address_or_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point is looked for in the group of its kind."""
    declared = EntryPoints([EntryPoint("mine", f"{__name__}:no_labels", "certimeans.heuristics")])
    monkeypatch.setattr("certimeans.plugins.entry_points", lambda group: declared.select(group=group))
    _find.cache_clear()
    assert load_plugin("mine", "heuristics") is no_labels
    assert load_plugin(f"{__name__}:no_labels", "heuristics") is no_labels
    for name, message in (
        (
            "other",
            r"no package declares an entry point 'other' in the group 'certimeans.heuristics' \(there are mine\)",
        ),
        ("nowhere:f", "the plug-in 'nowhere:f' cannot be imported"),
        (f"{__name__}:nothing", "cannot be imported"),
        (f"{__name__}:POINTS", "is not a function or class"),
    ):
        with pytest.raises(InputError, match=message):
            load_plugin(name, "heuristics")
    _find.cache_clear()


def test_plug_ins_are_named_in_toml(tmp_path: Path) -> None:
    """As lists of strings."""
    path = tmp_path / "settings.toml"
    path.write_text('heuristics = ["a:b"]\n[cutting_planes.separation]\nfamilies = ["c:d", "e"]\n')
    settings = SolverSettings.from_toml(path)
    assert settings.heuristics == ("a:b",)
    assert settings.cutting_planes.separation.families == ("c:d", "e")
    path.write_text("bounders = [1]\n")
    with pytest.raises(InputError, match="'bounders' must be a list of strings"):
        SolverSettings.from_toml(path)
