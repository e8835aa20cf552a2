import math
import pickle
import re
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certimeans import InputError, SolverSettings, SolveStatus, solve
from certimeans.bounds.relaxation.admm import AdmmSettings
from certimeans.bounds.relaxation.cuts.separation import SeparationSettings
from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings
from certimeans.settings import describe_settings

POINTS = np.random.default_rng(0).random((30, 2))


def write(folder: Path, text: str) -> Path:
    """Write a file of settings."""
    path = folder / "settings.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_changes_what_it_mentions(tmp_path: Path) -> None:
    """The rest keeps its default, also beside a value that was changed; an integer may stand for a number."""
    text = "[node_search]\npopulation = 5\n[cutting_planes]\nuse_cuts = false\n[cutting_planes.admm]\npenalty = 1\n"
    settings, default = SolverSettings.from_toml(write(tmp_path, text)), SolverSettings()
    assert settings.node_search == replace(default.node_search, population=5)
    assert settings.cutting_planes.admm == replace(default.cutting_planes.admm, penalty=1.0)
    assert not settings.cutting_planes.use_cuts
    assert settings.root_search == default.root_search
    assert SolverSettings.from_toml(write(tmp_path, "")) == default


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[root_serch]\n", "there is no setting 'root_serch'; did you mean 'root_search'?"),
        ("[cutting_planes.admm]\npenaltyy = 1\n", "did you mean 'cutting_planes.admm.penalty'?"),
        ("[root_search]\nxyz = 1\n", "there is no setting 'root_search.xyz'; there are n_searches, population"),
        ("[root_search]\npopulation = 'ten'\n", "'root_search.population' must be an integer; got 'ten'"),
        ("[root_search]\npopulation = 2.5\n", "'root_search.population' must be an integer; got 2.5"),
        ("[root_search]\npopulation = true\n", "'root_search.population' must be an integer; got True"),
        ("[cutting_planes]\nmax_rounds = 'none'\n", "'cutting_planes.max_rounds' must be an integer; got 'none'"),
        ("root_search = 3\n", "'root_search' is a table of settings; got 3"),
        ("[root_search]\npopulation = 1\n", "root_search: SearchSettings.population must be at least 2; got 1"),
        ("[root_search\n", "this is not a TOML file"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    """The message has the file, the setting, and the nearest name that exists."""
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        SolverSettings.from_toml(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_missing_file_is_named() -> None:
    """As bad input, not as a traceback."""
    with pytest.raises(InputError, match=r"nowhere.toml: the settings cannot be read \(No such file"):
        SolverSettings.from_toml("nowhere.toml")


def test_solve_takes_settings_and_files(tmp_path: Path) -> None:
    """One round and no cuts leave a larger gap, whether said by an object or by a file; other things are refused."""
    planes = replace(SolverSettings().cutting_planes, use_cuts=False)
    asked = {"gap": 0.0, "max_nodes": 1}
    usual = solve(POINTS, 5, **asked)  # type: ignore[arg-type]
    given = solve(POINTS, 5, settings=SolverSettings(cutting_planes=planes), **asked)  # type: ignore[arg-type]
    read = solve(POINTS, 5, settings=write(tmp_path, "[cutting_planes]\nuse_cuts = false\n"), **asked)  # type: ignore[arg-type]
    assert (usual.cuts > 0, given.cuts, read.cuts) == (True, 0, 0)
    assert read.lower_bound == given.lower_bound
    with pytest.raises(InputError, match="settings must be SolverSettings, the path of a TOML file, or None; got 3"):
        solve(POINTS, 5, settings=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "name", "value", "problem"),
    [
        ("cutting_planes", "iterations", "x", "must be an integer; got 'x'"),
        ("cutting_planes", "iterations", 1.5, "must be an integer; got 1.5"),
        ("cutting_planes", "iterations", True, "must be an integer; got True"),
        ("cutting_planes", "max_rounds", 0, "must be at least 1; got 0"),
        ("cutting_planes", "max_rounds", 10**30, "must be at most 1000000000"),
        ("cutting_planes", "patience", math.nan, "must be finite; got nan"),
        ("cutting_planes", "use_cuts", 1, "must be true or false; got 1"),
        ("cutting_planes", "admm", None, "must be AdmmSettings; got None"),
        ("cutting_planes.admm", "penalty", math.inf, "must be finite; got inf"),
        ("cutting_planes.admm", "penalty", 10**400, "must be finite"),
        ("cutting_planes.admm", "sweeps", 10**9, "must be at most 1000"),
        ("cutting_planes.admm.spectral", "max_degree", 10**9, "must be at most 100"),
        ("cutting_planes.admm.spectral", "spare_decay", 1e6, "must be at most 1; got 1000000.0"),
        ("cutting_planes.admm.spectral", "full_margin", 1e300, "must be at most 1000000.0"),
        ("cutting_planes.separation", "families", "x", "must be a tuple of plug-ins; got 'x'"),
        ("cutting_planes.separation", "min_star_starts", 10**9, "must be at most 1000000"),
        ("parts", "most_shared", math.inf, "must be finite; got inf"),
        ("root_search", "n_searches", -1, "must be at least 1; got -1"),
        ("", "memory_limit", math.nan, "must be finite; got nan"),
        ("", "memory_limit", math.inf, "must be finite; got inf"),
    ],
)
def test_values_that_cannot_be_are_refused_in_python_too(table: str, name: str, value: object, problem: str) -> None:
    """By the name of the field, before anything is solved: some of these overflowed, or never ended."""
    stage: Any = SolverSettings()
    for attribute in filter(None, table.split(".")):
        stage = getattr(stage, attribute)
    with pytest.raises(InputError, match=rf"Settings\.{name} {re.escape(problem)}"):
        replace(stage, **{name: value})


def test_huge_numbers_of_cuts_take_no_memory() -> None:
    """There are not as many triangles: memory for a thousand million cost the node its bound."""
    separation = SeparationSettings(min_triangles=10**9, min_pairs=10**9, min_stars=10**9)
    planes = CuttingPlaneSettings(separation=separation)
    result = solve(POINTS, 5, settings=SolverSettings(cutting_planes=planes))
    assert result.status is SolveStatus.OPTIMAL


def test_numbers_of_other_kinds_become_pythons_own() -> None:
    """Compiled code would be compiled again for each; infinity stays where it means something."""
    admm = AdmmSettings(penalty=1, sweeps=np.int32(3))  # type: ignore[arg-type]
    assert (type(admm.penalty), type(admm.sweeps)) == (float, int)
    assert CuttingPlaneSettings(patience=math.inf).patience == math.inf


def test_settings_are_frozen_and_travel() -> None:
    """They are sent to workers."""
    settings = SolverSettings()
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301  # ours, of a moment ago
    with pytest.raises(FrozenInstanceError):
        settings.root_search = None  # type: ignore[misc,assignment]


def test_every_setting_is_described() -> None:
    """Each once, under its table, with its default and an explanation."""
    rows = list(describe_settings())
    names = [f"{row.table}.{name}" for row in rows for name in row.names]
    assert len(names) == len(set(names))
    assert {"root_search.n_searches", "cutting_planes.admm.sweeps", "cutting_planes.separation.threshold"} <= {*names}
    defaults = {
        f"{row.table}.{name}": value for row in rows for name, value in zip(row.names, row.defaults, strict=True)
    }
    assert defaults["node_search.n_searches"] == SolverSettings().node_search.n_searches
    assert [name for row in rows if not row.meaning for name in row.names] == []
