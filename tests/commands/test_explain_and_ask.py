"""``certimeans explain`` and ``certimeans ask``, through pipes and through a real terminal."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from certimeans.cli import main
from certimeans.commands.interview import _PROMPT

NAMES = ("Anna Weber", "Karl Groß", "Zoë", "Jürgen", "Mia", "Otto", "Ida")
VALUES = (0.0, 1.0, 5.3, 9.0, 10.0, 11.0, 12.0)
PROGRAM = "import sys; from certimeans.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Solve a table with names and constraints, once."""
    folder = tmp_path_factory.mktemp("solved")
    rows = "".join(f"{name},{value},{value / 2}\n" for name, value in zip(NAMES, VALUES, strict=True))
    (folder / "people.csv").write_text(f"name,income,rent\n{rows}", encoding="utf-8")
    (folder / "pairs.csv").write_text("Zoë,Jürgen,must-link\nAnna Weber,Ida,cannot-link\n", encoding="utf-8")
    command = ["solve", str(folder / "people.csv"), "-k", "2", "--constraints", str(folder / "pairs.csv"), "--quiet"]
    assert main([*command, "--out", str(folder / "out")]) == 0
    return folder


@pytest.fixture
def out(solved: Path, tmp_path: Path) -> Path:
    """Return a copy of the result for each test."""
    return Path(shutil.copytree(solved / "out", tmp_path / "out"))


def read_sheet(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("command", ["explain", "ask"])
def test_a_result_that_is_not_proven_is_said_so(out: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A claim that is too large, and a file that is no certificate: exit codes as those of ``verify``."""
    content = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    (out / "certificate.json").write_text(json.dumps({**content, "lower_bound": content["objective"]}))
    assert main([command, str(out), "--quiet"]) == 1
    (out / "certificate.json").write_text(json.dumps({**content, "proof": None}))
    assert main([command, str(out), "--quiet"]) == 6
    assert "report this" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["explain", "ask"])
def test_the_help_names_all_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the checker, too, and that of a disk that is full."""
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert all(f" {code}: " in said for code in (0, 1, 2, 5, 6, 130))


def test_explain_prints_prices_and_puts_them_into_the_report(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By name, sorted, as files and as a chart; a second time it takes the place of the first."""
    before = (out / "report.html").read_text(encoding="utf-8")
    assert "What the constraints cost" not in before
    assert main(["explain", str(out)]) == 0
    captured = capsys.readouterr()
    assert "Zoë = Jürgen" in captured.out
    assert "binds" in captured.out
    assert "Anna Weber ≠ Ida" in captured.out
    assert "costs nothing" in captured.out
    rows = read_sheet(out / "prices.csv")
    assert [row["name_i"] for row in rows[:2]] == ["Zoë", "Anna Weber"]
    assert float(rows[0]["low"]) > 0 == float(rows[1]["high"])
    assert main(["explain", str(out), "--json", "--quiet"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["prices"][0]["effect"] == "binds"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("What the constraints cost") == 1
    assert page.count("<svg") == before.count("<svg") + 1
    assert main(["verify", str(out)]) == 0


def test_ask_writes_questions_that_are_constraints_once_filled_in(
    solved: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file goes back into solve: answered rows count, the others do not."""
    assert main(["ask", str(out), "--count", "3", "--decided", "1000"]) == 0
    assert "together would cost" in capsys.readouterr().out
    rows = read_sheet(out / "questions.csv")
    assert 1 <= len(rows) <= 3
    rows[0]["type"] = "y"
    with (out / "questions.csv").open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    command = ["solve", str(solved / "people.csv"), "-k", "2", "--constraints", str(solved / "pairs.csv")]
    assert main([*command, "--constraints", str(out / "questions.csv"), "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["must_links"] == 2
    assert found["labels"][int(rows[0]["i"])] == found["labels"][int(rows[0]["j"])]
    assert main(["ask", str(out), "--json", "--quiet", "--output", str(out / "q.csv")]) == 0
    assert isinstance(json.loads(capsys.readouterr().out)["pairs"], list)


def test_pairs_that_cannot_be_written_are_shown(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is not there: what was found is printed all the same."""
    missing = out / "missing" / "q.csv"
    assert main(["ask", str(out), "--decided", "1000", "--quiet", "--output", str(missing)]) == 5
    captured = capsys.readouterr()
    assert "together would cost" in captured.out
    assert f"{missing}: the file cannot be written" in captured.err


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize(("redirected", "code"), [("<&-", 0), (">&-", 5), (">/dev/full", 5)])
def test_a_conversation_without_standard_streams(out: Path, redirected: str, code: int) -> None:
    """No input is its end; questions that nobody sees are not asked. Neither is a traceback."""
    command = f"'{sys.executable}' -c '{PROGRAM}' ask '{out}' --interactive --decided 1000 {redirected}"
    done = subprocess.run(["/bin/bash", "-c", command], input=b"y\n", capture_output=True, check=False)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert (b"standard output cannot be written" in done.stderr) == (code == 5)
    assert not (out / "answers.csv").exists()


def interview(out: Path, text: str, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, "ask", str(out), "--interactive", "--decided", "1000", *options],
        input=text.encode(),
        capture_output=True,
        check=False,
    )


def converse(out: Path, text: str, *options: str) -> str:
    done = interview(out, text, *options)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_a_conversation_through_a_pipe(out: Path) -> None:
    """Two rows side by side, an answer that costs something, one taken back, one skipped, and a file of answers."""
    said = converse(out, "y\nu\nn\ns\nq\n")
    assert "question 1" in said
    assert "income" in said
    assert " sd" in said
    assert "the other answer costs" in said
    assert "changed cluster" in said
    assert "the answer costs" in said
    assert "taken back: " in said
    assert "the clustering keeps that already, and stays as it is" in said
    assert "1 answer in" in said
    assert "\x1b" not in said
    [row] = read_sheet(out / "answers.csv")
    assert row["type"] == "cannot-link"
    assert row["name_i"] in NAMES
    again = converse(out, "q\n")
    assert "has 1 answer; it is taken up first" in again


def test_answers_that_cannot_be_written_are_told(out: Path) -> None:
    """A folder that is not there: the conversation ends with the exit code for that, and nothing is lost."""
    missing = out / "missing" / "a.csv"
    done = interview(out, "Anna Weber, Karl Groß, must-link\nq\n", "--output", str(missing))
    assert done.returncode == 5
    assert f"{missing}: the file cannot be written" in done.stderr.decode()
    assert "the answers were: Anna Weber = Karl Groß\n" in done.stderr.decode()


def test_a_contradiction_is_explained_and_not_added(out: Path) -> None:
    """Also what is no answer at all; the conversation goes on."""
    said = converse(out, "Zoë,Jürgen,cannot-link\nhello\nKarl Groß, Anna Weber, must-link\nu\nu\nq\n")
    assert "no clustering satisfies the constraints" in said
    assert "so it was not added" in said
    assert "that is neither an answer nor a constraint" in said
    assert "Anna Weber = Karl Groß: the clustering keeps that already" in said
    assert "taken back: Anna Weber = Karl Groß" in said
    assert "there is no answer to take back" in said
    assert read_sheet(out / "answers.csv") == []


def test_answers_of_before_are_not_lost_and_undone_one_by_one(out: Path) -> None:
    """A file of three answers: one that contradicts is explained and stays; what was typed is no question."""
    (out / "answers.csv").write_text("i,j,type\n3,4,y\n0,1,y\n2,3,n\n", encoding="utf-8")
    said = converse(out, "DELTA 3\n4,5,ML\nu\nq\n")
    assert "has 3 answers; they are taken up first" in said
    assert "so it is left out here; it stays in" in said
    assert "1 answer left out because of a contradiction: Zoë ≠ Jürgen" in said
    assert "only pairs can be answers" in said
    assert "question 2" not in said
    rows = [(row["i"], row["j"], row["type"][0]) for row in read_sheet(out / "answers.csv")]
    assert rows == [("0", "1", "m"), ("3", "4", "m"), ("2", "3", "c")]


def test_the_end_of_the_input_ends_the_conversation(out: Path) -> None:
    """Nothing is written if nothing was answered."""
    assert "no answers were added" in converse(out, "")
    assert not (out / "answers.csv").exists()


def test_a_conversation_on_a_terminal(out: Path) -> None:
    """A pseudo-terminal, typed into when the prompt appears."""
    parent, child = os.openpty()
    command = [sys.executable, "-c", PROGRAM, "ask", str(out), "--interactive", "--decided", "1000", "--count", "2"]
    with subprocess.Popen(command, stdin=child, stdout=child, stderr=child, close_fds=True) as process:
        os.close(child)
        seen = b""
        prompt = _PROMPT.encode()
        typed = 0
        while True:
            try:
                piece = os.read(parent, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
            if seen.count(prompt) > typed:
                os.write(parent, (b"n\n", b"q\n")[min(typed, 1)])
                typed += 1
        os.close(parent)
        assert process.wait(timeout=60) == 0
    assert typed >= 1
    assert b"answer" in seen
    assert len(read_sheet(out / "answers.csv")) == 1


@pytest.mark.parametrize("command", ["explain", "ask"])
def test_a_folder_that_is_no_result_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one line; an edited certificate is not believed."""
    assert main([command, str(tmp_path)]) == 2
    assert "there is no certificate of a result" in capsys.readouterr().err
    assert main([command, str(tmp_path), "--time-limit", "-3"]) == 2


def test_json_and_a_conversation_exclude_each_other(out: Path) -> None:
    """One object or a dialogue."""
    assert main(["ask", str(out), "--interactive", "--json"]) == 2
