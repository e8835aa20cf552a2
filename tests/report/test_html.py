import math
import re
import sys
from html.parser import HTMLParser
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from certimeans import solve
from certimeans.printing import percent_up, text_down, text_up
from certimeans.report.html import render_report
from certimeans.report.words import guarantee
from certimeans.result import SolveStatus
from tests.report.examples import NASTY_NAMES, blobs, current_settings, full_tree, make_result

VOID = {"meta", "br", "hr", "img", "input", "link", "source", "wbr"}


class Page(HTMLParser):
    """Collects elements and text, and checks that what is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember it."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember it; it is closed already."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Check that it closes what was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Collect what can be read."""
        self.text += data

    def count(self, tag: str) -> int:
        """Count elements of one kind."""
        return sum(name == tag for name, _ in self.tags)


def test_the_page_of_a_solved_problem_has_everything() -> None:
    """Problem, answer, guarantee, pictures, table, tree, how to check and how to repeat."""
    result = solve(np.array([[0.0], [1.0], [9.0], [10.0], [11.0]]), 2, must_link=[(0, 3)], cannot_link=[(1, 2)])
    page = Page(render_report(result, "certimeans solve p.csv -k 2"))
    for part in (
        "5 points with 1 feature",
        "keeping 1 must-link and 1 cannot-link",
        "proven optimal",
        "What the constraints changed",
        "certimeans verify DIR",
        "certimeans solve p.csv -k 2",
        result.instance.fingerprint,
        "numba",
    ):
        assert part in page.text
    assert page.count("svg") == 5
    assert page.count("tr") >= 3


def test_the_page_is_self_contained() -> None:
    """Nothing is loaded from elsewhere and nothing runs: only fragments and embedded pictures are referred to."""
    text = render_report(blobs(3000, 3, 4, search_tree=full_tree(3)))
    page = Page(text)
    assert page.count("script") == page.count("link") == page.count("iframe") == 0
    for _, attributes in page.tags:
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/png;base64,"))
        assert not any(name.startswith("on") for name in attributes)
    assert "@import" not in text
    assert re.findall(r"url\((?!#)", text) == []


def test_names_from_files_are_escaped_everywhere() -> None:
    """In the table, the pictures and the command; they are shown as they were written."""
    nasty = "<img src=x onerror=alert(1)>"
    page = Page(render_report(blobs(20, 7, 3, names=NASTY_NAMES), command=nasty))
    assert page.count("b") == page.count("img") == page.count("script") == 0
    assert page.text.count('<b>&"x"') >= 2  # heat map and table, which may also name it as what distinguishes a cluster
    assert page.text.count("$a_b$") >= 2
    assert page.text.count("Länge größer") >= 2
    assert nasty in page.text


def test_references_in_pictures_stay_inside_their_picture() -> None:
    """No identifier occurs twice in the page, and every reference has its target."""
    text = render_report(blobs(60, 3, 9, must_link=[(0, 9)], search_tree=full_tree(3)))
    identifiers = re.findall(r'\bid="([^"]*)"', text)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r'href="#([^"]*)"', text)) | set(re.findall(r"url\(#([^)]*)\)", text)) <= set(identifiers)


@pytest.mark.parametrize(
    ("n", "d", "k", "limit"), [(800, 8, 8, 400_000), (5000, 3, 8, 1_000_000), (40, 700, 8, 300_000)]
)
def test_the_page_stays_small(n: int, d: int, k: int, limit: int) -> None:
    """Points become a bitmap before they become megabytes, and only some features are listed."""
    pairs = [(i, i + k) for i in range(n - k)]
    assert len(render_report(blobs(n, d, k, must_link=pairs))) < limit


STATUSES = [
    ({"status": SolveStatus.OPTIMAL}, "proven optimal within the gap asked for: it costs"),
    ({"status": SolveStatus.TIME_LIMIT}, "ended by the time limit before optimality was proven"),
    ({"status": SolveStatus.NODE_LIMIT}, "ended by the node limit before optimality was proven"),
    ({"status": SolveStatus.INTERRUPTED}, "ended by an interruption before optimality was proven"),
    ({"lower_bound": 0.0}, "before a bound was proven"),
]


@pytest.mark.parametrize(("changes", "words"), STATUSES)
def test_the_guarantee_says_what_is_proven(changes: dict[str, Any], words: str) -> None:
    """One sentence for each status, and the same in the page."""
    result = blobs(9, 2, 3, **changes)
    sentence = guarantee(result)
    assert words in sentence
    assert sentence.count(". ") == 0
    assert words in Page(render_report(result)).text


def test_a_proof_without_gap_claims_that_nothing_is_cheaper() -> None:
    """Points on their centres cost nothing."""
    result = make_result([[0.0], [0.0], [1.0]], [0, 0, 1], status=SolveStatus.OPTIMAL)
    assert guarantee(result) == "This clustering is proven optimal: no clustering into 2 clusters costs less."


def test_without_a_clustering_nothing_is_claimed() -> None:
    """The page says so and shows the points and constraints only."""
    result = make_result(np.eye(4), None, k=2, must_link=[(0, 1)])
    text = Page(render_report(result)).text
    assert "before a clustering that keeps every constraint was found; nothing is proven yet" in text
    assert "no clustering was found" in text
    bounded = make_result(np.eye(4), None, k=2, must_link=[(0, 1)], lower_bound=0.5)
    assert "every such clustering costs at least 0.5" in guarantee(bounded)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 82.44098358999, 1e-12 / 3, 2e20 / 3])
def test_rounding_never_claims_more_than_was_proven(value: float) -> None:
    """Bounds are rounded down, costs and gaps up."""
    assert float(text_down(value)) <= value <= float(text_up(value))
    assert float(percent_up(value).removesuffix(" %")) >= 100 * value


@pytest.mark.parametrize(
    ("gap", "text"),
    [(0.0, "0 %"), (1e-12, "0.000001 %"), (2**-13, "0.0123 %"), (0.375, "37.5 %"), (math.inf, "unknown")],
)
def test_gaps_are_written_without_powers_of_ten(gap: float, text: str) -> None:
    """Three digits, at most six decimals."""
    assert percent_up(gap) == text


def test_without_matplotlib_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything but the pictures is there."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = Page(render_report(blobs(9, 2, 3, search_tree=full_tree(1))))
    assert page.count("svg") == 0
    assert "matplotlib is not installed" in page.text
    assert "Clusters and their centres" in page.text


def test_the_users_own_style_is_kept_and_does_not_show() -> None:
    """A report looks the same whatever the settings, and leaves them as they were."""
    result = blobs(9, 2, 3)
    usual = render_report(result)
    with mpl.rc_context({"font.size": 30.0, "axes.facecolor": "#ff0000", "svg.fonttype": "path"}):
        before = current_settings()
        assert render_report(result) == usual
        assert current_settings() == before
