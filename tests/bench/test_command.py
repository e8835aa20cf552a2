import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from certimeans.bench import runner
from certimeans.bench.rows import ResultsFile
from certimeans.cli import main
from certimeans.result import SolveResult, SolveStatus
from certimeans.solver import solve_instance
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


def test_instances_that_were_not_solved_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given up with a message: exit code 1; a certificate that fails: 5; what another run failed at is left out."""
    data, out = make_folder(tmp_path / "data"), tmp_path / "out"
    (data / "constraints" / "shifted" / "ml_0_cl_1_0.txt").write_text("CL 0 999\n", encoding="utf-8")
    assert main(["bench", str(data), "--out", str(out)]) == 5
    assert "4 instances, 3 solved" in capsys.readouterr().out

    def given_up(*arguments: object, **options: object) -> SolveResult:
        result = solve_instance(*arguments, **options)  # type: ignore[arg-type]
        return replace(result, status=SolveStatus.INTERRUPTED, message="workers died")

    path = out / "results.csv"
    rows = ResultsFile(path).read()
    ResultsFile(path).write(row for row in rows if row.name != "line 0 1 0")
    runner.warm_up()
    monkeypatch.setattr(runner, "solve_instance", given_up)
    line = ["bench", str(data), "--out", str(out), "--datasets", "line"]
    assert main(line) == 1
    shown = capsys.readouterr().out
    assert "2 instances, 1 solved" in shown
    assert "line 0 1 0 (interrupted" in shown
    assert "workers died" in (out / "tables.md").read_text(encoding="utf-8")
    monkeypatch.undo()
    monkeypatch.setattr(runner, "save_and_verify", lambda *_: "NO: too costly")
    assert main([*line, "--verify"]) == 5
    assert "0 of 2 verified" in capsys.readouterr().out


def test_a_closed_output_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are written all the same."""
    arguments = ["bench", str(make_folder(tmp_path / "data")), "--out", str(tmp_path / "out"), "--datasets", "line"]
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed)
    assert main(arguments) == 5
    assert "standard output cannot be written" in capsys.readouterr().err
    assert (tmp_path / "out" / "tables.md").exists()
