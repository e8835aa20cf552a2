"""Pictures of a benchmark: box plots of time, share solved over time, and speed-ups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from certimeans.bench.rows import Row
from certimeans.bench.tables import KINDS, in_order
from certimeans.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind people can tell apart.
OURS, THEIRS = "#0072B2", "#D55E00"
KIND_COLOURS = {"ML only": "#0072B2", "CL only": "#D55E00", "both": "#009E73", "none": "#555555"}
KIND_MARKERS = {"ML only": "o", "CL only": "^", "both": "s", "none": "x"}
STYLE: dict[str, object] = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "font.size": 9.0,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "certimeans",  # the same picture is the same file
}


def draw_plots(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draw all plots that the rows allow, each as PNG and SVG.

    Raises
    ------
    InputError
        If matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415  # an extra
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise InputError("plots need matplotlib: pip install 'certimeans[plot]'") from None

    rows = [row for row in in_order(rows) if math.isfinite(row.time)]
    if not rows:
        return []
    has_published = any(row.speed_up > 0 for row in rows)
    written = []
    with mpl.rc_context(STYLE):
        figures: dict[str, Figure] = {"times": draw_times(rows, Figure()), "profile": draw_profile(rows, Figure())}
        if has_published:
            figures["speed_up"] = draw_speed_ups(rows, Figure())
        for name, figure in figures.items():
            for suffix in ("png", "svg"):
                path = folder / f"{name}.{suffix}"
                figure.savefig(path, metadata={"Date": None} if suffix == "svg" else None)
                written.append(path)
    return written


def draw_times(rows: Sequence[Row], figure: Figure) -> Figure:
    """Draw box plots of the time by data set, a panel for each kind of constraints, as in the paper."""
    kinds = [kind for kind in KINDS if any(row.kind == kind for row in rows)]
    names = list(dict.fromkeys(row.dataset for row in rows))
    has_published = any(row.speed_up > 0 for row in rows)
    figure.set_size_inches(max(5.0, 1.6 + 0.62 * len(names) * (1.4 if has_published else 1)), 0.6 + 2.3 * len(kinds))
    panels = figure.subplots(len(kinds), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for panel, kind in zip(panels, kinds, strict=True):
        group = [row for row in rows if row.kind == kind]
        ours = [[row.time for row in group if row.dataset == name] for name in names]
        shift = 0.19 if has_published else 0.0
        _boxes(panel, ours, -shift, OURS, "certimeans")
        if has_published:
            compared = [row for row in group if row.speed_up > 0]
            theirs = [[row.published_time for row in compared if row.dataset == name] for name in names]
            _boxes(panel, theirs, shift, THEIRS, "published")
        panel.set_title(KINDS[kind], loc="left", fontsize=9)
        panel.set_yscale("log")
        panel.set_ylabel("time (s)")
        _plain_numbers(panel.yaxis)
        panel.grid(visible=False, axis="x")
        panel.set_xlim(-0.6, len(names) - 0.4)
    many = len(names) > 4
    panels[-1].set_xticks(
        range(len(names)), names, rotation=30 if many else 0, rotation_mode="anchor", ha="right" if many else "center"
    )
    if has_published:
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure


def _plain_numbers(axis: Axis) -> None:
    """Write 0.1 and 100 at the ticks of a logarithmic axis rather than powers."""
    axis.set_major_formatter(lambda value, _: f"{value:,g}")


def _boxes(panel: Axes, groups: Sequence[Sequence[float]], shift: float, colour: str, label: str) -> None:
    places = [place + shift for place, group in enumerate(groups) if group]
    line = {"color": colour, "linewidth": 1.0}
    panel.boxplot(
        [group for group in groups if group],
        positions=places,
        widths=0.3,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": f"{colour}40", "edgecolor": colour},
        medianprops={"color": colour, "linewidth": 2.0},
        whiskerprops=line,
        capprops=line,
        flierprops={"marker": ".", "markersize": 4, "markerfacecolor": colour, "markeredgecolor": colour},
    )
    panel.plot([], [], color=colour, linewidth=5, alpha=0.6, label=label)


def draw_profile(rows: Sequence[Row], figure: Figure) -> Figure:
    """Draw the share of instances solved within a time: ours, and the published one where there is one."""
    figure.set_size_inches(5.4, 3.4)
    panel = figure.subplots()
    compared = [row for row in rows if row.speed_up > 0]
    series: list[tuple[str, str, Any, list[float], int]] = []
    if compared:
        times = [row.published_time for row in compared if row.published is not None and row.published.is_solved]
        series.append(("published", THEIRS, (0, (4, 1.5)), times, len(compared)))
    group = compared or rows
    series.insert(0, ("certimeans", OURS, "-", [row.time for row in group if row.is_solved], len(group)))
    end = 1.5 * max((max(times) for *_, times, _ in series if times), default=1.0)
    for label, colour, style, times, count in series:
        # Each step is drawn to the end, so that the share of instances never solved is seen.
        steps = np.concatenate([np.sort(times), [end]])
        shares = 100 * np.concatenate([np.arange(1, len(times) + 1), [len(times)]]) / count
        panel.step(steps, shares, where="post", color=colour, linestyle=style, linewidth=1.8, label=label)
    panel.set_xscale("log")
    _plain_numbers(panel.xaxis)
    panel.set_ylim(0, 104)
    panel.set_xlabel("time (s)")
    panel.set_ylabel(f"solved, % of {len(group)} instances")
    panel.legend(loc="lower right")
    return figure


def draw_speed_ups(rows: Sequence[Row], figure: Figure) -> Figure:
    """Draw published time over ours against the published time, by kind of constraints."""
    figure.set_size_inches(5.4, 3.6)
    panel = figure.subplots()
    for kind, title in KINDS.items():
        group = [row for row in rows if row.kind == kind and row.speed_up > 0]
        if group:
            panel.scatter(
                [row.published_time for row in group],
                [row.speed_up for row in group],
                s=18,
                marker=KIND_MARKERS[kind],
                color=KIND_COLOURS[kind],
                alpha=0.75,
                linewidths=0,
                label=title,
            )
    ups = np.array([row.speed_up for row in rows if row.speed_up > 0])
    mean = float(np.exp(np.log(ups).mean()))
    panel.axhline(mean, color="#333333", linewidth=1.0, linestyle="--", label=f"geometric mean: {mean:.0f}")
    panel.axhline(1.0, color="#333333", linewidth=1.0)
    panel.set_xscale("log")
    panel.set_yscale("log")
    _plain_numbers(panel.xaxis)
    _plain_numbers(panel.yaxis)
    panel.set_ylim(min(0.7, 0.7 * ups.min()), 1.8 * ups.max())
    panel.set_xlabel("published time (s)")
    panel.set_ylabel("published time / ours")
    figure.legend(*panel.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return figure
