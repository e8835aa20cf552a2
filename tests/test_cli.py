import json
import subprocess
import sys
from pathlib import Path

import pytest

from certimeans import __version__
from certimeans.cli import main


@pytest.fixture
def points(tmp_path: Path) -> Path:
    """Six points on a line: two close triples."""
    path = tmp_path / "points.csv"
    path.write_text("name,x\na,0\nb,1\nc,2\nd,10\ne,11\nf,12\n", encoding="utf-8")
    return path


def test_solve_prints_one_json_object_and_nothing_else(points: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output is clean; progress and notes go to standard error."""
    pairs = points.with_name("pairs.txt")
    pairs.write_text("ML 0 3\n", encoding="utf-8")
    assert main(["solve", str(points), "-k", "3", "--constraints", str(pairs), "--json"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert result["status"] == "optimal"
    assert result["labels"] == [0, 1, 1, 0, 2, 2]
    assert result["objective"] == pytest.approx(51.0)
    assert (result["n"], result["d"], result["k"], result["size"], result["version"]) == (6, 1, 3, 5, __version__)
    assert "column 'name'" in captured.err
    assert "gap %" in captured.err


def test_solve_without_json_prints_what_is_proven(points: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """People read a summary; --quiet silences the progress."""
    assert main(["solve", str(points), "-k", "2", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert "objective    4" in captured.out
    assert "(proven)" in captured.out
    assert captured.err == ""


def test_infeasible_input_names_the_pairs_in_the_users_numbering(
    points: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, and with --one-based the message counts from 1."""
    pairs = points.with_name("pairs.txt")
    pairs.write_text("ML 1 2\nML 2 3\nCL 1 3\n", encoding="utf-8")
    assert main(["solve", str(points), "-k", "2", "--constraints", str(pairs), "--one-based", "--quiet"]) == 3
    assert "points 3 and 1 cannot link, but must-links join them: 1 = 2 = 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "9"], "n_clusters is 9, but there are only 6 points"),
        ([], "say how many clusters you want with -k"),
        (["-k", "2", "--constraints", "nowhere.txt"], "nowhere.txt: no such file"),
        (["-k", "2", "--gap", "-1"], "gap must be a number from 0"),
        (["-k", "2", "--columns", "y"], "'y'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    points: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback: the line says what is wrong."""
    assert main(["solve", str(points), *arguments, "--quiet"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_limit_is_exit_code_1(tmp_path: Path) -> None:
    """Stopped at a limit with a solution."""
    path = tmp_path / "points.txt"
    path.write_text("\n".join(f"{i * 7919 % 101} {i * 104729 % 97}" for i in range(60)), encoding="utf-8")
    assert main(["solve", str(path), "-k", "7", "--gap", "0", "--max-nodes", "1", "--quiet"]) == 1


def test_generated_constraints_can_be_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From labels to constraints to a proven clustering, by a process of its own."""
    points, labels, pairs = (tmp_path / name for name in ("points.txt", "labels.txt", "pairs.json"))
    points.write_text("8 1 2\n" + "\n".join(map(str, [0, 1, 2, 3, 6, 7, 8, 9])), encoding="utf-8")
    labels.write_text("a\nb\na\nb\na\nb\na\nb\n", encoding="utf-8")
    assert (
        main(["generate", str(labels), "--must-link", "2", "--cannot-link", "3", "--seed", "4", "-o", str(pairs)]) == 0
    )
    command = [sys.executable, "-m", "certimeans", "solve", str(points), "--constraints", str(pairs), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["k"] == 2
    assert capsys.readouterr().out == ""


def test_the_demo_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The bundled example ends with a proven clustering and an explained contradiction."""
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    assert "optimal" in text
    assert "must-links join them" in text


def test_version_and_help_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    """Both exit cleanly, and every command shows an example."""
    commands = ("solve", "generate", "bench", "demo")
    for arguments in (["--version"], ["--help"], *([command, "--help"] for command in commands)):
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 0
    assert capsys.readouterr().out.count("example: certimeans") == 4
