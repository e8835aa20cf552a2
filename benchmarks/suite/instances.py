"""Load folders of instances in the paper's layout.

``datasets/NAME.txt`` (first line ``n d k``), ``constraints/NAME/ml_A_cl_B_S.txt`` and ``published.csv`` with the
paper's results. Rows without files are left out; instances without a row have no published result.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from certimeans.problem.files import PointsFile, read_constraints, read_points
from certimeans.problem.instance import Instance

NOT_COMPARABLE = frozenset({"vertebral"})
"""Data sets whose published values were computed from other constraint files than the published ones."""

_NAME = re.compile(r"ml_(\d+)_cl_(\d+)_(\d+)\.txt")


@dataclass(frozen=True)
class Published:
    """The paper's own result for an instance."""

    size: int
    cost: float
    root_gap_percent: float
    nodes: int
    seconds: float


@dataclass(frozen=True, eq=False)
class PaperInstance:
    """One instance of the paper."""

    dataset: str
    must_links: int
    cannot_links: int
    seed: int
    instance: Instance
    published: Published | None

    @property
    def name(self) -> str:
        """Return a short name, such as ``iris 25 25 0``."""
        return f"{self.dataset} {self.must_links} {self.cannot_links} {self.seed}"

    @property
    def is_comparable(self) -> bool:
        """Whether the published result belongs to this constraint set."""
        return self.published is not None and self.dataset not in NOT_COMPARABLE

    def reaches_published(self, cost: float) -> bool:
        """Whether a cost is at most the published one, which is rounded to six digits."""
        if self.published is None:
            return False
        unit = 10.0 ** (math.floor(math.log10(abs(self.published.cost))) - 5)
        return cost <= self.published.cost + 0.51 * unit


def load_instances(folder: Path, datasets: list[str] | None = None) -> Iterator[PaperInstance]:
    """Yield the instances of a folder by data set, number of constraints and seed."""
    published = _read_published(folder / "published.csv")
    for directory in sorted((folder / "constraints").iterdir()):
        if datasets is not None and directory.name not in datasets:
            continue
        keys = [
            tuple(int(x) for x in match.groups()) for path in directory.iterdir() if (match := _NAME.match(path.name))
        ]
        for must, cannot, seed in sorted(keys):
            yield _load(folder, directory.name, must, cannot, seed, published)


def load_instance(folder: Path, name: str) -> PaperInstance:
    """Load one instance by its short name."""
    dataset, *numbers = name.split()
    must, cannot, seed = (int(number) for number in numbers)
    return _load(folder, dataset, must, cannot, seed, _read_published(folder / "published.csv"))


def _load(
    folder: Path, dataset: str, must: int, cannot: int, seed: int, published: dict[tuple[str, ...], Published]
) -> PaperInstance:
    points = _points(folder / "datasets" / f"{dataset}.txt")
    if points.n_clusters is None:
        raise ValueError(f"{dataset}: the first line must be 'n d k'")
    constraints = read_constraints(folder / "constraints" / dataset / f"ml_{must}_cl_{cannot}_{seed}.txt")
    instance = Instance(points.values, points.n_clusters, constraints)
    return PaperInstance(
        dataset, must, cannot, seed, instance, published.get((dataset, str(must), str(cannot), str(seed)))
    )


@cache
def _points(path: Path) -> PointsFile:
    return read_points(path)


@cache
def _read_published(path: Path) -> dict[tuple[str, ...], Published]:
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["dataset"], row["ml"], row["cl"], row["seed"]): Published(
                int(row["size"]), float(row["f"]), float(row["gap0"]), int(row["nodes"]), float(row["time"])
            )
            for row in csv.DictReader(file)
        }
