"""A picture of what constraints cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from certimeans.prices import ConstraintPrices
from certimeans.report.colours import BOUND, INCUMBENT, UNASSIGNED
from certimeans.report.figures import make_axes, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS = 25


def plot_prices(prices: ConstraintPrices, ax: Axes | None = None) -> Axes:
    """Draw the highest prices as bars: full to what is proven at least, pale to what is proven at most."""
    costly = [price for price in prices if price.high > 0 and math.isfinite(price.percent_high)]
    shown = costly[:_MOST_BARS]
    ax = make_axes(ax, 5.6, 1.7 + 0.25 * len(shown))
    if not shown:
        ax.set_axis_off()
        ax.text(0.5, 0.5, "no constraint has a price", ha="center", va="center", transform=ax.transAxes)
        return ax
    rows = range(len(shown))
    ax.barh(rows, [price.percent_high for price in shown], color=UNASSIGNED, alpha=0.35, label="at most", height=0.7)
    ax.barh(rows, [price.percent_low for price in shown], color=INCUMBENT, label="at least (proven)", height=0.7)
    ax.set_yticks(rows, [plain(price.title(), 36) for price in shown], parse_math=False)
    for tick, price in zip(ax.get_yticklabels(), shown, strict=True):
        tick.set_color(BOUND if price.kind == "must-link" else tick.get_color())
    ax.invert_yaxis()
    ax.set_xlim(0, 1.05 * max(price.percent_high for price in shown))
    ax.set_xlabel("price, in % of the optimal cost")
    highest = f"the {len(shown)} highest of {len(costly)}, of " if len(shown) < len(costly) else f"{len(shown)} of "
    ax.set_title(f"what constraints cost\n({highest}{len(prices)} have a price)")  # long labels leave little room
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.5 / (0.5 + 0.25 * len(shown))), ncols=2, frameon=False)
    return ax
