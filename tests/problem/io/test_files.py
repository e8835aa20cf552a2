"""Reading and writing points, constraints and labels."""

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

Reader: TypeAlias = Callable[[str | Path], object]
FileWriter: TypeAlias = Callable[..., Path]

READERS: list[Reader] = [read_points, read_constraints, read_labels]
SQUARE = [[1.0, 2.0], [3.5, 4.0]]


@pytest.fixture
def file(tmp_path: Path) -> FileWriter:
    """Return a function that writes text or bytes to a file and returns its path."""

    def write(content: str | bytes, name: str = "data.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def pairs(constraints: Constraints) -> tuple[list[list[int]], list[list[int]]]:
    return constraints.must_link.tolist(), constraints.cannot_link.tolist()


# Points that are read


@pytest.mark.parametrize(
    "text",
    [
        "1,2\n3.5,4\n",
        "1;2\n3.5;4\n",
        "1.0\t2\n3.5\t4\n",
        "1.0 2\n3.5 4",
        "  1.0   2  \n\n\t3.5 \t 4\n\n",
        "1, +2.\n35e-1,\t.4E1\n",
        '"1","2"\n"3.5","4"\n',
        "# points\n1,2\n  # one more\n3.5,4\n",
        "1,2\r\n3.5,4\r\n",
        "1,2\r3.5,4\r",
        "2 2\n1 2\n3.5 4\n",
        "2\t2\t1\n1\t2\n3.5\t4\n",
    ],
)
def test_a_table_is_read_whatever_its_format(file: FileWriter, text: str) -> None:
    """The same two points come out of commas, semicolons, tabs, blanks, quotes, comments, line ends, size lines."""
    points = read_points(file(text))
    assert points.values.tolist() == SQUARE
    assert points.values.dtype == np.float64
    assert points.feature_names is None
    assert points.row_names is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_with_and_without_byte_order_mark_is_read(file: FileWriter, encoding: str) -> None:
    """A byte order mark never becomes a part of the first cell."""
    points = read_points(file("größe,y\n1,2\n3.5,4\n".encode(encoding)))
    assert points.feature_names == ("größe", "y")
    assert points.values.tolist() == SQUARE


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("x,y\n1,2\n3.5,4\n", ("x", "y")),
        ("x y\n1 2\n3.5 4\n", ("x", "y")),
        ("sepal length\tsepal width\n1\t2\n3.5\t4\n", ("sepal length", "sepal width")),
        ('"length, cm";"1; 2"\n1;2\n3.5;4\n', ("length, cm", "1; 2")),
        ("x,2010\n1,2\n3.5,4\n", ("x", "2010")),
    ],
)
def test_a_header_gives_the_feature_names(file: FileWriter, text: str, titles: tuple[str, str]) -> None:
    """Titles are found by being text, also beside a number, and may be quoted."""
    points = read_points(file(text))
    assert points.feature_names == titles
    assert points.values.tolist() == SQUARE


def test_a_header_with_numbers_is_mentioned(file: FileWriter) -> None:
    """Where the first line might have been meant as a point, a note says how it was read."""
    assert read_points(file("x,2010\n1,2\n")).notes == ("the first line, 'x 2010', is read as titles of columns",)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("id,x,y\n7,1,2\n8,3.5,4\n", ("7", "8")),
        ("x,Name,y\n1,a,2\n3.5,b,4\n", ("a", "b")),
        (",x,y\n0,1,2\n1,3.5,4\n", ("0", "1")),
        ("\t0\t1\n0\t1\t2\n1\t3.5\t4\n", ("0", "1")),
        (",0,1\na,1,2\nb,3.5,4\n", ("a", "b")),
        ("Unnamed: 0,x,y\n0,1,2\n1,3.5,4\n", ("0", "1")),
        ("flower,x,y\na,1,2\na,3.5,4\n", ("a", "a")),
        ("a,1,2\nb,3.5,4\n", ("a", "b")),
        ('"a, b",1,2\nc,3.5,4\n', ("a, b", "c")),
        ("id,name,x,y\n1,a,1,2\n2,b,3.5,4\n", ("1", "2")),
    ],
)
def test_a_column_of_names_is_not_a_feature(file: FileWriter, text: str, names: tuple[str, str]) -> None:
    """Identifiers and a first column of text become row names, and a note says so."""
    points = read_points(file(text))
    assert points.row_names == names
    assert points.values.tolist() == SQUARE
    assert any("is used as names, not as a feature" in note for note in points.notes)


def test_a_column_titled_id_with_repeated_numbers_is_a_feature(file: FileWriter) -> None:
    """Names are distinct; what repeats is a measurement."""
    points = read_points(file("id,x\n1,2\n1,3\n"))
    assert points.feature_names == ("id", "x")
    assert points.row_names is None


@pytest.mark.parametrize(
    ("columns", "expected"),
    [(["y", "x"], [[2, 1], [4, 3]]), ([2], [[2], [4]]), (["1", "0"], [[1, 7], [3, 8]]), (["id"], [[7], [8]])],
)
def test_columns_choose_the_features_by_title_or_number(
    file: FileWriter, columns: list[str | int], expected: list[list[float]]
) -> None:
    """Text in other columns is then no problem; numbers count all columns of the file."""
    points = read_points(file("id,x,y,class\n7,1,2,a\n8,3,4,b\n"), columns=columns)
    assert points.values.tolist() == expected
    assert points.row_names == (None if "id" in columns or "0" in columns else ("7", "8"))


def test_a_title_of_digits_wins_over_a_column_number(file: FileWriter) -> None:
    """``"0"`` is the column titled so, 0 is the first."""
    path = file("x,0\n1,2\n")
    assert read_points(path, columns=["0"]).values.tolist() == [[2]]
    assert read_points(path, columns=[0]).values.tolist() == [[1]]


def test_labelled_data_without_header_keep_their_first_point(file: FileWriter) -> None:
    """A last column of classes does not turn the first point into a header."""
    path = file("5.1,3.5,setosa\n4.9,3.0,setosa\n")
    assert read_points(path, columns=[0, 1]).values.tolist() == [[5.1, 3.5], [4.9, 3.0]]
    with pytest.raises(InputError, match=r"column 2 \('setosa'\) holds text.* --columns 0,1, or"):
        read_points(path)


@pytest.mark.parametrize(
    ("text", "n", "n_clusters"),
    [
        ("3 1 2\n5\n6\n7\n", 3, 2),
        ("2 3\n1 2 3\n4 5 6\n", 2, None),
        ("1 2\n3 4\n5 6\n", 3, None),
        ("1 2\n-3 -4\n0.5 6\n", 3, None),
        ("7 3\n1.5 2.5\n3.5 4.5\n", 3, None),
        ("1 2 3\n4 5 6\n", 2, None),
        ("-1 2\n0.5 1\n", 2, None),
    ],
)
def test_two_or_three_integers_are_a_size_line_only_if_they_fit(
    file: FileWriter, text: str, n: int, n_clusters: int
) -> None:
    """A size line is left out of the data; integer data stay data."""
    points = read_points(file(text))
    assert len(points.values) == n
    assert points.n_clusters == n_clusters


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("1 2 1\n3 4\n", "the first line, '1 2 1', is read as the size of the table"),
        ("4 2\n3 4\n5 6\n", "the first line, '4 2', is read as a point, not as the size of the table"),
    ],
)
def test_a_line_that_could_be_a_size_or_a_point_is_mentioned(file: FileWriter, text: str, note: str) -> None:
    """The user learns how the first line was read."""
    assert read_points(file(text)).notes == (note,)


@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<i2", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_files_of_any_real_type_are_read(tmp_path: Path, dtype: str, order: str) -> None:
    """The magic bytes tell, not the name of the file."""
    values = np.array([[0, 1], [1, 1], [0, 0]])
    with (tmp_path / "points.csv").open("wb") as stream:
        array = values.astype(dtype)
        np.save(stream, np.asfortranarray(array) if order == "F" else array)
    points = read_points(str(tmp_path / "points.csv"))
    assert points.values.tolist() == values.tolist()
    assert points.values.flags.writeable
    assert read_points(tmp_path / "points.csv", columns=["1"]).values.tolist() == [[1], [1], [0]]


# Points that are refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n# nothing\n\n", "the file is empty"),
        ("x,y\n", "no points follow"),
        ("id\na\n", "no column is left as a feature"),
        ("1,2\n3,4,5\n", "line 2: 3 cells, but line 1 has 2: '3 4 5'"),
        ("x,y\n\n1\n", "line 3: 1 cells, but line 1 has 2"),
        ("x,y\n1,2\n3,\n", "line 3, column 'y': the value is missing"),
        ("1.5,,2.5\n3,4,5\n", "line 1, column 1 .counted from 0.: the value is missing"),
        (",1.5\n2,3\n", "line 1, column 0 .counted from 0.: the value is missing"),
        ("5,NA,3\n1,2,3\n", "line 1, column 1 .*missing .'NA'"),
        ("x\n1\nNaN\n", "line 3, column 'x': the value is missing .'NaN'"),
        ("1,2\n# c\n3,-inf\n", "line 3, column 1 .*'-inf' is not a number here"),
        ("1,2\n3,1e999\n", "line 2, column 1 .*'1e999' is too large for a double"),
        ("1,2\n3,1_000\n", "line 2, column 1 .*'1_000' is not a number"),
        ("1_000,2\n3,4\n", "line 1, column 0 .*'1_000' is not a number"),
        ("1,2\n3,٤\n", "line 2, column 1 .*'٤' is not a number"),
        ("1,2\n3,0x10\n", "line 2, column 1 .*'0x10' is not a number"),
        ("1,5;2,5\n3,5;4,5\n", "line 1, column 0 .*'1,5' is not a number here; if the comma .* --decimal ,"),
        ("x;y\n1,5;2\n3,5;4\n", "line 2, column 'x': '1,5' is not a number here"),
        ("1,2\na,3\n", "line 2, column 0 .*'a' is not a number.*--columns"),
        ("x,class\n1,a\n2,b\n", r"column 'class' \('a'\) holds text or dates.* --columns x, or"),
        ('x,y\n1,"2\n', "line 2: .*the quotes are wrong"),
        ("150 2\n1.5 2.5\n3.5 4.5\n", "line 1: '150 2' says 150 points with 2 features, but 2 rows follow"),
        ("3 4\n1 2 3 4\n5 6 7 8\n", "line 1: '3 4' says 3 points with 4 features, but 2 rows follow"),
        ("2 4 2\n1 2 3 4\n5 6 7 8 9\n", "line 1: .* but line 3 has 5 cells"),
        ("2 5\n1 2 3 4\n5 6 7 8\n", "line 1: .* but line 2 has 4 cells"),
        ("150 4\n", "line 1: '150 4' says 150 points with 4 features, but no rows follow"),
        ("0 5\n", "line 1: '0 5' says 0 points with 5 features, but no rows follow"),
        ("x\n" + "9" * 500 + "\n", "line 2, column 'x': '999.*... is too large for a double"),
    ],
)
def test_a_bad_table_is_refused_with_line_column_and_text(file: FileWriter, text: str, message: str) -> None:
    """The message starts with the file and leads to the offender."""
    path = file(text)
    with pytest.raises(InputError, match=message) as caught:
        read_points(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < len(str(path)) + 250


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["z"], "no single column 'z'; there are 'x', 'y', 'y' and numbers 0 to 2"),
        (["y"], "no single column 'y'"),
        ([3], "no single column 3"),
        ([-1], "no single column -1"),
        ([], "at least one"),
        (["x", 0], "only once"),
    ],
)
def test_columns_that_do_not_exist_are_refused(file: FileWriter, columns: list[str | int], message: str) -> None:
    """The message lists the columns that do."""
    with pytest.raises(InputError, match=message):
        read_points(file("x,y,y\n1,2,3\n"), columns=columns)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), "2-D"),
        (np.zeros((2, 2, 2)), "2-D"),
        (np.zeros((0, 2)), "empty"),
        (np.array([[1.0, np.nan]]), r"points\[0, 1\] is nan"),
        (np.array([[1j]]), "holds complex128, not real numbers"),
        (np.array([["a"]]), "not real numbers"),
        (np.zeros((2, 2), dtype=[("x", "f8")]), "not real numbers"),
    ],
)
def test_a_bad_npy_array_is_refused(tmp_path: Path, array: np.ndarray, message: str) -> None:
    """Arrays are checked like those that are passed in Python."""
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(InputError, match=message) as caught:
        read_points(tmp_path / "a.npy")
    assert str(caught.value).startswith(str(tmp_path / "a.npy"))


def test_an_npy_array_of_impossible_text_is_refused(file: FileWriter) -> None:
    """Its entries are not even looked at: numpy itself fails on characters that do not exist."""
    content = npy("{'descr': '<U2', 'fortran_order': False, 'shape': (2, 2), }", b"\xff" * 32)
    with pytest.raises(InputError, match="not real numbers"):
        read_points(file(content))


def npy(header: str, data: bytes = bytes(64)) -> bytes:
    """Build an .npy file, version 1.0, with any header."""
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


@pytest.mark.parametrize(
    "content",
    [
        b"\x93NUMPY",
        b"\x93NUMPY\x09\x09",
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3), }"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000, 4000000000), }"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-2, -4), }"),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }"),
        npy("{'descr': '<f8', 'shape': (2, 2), }"),
        npy("(" * 5000),
        npy("__import__('os').getcwd()"),
    ],
)
def test_a_damaged_npy_file_is_refused(file: FileWriter, content: bytes) -> None:
    """Truncated, lying and pickled files are refused; nothing is evaluated, no memory is asked for."""
    with pytest.raises(InputError, match=r"not a usable \.npy file"):
        read_points(file(content, "a.npy"))


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


# Constraints


@pytest.mark.parametrize(
    "text",
    [
        "ML 0 1\nCL 2 1\n",
        "ml 0 1\ncl 2 1",
        "# made by hand\n\n must-link 0 1 \r\nCannot_Link 1 2\r\n",
        "ML,0,1\nCL, 2, 1\n",
        "0 1 1\n2 1 -1\n",
        "0,1,1\n2,1,-1\n",
        "0;1;ML\n2;1;CL\n",
        "i,j,type\n0,1,ML\n2,1,cannot-link\n",
        '"kind","source","target"\n"1",0,1\n"-1",2,1\n',
        "a,b,constraint\n0,1,must_link\n1,2,-1\n",
        "Point2 Point1 Type\n0 1 1\n1 2 -1\n",
        '{"ml": [[0, 1]], "cl": [[2, 1]]}',
        ' \n{"must_link": [[0, 1], [1, 0]],\n "Cannot-Link": [[1, 2]]}',
        "\ufeffML 0 1\nCL 1 2",
    ],
)
def test_constraints_are_read_whatever_their_format(file: FileWriter, text: str) -> None:
    """The same two pairs come out of every format."""
    assert pairs(read_constraints(file(text))) == ([[0, 1]], [[1, 2]])


@pytest.mark.parametrize("text", ["ML 1 2\nCL 3 2\n", '{"ml": [[1, 2]], "cl": [[3, 2]]}'])
def test_points_can_be_numbered_from_one(file: FileWriter, text: str) -> None:
    """One is then subtracted, and the last number is n."""
    assert pairs(read_constraints(file(text), one_based=True, n_points=3)) == ([[0, 1]], [[1, 2]])


@pytest.mark.parametrize(
    "text",
    [
        "DELTA 1.5\nGAMMA 7\ndelta 2e0\ngamma 9\n",
        "i,j,type\nGAMMA,7,\nDELTA,2,\n",
        '{"delta": 2, "split": 1.5, "gamma": 7.0, "diameter": 8}',
    ],
)
def test_the_strictest_distances_count(file: FileWriter, text: str) -> None:
    """Closer than the largest DELTA must link; farther than the smallest GAMMA cannot."""
    constraints = read_constraints(file(text))
    assert (constraints.split, constraints.diameter) == (2.0, 7.0)


@pytest.mark.parametrize("text", ["", "\n\n", "# none\n", "i,j,type\n", "{}", '{"ml": [], "cl": []}'])
def test_a_file_may_state_no_constraints(file: FileWriter, text: str) -> None:
    """A generator that was asked for none writes such files."""
    assert pairs(read_constraints(file(text))) == ([], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ML 0 1\nXL 0 2\n", "line 2: 'XL 0 2': unknown constraint type 'XL'"),
        ("0 1 2\n", "line 1: '0 1 2': unknown constraint type '2'"),
        ("i,j,type\n0,1,maybe\n", "line 2: .*unknown constraint type 'maybe'"),
        ("0 1\n", "line 1: '0 1': expected 'ML i j'"),
        ("ML 0 1 2\n", "line 1: .*expected 'ML i j'"),
        ("1,2,,\n", "line 1: .*expected 'ML i j'"),
        ("# c\n\nML 0 x\n", "line 3: 'ML 0 x': 'x' is not a point number"),
        ("ML 0 1.0\n", "line 1: .*'1.0' is not a point number"),
        ("ML 0 1_0\n", "line 1: .*'1_0' is not a point number"),
        ("1.5 2 ML\n", "line 1: .*'1.5' is not a point number"),
        ("ML 0 " + "9" * 5000 + "\n", "line 1: .*is not a point number"),
        ("ML 0 9999999999999999999\n", "line 1: .*there is no point 9999999999999999999"),
        ("ML 0 -1\n", "line 1: .*there is no point -1; they are numbered 0 to 4"),
        ("ML 0 1\nCL 3 3\n", "line 2: 'CL 3 3': a pair needs two different points"),
        ("ML 0 5\n", "line 1: .*there is no point 5; they are numbered 0 to 4; if the file counts from 1"),
        ("ML 0 6\n", "line 1: .*there is no point 6; they are numbered 0 to 4$"),
        ("DELTA -1\n", "line 1: 'DELTA -1': a distance must be a finite number"),
        ("GAMMA inf\n", "line 1: .*a distance must be"),
        ("DELTA 1e999\n", "line 1: .*a distance must be"),
        ("DELTA\n", "line 1: .*expected"),
        ("p,q,type\n0,1,ML\n", "line 1: 'p,q,type'"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(file: FileWriter, text: str, message: str) -> None:
    """The message starts with file and line, and shows the line."""
    path = file(text)
    with pytest.raises(InputError, match=message) as caught:
        read_constraints(path, n_points=5)
    assert str(caught.value).startswith(f"{path}, line ")
    assert len(str(caught.value)) < len(str(path)) + 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ML 0 1\n", "line 1: .*no point 0; they are numbered 1 to 5"),
        ("ML 1 6\n", "line 1: .*no point 6; they are numbered 1 to 5"),
    ],
)
def test_messages_use_the_numbering_of_the_file(file: FileWriter, text: str, message: str) -> None:
    """Nobody has to add or subtract one to find the pair."""
    with pytest.raises(InputError, match=message):
        read_constraints(file(text), n_points=5, one_based=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"ml": [[0, 1]]', "line 1: not valid JSON"),
        ('{"ml":\n [[0, 1],]}', "line 2: not valid JSON"),
        ("[[0, 1]]", "must be an object"),
        ('{"xl": []}', "unknown key 'xl'"),
        ('{"1": []}', "unknown key '1'"),
        ('{"ml": 3}', "'ml' is 3: expected a list of pairs"),
        ('{"ml": null}', "'ml' is None: expected a list of pairs"),
        ('{"must_link": [[0, 1], [1, 2, 3]]}', r"entry 1 of 'must_link' is \[1, 2, 3\]: expected a list of pairs"),
        ('{"ml": [[0, 1.0]]}', r"entry 0 of 'ml' is \[0, 1.0\]: expected a list of pairs"),
        ('{"ml": [[0, true]]}', "entry 0 of 'ml'"),
        ('{"ml": [["0", "1"]]}', "entry 0 of 'ml'"),
        ('{"ml": ["01"]}', "entry 0 of 'ml' is '01'"),
        ('{"cl": [[2, 2]]}', "entry 0 of 'cl' .*two different points"),
        ('{"cl": [[2, 5]]}', "entry 0 of 'cl' .*no point 5; they are numbered 0 to 4"),
        ('{"ml": [], "ml": [[0, 1]]}', "key 'ml' is given twice"),
        ('{"split": NaN}', "'split' is nan: a distance"),
        ('{"split": 1e999}', "'split' is inf: a distance"),
        ('{"split": ' + "9" * 400 + "}", "'split' is 999.*: a distance"),
        ('{"split": ' + "9" * 5000 + "}", "not usable"),
        ('{"diameter": -1}', "'diameter' is -1: a distance"),
        ('{"diameter": true}', "'diameter' is True: a distance"),
        ('{"diameter": "1"}', "'diameter' is '1': a distance"),
        ('{"ml": ' + "[" * 100_000, "nested too deeply"),
        ('{"ml": ' + "[" * 900 + "]" * 900 + "}", "nested too deeply|entry 0"),
    ],
)
def test_bad_json_is_refused_with_its_entry(file: FileWriter, text: str, message: str) -> None:
    """The message leads to line, key or entry."""
    with pytest.raises(InputError, match=message):
        read_constraints(file(text), n_points=5)


def test_a_huge_number_is_refused_without_knowing_the_points(file: FileWriter) -> None:
    """What no array can hold is refused even if n is not known."""
    for text in ("ML 0 9999999999999999999", '{"ml": [[0, 9999999999999999999]]}'):
        with pytest.raises(InputError, match="there is no point 9999999999999999999"):
            read_constraints(file(text))


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
def test_labels_are_read_one_a_line(file: FileWriter, text: str, labels: tuple[str, ...]) -> None:
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
