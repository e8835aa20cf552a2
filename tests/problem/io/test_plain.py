from pathlib import Path

import numpy as np
import pytest

from certimeans.errors import InputError
from certimeans.problem.io import points as module
from certimeans.problem.io.points import read_points

TABLES = {
    "plain": "1.5,2\n3,4\n5,6e-1\n7,8\n",
    "header": "length,width\n1.5,2\n3,4\n5,6\n",
    "size": "4 2 3\n1.5 2\n3 4\n5 6\n7 8\n",
    "size that could be a point": "3 2\n1 2\n3 4\n5 6\n",
    "point that could be a size": "7 2\n1 2\n3 4\n5 6\n",
    "names": "ann,1.5,2\nbob,3,4\ncid,5,6\ndon,7,8\n",
    "titled names": "id,length\n10,1.5\n11,3\n12,5\n",
    "id that is not distinct": "id,length\n10,1.5\n11,3\n10,5\n",
    "crlf": "a,b\r\n1,2\r\n\r\n3,4\r\n5,6\r\n",
    "white space": " 1.5\t2 \n 3   4\n5 6\n",
    "semicolons": "1.5;2\n3;4\n5;6\n",
    "comment": "# made by hand\n1,2\n3,4\n5,6\n",
    "quotes": 'a,"b"\n1,2\n3,4\n5,6\n',
    "ragged": "1,2\n3,4\n5,6,7\n",
    "ragged names": "ann,1\nbob,2,3\ncid,4\ndon,5\n",
    "word": "1,2\n3,x\n5,6\n",
    "missing": "1,2\n3,\n5,6\n",
    "infinite": "1,2\n3,1e999\n5,6\n",
    "nan": "1,2\n3,nan\n5,6\n",
    "underscore": "1,2\n3,1_000\n5,6\n",
    "hexadecimal": "1,2\n3,0x10\n5,6\n",
    "late text in a first column": "ann,1\nbob,2\ncid,3\n7,4\n",
}


def outcome(path: Path, columns: list[str | int] | None = None) -> object:
    """Return all that a reader says, or its error."""
    try:
        read = read_points(path, columns=columns)
    except InputError as error:
        return str(error)
    return read.values.tolist(), read.feature_names, read.row_names, read.n_clusters, read.notes


@pytest.mark.parametrize("columns", [None, [1], [1, 0], ["length"], [9]])
@pytest.mark.parametrize("name", TABLES)
def test_large_files_are_read_as_small_ones_are(
    name: str, columns: list[str | int] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values, titles, names, notes and errors are the same, whatever the size of the file."""
    path = tmp_path / "points.txt"
    path.write_bytes(TABLES[name].encode())
    expected = outcome(path, columns)
    monkeypatch.setattr(module, "LARGE_TEXT", 0)
    assert outcome(path, columns) == expected


def test_numbers_come_back_bit_by_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all magnitudes, the smallest included; and the fast reader was used."""
    random = np.random.default_rng(0)
    values = random.normal(size=(200, 3)) * 10.0 ** random.integers(-320, 300, size=(200, 3))
    path = tmp_path / "points.csv"
    path.write_text("\n".join(",".join(map(repr, row)) for row in values.tolist()) + "\n")
    monkeypatch.setattr(module, "LARGE_TEXT", 0)
    monkeypatch.setattr(module, "as_values", None)  # the other reader would fail
    assert (read_points(path).values == values).all()
