"""Readers on hostile bytes, and round trips of whatever writers are given."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints
from certimeans.problem.io.files import (
    read_constraints,
    read_labels,
    read_points,
    write_constraints,
    write_labels,
    write_points,
)


def npy_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_points(f"{folder}/a.npy", [[1.0, 2.0], [3.0, 4.0]])
        return Path(f"{folder}/a.npy").read_bytes()


READERS: list[Callable[..., Any]] = [read_points, read_constraints, read_labels]
VALID = [
    b"id,x,y\n1,0.5,2\n2,1e-3,4\n",
    b'name;"x; y";z\n"a";1;2\nb;3;4\n',
    b"2 3 2\n1 2 3\n4 5 6\n",
    b"\xef\xbb\xbf,x\r\n0,1\r\n",
    "x\ty\n1\t2\n".encode("utf-16"),
    npy_bytes(),
    b"ML 0 1\nCL 1 2\nDELTA 0.5\nGAMMA 9\n",
    b"i,j,type\n0,1,ML\n1,2,-1\n",
    b'{"ml": [[0, 1]], "cl": [[1, 2]], "split": 0.5, "diameter": 9}',
    b"point,cluster\n0,1\n1,0\n",
    b"class\na\n\n?\n",
]
# Pieces that mean something to one of the readers, so that random files get past the first check.
WORDS = [
    *b"1 -1 0 2 1.5 1e999 nan inf NA x id ML CL DELTA i j type ml null true 1_0 \xe9 \xff\xfe \x93NUMPY "
    b"<f8 |O shape ( ) [ ] { } ' # ? \0 99999999999999999999 \xc2\xa0 \xe2\x80\xa8".split(),
    *(b" ", b",", b";", b"\t", b"\n", b"\r", b'"', b":", b'"ml"', b"\n\n"),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Draw a valid file with a few bytes replaced, cut out or inserted."""
    content = bytearray(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = start + draw(st.integers(0, 4))
        content[start:stop] = draw(st.sampled_from([b"", *WORDS]) | st.binary(max_size=3))
    return bytes(content)


HOSTILE = st.binary(max_size=200) | st.lists(st.sampled_from(WORDS), max_size=30).map(b"".join) | mutated()


@settings(max_examples=1500, deadline=None)
@given(content=HOSTILE, one_based=st.booleans(), n_points=st.none() | st.integers(0, 5))
@example(content=b"{" * 100_000, one_based=False, n_points=None)
@example(content=b"1" * 200_000 + b"x," + b"1\n2,3", one_based=False, n_points=None)
@example(content=b'"' + b"1" * 200_000 + b'",1\n2,3', one_based=False, n_points=None)
def test_only_input_errors_come_out_of_readers(content: bytes, one_based: bool, n_points: int | None) -> None:
    """Whatever the bytes, a reader returns sound data or one message that names the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        path.write_bytes(content)
        for reader in READERS:
            options = {"one_based": one_based, "n_points": n_points} if reader is read_constraints else {}
            try:
                result = reader(path, **options)
            except InputError as error:
                assert str(error).startswith(str(path))  # noqa: PT017 - success is fine, too
                continue
            if reader is read_points:
                assert result.values.ndim == 2
                assert result.values.size
                assert np.isfinite(result.values).all()
                assert result.row_names is None or len(result.row_names) == len(result.values)
            elif reader is read_constraints and n_points is not None:
                result.check_range(n_points)
            elif reader is read_labels:
                assert len(result) > 0


FINITE = st.floats(allow_nan=False, allow_infinity=False)
TABLES = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=4), elements=FINITE)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@settings(max_examples=300, deadline=None)
@given(values=TABLES, suffix=st.sampled_from([".csv", ".txt", ".npy"]), data=st.data())
def test_points_come_back_bit_by_bit(values: np.ndarray, suffix: str, data: st.DataObject) -> None:
    """No digit, sign of zero, row or column is lost, whatever the features are called."""
    width = values.shape[1]
    names = data.draw(st.none() | st.lists(NAMES, min_size=width, max_size=width))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/points{suffix}"
        write_points(path, values, feature_names=names)
        points = read_points(path)
    assert points.values.tobytes() == values.tobytes()
    assert points.row_names is None
    if suffix != ".npy":
        assert (points.feature_names is None) == (names is None)


LINKS = st.lists(st.tuples(st.integers(0, 20), st.integers(21, 40)), max_size=6)
DISTANCES = st.none() | st.floats(0, allow_infinity=False)


@settings(max_examples=200, deadline=None)
@given(ml=LINKS, cl=LINKS, split=DISTANCES, diameter=DISTANCES, suffix=st.sampled_from([".csv", ".txt", ".json"]))
def test_constraints_come_back_as_they_were(
    ml: list[tuple[int, int]],
    cl: list[tuple[int, int]],
    split: float | None,
    diameter: float | None,
    suffix: str,
) -> None:
    """Pairs and distances survive every format."""
    given_constraints = Constraints.create(ml, cl, split=split, diameter=diameter)
    with tempfile.TemporaryDirectory() as folder:
        write_constraints(f"{folder}/c{suffix}", given_constraints)
        read = read_constraints(f"{folder}/c{suffix}", n_points=41)
    assert read.must_link.tolist() == given_constraints.must_link.tolist()
    assert read.cannot_link.tolist() == given_constraints.cannot_link.tolist()
    assert (read.split, read.diameter) == (split, diameter)


@settings(max_examples=200, deadline=None)
@given(rows=st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=5), named=st.booleans())
def test_labels_come_back_in_order(rows: list[tuple[str, str]], named: bool) -> None:
    """Any text is a label or a name; only its white space is tidied."""
    names, labels = zip(*rows, strict=True)
    with tempfile.TemporaryDirectory() as folder:
        write_labels(f"{folder}/labels.csv", labels, row_names=names if named else None)
        assert read_labels(f"{folder}/labels.csv") == tuple(" ".join(label.split()) for label in labels)
