"""Where instances come from: a folder in the paper's layout, a suite file, or the suite that ships with the package.

A folder has ``datasets/NAME.txt`` (first line ``n d k``), ``constraints/NAME/ml_A_cl_B_S.txt`` and, optionally,
``published.csv`` with results to compare with. Suite files are described in :mod:`certimeans.bench.generated`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Protocol

from certimeans.bench.published import Published, read_published
from certimeans.errors import InputError
from certimeans.problem.instance import Instance
from certimeans.problem.io.files import PointsFile, read_constraints, read_points

BUNDLED = Path(__file__).parent / "suites"
_FILE_NAME = re.compile(r"ml_(\d+)_cl_(\d+)_(\d+)\.txt")


class Source(Protocol):
    """Builds the instance of a case; picklable, so that another process can do it."""

    def load(self) -> Instance:
        """Read or make the instance."""


@dataclass(frozen=True)
class Case:
    """One instance of a suite, not yet read.

    Attributes
    ----------
    dataset, must_links, cannot_links, seed
        Its name: data set, number of constraints of each kind, and the seed they were drawn with.
    source
        How to get it.
    published
        A result to compare with, if there is one.
    """

    dataset: str
    must_links: int
    cannot_links: int
    seed: int
    source: Source
    published: Published | None = None

    @property
    def name(self) -> str:
        """Return a short name, such as ``iris 25 25 0``."""
        return f"{self.dataset} {self.must_links} {self.cannot_links} {self.seed}"

    @cached_property
    def instance(self) -> Instance:
        """The instance, read when first asked for."""
        return self.source.load()


@dataclass(frozen=True)
class Files:
    """An instance from a file of points and a file of constraints."""

    points: Path
    constraints: Path

    def load(self) -> Instance:
        """Read both."""
        points = _read_points(self.points)
        if points.n_clusters is None:
            raise InputError(f"{self.points}: the first line must be 'n d k', so that the number of clusters is known")
        constraints = read_constraints(self.constraints, n_points=len(points.values))
        return Instance(points.values, points.n_clusters, constraints)


def find_cases(suite: str | Path, datasets: Sequence[str] | None = None) -> list[Case]:
    """List the instances of a suite.

    Parameters
    ----------
    suite
        A folder, a suite file, or the name of a suite that ships with the package (``small``).
    datasets
        Only these data sets.

    Raises
    ------
    InputError
        If there is no such suite, or no such data set in it.
    """
    path = Path(suite)
    if path.is_dir():
        cases = list(cases_in_folder(path))
    else:
        from certimeans.bench.generated import cases_in_file  # noqa: PLC0415  # it needs Case

        bundled = BUNDLED / f"{suite}.toml"
        if not path.is_file() and not bundled.is_file():
            names = ", ".join(sorted(file.stem for file in BUNDLED.glob("*.toml")))
            raise InputError(f"{suite}: no such folder or suite file, and no bundled suite of that name ({names})")
        cases = list(cases_in_file(path if path.is_file() else bundled))
    known = list(dict.fromkeys(case.dataset for case in cases))
    missing = [name for name in datasets or () if name not in known]
    if missing:
        raise InputError(f"{suite}: no data set {missing[0]!r}; there are {', '.join(known) or 'none'}")
    return cases if datasets is None else [case for case in cases if case.dataset in datasets]


def cases_in_folder(folder: Path) -> Iterator[Case]:
    """List the instances of a folder by data set, number of constraints and seed."""
    if not (folder / "constraints").is_dir():
        raise InputError(f"{folder}: a folder of instances has folders 'datasets' and 'constraints'")
    for directory in sorted(path for path in (folder / "constraints").iterdir() if path.is_dir()):
        keys = [
            tuple(int(number) for number in match.groups())
            for path in directory.iterdir()
            if (match := _FILE_NAME.fullmatch(path.name))
        ]
        for must, cannot, seed in sorted(keys):
            yield _in_folder(folder, directory.name, must, cannot, seed)


def load_case(folder: Path, name: str) -> Case:
    """Find one instance of a folder by its short name, such as ``iris 25 25 0``."""
    dataset, *numbers = name.split()
    must, cannot, seed = (int(number) for number in numbers)
    return _in_folder(folder, dataset, must, cannot, seed)


def _in_folder(folder: Path, dataset: str, must: int, cannot: int, seed: int) -> Case:
    source = Files(
        folder / "datasets" / f"{dataset}.txt", folder / "constraints" / dataset / f"ml_{must}_cl_{cannot}_{seed}.txt"
    )
    published = read_published(folder / "published.csv").get((dataset, must, cannot, seed))
    return Case(dataset, must, cannot, seed, source, published)


@cache
def _read_points(path: Path) -> PointsFile:
    return read_points(path)
