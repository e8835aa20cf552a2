"""Pictures of the search: how the bounds met, and the tree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from certimeans._typing import FloatArray
from certimeans.report.colours import BOUND, INCUMBENT, NODE_LOOKS, UNASSIGNED
from certimeans.report.figures import ink, make_axes, paper, plain
from certimeans.report.tree_layout import PlacedNode, place_nodes
from certimeans.result import SolveResult, relative_gap
from certimeans.search.node import AnyDecision, SizeDecision
from certimeans.search.tree import TreeStatus

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SMALLEST_GAP = 1e-8  # a closed gap has no logarithm
_LEAST_SPAN = 2e-4  # of the cost
_ZOOM = 0.1  # of the cost
_MOST_NODES = 400
_MOST_LABELLED = 15
_LONGEST_ON_BRANCH = 6  # characters of a name; two longer ones would cover the other branch
_MARKER_SIZE = 70.0


def plot_bounds(result: SolveResult, ax: Axes | None = None) -> Axes:
    """Draw the cost of the best clustering and the proven bound over time, around the place where they meet."""
    ax = make_axes(ax, 5.2, 3.2)
    seconds, costs, bounds = _history(result)
    has_cost, has_bound = np.isfinite(costs), np.isfinite(bounds) & ((bounds > 0) | (costs <= 0))
    for shown, values, name, colour, marker in (
        (has_cost, costs, "best clustering found", INCUMBENT, "v"),
        (has_bound, bounds, "proven lower bound", BOUND, "^"),
    ):
        if shown.any():
            ax.step(seconds[shown], values[shown], where="post", color=colour, label=name, lw=1.8)
            ax.plot(seconds[shown][-1], values[shown][-1], marker, color=colour, ms=6)
    both = has_cost & has_bound
    if both.any():
        ax.fill_between(
            seconds[both], bounds[both], costs[both], step="post", color=UNASSIGNED, alpha=0.18, lw=0, label="gap"
        )
    _zoom(ax, np.concatenate([costs[has_cost], bounds[has_bound]]), result)
    _show_time(ax, seconds)
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_ylabel("cost")
    ax.set_title("cost and proven bound")
    if has_cost.any() or has_bound.any():
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, columnspacing=1.2, borderpad=0, frameon=False
        )
    else:
        ax.text(0.5, 0.5, "no clustering and no bound yet", ha="center", va="center", transform=ax.transAxes)
    return ax


def plot_gap(result: SolveResult, ax: Axes | None = None) -> Axes:
    """Draw the proven gap over time, on a logarithmic scale."""
    ax = make_axes(ax, 5.2, 2.6)
    seconds, costs, bounds = _history(result)
    gaps = np.array([relative_gap(c, b) for c, b in zip(costs, bounds, strict=True)])
    known = np.isfinite(gaps)
    if not known.any():
        ax.set_axis_off()
        ax.text(0.5, 0.5, "no gap without a clustering", ha="center", va="center", transform=ax.transAxes)
        return ax
    percent = 100 * np.maximum(gaps[known], _SMALLEST_GAP)
    ax.step(seconds[known], percent, where="post", color=ink(), lw=1.8)
    ax.plot(seconds[-1], percent[-1], "o", color=ink(), ms=5)
    ax.set_yscale("log")
    lowest, highest = math.log10(percent.min()), math.log10(percent.max())
    ax.set_ylim(10 ** math.floor(lowest - 0.1), 1.3 * 10 ** max(math.ceil(highest), -2))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.10f}".rstrip("0").rstrip(".") + " %")
    ax.yaxis.set_minor_formatter(lambda _value, _position: "")
    _show_time(ax, seconds)
    ax.grid(axis="y", color=UNASSIGNED, alpha=0.3, lw=0.6)
    ax.set_ylabel("gap")
    ax.set_title("proven gap" + (" (0 is drawn as 0.000001 %)" if gaps[known].min() < _SMALLEST_GAP else ""))
    return ax


def plot_tree(result: SolveResult, ax: Axes | None = None) -> Axes:
    """Draw the search tree: what became of each node, and in small trees the decisions and bounds.

    Of a large tree the top levels are shown.
    """
    placed = place_nodes(result.tree, _MOST_NODES)
    depth = max((place.depth for place in placed), default=0)
    ax = make_axes(
        ax, tree_width(result), min(7.0, 1.5 + (0.85 if len(placed) <= _MOST_LABELLED else 0.42) * (depth + 1))
    )
    ax.set_axis_off()
    if not placed:
        ax.text(0.5, 0.5, "no search tree was recorded", ha="center", va="center", transform=ax.transAxes)
        return ax
    _draw_branches(placed, ax)
    _draw_nodes(placed, ax)
    if len(placed) <= _MOST_LABELLED:
        _label_nodes(placed, ax, result)
    leaves = max(place.x for place in placed)
    ax.set_xlim(-0.8, leaves + 0.8)
    ax.set_ylim(depth + 0.6, -0.5)
    title = f"search tree: {len(result.tree)} node{'s' if len(result.tree) > 1 else ''}"
    if result.nodes != len(result.tree):
        title += f", {result.nodes} of them evaluated"
    if len(placed) < len(result.tree):
        title += f", the {len(placed)} of the top {depth + 1} levels shown"
    ax.set_title(title)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=3, borderpad=0, frameon=False)
    return ax


def tree_width(result: SolveResult) -> float:
    """Return the width in inches that the tree needs."""
    leaves = len({place.x for place in place_nodes(result.tree, _MOST_NODES)})
    return float(np.clip(1.6 + 1.1 * leaves, 5.2, 10.0))


def _draw_branches(placed: list[PlacedNode], ax: Axes) -> None:
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    lines = [
        [(place.parent.x, place.parent.depth), (place.x, place.depth)] for place in placed if place.parent is not None
    ]
    ax.add_collection(LineCollection(lines, colors=UNASSIGNED, linewidths=0.9, zorder=1))


def _draw_nodes(placed: list[PlacedNode], ax: Axes) -> None:
    size = float(np.clip(_MARKER_SIZE * 30 / len(placed), 18, _MARKER_SIZE))
    for status, look in NODE_LOOKS.items():
        chosen = [place for place in placed if place.node.status == status]
        if chosen:
            ax.scatter(
                [place.x for place in chosen], [place.depth for place in chosen],
                s=size, c=look.colour, marker=look.marker, linewidths=0, zorder=2,
                label=f"{look.meaning} ({len(chosen)})",
            )  # fmt: skip
    hiding = [place for place in placed if place.hides]
    if hiding:
        ax.scatter(
            [place.x for place in hiding], [place.depth + 0.35 for place in hiding],
            s=size / 3, c=UNASSIGNED, marker="v", linewidths=0, zorder=2, label=f"goes on below ({len(hiding)})",
        )  # fmt: skip


def _label_nodes(placed: list[PlacedNode], ax: Axes, result: SolveResult) -> None:
    """Write each node's bound beside or under it, and each decision on its branch, or long names under the node."""
    decided = {place.node.number: _decided(result, place.node.decision) for place in placed if place.node.decision}
    are_long = any(len(name) > _LONGEST_ON_BRANCH for names, _ in decided.values() for name in names)
    for place in placed:
        node = place.node
        if math.isfinite(node.lower_bound):
            below = node.status is not TreeStatus.BRANCHED  # under it there is room; else beside it
            ax.annotate(
                f"{node.lower_bound:.7g}", (place.x, place.depth), (0, -8) if below else (8, 3),
                textcoords="offset points", fontsize=8,
                ha="center" if below else "left", va="top" if below else "bottom",
            )  # fmt: skip
        if node.decision is not None and place.parent is not None:
            (first, *rest), answer = decided[node.number]
            ax.text(
                0.5 * (place.x + place.parent.x), 0.5 * (place.depth + place.parent.depth),
                answer if are_long else " ".join([first, answer, *rest]), parse_math=False,
                ha="center", va="center", fontsize=8, bbox={"facecolor": paper(), "edgecolor": "none", "pad": 1.5},
            )  # fmt: skip
    if are_long:
        below_nodes = {place.parent: decided[place.node.number][0] for place in placed if place.parent is not None}
        for parent, names in below_nodes.items():
            ax.annotate(
                "\n".join(names), (parent.x, parent.depth), (0, -9), textcoords="offset points", parse_math=False,
                fontsize=7.5, ha="center", va="top", bbox={"facecolor": paper(), "edgecolor": "none", "pad": 1.0},
            )  # fmt: skip


def _decided(result: SolveResult, decision: AnyDecision) -> tuple[list[str], str]:
    """Name the points that a decision is about, with numbers where short forms are the same, and say the answer."""
    if isinstance(decision, SizeDecision):
        limits = result.instance.limits
        size = "" if limits is None else limits.in_words(limits.choices[decision.place])
        return [plain(result.short_name_of(decision.point), 18)], f"in {size}"
    pair = (decision.i, decision.j)
    names = [plain(result.short_name_of(point), 18) for point in pair]
    if names[0] == names[1]:
        names = [plain(result.name_of(point), 18) for point in pair]
    return names, "=" if decision.together else "≠"


def _history(result: SolveResult) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return times, costs and bounds; without a record, the root's end and the search's."""
    rows = [(step.seconds, step.incumbent_cost, step.lower_bound) for step in result.history]
    if not rows:
        rows = [(min(result.root_seconds, result.seconds), result.objective, result.root_lower_bound)]
    rows.append((max(result.seconds, rows[-1][0]), result.objective, result.lower_bound))
    seconds, costs, bounds = np.array(rows).T
    return np.maximum.accumulate(seconds), costs, bounds


def _show_time(ax: Axes, seconds: FloatArray) -> None:
    """Let the axis begin at 0, unless all that can be seen happened in the last third."""
    first, last = float(seconds[0]), max(float(seconds[-1]), 1e-3)
    start = 0.0 if first < 0.67 * last else max(0.0, first - 0.1 * (last - first))
    ax.set_xlim(start, last + 0.03 * (last - start) if last > start else last * 1.1)
    ax.set_xlabel("seconds")


def _zoom(ax: Axes, values: FloatArray, result: SolveResult) -> None:
    """Show where cost and bound meet: a tenth around it, more if the gap is wide, less if nothing else happened.

    Not so close, though, that a gap of nearly nothing fills the picture.
    """
    if len(values) == 0:
        return
    goal = result.objective if math.isfinite(result.objective) else result.lower_bound
    reach = max(_ZOOM * goal, 2 * (goal - result.lower_bound))
    low, high = max(float(values.min()), goal - reach), min(float(values.max()), goal + reach)
    room = max(0.06 * (high - low), 0.5 * (_LEAST_SPAN * high - (high - low))) or 1.0
    ax.set_ylim(low - room, high + room)
