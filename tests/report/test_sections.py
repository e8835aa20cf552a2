"""What the report says about constraints and clusters, by name; long names; very many points."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from certimeans import solve
from certimeans.report.cluster_plots import draw_clusters, sample
from certimeans.report.comparison import compare_with_plain
from certimeans.report.figures import plain
from certimeans.report.html import render_report
from certimeans.report.price_plots import plot_prices
from certimeans.report.search_plots import plot_tree
from certimeans.report.sections import cluster_table
from tests.report.examples import blobs
from tests.report.test_html import Page
from tests.report.test_plots import texts

PEOPLE = pd.DataFrame(
    {"income in thousands": [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]}, index=["Anna", "Karl", "Zoë", "Jürgen", "Mia", "<Ida>"]
)


def test_the_constraints_that_plain_k_means_breaks_are_named() -> None:
    """Zoë and Jürgen belong to different clusters without the link; the other link is kept anyway."""
    page = Page(render_report(solve(PEOPLE, 2, must_link=[("Zoë", "Jürgen"), ("Mia", "<Ida>")])))
    assert "breaks 1 must-link and 0 cannot-links, listed below" in page.text
    assert "2 (Zoë) = 3 (Jürgen)" in page.text
    assert "4 (Mia) = 5 (<Ida>)" not in page.text


def test_clusters_are_described_in_the_units_of_the_data() -> None:
    """Means and spreads, also of all points, whatever the solver scaled."""
    page = Page(render_report(solve(PEOPLE, 2, standardize=True)))
    assert "income in thousands low (-1.0 sd)" in page.text
    assert "± 0.816" in page.text
    assert "± 5.07" in page.text


def test_long_names_keep_their_ends() -> None:
    """Those of a table often differ only there."""
    first, second = (plain(f"average spending in the category of goods number {n}", 28) for n in (1, 2))
    assert first != second
    assert first.endswith("number 1")
    assert len(first) <= 28


def test_the_tree_names_points_and_its_nodes_add_up() -> None:
    """Decisions are about people, and the number of nodes is the one that the page tells."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame(random.uniform(size=(30, 2)), index=[f"P{i}" for i in range(30)])
    result = solve(frame, 5, gap=1e-7, max_nodes=3)
    if len(result.tree) > 1:
        ax = plot_tree(result)
        assert any("P" in text for text in texts(ax))
        assert f"{len(result.tree)} nodes" in ax.get_title()
        assert result.nodes == len(result.tree) or f"{result.nodes} of them evaluated" in ax.get_title()


def test_of_very_many_points_a_sample_is_drawn_and_that_is_said() -> None:
    """Always the same one; the page stays small."""
    chosen = sample(1_000_000, 0)
    assert len(chosen) == 20_000
    assert chosen.tolist() == sample(1_000_000, 0).tolist()
    assert len(sample(500, 0)) == 500
    result = blobs(25_000, 2, 3)
    ax = draw_clusters(result, None)
    assert "(drawn: a sample of 20,000 points)" in ax.get_title()
    assert len(render_report(result)) < 5_000_000


def test_prices_are_drawn_as_sorted_bars() -> None:
    """With what is proven at least and at most; without prices it says so."""
    prices = solve(PEOPLE, 2, must_link=[("Zoë", "Jürgen"), ("Mia", "<Ida>")]).constraint_prices()
    ax = plot_prices(prices)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["Zoë = Jürgen"]
    assert "1 of 2 have a price" in ax.get_title()
    assert "no constraint has a price" in texts(plot_prices(solve(PEOPLE, 2).constraint_prices()))


def test_the_comparison_lists_pairs() -> None:
    """As points of the instance."""
    comparison = compare_with_plain(solve(PEOPLE, 2, cannot_link=[("Anna", "Karl")]))
    assert comparison is not None
    assert comparison.broken_cannot_links.tolist() == [[0, 1]]
    assert len(comparison.broken_must_links) == 0


@pytest.mark.parametrize(
    ("stated", "cells"),
    [
        ({"sizes": [1, 3]}, ["exactly 1", "exactly 3"]),
        ({"size_min": 1, "size_max": 3}, ["1 to 3"]),
        ({"size_max": 9.5, "capacity": [7.5, 1.0, 1.0, 2.0]}, ["0 to 9.5", ">7.5<", ">4<"]),
    ],
)
def test_sizes_stand_beside_their_limits(stated: dict[str, Any], cells: list[str]) -> None:
    """What a cluster counts, if that is not its points, and what it may count."""
    table = cluster_table(solve([[0.0], [5.0], [6.0], [7.0]], 2, **stated))
    assert "<th scope=col>allowed</th>" in table
    assert ("<th scope=col>capacity</th>" in table) == ("capacity" in stated)
    for cell in cells:
        assert cell in table
