"""Tables as analysts have them: text and dates among the numbers, holes, other encodings, Excel and Parquet."""

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from certimeans import InputError, read_points
from certimeans.problem.io.columns import split_columns
from tests.problem.io import FileWriter

CUSTOMERS = "name,city,since,age,income\nAnna,Köln,2021-03-04,30,1.5\nKarl,Ulm,2020-01-01,40,2.5\n"


def test_all_columns_of_text_are_listed_with_the_option_that_leaves_them_out(file: FileWriter) -> None:
    """One message for all, each with an example, and a line to copy."""
    with pytest.raises(InputError) as error:
        read_points(file(CUSTOMERS))
    assert "columns 'city' ('Köln'), 'since' ('2021-03-04') hold text or dates" in str(error.value)
    assert "--columns age,income, or all columns of numbers with --columns numeric" in str(error.value)


def test_numeric_takes_all_columns_of_numbers(file: FileWriter) -> None:
    """Missing values do not make a column one of text; what was left out is said."""
    read = read_points(file(CUSTOMERS), columns="numeric")
    assert read.values.tolist() == [[30, 1.5], [40, 2.5]]
    assert read.feature_names == ("age", "income")
    assert read.row_names == ("Anna", "Karl")
    assert any("left out" in note and "'city'" in note and "'since'" in note for note in read.notes)
    assert read_points(file("numeric,b\n1,2\n3,4\n"), columns=["numeric"]).values.tolist() == [[1], [3]]


def test_columns_with_commas_in_their_names_are_quoted() -> None:
    """As a CSV file would have them."""
    assert split_columns('a,"b, c", d') == ["a", "b, c", "d"]


def test_a_stray_cell_is_reported_with_its_line(file: FileWriter) -> None:
    """A column that holds numbers but for one cell is not taken for text."""
    with pytest.raises(InputError, match=r"line 4, column 'y': 'oops' is not a number"):
        read_points(file("x,y\n1,2\n3,4\n5,oops\n"))


HOLES = "name,x,y\na,1,2\nb,,4\nc,3,NA\nd,5,9\n"


def test_missing_values_are_refused_with_their_number_and_the_remedies(file: FileWriter) -> None:
    """The first with its line, all of them counted by column."""
    with pytest.raises(InputError, match=r"line 3, column 'x': the value is missing .*, and 1 more .*--missing drop"):
        read_points(file(HOLES))


def test_rows_with_missing_values_are_left_out_on_request(file: FileWriter) -> None:
    """The rows that remain know where they came from."""
    read = read_points(file(HOLES), missing="drop")
    assert read.values.tolist() == [[1, 2], [5, 9]]
    assert read.row_names == ("a", "d")
    assert read.table is not None
    assert read.table.row_of_point.tolist() == [0, 3]
    assert read.table.spread([7, 8]) == [7, None, None, 8]
    assert read.table.missing == {"rule": "drop", "values": {"x": 1, "y": 1}, "dropped_rows": [1, 2]}
    assert any("2 rows left out for 2 missing values" in note for note in read.notes)


def test_missing_values_are_filled_in_with_the_mean_on_request(file: FileWriter) -> None:
    """The mean of the values that are there: of 1, 3 and 5, and of 2, 4 and 9."""
    read = read_points(file(HOLES), missing="mean")
    assert read.values.tolist() == [[1, 2], [3, 4], [3, 5], [5, 9]]
    assert any("filled in with the mean" in note for note in read.notes)


@pytest.mark.parametrize(
    ("content", "rule", "message"),
    [("x,y\n1,\n,2\n", "drop", "every row has a missing value"), ("x,y\n1,\n2,\n", "mean", "column 'y' has no value")],
)
def test_where_nothing_would_be_left_that_is_said(file: FileWriter, content: str, rule: Any, message: str) -> None:
    """Neither an empty table nor the mean of nothing."""
    with pytest.raises(InputError, match=message):
        read_points(file(content), missing=rule)


def test_missing_values_of_an_array_are_treated_alike(tmp_path: Path) -> None:
    """NaN in an .npy file."""
    np.save(tmp_path / "x.npy", np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, 5.0]]))
    assert read_points(tmp_path / "x.npy", missing="drop").values.tolist() == [[1, 2], [4, 5]]
    assert read_points(tmp_path / "x.npy", missing="mean").values.tolist() == [[1, 2], [2.5, 3], [4, 5]]


@pytest.mark.parametrize(
    "content", ["a;b\n1,5;2\n-3,25;4e1\n", '"a","b"\n"1,5","2"\n"-3,25","4e1"\n', "1,5 2\n-3,25 4e1\n"]
)
def test_a_decimal_comma_is_read_on_request(file: FileWriter, content: str) -> None:
    """With semicolons, quotes or white space between the cells."""
    assert read_points(file(content), decimal=",").values.tolist() == [[1.5, 2], [-3.25, 40]]


def test_numbers_with_a_decimal_comma_are_not_left_out_unnoticed(file: FileWriter) -> None:
    """Asked for all columns of numbers, those are some."""
    with pytest.raises(InputError, match=r"the numbers in 'b' have a decimal comma; say so with --decimal ,"):
        read_points(file("a;b;c\n1;2,5;x\n3;4,5;y\n"), columns="numeric")


def test_a_decimal_point_is_refused_if_the_comma_was_announced(file: FileWriter) -> None:
    """1.234 might be a thousand and more: not guessed."""
    with pytest.raises(InputError, match=r"'1.234' has a decimal point, but --decimal , says"):
        read_points(file("a;b\n1.234;2\n3,5;4\n"), decimal=",")


def test_windows_text_is_read_and_that_is_said(file: FileWriter) -> None:
    """Excel still writes cp1252; a byte order mark and semicolons are no obstacle."""
    read = read_points(file("Name;Größe\nJürgen;1\nZoë;2\n".encode("cp1252")))
    assert read.row_names == ("Jürgen", "Zoë")
    assert read.feature_names == ("Größe",)
    assert "read as Windows text (cp1252), in which line 1 has 'ö'" in read.notes[0]
    again = read_points(file("Name;Größe\nJürgen;1\nZoë;2\n".encode("utf-8-sig")))
    assert again.row_names == ("Jürgen", "Zoë")
    assert not any("cp1252" in note for note in again.notes)


def test_an_index_that_pandas_wrote_is_no_feature(tmp_path: Path) -> None:
    """A column of names beside it says more."""
    frame = pd.DataFrame({"name": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]}, index=[5, 6, 7])
    frame.to_csv(tmp_path / "x.csv")
    read = read_points(tmp_path / "x.csv")
    assert read.values.tolist() == [[1], [2], [3]]
    assert read.row_names == ("a", "b", "c")
    frame[["x"]].to_csv(tmp_path / "x.csv")
    assert read_points(tmp_path / "x.csv").row_names == ("5", "6", "7")


def test_the_column_of_names_can_be_chosen(file: FileWriter) -> None:
    """By title or number; it is no feature then."""
    path = file("x,who,y\n1,a,2\n3,b,4\n")
    for names in ("who", 1):
        read = read_points(path, names=names)
        assert (read.row_names, read.values.tolist()) == (("a", "b"), [[1, 2], [3, 4]])
    with pytest.raises(InputError, match="no single column 'whom'"):
        read_points(path, names="whom")


FRAME = pd.DataFrame(
    {"name": ["Jürgen", "Zoë"], "x": [1.5, 2.0], "n": [3, 4], "since": pd.to_datetime(["2020-05-01"] * 2)}
)


def test_excel_files_are_read(tmp_path: Path) -> None:
    """The first sheet, or the one that is named; empty cells are missing."""
    path = tmp_path / "x.xlsx"
    with pd.ExcelWriter(path) as writer:
        FRAME.to_excel(writer, sheet_name="people", index=False)
        pd.DataFrame({"a": [1.0, None, 3.0], "b": [4.0, 5.0, 6.0]}).to_excel(writer, sheet_name="holes", index=False)
    read = read_points(path, columns="numeric")
    assert read.values.tolist() == [[1.5, 3], [2, 4]]
    assert read.row_names == ("Jürgen", "Zoë")
    assert any("sheet 'people' was read, the first of 2" in note for note in read.notes)
    with pytest.raises(InputError, match=r"column 'since' \('2020-05-01'\) holds text or dates"):
        read_points(path)
    assert read_points(path, sheet="holes", missing="drop").values.tolist() == [[1, 4], [3, 6]]
    with pytest.raises(InputError, match="no sheet 'nope'; there are: 'people', 'holes'"):
        read_points(path, sheet="nope")


def test_parquet_files_are_read(tmp_path: Path) -> None:
    """An index that is no range names the points."""
    path = tmp_path / "x.parquet"
    FRAME[["x", "n"]].set_index(FRAME["name"]).to_parquet(path)
    read = read_points(path)
    assert read.values.tolist() == [[1.5, 3], [2, 4]]
    assert read.row_names == ("Jürgen", "Zoë")
    pd.DataFrame({"x": [1.0, float("nan")], "y": [2.0, 3.0]}).to_parquet(path)
    assert read_points(path, missing="mean").values.tolist() == [[1, 2], [1, 3]]


@pytest.mark.parametrize(("suffix", "library"), [("xlsx", "openpyxl"), ("parquet", "pyarrow.parquet")])
def test_without_the_extra_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, library: str
) -> None:
    """The message says what to install."""
    path = tmp_path / f"x.{suffix}"
    if suffix == "xlsx":
        FRAME.to_excel(path)
    else:
        FRAME.to_parquet(path)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=r"pip install 'certimeans\[tables\]'"):
        read_points(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04 nonsense", "not a usable Excel file"),
        (b"PAR1 nonsense", "not a usable Parquet file"),
        (b"\xd0\xcf\x11\xe0 nonsense", r"old Excel \(.xls\)"),
    ],
)
def test_damaged_workbooks_are_refused(file: FileWriter, content: bytes, message: str) -> None:
    """Whatever the libraries raise, it ends as one message."""
    with pytest.raises(InputError, match=message):
        read_points(file(content, "x.xlsx"))


def test_only_excel_files_have_sheets(file: FileWriter) -> None:
    """Anything else is a mistake."""
    with pytest.raises(InputError, match="only an Excel file has sheets"):
        read_points(file("1,2\n"), sheet="x")


def test_the_line_to_copy_works_whatever_the_titles_are(tmp_path: Path) -> None:
    """Titles with commas are quoted; repeated ones, and those with quotes, are given by number."""
    path = tmp_path / "x.csv"
    path.write_text('"a, b",c,c,"d ""e""",city\n1,2,3,4,Köln\n5,6,7,8,Bonn\n', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_points(path)
    line = shlex.split(str(caught.value).split("--columns ")[1])[0].removesuffix(",")
    assert line == '"a, b",1,2,3'
    assert read_points(path, columns=split_columns(line)).values.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
