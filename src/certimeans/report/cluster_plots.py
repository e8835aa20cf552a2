"""Pictures of the answer: the clusters, their sizes and their centres."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.problem.instance import Instance
from certimeans.report.colours import CANNOT_LINK, UNASSIGNED, cluster_look
from certimeans.report.comparison import PlainComparison, compare_with_plain
from certimeans.report.figures import ink, make_axes, paper, plain
from certimeans.report.projection import Projection, centred_points, feature_name, has_points, project
from certimeans.result import SolveResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LINKS = 120  # of each kind: more cannot be told apart
_MOST_POINTS = 20_000  # more cannot be told apart, and take seconds to draw
_MOST_VECTOR_POINTS = 1500  # more become a bitmap, or the file grows too large
_MOST_NUMBERED_CENTRES = 16
_MOST_LEGEND_CLUSTERS = 16
_MOST_BARS = 40
_MOST_FEATURES = 25
_MOST_COLUMNS = 30
_MOST_NUMBERED_CELLS = 120


def plot_clusters(result: SolveResult, ax: Axes | None = None, *, compare: bool = False) -> Axes:
    """Draw the points by cluster and the constraints.

    One feature is shown against its rank, two as they are, more on the two main axes.

    Parameters
    ----------
    compare
        Whether to search for what plain k-means, without the constraints, changes, and to ring those points.
    """
    return draw_clusters(result, compare_with_plain(result) if compare else None, ax)


def draw_clusters(result: SolveResult, comparison: PlainComparison | None, ax: Axes | None = None) -> Axes:
    """Draw likewise, with a comparison that was made before."""
    view = project(result.instance)
    ax = make_axes(ax, 5.2, 4.7)
    _draw_links(result, view, ax)
    shown = sample(result.instance.n_points, result.seed)
    size = float(np.clip(2500 / max(1, len(shown)), 7, 34))
    clustering = result.clustering
    if clustering is None:
        x, y = view.points[shown].T
        ax.scatter(x, y, s=size, color=UNASSIGNED, linewidths=0, zorder=2, rasterized=_is_many(shown))
        ax.set_title("no clustering was found")
    else:
        _draw_points(clustering.labels[shown], view.points[shown], size, ax)
        if comparison is not None and comparison.changed.any():
            _draw_changed(view.points[shown[comparison.changed[shown]]], size, ax, comparison)
        _draw_centres(view.centres(clustering.labels, result.instance.weights), ax)
        ax.set_title(f"{result.instance.n_points:,} points in {result.instance.n_clusters} clusters")
    if len(shown) < result.instance.n_points:
        ax.set_title(f"{ax.get_title()}\n(drawn: a sample of {len(shown):,} points)")
    ax.set_xlabel(plain(view.names[0], 60), parse_math=False)
    ax.set_ylabel(plain(view.names[1], 60), parse_math=False)
    spans = np.ptp(view.points, axis=0)
    if not view.is_metric:
        ax.locator_params(axis="y", integer=True)
    elif spans.min() > spans.max() / 2.5:
        ax.set_aspect("equal", adjustable="datalim")
    if ax.get_legend_handles_labels()[0]:
        _draw_legend(ax)
    return ax


def sample(n_points: int, seed: int) -> IntArray:
    """Return the points that are drawn: all, or of very many a sample."""
    if n_points <= _MOST_POINTS:
        return np.arange(n_points)
    return np.sort(np.random.default_rng(seed).choice(n_points, _MOST_POINTS, replace=False))


def _is_many(shown: IntArray) -> bool:
    return len(shown) > _MOST_VECTOR_POINTS


def plot_sizes(result: SolveResult, ax: Axes | None = None) -> Axes:
    """Draw how many points each cluster has."""
    clustering = result.clustering
    if clustering is None:
        return _say_nothing_found(ax)
    shown = min(clustering.n_clusters, _MOST_BARS)
    clusters = np.sort(np.argsort(-clustering.sizes, kind="stable")[:shown])
    ax = make_axes(ax, 5.2, max(1.7, 0.8 + 0.26 * shown))
    sizes = clustering.sizes[clusters]
    bars = ax.barh(range(shown), sizes, color=[cluster_look(c).colour for c in clusters])
    ax.bar_label(bars, padding=3, color=ink(), fontsize=8)
    ax.set_yticks(range(shown), [str(c) for c in clusters])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.12 * sizes.max())
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("points")
    ax.set_ylabel("cluster")
    ax.set_title("cluster sizes" if shown == clustering.n_clusters else f"the {shown} largest clusters")
    return ax


def plot_centres(result: SolveResult, ax: Axes | None = None) -> Axes:
    """Draw the centres as a heat map: standard deviations above or below the mean of each feature.

    Of many features, those are shown that differ most between the clusters.
    """
    clustering = result.clustering
    instance = result.instance
    if not has_points(instance):
        raise InputError("centres need points; this problem was given as a Gram matrix")
    if clustering is None:
        return _say_nothing_found(ax)
    features = telling_features(result, _MOST_FEATURES)
    clusters = np.sort(np.argsort(-clustering.sizes, kind="stable")[:_MOST_COLUMNS])
    values = _standardised_centres(instance, clustering.labels)[np.ix_(clusters, features)].T
    ax = make_axes(ax, 5.2, max(2.0, 1.1 + 0.24 * len(features)))
    limit = max(1.0, float(np.abs(values).max()))
    mesh = ax.pcolormesh(values, cmap="PuOr_r", vmin=-limit, vmax=limit, edgecolors=paper(), linewidth=1.0)
    every = 1 if len(clusters) <= 16 else 2
    ax.set_xticks(np.arange(len(clusters))[::every] + 0.5, [str(c) for c in clusters[::every]])
    names = [plain(feature_name(instance, f), 22) for f in features]
    ax.set_yticks(np.arange(len(features)) + 0.5, names, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.invert_yaxis()
    ax.set_xlabel("cluster")
    if values.size <= _MOST_NUMBERED_CELLS and len(clusters) <= 10:
        for (row, column), value in np.ndenumerate(values):
            dark = abs(value) > 0.6 * limit
            ax.text(
                *(column + 0.5, row + 0.5, f"{value:+.1f}"),
                ha="center", va="center", fontsize=7.5, color="#FFFFFF" if dark else "#000000",
            )  # fmt: skip
    bar = ax.get_figure(root=True).colorbar(mesh, ax=ax, fraction=0.05, pad=0.02, aspect=30)  # type: ignore[union-attr]
    bar.outline.set_visible(False)
    title = "centres, in standard deviations from the mean"
    if len(features) < instance.n_features:
        title += f"\nthe {len(features)} of {instance.n_features} features that differ most"
    ax.set_title(title)
    return ax


def telling_features(result: SolveResult, most: int) -> IntArray:
    """Return the features whose variance the clusters explain best, in their own order; all if there are few."""
    instance, clustering = result.instance, result.clustering
    if clustering is None or instance.n_features <= most:
        return np.arange(instance.n_features)
    labels = clustering.labels
    between = np.bincount(labels, instance.weights) @ _standardised_centres(instance, labels) ** 2
    return np.sort(np.argsort(-between, kind="stable")[:most])


def _standardised_centres(instance: Instance, labels: IntArray) -> FloatArray:
    weights = instance.weights
    points, _ = centred_points(instance)  # the mean of each feature is 0
    totals = np.bincount(labels, weights)
    sums = np.zeros((len(totals), points.shape[1]))
    np.add.at(sums, labels, points * weights[:, None])
    spread = np.sqrt(weights @ points**2 / weights.sum())
    standardised: FloatArray = sums / totals[:, None] / np.where(spread > 0, spread, 1.0)
    return standardised


def _draw_links(result: SolveResult, view: Projection, ax: Axes) -> None:
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    instance = result.instance
    random = np.random.default_rng(result.seed)
    for pairs, name, colour, style in (
        (instance.cannot_link, "cannot-links", CANNOT_LINK, (0, (4, 2))),
        (instance.must_link, "must-links", ink(), "solid"),
    ):
        if len(pairs) == 0:
            continue
        label = name
        shown = pairs
        if len(pairs) > _MOST_LINKS:
            shown = pairs[np.sort(random.choice(len(pairs), _MOST_LINKS, replace=False))]
            label = f"{name} ({_MOST_LINKS} of {len(pairs)})"
        strength = 0.85 if len(shown) <= 40 else 0.4
        lines = LineCollection(
            view.points[shown],  # type: ignore[arg-type]
            colors=colour, linestyles=[style], linewidths=0.9, alpha=strength, label=label, zorder=1,
        )  # fmt: skip
        ax.add_collection(lines)


def _draw_points(labels: IntArray, points: FloatArray, size: float, ax: Axes) -> None:
    many = len(labels) > _MOST_VECTOR_POINTS
    n_clusters = int(labels.max()) + 1
    for cluster in range(n_clusters):
        look = cluster_look(cluster)
        members = points[labels == cluster]
        ax.scatter(
            members[:, 0], members[:, 1],
            s=size, c=look.colour, marker=look.marker, linewidths=0 if many else 0.4, edgecolors=paper(),
            label=f"cluster {cluster}" if n_clusters <= _MOST_LEGEND_CLUSTERS else None, rasterized=many, zorder=2,
        )  # fmt: skip


def _draw_changed(points: FloatArray, size: float, ax: Axes, comparison: PlainComparison) -> None:
    ax.scatter(
        points[:, 0], points[:, 1],
        s=2.6 * size + 12, facecolors="none", edgecolors=ink(), linewidths=0.8,
        label=f"k-means differs ({np.count_nonzero(comparison.changed):,})",
        zorder=3, rasterized=len(points) > _MOST_VECTOR_POINTS,
    )  # fmt: skip


def _draw_centres(centres: FloatArray, ax: Axes) -> None:
    """Mark the centres with the clusters' numbers, or with crosses if there are many."""
    if len(centres) > _MOST_NUMBERED_CENTRES:
        ax.scatter(centres[:, 0], centres[:, 1], s=30, c=ink(), marker="+", linewidths=0.9, label="centre", zorder=4)
        return
    for cluster, (x, y) in enumerate(centres):
        look = cluster_look(cluster)
        ax.plot(
            x,
            y,
            marker=look.marker,
            markersize=13,
            color=look.colour,
            markeredgecolor=ink(),
            markeredgewidth=1.0,
            zorder=4,
        )
        ax.annotate(
            str(cluster),
            (x, y),
            ha="center",
            va="center_baseline",
            fontsize=8,
            fontweight="bold",
            color=look.text,
            zorder=5,
        )


def _draw_legend(ax: Axes) -> None:
    from matplotlib.collections import PathCollection  # noqa: PLC0415

    legend = ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        ncols=3,
        columnspacing=1.0,
        handletextpad=0.3,
        borderpad=0,
        frameon=False,
    )
    for handle in legend.legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_sizes([30.0])  # points may be too small to tell their colour


def _say_nothing_found(ax: Axes | None) -> Axes:
    ax = make_axes(ax, 5.2, 1.6)
    ax.set_axis_off()
    ax.text(0.5, 0.5, "no clustering was found", ha="center", va="center", transform=ax.transAxes)
    return ax
