"""What the rows of the scaling study say: times and gaps as points of a curve, and power laws where they fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.suite.large_instances import Target
from benchmarks.suite.scaling_instances import Plan, Series, Setting, Study

Rows = dict[tuple[str, float, float | None], dict[str, Any]]
"""Rows of runs by name, gap and time limit."""

EARLY = 10.0
"""Seconds: the gap is told then, too."""
LEAST_POINTS = 4
"""A line through fewer says nothing about the next point."""
WORST_FACTOR = 1.2
"""No point may be farther from the line than this, up or down."""
_FLAT = 0.1
"""Slopes below it in size are told as no growth: a tenfold value changes the measure by a quarter at most."""


@dataclass(frozen=True)
class Point:
    """One measurement.

    Attributes
    ----------
    x, y
        The value that was varied, and what was measured.
    is_exact
        Whether ``y`` is the measure itself; else the run ended before, at its time limit or because its gap was
        reached, and ``y`` is only where it ended.
    """

    x: float
    y: float
    is_exact: bool = True


@dataclass(frozen=True)
class PowerLaw:
    """The line ``y = factor * x**slope``.

    Attributes
    ----------
    first
        The smallest x from which on it holds.
    error
        Standard error of the slope.
    worst
        How far the farthest point is from the line, as a factor.
    last
        The slope between the last two points: far from the other one, the line says little about what comes next.
    """

    slope: float
    factor: float
    first: float
    count: int
    error: float
    worst: float
    last: float

    @property
    def is_flat(self) -> bool:
        """Whether there is no growth to speak of."""
        return abs(self.slope) < _FLAT

    def at(self, x: float) -> float:
        """Return the value of the line."""
        return float(self.factor * x**self.slope)


def fit_power_law(points: Sequence[Point]) -> PowerLaw | None:
    """Fit a power law to the large end of a curve: to as many points as it fits; ``None`` if to fewer than four.

    Points at which a run ended early are left out, and so are those at which either value is 0.
    """
    usable = sorted((point.x, point.y) for point in points if point.is_exact and point.x > 0 and point.y > 0)
    for start in range(len(usable) - LEAST_POINTS + 1):
        law = _fit(usable[start:])
        if law.worst <= WORST_FACTOR:
            return law
    return None


def _fit(pairs: Sequence[tuple[float, float]]) -> PowerLaw:
    x, y = np.log(np.array(pairs)).T
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread
    rest = y - y.mean() - slope * centred
    error = math.sqrt(float(rest @ rest) / (len(x) - 2) / spread)
    factor, worst = (math.exp(value) for value in (y.mean() - slope * x.mean(), np.abs(rest).max()))
    last = float((y[-1] - y[-2]) / (x[-1] - x[-2]))
    return PowerLaw(slope, factor, pairs[0][0], len(x), error, worst, last)


def time_point(x: float, row: dict[str, Any]) -> Point | None:
    """Return how long a run took to reach its gap, or that it ended before; ``None`` if it failed."""
    if row.get("gap") is None:
        return None
    return Point(x, row["time"], is_exact=row["gap"] <= row["target_gap"])


def gap_point(x: float, row: dict[str, Any], seconds: float) -> Point | None:
    """Return the gap that a run had proven after so many seconds; ``None`` if it failed or had no clustering yet.

    A run that ended before because its gap was as small as asked for counts with that, however much smaller it was.
    """
    if row.get("gap") is None:
        return None
    told = row["over_time"]
    if f"{seconds:g}" in told:
        gap = told[f"{seconds:g}"]
        return None if gap is None else Point(x, gap)
    return Point(x, max(row["gap"], row["target_gap"]), is_exact=row["gap"] > row["target_gap"])


@dataclass(frozen=True)
class Curve:
    """Points that belong together.

    Attributes
    ----------
    is_minor
        Whether it is only drawn beside another.
    """

    label: str
    points: tuple[Point, ...]
    is_minor: bool = False


def row_of(rows: Rows, setting: Setting, target: Target) -> dict[str, Any]:
    """Return the row of a run; an empty one if there is none."""
    return rows.get((setting.name, target.gap, target.seconds), {})


def time_curves(plan: Plan, study: Study, rows: Rows) -> list[Curve]:
    """Return the time to the gap, a curve for each series."""
    return [
        Curve(
            series.label,
            tuple(
                filter(
                    None, (time_point(x, row_of(rows, setting, plan.to_gap)) for x, setting in series.settings.items())
                )
            ),
        )
        for series in study.series
    ]


def gap_curves(plan: Plan, study: Study, rows: Rows) -> list[Curve]:
    """Return the gap in the time, a curve for each series; if there is one only, also what it was earlier."""

    def curve(series: Series, label: str, seconds: float, *, is_minor: bool = False) -> Curve:
        found = (gap_point(x, row_of(rows, setting, plan.in_time), seconds) for x, setting in series.settings.items())
        return Curve(label, tuple(filter(None, found)), is_minor)

    limit = plan.in_time.seconds
    if len(study.series) > 1 or limit <= EARLY:
        return [curve(series, series.label, limit) for series in study.series]
    [only] = study.series
    return [curve(only, f"after {limit:g} s", limit), curve(only, f"after {EARLY:g} s", EARLY, is_minor=True)]
