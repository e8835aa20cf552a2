"""Constraint files in every format, and what is refused."""

from __future__ import annotations

import pytest

from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints
from certimeans.problem.io.files import read_constraints
from tests.problem.io import FileWriter


def pairs(constraints: Constraints) -> tuple[list[list[int]], list[list[int]]]:
    return constraints.must_link.tolist(), constraints.cannot_link.tolist()


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
