"""What all readers refuse, labels, and writers; test_points.py and test_links.py have the readers of these."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints
from certimeans.problem.expand import expand
from certimeans.problem.io.files import (
    read_constraints,
    read_labels,
    read_points,
    write_constraints,
    write_labels,
    write_points,
)
from tests.problem.io import FileWriter

Reader: TypeAlias = Callable[[str | Path], object]

READERS: list[Reader] = [read_points, read_constraints, read_labels]


# Any file


@pytest.mark.parametrize("reader", READERS)
class TestUnreadableFiles:
    """What all readers refuse in the same way."""

    def test_a_missing_file_is_refused(self, reader: Reader, tmp_path: Path) -> None:
        """The message names it."""
        with pytest.raises(InputError, match=r"nowhere\.csv: no such file"):
            reader(tmp_path / "nowhere.csv")

    def test_a_folder_is_refused(self, reader: Reader, tmp_path: Path) -> None:
        """The message says that it is one."""
        with pytest.raises(InputError, match="folder"):
            reader(str(tmp_path))

    def test_an_impossible_name_is_refused(self, reader: Reader) -> None:
        """A NUL byte in the name is bad input like any other."""
        with pytest.raises(InputError, match="cannot be read"):
            reader("a\0b")

    def test_a_file_without_permission_is_refused(
        self, reader: Reader, file: FileWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The system's reason is passed on."""

        # Tests may run as root, who may read all; hence the patch.
        def refuse(_: Path) -> bytes:
            raise PermissionError(13, "Permission denied")

        path = file("1,2\n")
        monkeypatch.setattr(Path, "read_bytes", refuse)
        with pytest.raises(InputError, match=r"cannot be read .Permission denied"):
            reader(path)

    def test_what_is_no_text_in_any_encoding_is_refused_with_its_line(self, reader: Reader, file: FileWriter) -> None:
        """The message gives line, byte and remedy; cp1252 has no byte 0x81."""
        with pytest.raises(InputError, match="line 3: byte 0x81 is not UTF-8 text; save"):
            reader(file(b"# a\r\n# b\r\n# \x81\n"))

    def test_what_is_no_text_at_all_is_called_that(self, reader: Reader, file: FileWriter) -> None:
        """The beginning of a picture: another encoding would not help."""
        with pytest.raises(InputError, match="this is not a text file"):
            reader(file(b"\x89PNG\r\n\x1a\n\0\0\0"))

    def test_truncated_utf_16_is_refused(self, reader: Reader, file: FileWriter) -> None:
        """An odd byte at the end is not text."""
        with pytest.raises(InputError, match=r"line 2: .* is not UTF-16"):
            reader(file("1\n2\n".encode("utf-16")[:-1]))

    def test_nul_bytes_are_refused_with_their_line(self, reader: Reader, file: FileWriter) -> None:
        """Binary files and UTF-16 without byte order mark end here."""
        with pytest.raises(InputError, match="line 2: there is a NUL byte"):
            reader(file(b"1,2\n3,\x004\n"))


# Labels


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a\nb\na\n", ("a", "b", "a")),
        ("1\r\n2\r\n\r\n\r\n", ("1", "2")),
        ("a\n\n?\nNA\n-1\nb", ("a", "", "?", "NA", "-1", "b")),
        ("\na\n", ("", "a")),
        ("class\na\nb\n", ("a", "b")),
        ('"Label"\n"a, b"\n" c "\n', ("a, b", "c")),
        ("cluster\n", ("cluster",)),
        ("# classes\na\n# more\nb\n", ("a", "b")),
        ("point,cluster\n0,a\n1,b\n", ("a", "b")),
        ("name,cluster\nx,a\n\ny,\n", ("a", "")),
    ],
)
def test_labels_are_read_one_per_line(file: FileWriter, text: str, labels: tuple[str, ...]) -> None:
    """Labels stay text; unknown ones keep their place; headers and the empty end are left out."""
    assert read_labels(file(text)) == labels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n# none\n\n", "the file is empty"),
        ("a\n5.1,a\n", "line 2: expected one label per line; got '5.1,a'"),
        ("point,cluster\n0,a\n2,b\n", "line 3: expected point 1; got '2,b'"),
        ("name,cluster\nx,a\ny\n", "line 3: expected one label"),
        ('a\n"b\n', "line 2: .*the quotes are wrong"),
    ],
)
def test_bad_labels_are_refused_with_their_line(file: FileWriter, text: str, message: str) -> None:
    """Whole tables and files out of order are not taken for labels."""
    with pytest.raises(InputError, match=message):
        read_labels(file(text))


# Writers


def test_ambiguous_feature_names_are_written_so_that_they_stay_names(tmp_path: Path) -> None:
    """Digits or ``id`` as titles would make a reader see another point or no feature."""
    names = ["0", "id", "", "1e3", "a\nb"]
    write_points(tmp_path / "p.csv", [[1, 2, 3, 4, 5]], feature_names=names)
    points = read_points(tmp_path / "p.csv")
    assert points.feature_names == ("feature_0", "feature_id", "feature_", "feature_1e3", "a b")
    assert points.values.tolist() == [[1, 2, 3, 4, 5]]


def test_points_that_could_not_be_read_again_are_not_written(tmp_path: Path) -> None:
    """NaN and a wrong number of names are refused before anything is written."""
    with pytest.raises(InputError, match=r"points\[0, 0\] is nan"):
        write_points(tmp_path / "p.csv", [[np.nan]])
    with pytest.raises(InputError, match="2 feature names for 1 features"):
        write_points(tmp_path / "p.csv", [[1.0]], feature_names=["x", "y"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["c.txt", "c.csv", "c.json", "c"])
def test_every_kind_of_constraint_is_written_and_read_again(tmp_path: Path, name: str) -> None:
    """Partial labels come back as the pairs that follow from them."""
    points = np.arange(12.0).reshape(6, 2)
    given = Constraints.create([(4, 0)], [(0, 5)], diameter=100, split=0.1, partial_labels=["a", "?", "a", "b", "", ""])
    write_constraints(tmp_path / name, given)
    read = read_constraints(tmp_path / name, n_points=6)
    assert (read.split, read.diameter) == (0.1, 100)
    assert [array.tolist() for array in expand(read, points)] == [array.tolist() for array in expand(given, points)]


def test_written_constraints_look_as_documented(tmp_path: Path) -> None:
    """The suffix chooses the format."""
    constraints = Constraints.create([(0, 1)], [(0, 2)], split=0.5)
    for name in ("c.txt", "c.csv", "c.json"):
        write_constraints(tmp_path / name, constraints)
    lines = "# 1 must-links, 1 cannot-links; points are numbered from 0\nML 0 1\nCL 0 2\nDELTA 0.5\n"
    assert (tmp_path / "c.txt").read_text() == lines
    assert (tmp_path / "c.csv").read_text() == "i,j,type\n0,1,ML\n0,2,CL\nDELTA,0.5,\n"
    assert json.loads((tmp_path / "c.json").read_text()) == {"ml": [[0, 1]], "cl": [[0, 2]], "delta": 0.5}


def test_labels_are_written_with_points_or_names(tmp_path: Path) -> None:
    """Names with commas, quotes or a comment sign keep the table intact."""
    write_labels(tmp_path / "l.csv", np.array([0, 1, 0]))
    assert (tmp_path / "l.csv").read_text() == "point,cluster\n0,0\n1,1\n2,0\n"
    write_labels(tmp_path / "n.csv", ["x", "y, z"], row_names=['#1 "a"', "b"])
    assert (tmp_path / "n.csv").read_text() == 'name,cluster\n"#1 ""a""",x\nb,"y, z"\n'
    assert read_labels(tmp_path / "n.csv") == ("x", "y, z")
    with pytest.raises(InputError, match="1 names for 2 labels"):
        write_labels(tmp_path / "l.csv", [0, 1], row_names=["a"])


def test_a_failed_write_leaves_the_old_file_and_nothing_else(file: FileWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is replaced only once the new content is complete."""
    path = file("a\n")

    def fail(_: Path, __: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match=r"cannot be written .No space left on device"):
        write_labels(path, [1])
    assert [p.name for p in path.parent.iterdir()] == ["data.txt"]
    assert path.read_text() == "a\n"


@pytest.mark.parametrize("name", ["nowhere/p.csv", ".", "a\0b"])
def test_a_place_that_cannot_be_written_is_bad_input(tmp_path: Path, name: str) -> None:
    """Missing folders, folders and impossible names give one clear sentence."""
    with pytest.raises(InputError, match="cannot be written"):
        write_points(f"{tmp_path}/{name}", [[1.0]])


def test_writing_follows_links_and_leaves_devices_alone(file: FileWriter) -> None:
    """A link still points to the file, and ``/dev/null`` is not replaced by one."""
    path = file("old")
    link = path.with_name("link")
    link.symlink_to(path)
    write_labels(link, [1])
    assert link.is_symlink()
    assert read_labels(path) == ("1",)
    write_labels("/dev/null", [1])
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("names", [["\ufeff", "x"], ["\ufeffwidth", "\ufeff"]])
def test_a_byte_order_mark_in_a_name_does_not_swallow_the_header(tmp_path: Path, names: list[str]) -> None:
    """A name that starts with the mark would look like the beginning of the file to a reader."""
    path = tmp_path / "points.csv"
    write_points(path, [[0.0, 1.0]], feature_names=names)
    points = read_points(path)
    assert points.values.tolist() == [[0.0, 1.0]]
    assert points.feature_names is not None
