"""What the scaling study varies: blobs of one kind, with one thing different at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from benchmarks.suite.large_instances import LargeInstance, Target, linked_blobs


@dataclass(frozen=True)
class Setting:
    """An instance: the number of points, features and clusters, the spread of each cluster, and links per point."""

    n: int = 10_000
    d: int = 10
    k: int = 5
    sigma: float = 2.5
    must_links: float = 0.0
    cannot_links: float = 0.0

    @property
    def name(self) -> str:
        """All of it in one line."""
        shown = f"n={self.n} d={self.d} k={self.k} sigma={self.sigma:.3g}"
        return shown + f" must-links={self.must_links:g} cannot-links={self.cannot_links:g}"

    def instance(self, target: Target) -> LargeInstance:
        """Return what makes the instance."""
        links = round(self.must_links * self.n), round(self.cannot_links * self.n)
        load = linked_blobs(self.n, self.d, self.k, self.sigma, *links)
        return LargeInstance(self.name, self.name, self.k, load, (target,))


@dataclass(frozen=True)
class Series:
    """Settings that differ in one thing.

    Attributes
    ----------
    label
        What distinguishes the series from others of the same study; empty if there are none.
    settings
        By the value that is varied.
    """

    label: str
    settings: dict[float, Setting]


@dataclass(frozen=True)
class Study:
    """What is varied, and how it is written.

    Attributes
    ----------
    name
        On the command line and in the names of files.
    title, axis
        Above its table, and below its plot.
    many
        What to call more of it: "ten times as many points".
    """

    name: str
    title: str
    axis: str
    many: str
    series: tuple[Series, ...]

    def __iter__(self) -> Iterator[Setting]:
        return (setting for series in self.series for setting in series.settings.values())


@dataclass(frozen=True)
class Plan:
    """All that is measured.

    Attributes
    ----------
    to_gap
        The gap to prove, and the time limit for that: how long does it take?
    in_time
        The time that there is, and a gap so small that it counts as closed: how far does it get?
    dask_points, dask_part_size, dask_gap
        The run by parts on Dask: its points, points per part and gap.
    """

    base: Setting
    studies: tuple[Study, ...]
    to_gap: Target
    in_time: Target
    dask_points: int
    dask_part_size: int
    dask_gap: float

    @property
    def targets(self) -> tuple[Target, Target]:
        """Both questions."""
        return self.to_gap, self.in_time


def full_plan() -> Plan:
    """Return the study."""
    base = Setting()
    values = (
        (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
        (2, 3, 5, 10, 20, 30),
        (2, 5, 10, 50, 100, 500),
        (0.0, 0.25, 0.5, 1.0, 2.0, 4.0),
    )
    return Plan(base, _studies(base, *values), Target(0.01, 120.0), Target(1e-4, 30.0), 100_000, 400, 0.005)


def quick_plan() -> Plan:
    """Return a study of two minutes, which only shows that everything works."""
    base = Setting(n=3_000)
    values = (1_000, 3_000, 6_000), (2, 5), (5, 10), (0.0, 1.0)
    return Plan(base, _studies(base, *values), Target(0.01, 10.0), Target(1e-4, 3.0), 6_000, 200, 0.01)


def _studies(
    base: Setting,
    points: tuple[int, ...],
    clusters: tuple[int, ...],
    features: tuple[int, ...],
    links: tuple[float, ...],
) -> tuple[Study, ...]:
    def same_overlap(d: float) -> Setting:
        """Centres are farther apart in more dimensions, by the root of their number; so let the clusters grow."""
        return replace(base, d=int(d), sigma=base.sigma * math.sqrt(d / base.d))

    return (
        Study("n", "Points", "points", "points", (_series("", points, lambda n: replace(base, n=int(n))),)),
        Study("k", "Clusters", "clusters", "clusters", (_series("", clusters, lambda k: replace(base, k=int(k))),)),
        Study(
            "d",
            "Features",
            "features",
            "features",
            (
                _series("same spread", features, lambda d: replace(base, d=int(d))),
                _series("same overlap", features, same_overlap),
            ),
        ),
        Study(
            "links",
            "Constraints",
            "constraints per point",
            "constraints",
            (
                _series("cannot-links", links, lambda per_point: replace(base, cannot_links=per_point)),
                _series("must-links", links, lambda per_point: replace(base, must_links=per_point)),
                _series("half of each", links, lambda each: replace(base, must_links=each / 2, cannot_links=each / 2)),
            ),
        ),
    )


def _series(label: str, values: tuple[float, ...], make: Callable[[float], Setting]) -> Series:
    return Series(label, {value: make(value) for value in values})
