import json
import subprocess
import sys
from pathlib import Path

import pytest

from certimeans import __version__
from certimeans.cli import main
from tests.oracles.certificates import optimality_certificate
from tests.oracles.instances import SmallInstance


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
    """Exit code 3; with --one-based the message counts from 1, and it shows the points' names."""
    pairs = points.with_name("pairs.txt")
    pairs.write_text("ML 1 2\nML 2 3\nCL 1 3\n", encoding="utf-8")
    assert main(["solve", str(points), "-k", "2", "--constraints", str(pairs), "--one-based", "--quiet"]) == 3
    assert (
        "points 3 (c) and 1 (a) cannot link, but must-links join them: 1 (a) = 2 (b) = 3 (c)" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "9"], "-k is 9, but there are only 6 points"),
        ([], "say how many clusters you want with -k"),
        (["-k", "2", "--constraints", "nowhere.txt"], "nowhere.txt: no such file"),
        (["-k", "2", "--gap", "-1"], "gap must be a number from 0"),
        (["-k", "2", "--columns", "y"], "'y'"),
        (["-k", "2", "--gram", "x.csv"], "give the data once: a file of points, --gram or --squared-distances"),
        (["-k", "2", "--jobs", "0"], "--jobs must be an integer other than 0"),
        (["-k", "2", "--part-size", "0"], "--part-size must be a positive integer, auto or none; got 0"),
        (["-k", "2", "--partial-labels", "{folder}/two.txt"], "two.txt: 2 labels for 6 points; give one for each"),
        (["-k", "2", "--constraints", "{folder}/one.txt"], "if the file counts from 1, say so with --one-based"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    points: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback: the line says what is wrong."""
    points.with_name("two.txt").write_text("a\nb\n", encoding="utf-8")
    points.with_name("one.txt").write_text("ML 1 6\n", encoding="utf-8")
    given = (text.format(folder=points.parent) for text in arguments)
    assert main(["solve", str(points), *given, "--quiet"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}", "-k", "3", "--sizes", "2", "2", "2"], "write the sizes with commas and without spaces: --sizes 2,2,2"),
        (["--sizes", "2", "2", "2", "-k", "3", "{}"], "write the sizes with commas and without spaces: --sizes 2,2,2"),
        (["{}", "-k", "3", "--sizes=2", "2", "2"], "write the sizes with commas and without spaces: --sizes 2,2,2"),
        (["{}", "-k", "2", "--standardise"], "unrecognized arguments: --standardise; did you mean --standardize?"),
        (["{}", "--n-clusters", "2"], "unrecognized arguments: --n-clusters 2; did you mean -k?"),
        (["{}", "-k", "2", "--nothing-like-it"], "unrecognized arguments: --nothing-like-it ("),
        (["{}", "-k", "2", "--part-size", "some"], "--part-size: must be a positive integer, auto or none; got 'some'"),
        (["{}", "-k", "2", "--gap", "small"], "argument --gap: invalid float value: 'small'"),
    ],
)
def test_what_was_typed_wrongly_is_one_line_that_says_what_to_write(
    points: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the list of all options before it, which is a screen long."""
    with pytest.raises(SystemExit, match="2"):
        main(["solve", *(text.format(points) for text in arguments)])
    error = capsys.readouterr().err
    assert error.startswith("certimeans solve: ")
    assert message in error
    assert error.count("\n") == 1


def test_an_empty_line_among_labels_is_an_unknown_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sizes need every class, so that they are not wrong by one; empty lines at the end are no points."""
    labels, out = tmp_path / "labels.txt", tmp_path / "constraints.json"
    labels.write_text("a\nb\n\nb\n", encoding="utf-8")
    assert main(["generate", str(labels), "--sizes", "-o", str(out)]) == 2
    assert "label 2, counted from 0, is unknown" in (message := capsys.readouterr().err)
    assert "an empty line is a point whose class is unknown: remove it" in message
    labels.write_text("a\nb\nb\n\n\n", encoding="utf-8")
    assert main(["generate", str(labels), "--sizes", "-o", str(out)]) == 0
    assert json.loads(out.read_text(encoding="utf-8"))["sizes"] == [1, 2]


def test_constraints_that_verify_is_not_given_are_named(points: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message counts them, and does not speak of shapes; columns may be written with spaces between them."""
    pairs, out = points.with_name("pairs.txt"), points.with_name("out")
    pairs.write_text("ML 0 1\n", encoding="utf-8")
    assert main(["solve", str(points), "-k", "2", "--constraints", str(pairs), "--out", str(out), "--quiet"]) == 0
    assert "Instance(6 points, 1 feature, k=2, 1 must-link, 0 cannot-links)" in capsys.readouterr().out
    assert main(["verify", str(out), "--data", str(points), "--columns", " x "]) == 1
    assert "the certificate is about 1 must-links, the data about 0; give all constraints" in capsys.readouterr().err


def test_a_limit_is_exit_code_1(tmp_path: Path) -> None:
    """Stopped at a limit with a solution."""
    path = tmp_path / "points.txt"
    path.write_text("\n".join(f"{i * 7919 % 101} {i * 104729 % 97}" for i in range(60)), encoding="utf-8")
    assert main(["solve", str(path), "-k", "7", "--gap", "0", "--max-nodes", "1", "--quiet"]) == 1


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(28, "No space left on device", "x.csv"), "x.csv: No space left on device; the command could"),
        (OSError("a pipe"), "a pipe; the command could not go on"),
        (MemoryError(), "not enough memory; the command could not go on"),
        (MemoryError("Unable to\nallocate"), "not enough memory (Unable to allocate); the command"),
    ],
)
def test_what_the_machine_refuses_is_one_line_and_exit_code_5(
    error: Exception, message: str, points: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A traceback would end with exit code 1, which means that a limit was reached."""

    def refuse(_: object) -> None:
        raise error

    monkeypatch.setattr("certimeans.commands.solve.run", refuse)
    assert main(["solve", str(points), "-k", "2"]) == 5
    told = capsys.readouterr().err
    assert told.startswith(f"certimeans: {message}")
    assert told.count("\n") == 1


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


def test_the_demo_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The bundled example is proven, verified and reported, and a contradiction is explained."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "certimeans-demo"
    folder.mkdir()
    (folder / "result.json").touch()  # an earlier demo's: it may be replaced
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    assert text.count("optimal") == 2
    assert "Proven: the clustering keeps all 25 must-links and 25 cannot-links" in text
    assert "must-links join them" in text
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "result.json", "labels.csv", "table.csv", "profile.csv", "problem.json", "events.jsonl",
        "certificate.json", "certificate.npz", "report.html",
    }  # fmt: skip
    assert main(["demo", "--out", str(folder)]) == 2  # a folder of the user's is kept


def test_solve_writes_a_results_directory_that_verifies(points: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels carry the points' names, events are JSON lines, and verify proves it from the original file."""
    out = points.with_name("out")
    solved = ["-k", "2", "--standardize"]
    assert main(["solve", str(points), *solved, "--out", str(out), "--quiet"]) == 0
    assert (out / "labels.csv").read_text(encoding="utf-8").splitlines()[:2] == ["name,cluster", "a,0"]
    events = [json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert events[0]["phase"] == "presolve"
    assert events[-1]["lower_bound"] <= events[-1]["incumbent_cost"]
    assert main(["verify", str(out), "--data", str(points), *solved]) == 0
    assert "Proven" in capsys.readouterr().out
    assert main(["verify", str(out), "--data", str(points), "-k", "2"]) == 1  # not standardized: other data


def test_infeasible_input_is_a_json_object_too(points: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --json, standard output has one object in every case."""
    pairs = points.with_name("pairs.txt")
    pairs.write_text("ML 0 1\nCL 1 0\n", encoding="utf-8")
    assert main(["solve", str(points), "-k", "2", "--constraints", str(pairs), "--json", "--quiet"]) == 3
    assert json.loads(capsys.readouterr().out)["status"] == "infeasible"


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """As --help shows it, and with exit code 0."""
    assert main([]) == 0
    assert "usage: certimeans" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give the data once"),
        (["--gram", "{}"], "the matrix must be square; got 6 rows and 1 columns"),
        (["--squared-distances", "{}", "--standardize"], "--columns and --standardize need points, not a matrix"),
    ],
)
def test_a_matrix_must_be_one(
    points: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is given instead of points is checked before anything else."""
    assert main(["solve", "-k", "2", *(text.format(points) for text in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_version_and_help_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    """Both exit cleanly, and every command shows an example."""
    commands = ("solve", "verify", "generate", "bench", "demo", "warmup")
    for arguments in (["--version"], ["--help"], *([command, "--help"] for command in commands)):
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 0
    assert capsys.readouterr().out.count("example: ") == len(commands)


def test_verify_prints_what_is_proven(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, or one JSON object with the same numbers; the original data are compared if they are given."""
    small = SmallInstance([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], 2, [], [(0, 3)], None)
    optimality_certificate(small).write(tmp_path)
    data, pairs = tmp_path / "points.csv", tmp_path / "pairs.txt"
    data.write_text("x\n0\n1\n2\n10\n11\n12\n", encoding="utf-8")
    pairs.write_text("CL 1 4\n", encoding="utf-8")
    arguments = ["verify", str(tmp_path), "--data", str(data), "--constraints", str(pairs), "--one-based"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("Proven: the clustering keeps all 0 must-links and 1 cannot-link")
    assert main([*arguments, "-k", "2", "--arithmetic", "ball", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["verified"], report["arithmetic"]) == (True, "ball")
    assert report["cost"] == 4.0
    assert report["lower_bound"] == pytest.approx(4.0)


def test_verify_says_where_a_certificate_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 if the claim is not proven or the data are others, 2 if nothing can be read."""
    small = SmallInstance([[0.0], [1.0], [5.0]], 2, [], [], None)
    draft = optimality_certificate(small)
    data = tmp_path / "points.csv"
    data.write_text("0\n1\n6\n", encoding="utf-8")
    draft.write(tmp_path)
    assert main(["verify", str(tmp_path), "--data", str(data)]) == 1
    assert "not verified: points in the certificate differ from the data, first in row 2" in capsys.readouterr().err
    draft.content["lower_bound"] = draft.content["objective"]
    draft.write(tmp_path)
    assert main(["verify", str(tmp_path), "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["verified"] is False
    assert "claimed lower bound 0.5, but entry" in captured.err
    assert main(["verify", str(tmp_path / "nowhere")]) == 2
    assert "there is no certificate.json; name a folder that 'certimeans solve --out' wrote" in capsys.readouterr().err
    assert main(["verify", str(tmp_path), "-k", "2"]) == 2
    assert "only with --data" in capsys.readouterr().err


@pytest.mark.parametrize("streams", [">&-", ">/dev/full", "2>&-", "2>/dev/full", ">&- 2>&-", "| true"])
def test_streams_that_cannot_be_written_cost_no_result(points: Path, streams: str) -> None:
    """Closed, full, or a pipe without a reader: the results directory is written all the same, without a traceback."""
    folder, errors = points.with_name("out"), points.with_name("errors")
    program = "import sys; from certimeans.cli import main; sys.exit(main())"
    command = f"'{sys.executable}' -c '{program}' solve '{points}' -k 2 --out '{folder}'"
    redirected = "" if "2>" in streams else f"2>'{errors}'"
    subprocess.run(["/bin/bash", "-c", f"{command} {redirected} {streams}"], check=False, capture_output=True)
    assert (folder / "labels.csv").exists()
    assert (folder / "certificate.json").exists()
    if redirected:
        assert "Traceback" not in errors.read_text(encoding="utf-8")
        assert "standard output cannot be written" in errors.read_text(encoding="utf-8")
