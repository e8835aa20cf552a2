"""Read and write points, constraints and labels.

Readers tell formats apart by content, take UTF-8 and UTF-16 with any line ends, and raise nothing but
:class:`~certimeans.errors.InputError`, with the file and the line. Writers replace a file only once its new content is
complete. Nothing is ever pickled or evaluated.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints
from certimeans.problem.expand import pairs_from_labels
from certimeans.problem.io.atomic import write_atomically
from certimeans.problem.io.layout import NAME_TITLES, is_text
from certimeans.problem.io.links import read_constraints
from certimeans.problem.io.points import PointsFile, read_points
from certimeans.problem.io.text import PathLike, content_lines, decode, read_bytes, shown, split_cells
from certimeans.problem.sizes import StatedSizes
from certimeans.problem.validation import as_points

__all__ = [
    "PointsFile",
    "read_constraints",
    "read_labels",
    "read_points",
    "write_constraints",
    "write_labels",
    "write_points",
]

_LABEL_TITLES = frozenset({"label", "labels", "class", "cluster"})


def read_labels(path: PathLike) -> tuple[str, ...]:
    """Read one label per line, as text: ``""`` for an empty line, which means unknown like ``?``, ``NA`` and -1.

    Comment lines, which start with ``#``, and empty lines at the end are not labels; nor is a first line ``label``,
    ``labels``, ``class`` or ``cluster`` that others follow. A label with a comma in it must be quoted. The files of
    :func:`write_labels` are read, too.

    Raises
    ------
    InputError
        If the file holds no labels, or a line more than one.
    """
    lines = content_lines(decode(path, read_bytes(path)), keep_blank=True)
    while lines and not lines[-1].text.strip():
        lines.pop()
    if not lines:
        raise InputError(f"{path}: the file is empty; give one label per line")
    rows = [(line, split_cells(path, line, ",")) for line in lines]
    title = [cell.lower() for cell in rows[0][1]]
    width = 1
    if len(rows) > 1 and title in (["point", "cluster"], ["name", "cluster"]):
        width = 2
        rows = [(line, cells) for line, cells in rows[1:] if line.text.strip()]
    elif len(rows) > 1 and len(title) == 1 and title[0] in _LABEL_TITLES:
        rows = rows[1:]
    for position, (line, cells) in enumerate(rows):
        if len(cells) != width:
            raise InputError(f"{path}, line {line.number}: expected one label per line; got {shown(line.text)}")
        if title == ["point", "cluster"] and cells[0] != str(position):
            raise InputError(f"{path}, line {line.number}: expected point {position}; got {shown(line.text)}")
    return tuple(cells[-1] for _, cells in rows)


def write_points(path: PathLike, values: ArrayLike, *, feature_names: Sequence[str] | None = None) -> None:
    """Write points that :func:`read_points` reads back bit by bit: CSV, or ``.npy`` if the file is named so.

    A feature name that a reader could take for a number or for the title of a column of names is written with
    ``feature_`` before it. An ``.npy`` file has no names.
    """
    table = as_points(values)
    stream = io.BytesIO()
    if Path(path).suffix.lower() == ".npy":
        np.lib.format.write_array(stream, table, allow_pickle=False)
    else:
        if feature_names is not None and len(feature_names) != table.shape[1]:
            raise InputError(f"{path}: {len(feature_names)} feature names for {table.shape[1]} features")
        header = "" if feature_names is None else _csv([map(_as_title, feature_names)])
        rows = (",".join(map(repr, row)) for row in table.tolist())
        stream.write((header + "\n".join(rows) + "\n").encode())
    write_atomically(path, stream.getvalue())


def _as_title(name: str) -> str:
    title = _on_one_line(name.replace("\ufeff", ""))  # a file that starts with one would lose it as its mark
    return title if is_text(title) and title.lower() not in NAME_TITLES else f"feature_{title}"


def write_constraints(path: PathLike, constraints: Constraints) -> None:
    """Write constraints: JSON or CSV if the file is named so, else lines ``ML i j`` and ``CL i j``.

    Points are numbered from 0. Partial labels are written as the pairs that follow from them. What is said about the
    sizes of clusters can be written as JSON only.
    """
    suffix = Path(path).suffix.lower()
    stated = constraints.cluster_sizes
    if stated is not None and suffix != ".json":
        raise InputError(f"{path}: only JSON files hold sizes of clusters; choose a name that ends in .json")
    if constraints.partial_labels is not None:
        implied = Constraints(*pairs_from_labels(constraints.partial_labels))
        constraints = replace(constraints, partial_labels=None) | implied
    links = {"ML": constraints.must_link.tolist(), "CL": constraints.cannot_link.tolist()}
    distances = {"DELTA": constraints.split, "GAMMA": constraints.diameter}
    given = {name: distance for name, distance in distances.items() if distance is not None}
    if suffix == ".json":
        content = {name.lower(): value for name, value in (links | given).items()} | _sizes_as_json(stated)
        text = json.dumps(content) + "\n"
    elif suffix == ".csv":
        pairs = [(i, j, kind) for kind, pairs in links.items() for i, j in pairs]
        # The empty cell keeps the table rectangular for other readers.
        text = _csv([("i", "j", "type"), *pairs, *((name, repr(value), "") for name, value in given.items())])
    else:
        counts = f"# {len(links['ML'])} must-links, {len(links['CL'])} cannot-links; points are numbered from 0\n"
        lines = [f"{kind} {i} {j}\n" for kind, pairs in links.items() for i, j in pairs]
        text = counts + "".join(lines + [f"{name} {value!r}\n" for name, value in given.items()])
    write_atomically(path, text.encode())


def _sizes_as_json(stated: StatedSizes | None) -> dict[str, object]:
    if stated is None:
        return {}
    content = {
        "size_min": stated.size_min,
        "size_max": stated.size_max,
        "sizes": None if stated.sizes is None else list(stated.sizes),
        "capacity": None if stated.capacity is None else stated.capacity.tolist(),
    }
    return {name: _whole(value) for name, value in content.items() if value is not None}


def _whole(value: Any) -> Any:
    """Write whole numbers without a point."""
    if isinstance(value, list):
        return [_whole(number) for number in value]
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def write_labels(path: PathLike, labels: Iterable[object], *, row_names: Sequence[str] | None = None) -> None:
    """Write a CSV file with columns ``point,cluster``, or ``name,cluster`` if the points have names."""
    texts = [str(label) if isinstance(label, int) else _on_one_line(label) for label in labels]
    names = range(len(texts)) if row_names is None else [_on_one_line(name) for name in row_names]
    if len(names) != len(texts):
        raise InputError(f"{path}: {len(names)} names for {len(texts)} labels")
    header = ("point" if row_names is None else "name", "cluster")
    is_plain = row_names is None and all(map(str.isdecimal, texts))
    lines = "".join(map("%d,%s\n".__mod__, enumerate(texts))) if is_plain else _csv(zip(names, texts, strict=True))
    write_atomically(path, (_csv([header]) + lines).encode())


def _on_one_line(text: object) -> str:
    """Replace line ends and other white space by single spaces: readers go line by line."""
    return " ".join(str(text).split())


def _csv(rows: Iterable[Iterable[object]]) -> str:
    return "".join(",".join(_quoted(str(cell)) for cell in row) + "\n" for row in rows)


def _quoted(cell: str) -> str:
    # Unquoted, these would end the cell, or make a reader see a comment or another separator.
    return '"{}"'.format(cell.replace('"', '""')) if any(mark in cell for mark in '",;# ') else cell
