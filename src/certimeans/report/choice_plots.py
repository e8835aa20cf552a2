"""A picture of several numbers of clusters: the elbow, with proven intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from certimeans.analysis.choices import Choice
from certimeans.report.colours import BOUND, INCUMBENT
from certimeans.report.figures import make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_choices(choices: Sequence[Choice], ax: Axes | None = None) -> Axes:
    """Draw cost and proven lower bound over k: the optimum lies in between."""
    ax = make_axes(ax, 5.2, 3.4)
    shown = [c for c in choices if c.cost is not None and c.lower_bound is not None]
    counts = [c.k for c in shown]
    costs = [c.cost or 0.0 for c in shown]
    bounds = [c.lower_bound or 0.0 for c in shown]
    ax.plot(counts, costs, "o-", color=INCUMBENT, lw=1.6, ms=5, label="best clustering found", zorder=3)
    ax.vlines(counts, bounds, costs, color=BOUND, lw=3, alpha=0.6, label="proven: the optimum is in here", zorder=2)
    ax.scatter(counts, bounds, marker="_", s=90, color=BOUND, zorder=4)
    ax.set_xticks(counts if len(counts) <= 20 else counts[:: len(counts) // 10])
    ax.set_ylim(bottom=min(0.0, *bounds) if bounds else 0.0)
    ax.set_xlabel("number of clusters, k")
    ax.set_ylabel("cost")
    ax.set_title("cost by number of clusters")
    if shown:
        ax.legend(frameon=False)
    else:
        ax.text(0.5, 0.5, "no clustering was found", ha="center", va="center", transform=ax.transAxes)
    return ax
