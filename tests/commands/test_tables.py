"""The command line with tables as analysts have them: real files in, real files out."""

import json
from pathlib import Path

import pytest

from certimeans.cli import main
from certimeans.commands.problem import as_cluster_counts

GERMAN = "Name;Ort;Größe;Alter\nJürgen;Köln;1,5;30\nZoë;Ulm;1,6;31\nAnna;Ulm;;32\nKarl;Köln;9,5;60\nMaja;Köln;9,6;61\n"
READ = ["--columns", "numeric", "--decimal", ",", "--missing", "drop"]


@pytest.fixture
def german(tmp_path: Path) -> Path:
    """Write a table with umlauts, decimal commas, text and a hole, as Windows text."""
    path = tmp_path / "kunden.csv"
    path.write_bytes(GERMAN.encode("cp1252"))
    return path


def test_the_users_own_table_comes_back_with_clusters(german: Path) -> None:
    """All rows and columns as they were, UTF-8 that Excel knows, semicolons; a row that was left out has no cluster."""
    out = german.with_name("out")
    assert main(["solve", str(german), "-k", "2", *READ, "--out", str(out), "--quiet"]) == 0
    data = (out / "table.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    lines = data.decode("utf-8-sig").splitlines()
    assert lines[0] == "Name;Ort;Größe;Alter;cluster"
    assert lines[1:4] == ["Jürgen;Köln;1,5;30;0", "Zoë;Ulm;1,6;31;0", "Anna;Ulm;;32;"]
    labels = (out / "labels.csv").read_text(encoding="utf-8").splitlines()
    assert labels == ["name,cluster", "Jürgen,0", "Zoë,0", "Anna,", "Karl,1", "Maja,1"]
    profile = (out / "profile.csv").read_text(encoding="utf-8-sig").splitlines()
    assert profile[0] == "cluster;size;share;Größe mean;Größe spread;Alter mean;Alter spread;distinguished by"
    assert profile[1].startswith("0;2;0,5;1,55;0,05;30,5;0,5;")
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert result["labels"] == [0, 0, None, 1, 1]
    assert result["n"] == 4
    assert result["missing"] == {"rule": "drop", "values": {"Größe": 1}, "dropped_rows": [2]}
    assert any("cp1252" in note for note in result["notes"])
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "1 row left out for 1 missing value" in page
    assert main(["verify", str(out), "--data", str(german), "-k", "2", *READ]) == 0


def test_constraints_name_the_points(german: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the recognised column or by the one that is named; numbers are rows of the file, left-out rows included."""
    pairs = german.with_name("pairs.csv")
    command = ["solve", str(german), "-k", "2", *READ, "--constraints", str(pairs), "--json", "--quiet"]
    for text, options in (
        ("Jürgen,Karl,must-link\n", []),
        ("0,3,must-link\n", []),
        ("1,4,must-link\n", ["--one-based"]),
        ("Jürgen;Karl;1\n", ["--names", "Name"]),
    ):
        pairs.write_text(text, encoding="utf-8")
        assert main([*command, *options]) == 0
        labels = json.loads(capsys.readouterr().out)["labels"]
        assert labels[0] == labels[3]
    pairs.write_text("Jurgen,Karl,must-link\n", encoding="utf-8")
    assert main(command) == 2
    assert "no point is named 'Jurgen'; did you mean 'Jürgen'?" in capsys.readouterr().err
    pairs.write_text("Anna,Karl,must-link\n", encoding="utf-8")
    assert main(command) == 2
    assert "row 2 ('Anna') was left out for a missing value, but a must-link mentions it" in capsys.readouterr().err


def test_partial_labels_skip_rows_that_were_left_out(german: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One label per row of the file, also where a class has no other row."""
    labels = german.with_name("classes.txt")
    labels.write_text("a\n?\nonly\na\nb\n", encoding="utf-8")
    command = ["solve", str(german), "-k", "2", *READ, "--partial-labels", str(labels), "--json", "--quiet"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)["labels"]
    assert found[0] == found[3] != found[4]


def test_a_dominant_feature_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the option that changes it."""
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,1000\n2,2000\n1,9000\n", encoding="utf-8")
    assert main(["solve", str(path), "-k", "2"]) == 0
    assert "note: feature 'b' makes up 99.9 % of the variance" in (said := capsys.readouterr().err)
    assert "use --standardize" in said


def test_excel_and_parquet_files_are_solved(tmp_path: Path) -> None:
    """And the table comes back as CSV."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"name": ["ä", "b", "c"], "x": [0.0, 1.0, 9.0]})
    frame.to_excel(tmp_path / "x.xlsx", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    for name in ("x.xlsx", "x.parquet"):
        out = tmp_path / f"out-{name}"
        assert main(["solve", str(tmp_path / name), "-k", "2", "--quiet", "--out", str(out)]) == 0
        lines = (out / "table.csv").read_text(encoding="utf-8-sig").splitlines()
        assert lines[0] == "name,x,cluster"
        assert [line.split(",")[-1] for line in lines[1:]] == ["0", "0", "1"]


@pytest.mark.parametrize(
    ("text", "counts"), [("3", (3,)), ("2-4", (2, 3, 4)), (" 2 - 3 ", (2, 3)), ("5-5", (5,)), ("-1", (-1,))]
)
def test_numbers_of_clusters_are_read(text: str, counts: tuple[int, ...]) -> None:
    """One, or a range; what is no number of clusters is refused later, as one."""
    assert as_cluster_counts(text) == counts


def test_a_range_of_k_is_solved_compared_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table, one JSON object, a page, a folder for each; k that is infeasible is a row and a message."""
    path, pairs, out = tmp_path / "x.csv", tmp_path / "pairs.txt", tmp_path / "out"
    path.write_text("x\n0\n1\n5\n6\n10\n11\n", encoding="utf-8")
    pairs.write_text("CL 0 2\nCL 0 4\nCL 2 4\n", encoding="utf-8")
    command = ["solve", str(path), "--constraints", str(pairs)]
    assert main([*command, "-k", "2-4", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert [line.split()[0] for line in captured.out.splitlines()[1:4]] == ["2", "3", "4"]
    assert "infeasible" in captured.out
    assert "k = 2: no clustering satisfies the constraints" in captured.err
    assert sorted(p.name for p in out.iterdir()) == [
        "elbow.png",
        "index.html",
        "k3",
        "k4",
        "range.csv",
        "range.json",
    ]
    assert main(["verify", str(out / "k3")]) == 0
    capsys.readouterr()
    assert main([*command, "-k", "3-4", "--json", "--quiet"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["k"] == [3, 4]
    assert content["results"]["3"]["labels"] == [0, 0, 1, 1, 2, 2]
    assert main([*command, "-k", "1-2", "--quiet"]) == 3
    assert main([*command, "-k", "4-2"]) == 2
    assert main([*command, "-k", "two"]) == 2
    assert main([*command, "-k", "2-4", "--resume", str(tmp_path / "r")]) == 2
    assert "-k must be a number of clusters, or a range such as 2-8; got 'two'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--time-limit", "-1"], "--time-limit must be a positive number of seconds; got -1.0"),
        (["--time-limit", "1e300"], "--time-limit is too long to be kept"),
        (["--gap", "2"], "--gap must be a number from 0 to below 1; got 2.0"),
        (["--max-nodes", "0"], "--max-nodes must be a positive integer; got 0"),
        (["--seed", "-1"], "--seed must be a non-negative integer"),
        (["--jobs", "0"], "--jobs must be an integer other than 0"),
        (["-k", "9"], "-k is 9, but there are only 3 points"),
    ],
)
def test_errors_name_options_not_arguments(
    tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was typed, not what Python calls it."""
    path = tmp_path / "x.csv"
    path.write_text("0\n1\n2\n", encoding="utf-8")
    assert main(["solve", str(path), "-k", "2", *options]) == 2
    assert message in capsys.readouterr().err


def test_names_cannot_drive_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Escape sequences and text that runs backwards are written out, in errors, notes and explanations."""
    evil = "\x1b[2Jevil\u202e\x07"
    path, pairs = tmp_path / "x.csv", tmp_path / "pairs.txt"
    path.write_text(f"{evil},x\n{evil}1,0\n{evil}2,1\n{evil}3,2\n", encoding="utf-8")
    pairs.write_text("ML 0 1\nML 1 2\nCL 0 2\n", encoding="utf-8")
    assert main(["solve", str(path), "-k", "2", "--constraints", str(pairs)]) == 3
    said = capsys.readouterr().err
    assert "evil" in said
    assert not {"\x1b", "\u202e", "\x07"} & set(said)
    pairs.write_text(f"{evil},x,ML\n", encoding="utf-8")
    assert main(["solve", str(path), "-k", "2", "--constraints", str(pairs)]) == 2
    assert not {"\x1b", "\u202e", "\x07"} & set(capsys.readouterr().err)


def test_what_could_be_given_up_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In words and in JSON, by the rows of the file."""
    path, pairs = tmp_path / "x.csv", tmp_path / "pairs.txt"
    path.write_text("name,x\na,0\nb,1\nc,2\n", encoding="utf-8")
    pairs.write_text("a,b,ML\na,b,CL\n", encoding="utf-8")
    assert main(["solve", str(path), "-k", "2", "--constraints", str(pairs), "--json", "--quiet"]) == 3
    captured = capsys.readouterr()
    assert (
        "give up any one of these, and a clustering exists: must-link 0 (a) 1 (b); cannot-link 1 (b) 0 (a)"
        in captured.err
    )
    assert json.loads(captured.out)["remedies"] == [["must-link", 0, 1], ["cannot-link", 1, 0]]
