"""The plots of the scaling study: time to a gap, and gap in a time, each against what was varied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.suite.scaling_fit import Curve, Point, PowerLaw, Rows, fit_power_law, gap_curves, time_curves
from benchmarks.suite.scaling_instances import Plan, Study
from certimeans.bench.plots import STYLE
from certimeans.report.colours import MARKERS, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (PALETTE[0], PALETTE[4], PALETTE[2])
_LEAST_RANGE = 20.0
_GREY = "#666666"
_DASHED: dict[str, Any] = {"color": _GREY, "linewidth": 0.9, "linestyle": (0, (4, 2)), "zorder": 1}


def draw_study(plan: Plan, study: Study, rows: Rows, path: Path) -> None:
    """Draw the two panels of a study; nothing if it has no rows."""
    import matplotlib as mpl  # noqa: PLC0415  # an extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    times, gaps = time_curves(plan, study, rows), gap_curves(plan, study, rows)
    if not any(curve.points for curve in times):
        return
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.0, 3.6))
        left, right = figure.subplots(1, 2)
        _draw(left, study, times, 1.0)
        left.set_ylabel("seconds")
        _head(
            left, f"time to a proven gap of {100 * plan.to_gap.gap:g} %", "dashed: the time limit; hollow: not reached"
        )
        left.axhline(plan.to_gap.seconds, **_DASHED)
        _draw(right, study, gaps, 100.0)
        right.set_ylabel("gap, %")
        seconds = plan.in_time.seconds
        _head(
            right, f"proven gap after {seconds:g} s", f"dashed: counts as closed; hollow: closed before {seconds:g} s"
        )
        right.axhline(100 * plan.in_time.gap, **_DASHED)
        for panel in (left, right):
            _show_a_decade(panel)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)


def _draw(panel: Axes, study: Study, curves: Sequence[Curve], unit: float) -> None:
    """Draw curves; hollow marks are runs that ended before the measure was known."""
    for place, curve in enumerate(curves):
        colour, marker = _COLOURS[place], MARKERS[place]
        xs, ys = [point.x for point in curve.points], [unit * point.y for point in curve.points]
        line = ":" if curve.is_minor else "-"
        panel.plot(
            xs, ys, color=colour, linestyle=line, linewidth=1.2, marker=marker, markersize=5, label=_label(curve)
        )
        hollow = [point for point in curve.points if not point.is_exact]
        xs, ys = [point.x for point in hollow], [unit * point.y for point in hollow]
        panel.plot(xs, ys, linestyle="", marker=marker, markersize=5, color=colour, markerfacecolor="white")
        law = fit_power_law(curve.points)
        if law is not None and not curve.is_minor:
            _draw_law(panel, law, curve.points, colour, unit)
    _scale(panel, study)
    if panel.get_legend_handles_labels()[1]:
        panel.legend(loc="best", fontsize=8)


def _label(curve: Curve) -> str:
    law = None if curve.is_minor else fit_power_law(curve.points)
    slope = "" if law is None else f"slope {law.slope:.2f}"
    return ", ".join(filter(None, [curve.label, slope])) or "_"  # matplotlib's way to have no label


def _draw_law(panel: Axes, law: PowerLaw, points: Sequence[Point], colour: str, unit: float) -> None:
    ends = np.array([law.first, max(point.x for point in points if point.is_exact)])
    values = [unit * law.at(x) for x in ends]
    panel.plot(ends, values, color=colour, linewidth=5, alpha=0.18, solid_capstyle="butt")


def _head(panel: Axes, title: str, note: str) -> None:
    panel.set_title(f"{title}\n", loc="left", fontsize=9)
    panel.annotate(note, (0.0, 1.0), xycoords="axes fraction", xytext=(0, 6), textcoords="offset points", fontsize=7.5,
                   color=_GREY)  # fmt: skip


def _scale(panel: Axes, study: Study) -> None:
    values = sorted({value for series in study.series for value in series.settings})
    least = min(value for value in values if value > 0)
    if values[0] == 0:
        panel.set_xscale("symlog", linthresh=least, linscale=0.6)
    else:
        panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xticks(values, [short(value) for value in values], minor=False)
    panel.xaxis.set_tick_params(which="minor", length=0)
    panel.set_xticks([], minor=True)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    panel.set_xlabel(study.axis)


def _show_a_decade(panel: Axes) -> None:
    """Leave room below if all values are alike: an axis needs two numbers, and little changes should look little."""
    low, high = panel.get_ylim()
    panel.set_ylim(min(low, high / _LEAST_RANGE), high)
    panel.yaxis.set_minor_formatter(lambda *_: "")


def short(value: float) -> str:
    """Write 1k and 1M for thousands and millions."""
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= unit and value % unit == 0:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"
