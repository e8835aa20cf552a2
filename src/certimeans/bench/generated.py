"""Suite files: data sets from files or from scikit-learn, constraints drawn from their classes.

A suite file is TOML with a table ``[[dataset]]`` for each data set::

    [[dataset]]
    name = "iris"
    points = "sklearn:iris"           # iris, wine, breast_cancer or digits; or a file, relative to the suite file
    k = 3                             # number of clusters; may be left out if the points' file says it
    labels = "classes.txt"            # class of each point, one per line; scikit-learn's data have theirs
    rows = 120                        # optional: use that many points, evenly spaced
    standardize = true                # optional: distances in standard deviations of each feature
    links = [[50, 0], [25, 25]]       # numbers of must-links and cannot-links to draw
    seeds = [0, 1, 2]                 # each setting is drawn once for each seed

An optional key ``published = "published.csv"`` at the top names results to compare with.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from certimeans._typing import FloatArray
from certimeans.bench.published import read_published
from certimeans.bench.suite import Case
from certimeans.errors import InputError
from certimeans.problem.generate import generate_constraints
from certimeans.problem.instance import Instance
from certimeans.problem.io.files import read_labels, read_points

BUILT_IN = ("breast_cancer", "digits", "iris", "wine")
_BUILT_IN_PREFIX = "sklearn:"
_KEYS = {
    "name": str,
    "points": str,
    "k": int,
    "labels": str,
    "rows": int,
    "standardize": bool,
    "links": list,
    "seeds": list,
}


@dataclass(frozen=True)
class Data:
    """Points of a suite file with their classes, not yet read."""

    points: str
    labels: str | None = None
    k: int | None = None
    rows: int | None = None
    standardize: bool = False

    def load(self) -> tuple[FloatArray, list[Any], int]:
        """Return points, classes (none if not known) and the number of clusters."""
        return _load(self)


@dataclass(frozen=True)
class Generated:
    """An instance with constraints drawn from the classes of the data."""

    data: Data
    must_links: int
    cannot_links: int
    seed: int

    def load(self) -> Instance:
        """Read the data and draw."""
        points, labels, k = self.data.load()
        if not labels and self.must_links + self.cannot_links:
            raise InputError(f"{self.data.points}: constraints are drawn from classes; name their file as 'labels'")
        constraints = generate_constraints(labels, self.must_links, self.cannot_links, self.seed)
        return Instance(points, k, constraints, standardize=self.data.standardize)


def cases_in_file(path: Path) -> Iterator[Case]:
    """List the instances of a suite file.

    Raises
    ------
    InputError
        If the file is not such a file; the message names the key.
    """
    try:
        suite = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: not a suite file ({error})") from None
    unknown = sorted(set(suite) - {"dataset", "published"})
    if unknown:
        raise InputError(f"{path}: unknown key {unknown[0]!r}; known are 'dataset' and 'published'")
    tables = suite.get("dataset")
    if not isinstance(tables, list) or not tables:
        raise InputError(f"{path}: a suite file has a table [[dataset]] for each data set")
    published = read_published(path.parent / suite["published"]) if "published" in suite else {}
    for number, table in enumerate(tables, start=1):
        where = f"{path}, dataset {table.get('name', number)}"
        _check(table, where)
        data = Data(
            _located(table["points"], path.parent),
            _located(table["labels"], path.parent) if "labels" in table else None,
            table.get("k"),
            table.get("rows"),
            table.get("standardize", False),
        )
        for must, cannot in table["links"]:
            for seed in table.get("seeds", [0]):
                name = table["name"]
                source = Generated(data, must, cannot, seed)
                yield Case(name, must, cannot, seed, source, published.get((name, must, cannot, seed)))


def _check(table: dict[str, Any], where: str) -> None:
    for key, value in table.items():
        if key not in _KEYS:
            raise InputError(f"{where}: unknown key {key!r}; known are {', '.join(_KEYS)}")
        kind = _KEYS[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise InputError(f"{where}: {key!r} must be of type {kind.__name__}; got {value!r}")
    for key in ("name", "points", "links"):
        if key not in table:
            raise InputError(f"{where}: key {key!r} is missing")
    for pair in table["links"]:
        if not (isinstance(pair, list) and len(pair) == 2 and all(_is_count(number) for number in pair)):
            raise InputError(f"{where}: 'links' holds pairs [must-links, cannot-links]; got {pair!r}")
    for seed in table.get("seeds", []):
        if not _is_count(seed):
            raise InputError(f"{where}: 'seeds' holds integers from 0; got {seed!r}")
    if table.get("rows", 1) < 1:
        raise InputError(f"{where}: 'rows' must be at least 1; got {table['rows']}")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _located(name: str, folder: Path) -> str:
    return name if name.startswith(_BUILT_IN_PREFIX) else str(folder / name)


@cache
def _load(data: Data) -> tuple[FloatArray, list[Any], int]:
    labels: list[Any] = []
    k = data.k
    if data.points.startswith(_BUILT_IN_PREFIX):
        points, classes = _built_in(data.points.removeprefix(_BUILT_IN_PREFIX))
        labels = classes.tolist()
    else:
        file = read_points(Path(data.points))
        points, k = file.values, data.k if data.k is not None else file.n_clusters
    if data.labels is not None:
        labels = list(read_labels(Path(data.labels)))
    if labels and len(labels) != len(points):
        raise InputError(f"{data.labels}: {len(labels)} labels for {len(points)} points")
    if k is None:
        raise InputError(f"{data.points}: say how many clusters with the key 'k'")
    if data.rows is not None and data.rows < len(points):
        # Evenly spaced: every class of a sorted file stays, and the choice needs no random generator to repeat.
        kept = np.linspace(0, len(points) - 1, data.rows).round().astype(np.int64)
        points, labels = points[kept], [labels[i] for i in kept] if labels else []
    return points, labels, k


def _built_in(name: str) -> tuple[FloatArray, FloatArray]:
    if name not in BUILT_IN:
        raise InputError(f"sklearn:{name}: no such data; there are {', '.join(BUILT_IN)}")
    from sklearn import datasets  # noqa: PLC0415  # slow to import

    points, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
    return np.asarray(points, dtype=np.float64), classes
