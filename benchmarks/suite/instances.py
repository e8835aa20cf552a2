"""The instances of the paper, read from a folder that holds its data.

The folder has ``datasets/NAME.txt`` (first line ``n d k``, then one point a line), ``constraints/NAME/ml_A_cl_B_S.txt``
(lines ``ML i j`` or ``CL i j``) and ``published.csv`` with the paper's results. None of it is part of this repository.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from certimeans._typing import FloatArray
from certimeans.problem.instance import Instance

NOT_COMPARABLE = frozenset({"vertebral"})
"""Data sets whose published values belong to other constraint files than the ones published."""


@dataclass(frozen=True)
class BenchmarkInstance:
    """One constraint set of one data set.

    Attributes
    ----------
    n_must_link, n_cannot_link, seed
        As in the name of the constraint file.
    published
        The paper's objective value, six digits; ``None`` if it has none for these data.
    """

    dataset: str
    k: int
    n_must_link: int
    n_cannot_link: int
    seed: int
    instance: Instance
    published: float | None

    @property
    def name(self) -> str:
        """Short name, e.g. ``iris 0 50 1``."""
        return f"{self.dataset} {self.n_must_link} {self.n_cannot_link} {self.seed}"

    @property
    def is_comparable(self) -> bool:
        """Whether the published value belongs to this constraint set."""
        return self.published is not None and self.dataset not in NOT_COMPARABLE

    def reaches_published(self, cost: float) -> bool:
        """Whether a cost is at most the published value, which is rounded to six digits."""
        if self.published is None:
            return False
        unit = 10.0 ** (np.floor(np.log10(abs(self.published))) - 5)
        return bool(cost <= self.published + 0.51 * unit)


def load_instances(folder: Path, names: Collection[str] | None = None) -> Iterator[BenchmarkInstance]:
    """Read all instances of a folder, or those of the named data sets, ordered by data set and constraint set."""
    published = _read_published(folder / "published.csv")
    for path in sorted((folder / "datasets").glob("*.txt")):
        dataset = path.stem
        if names is not None and dataset not in names:
            continue
        points, k = _read_points(path)
        found = []
        for file in (folder / "constraints" / dataset).glob("ml_*_cl_*_*.txt"):
            numbers = re.fullmatch(r"ml_(\d+)_cl_(\d+)_(\d+)", file.stem)
            if numbers is not None:
                a, b, seed = (int(number) for number in numbers.groups())
                found.append(((a, b, seed), file))
        for (a, b, seed), file in sorted(found):
            instance = _read_instance(points, k, file)
            yield BenchmarkInstance(dataset, k, a, b, seed, instance, published.get((dataset, a, b, seed)))


def _read_published(path: Path) -> dict[tuple[str, int, int, int], float]:
    with path.open(newline="") as file:
        return {
            (row["dataset"], int(row["ml"]), int(row["cl"]), int(row["seed"])): float(row["f"])
            for row in csv.DictReader(file)
        }


def _read_points(path: Path) -> tuple[FloatArray, int]:
    with path.open() as file:
        _, _, k = (int(number) for number in file.readline().split())
        return np.loadtxt(file, ndmin=2), k


def _read_instance(points: FloatArray, k: int, path: Path) -> Instance:
    pairs: dict[str, list[tuple[int, int]]] = {"ML": [], "CL": []}
    for line in path.read_text().splitlines():
        if line.strip():
            kind, i, j = line.split()
            pairs[kind].append((int(i), int(j)))
    return Instance.create(points, k, must_link=pairs["ML"], cannot_link=pairs["CL"])
