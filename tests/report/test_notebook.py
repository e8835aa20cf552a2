import sys

import numpy as np
import pytest

from certimeans.report import comparison, notebook
from tests.report.examples import NASTY_NAMES, blobs, make_result
from tests.report.test_html import Page


def test_a_result_prints_its_summary() -> None:
    """``repr`` is what a user wants to read at a prompt."""
    result = blobs(9, 2, 3)
    assert repr(result) == str(result) == result.summary()
    assert "lower bound" in repr(result)


def test_a_notebook_shows_what_is_proven_and_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small, without any search, and self-contained."""
    monkeypatch.setattr(comparison, "search_clustering", None)  # it would fail if it were called
    text = blobs(500, 4, 3, must_link=[(0, 3)])._repr_html_()
    page = Page(text)
    for part in ("500 points", "proven gap", "time limit"):
        assert part in page.text
    assert [attributes["src"][:22] for tag, attributes in page.tags if tag == "img" and attributes["src"]] == [
        "data:image/png;base64,"
    ]
    assert len(text) < 200_000


def test_what_users_wrote_is_escaped() -> None:
    """Names are in the picture only, messages are text."""
    page = Page(blobs(20, 7, 3, names=NASTY_NAMES, message="<b>&")._repr_html_())
    assert page.count("b") == 0
    assert "<b>&" in page.text


def test_a_notebook_copes_without_picture_or_clustering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many points, no clustering, no matplotlib."""
    nothing = make_result(np.eye(4), None, k=2, must_link=[(0, 1)])
    assert "no clustering" in Page(nothing._repr_html_()).text
    monkeypatch.setattr(notebook, "_MOST_POINTS", 8)
    assert Page(blobs(9, 2, 2)._repr_html_()).count("img") == 0
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert Page(blobs(8, 2, 2)._repr_html_()).count("img") == 0
