import io
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from certimeans import InputError, SolveResult, solve
from certimeans.problem.table import SourceTable
from certimeans.report import cluster_plots
from certimeans.report.colours import cluster_look
from certimeans.report.figures import draw_svg, is_pyplot_expected, make_axes, page_style, plain
from certimeans.report.html import render_report
from certimeans.report.plots import plot_bounds, plot_centres, plot_clusters, plot_gap, plot_sizes, plot_tree
from certimeans.report.projection import project
from tests.report.examples import NASTY_NAMES, blobs, current_settings, full_tree, make_result

OF_POINTS = (plot_centres, plot_clusters, plot_sizes)
OF_SEARCH = (plot_bounds, plot_gap, plot_tree)


def draw(ax: Axes) -> None:
    """Render, so that nothing is left undone."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.savefig(io.BytesIO(), format="png")


def texts(ax: Axes) -> list[str]:
    """All that can be read in a legend, at the axes and in the picture."""
    legend = ax.get_legend()
    entries = [] if legend is None else [text.get_text() for text in legend.get_texts()]
    return [*entries, ax.get_title(), ax.get_xlabel(), ax.get_ylabel(), *(text.get_text() for text in ax.texts)]


TRICKY: dict[str, tuple[tuple[Callable[[SolveResult], Axes], ...], Callable[[], SolveResult]]] = {
    "one feature": (OF_POINTS, lambda: blobs(20, 1, 2)),
    "two features": (OF_POINTS, lambda: blobs(20, 2, 2)),
    "700 features": (OF_POINTS, lambda: blobs(40, 700, 8)),
    "one cluster": (OF_POINTS, lambda: blobs(9, 3, 1)),
    "k = n": (OF_POINTS, lambda: blobs(40, 3, 40)),
    "names": (OF_POINTS, lambda: blobs(20, 7, 3, names=NASTY_NAMES)),
    "one point": (OF_POINTS + OF_SEARCH, lambda: make_result([[1.0, 2.0, 3.0]], [0])),
    "all points equal": (OF_POINTS + OF_SEARCH, lambda: make_result(np.ones((6, 3)), [0, 1, 0, 1, 0, 1])),
    "no clustering": (OF_POINTS + OF_SEARCH, lambda: make_result(np.eye(4), None, k=2, must_link=[(0, 1)])),
    "huge numbers": (OF_POINTS + OF_SEARCH, lambda: make_result([[0.0], [1e150], [2e150]], [0, 1, 1])),
    "tiny numbers": (OF_POINTS + OF_SEARCH, lambda: make_result([[0.0, 0, 0], [1e-150, 0, 1e-150]], [0, 1])),
    "no history": (OF_SEARCH, lambda: blobs(9, 2, 3, history=())),
    "no bound": (OF_SEARCH, lambda: blobs(9, 2, 3, lower_bound=0.0, root_lower_bound=0.0, history=())),
    "tree": (OF_SEARCH, lambda: blobs(20, 2, 2, search_tree=full_tree(3))),
}


@pytest.mark.parametrize("sort", TRICKY)
def test_plots_cope_with_every_sort_of_result(sort: str) -> None:
    """They return axes of a new figure, and drawing them raises no error and no warning."""
    plots, make = TRICKY[sort]
    for plot in plots:
        draw(plot(make()))


def test_plots_draw_on_given_axes_and_leave_global_state_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pyplot figure unless pyplot is in use, no changed setting."""
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    before = current_settings()
    result = blobs(20, 3, 2, search_tree=full_tree(2), must_link=[(0, 2)])
    for plot in (result.plot_clusters, result.plot_bounds, result.plot_tree):
        ax = Figure().add_subplot()
        assert plot(ax) is ax
        draw(plot())
    assert current_settings() == before
    assert "matplotlib.pyplot" not in sys.modules


def test_constraints_and_what_they_changed_are_drawn() -> None:
    """Two must-linked points at different ends: one of them is ringed, and the legend says what is what."""
    result = solve(np.array([[0.0], [1.0], [9.0], [10.0], [11.0]]), 2, must_link=[(0, 3)], cannot_link=[(1, 2)])
    shown = texts(result.plot_clusters(compare=True))
    assert {"must-links", "cannot-links", "cluster 0", "cluster 1"} <= set(shown)
    assert any(text.startswith("k-means differs (") for text in shown)


def test_plain_k_means_is_searched_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture is drawn at once: what the constraints changed takes seconds to find, and is asked for."""
    searched: list[SolveResult] = []
    monkeypatch.setattr(cluster_plots, "compare_with_plain", searched.append)
    result = blobs(9, 2, 2, must_link=[(0, 2)])
    plot_clusters(result)
    assert searched == []
    plot_clusters(result, compare=True)
    assert searched == [result]


def test_figures_are_pyplots_where_users_expect_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook, and if pyplot was imported; never those of a page, and nowhere else."""
    made: list[Figure] = []

    def make(**options: Any) -> Figure:
        made.append(Figure(**options))
        return made[-1]

    result = blobs(9, 2, 2)
    monkeypatch.setattr(mpl, "pyplot", SimpleNamespace(figure=make), raising=False)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    assert not is_pyplot_expected()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object())))
    assert is_pyplot_expected()
    monkeypatch.delitem(sys.modules, "IPython")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", mpl.pyplot)
    assert result.plot_clusters().figure is made[0]
    result._repr_html_()
    render_report(result)
    assert len(made) == 1


def test_of_many_constraints_some_are_drawn_and_the_legend_says_so() -> None:
    """A thousand lines would hide the points."""
    pairs = [(i, i + 2) for i in range(1000)]
    result = blobs(1010, 2, 2, must_link=pairs)
    ax = plot_clusters(result)
    assert "must-links (120 of 1000)" in texts(ax)
    assert len(ax.collections[0].get_paths()) == 120


def test_a_projection_keeps_the_distances_of_points_in_a_plane() -> None:
    """Main axes of points that lie in a plane of a larger space are a rotation of it, in the user's units."""
    random = np.random.default_rng(0)
    flat = random.normal(size=(12, 2)) * [300.0, 100.0]
    basis, _ = np.linalg.qr(random.normal(size=(20, 2)))
    for d in (20, 5):  # more features than points, and fewer
        rows = flat @ (basis.T if d == 20 else np.linalg.qr(basis[:5])[0].T)
        view = project(make_result(rows + 1e3, [0] * 6 + [1] * 6).instance)
        distances = np.linalg.norm(view.points[:, None] - view.points[None], axis=2)
        np.testing.assert_allclose(distances, np.linalg.norm(flat[:, None] - flat[None], axis=2), rtol=1e-6, atol=1e-3)
        shares = [float(name.split("(")[1].split(" %")[0]) for name in view.names]
        assert sum(shares) == pytest.approx(100.0, abs=0.11)


def test_the_most_telling_features_are_shown_of_many() -> None:
    """The only feature that differs between the clusters is among them, whatever its unit."""
    points = np.random.default_rng(1).normal(size=(30, 100))
    labels = [i % 2 for i in range(30)]
    points[:, 42] = 1e-6 * np.array(labels)
    ax = plot_centres(make_result(points, labels))
    assert "feature 42" in [label.get_text() for label in ax.get_yticklabels()]
    assert "the 25 of 100 features" in ax.get_title()


def test_names_are_shown_as_they_are() -> None:
    """Dollars start no formula, control characters and endless names are tamed."""
    ax = plot_clusters(blobs(9, 2, 2, names=("$a_b$", "$\\frac$")))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$a_b$", "$\\frac$")
    assert not ax.xaxis.label.get_parse_math()
    assert plain("new\nline\x00 ") == "new line"
    assert len(plain("x" * 200)) == 28


def test_a_large_tree_is_cut_to_its_top_levels_and_says_so() -> None:
    """Of 2,047 nodes, the eight levels that have at most 400 together."""
    ax = plot_tree(blobs(9, 2, 2, search_tree=full_tree(10)))
    assert "2047 nodes, 3 of them evaluated, the 255 of the top 8 levels shown" in ax.get_title()
    assert "goes on below (128)" in texts(ax)


def test_a_small_tree_shows_decisions_and_bounds() -> None:
    """Each branch says which points it joins or parts, each node what is proven."""
    shown = texts(plot_tree(blobs(9, 2, 2, search_tree=full_tree(1))))
    assert {"1 = 2", "1 ≠ 2", "10", "12"} <= set(shown)
    assert any(text.startswith("split in two (1)") for text in shown)


def test_the_bounds_start_where_they_are_known() -> None:
    """An infinite cost and a bound of zero are not drawn; the last values are the result's."""
    result = blobs(20, 2, 3)
    lines = {line.get_label(): line for line in plot_bounds(result).get_lines()}
    for name, last in (("best clustering found", result.objective), ("proven lower bound", result.lower_bound)):
        values = np.asarray(lines[name].get_ydata())
        assert np.isfinite(values).all()
        assert values.min() > 0
        assert values[-1] == last


def test_the_axis_shows_where_cost_and_bound_meet() -> None:
    """A first bound far below does not flatten the rest of the picture."""
    result = blobs(20, 2, 3)
    early = replace(result.history[1], lower_bound=0.01 * result.objective)
    low, high = plot_bounds(replace(result, history=(early, *result.history[1:]))).get_ylim()
    assert 0.8 * result.objective < low < result.lower_bound < result.objective < high


def test_clusters_look_different() -> None:
    """Sixty-four clusters have a colour and marker of their own."""
    assert len({(look.colour, look.marker) for look in map(cluster_look, range(64))}) == 64


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """An extra that is missing is the user's to install."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result: SolveResult = blobs(9, 2, 2)
    with pytest.raises(InputError, match=r"pip install 'certimeans\[plot\]'"):
        result.plot_bounds()
    assert math.isfinite(result.objective)


def test_the_layout_of_a_picture_is_settled() -> None:
    """Ticks that the layout itself changes do not push a label out of the picture."""
    drawn: list[Axes] = []

    def draw() -> Axes:
        ax = make_axes(None, 5.2, 3.2)
        ax.plot([0, 1], [34.5, 38.6])
        ax.set_ylim(34.4, 38.6)
        ax.set(xlabel="seconds", ylabel="cost", title="cost and proven bound")
        ax.legend(["best clustering found"], loc="upper center", bbox_to_anchor=(0.5, -0.2), borderpad=0)
        drawn.append(ax)
        return ax

    draw_svg(draw, "a picture")
    before = drawn[0].get_position().x0
    figure = drawn[0].get_figure(root=True)
    assert figure is not None
    with page_style():
        figure.draw_without_rendering()
    assert drawn[0].get_position().x0 == pytest.approx(before, abs=2e-3)


def test_long_names_of_a_tree_stand_under_its_nodes() -> None:
    """On the branches they would cover each other; where short forms are the same, numbers tell them apart."""
    names = tuple(f"a customer of the shop in Saarbrücken, number {'x' * 20}" for _ in range(9))
    source = SourceTable(9, np.arange(9), names)
    shown = texts(plot_tree(blobs(9, 2, 2, search_tree=full_tree(1), source=source)))
    assert {"=", "≠"} <= set(shown)
    [pair] = [text for text in shown if "\n" in text]
    assert [line[:3] for line in pair.splitlines()] == ["1 (", "2 ("]
