"""Constraints by name."""

from pathlib import Path

import pytest

from certimeans import InputError, read_constraints
from certimeans.problem.io.links import read_constraint_line

NAMES = ("Karl Schneider", "Anna Weber", "Jo", "Jo", "7")


def write(folder: Path, text: str) -> Path:
    path = folder / "pairs.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "Karl Schneider,Anna Weber,must-link\n",
        "must-link;Karl Schneider;Anna Weber\n",
        '"Karl Schneider","Anna Weber",1\n',
        "type,i,j\nML,Karl Schneider,Anna Weber\n",
        '{"ml": [["Karl Schneider", "Anna Weber"]]}',
        "0 1 1\n",
        "Karl Schneider,1,y\n",
    ],
)
def test_points_are_found_by_name(tmp_path: Path, text: str) -> None:
    """In every format, and numbers still work."""
    assert read_constraints(write(tmp_path, text), names=NAMES).must_link.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Karl Schnieder,Anna Weber,ML\n",
            r"line 1: .*no point is named 'Karl Schnieder'; did you mean 'Karl Schneider'",
        ),
        ("anna weber,Jo,ML\n", "did you mean 'Anna Weber'"),
        (
            "# hello\nJo,Anna Weber,CL\n",
            "line 2: .*'Jo' is the name of 2 points, numbers 2, 3; give them different names",
        ),
        ("Xaver,Anna Weber,CL\n", "no point is named 'Xaver'$"),
    ],
)
def test_a_name_that_is_not_known_or_not_unique_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """With the line, the nearest names, and the points that share one."""
    with pytest.raises(InputError, match=message):
        read_constraints(write(tmp_path, text), names=NAMES)


def test_points_that_share_a_name_are_counted_as_the_file_counts(tmp_path: Path) -> None:
    """From 1 if it does; of many, the first ones are shown."""
    path = write(tmp_path, "Jo,Anna Weber,CL\n")
    with pytest.raises(InputError, match="'Jo' is the name of 2 points, numbers 3, 4; give"):
        read_constraints(path, names=NAMES, one_based=True)
    with pytest.raises(InputError, match=r"name of 30 points, numbers 1, 2, 3, .* and \d+ more; give") as error:
        read_constraints(path, names=("Anna Weber", *["Jo"] * 30))
    shown, more = str(error.value).split("numbers ")[1].split(" and ")
    assert len(shown.split(", ")) + int(more.split()[0]) == 30


def test_a_number_that_is_also_a_name_is_a_place_unless_names_were_announced(tmp_path: Path) -> None:
    """Never silently: a note says how it was read."""
    names = ("3", "2", "1", "0")
    path = write(tmp_path, "0 1 ML\n")
    notes: list[str] = []
    assert read_constraints(path, names=names, notes=notes).must_link.tolist() == [[0, 1]]
    assert "were read as the places of points, counted from 0" in notes[0]
    notes = []
    assert read_constraints(path, names=names, names_only=True, notes=notes).must_link.tolist() == [[2, 3]]
    assert notes == []


def test_without_names_the_remedy_is_named(tmp_path: Path) -> None:
    """A word where a number is expected may be a name."""
    with pytest.raises(InputError, match=r"'Karl' is not a point number; if it is a name, .*--names"):
        read_constraints(write(tmp_path, "ML Karl Anna\n"))


def test_questions_that_were_filled_in_are_constraints(tmp_path: Path) -> None:
    """More columns do no harm, and rows without an answer state nothing."""
    text = "i,j,type,name_i,name_j,now\n0,1,y,Karl Schneider,Anna Weber,apart\n1,2,n,a,b,c\n2,3,,a,b,c\n3,4,?,a,b,c\n"
    notes: list[str] = []
    read = read_constraints(write(tmp_path, text), n_points=5, notes=notes)
    assert (read.must_link.tolist(), read.cannot_link.tolist()) == ([[0, 1]], [[1, 2]])
    assert "2 rows have no type" in notes[0]


def test_a_single_line_is_read_alike() -> None:
    """What a user types."""
    read = read_constraint_line("Karl Schneider, Anna Weber, cannot-link", n_points=5, names=NAMES)
    assert read.cannot_link.tolist() == [[0, 1]]
    with pytest.raises(InputError, match="expected 'ML i j'"):
        read_constraint_line("hello", n_points=5)
