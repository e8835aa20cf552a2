import json
from pathlib import Path

import pytest

from certimeans.cli import main
from tests.bench.folders import make_folder


def test_the_command_writes_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Results, tables, plots and environment; a second call solves nothing; the data's place is not told."""
    data, out = make_folder(tmp_path / "secret" / "data"), tmp_path / "out"
    arguments = ["bench", str(data), "--out", str(out), "--datasets", "line", "--time-limit", "60"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert "[2/2] line 1 0 0: optimal" in captured.err
    assert "2 instances, 2 solved" in captured.out
    assert {"results.csv", "tables.md", "environment.json"} <= {path.name for path in out.iterdir()}
    tables = (out / "tables.md").read_text(encoding="utf-8")
    assert "`certimeans bench data --datasets line --time-limit 60`" in tables
    assert "secret" not in tables
    assert main(arguments) == 0
    assert "2 of 2 instances are in" in capsys.readouterr().err
    runs = json.loads((out / "environment.json").read_text(encoding="utf-8"))["runs"]
    assert len(runs) == 2
    assert runs[0]["settings"]["time_limit"] == 60


def test_exit_codes_tell_of_limits_and_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1 if an instance hit a limit, 5 if one failed, 2 for bad options: one line, nothing solved."""
    data = make_folder(tmp_path / "data")
    points = "\n".join(f"{i * 7919 % 101} {i * 104729 % 97}" for i in range(200))
    (data / "datasets" / "line.txt").write_text("200 2 9\n" + points, encoding="utf-8")
    out = ["--out", str(tmp_path / "out"), "--datasets", "line"]
    assert main(["bench", str(data), *out, "--time-limit", "0.2", "--gap", "0"]) == 1
    (data / "constraints" / "line" / "ml_0_cl_1_0.txt").write_text("CL 0 999\n", encoding="utf-8")
    assert main(["bench", str(data), *out, "--time-limit", "0.2", "--gap", "0"]) == 5
    capsys.readouterr()
    assert main(["bench", str(data), *out, "--gap", "2"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
