"""Tables of points in every format, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from certimeans.errors import InputError
from certimeans.problem.io.files import read_points
from tests.problem.io import FileWriter

SQUARE = [[1.0, 2.0], [3.5, 4.0]]


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
