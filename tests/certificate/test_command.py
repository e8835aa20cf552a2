"""The command ``certimeans verify``: exit codes and messages."""

import json
from pathlib import Path

import numpy as np
import pytest

from certimeans.cli import main
from tests.oracles.certificates import Task, optimality_certificate
from tests.oracles.instances import SmallInstance
from tests.oracles.tampering import FILE_TAMPERINGS

SMALL = SmallInstance([[0.0, 3.0], [1.0, 7.0], [5.0, 1.0], [6.0, 2.0], [7.0, 9.0]], 2, [(0, 1)], [(1, 2)], None)


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    """Write the points and constraints of SMALL; return the options that name them."""
    np.savetxt(tmp_path / "points.csv", np.array(SMALL.points), delimiter=",")
    (tmp_path / "pairs.txt").write_text("ML 0 1\nCL 1 2\n", encoding="utf-8")
    return ["--data", str(tmp_path / "points.csv"), "--constraints", str(tmp_path / "pairs.txt")]


def test_the_gap_decides_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gap that is not proven is exit code 1, and the proven one is in the message, rounded up."""
    folder = str(optimality_certificate(SMALL).write(tmp_path))
    assert main(["verify", folder, "--gap", "1e-9", "--jobs", "2"]) == 0
    assert main(["verify", folder, "--gap", "0"]) == 1
    assert "a gap of 0.0 is not proven: only" in capsys.readouterr().err
    assert main(["verify", folder, "--gap", "-1"]) == 2


def test_not_proven_unreadable_and_broken_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit codes 1, 2 and 6; with --json, standard output has one object in every case."""
    draft = optimality_certificate(SMALL)
    draft.content["lower_bound"] = draft.content["objective"]
    assert main(["verify", str(draft.write(tmp_path)), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["verified"] is False
    draft.content["proof"][0].append({"kind": "trust"})
    assert main(["verify", str(draft.write(tmp_path)), "--json"]) == 6
    captured = capsys.readouterr()
    assert json.loads(captured.out)["verified"] is False
    assert "not a certificate: entry 0, step" in captured.err
    FILE_TAMPERINGS["npz_is_a_pipe"](tmp_path)
    FILE_TAMPERINGS["truncated_json"](tmp_path)
    assert main(["verify", str(tmp_path), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["verified"] is False


@pytest.mark.parametrize("name", FILE_TAMPERINGS)
def test_damaged_files_are_unreadable_or_broken(name: str, tmp_path: Path) -> None:
    """Never a traceback, and never taken for a proof that fails."""
    folder = optimality_certificate(SMALL).write(tmp_path)
    FILE_TAMPERINGS[name](folder)
    assert main(["verify", str(folder)]) in {2, 6}


def test_standardising_must_agree_with_the_certificate(
    tmp_path: Path, data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The checker compares the numbers of the file as they are, and scales them itself."""
    folder = str(optimality_certificate(Task(SMALL, standardize=True)).write(tmp_path))
    assert main(["verify", folder, *data, "--standardize"]) == 0
    assert "with every feature divided by its standard deviation" in capsys.readouterr().out
    assert main(["verify", folder, *data]) == 1
    assert "is about features scaled to variance 1 (--standardize)" in capsys.readouterr().err
    folder = str(optimality_certificate(SMALL).write(tmp_path))
    assert main(["verify", folder, *data]) == 0
    assert main(["verify", folder, *data, "--standardize"]) == 1
