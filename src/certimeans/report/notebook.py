"""What a notebook shows of a result: a few numbers and a picture, drawn at once and without any search."""

from __future__ import annotations

import base64
import io
from html import escape

from certimeans.printing import percent_up, text_down, text_up
from certimeans.report.cluster_plots import draw_clusters
from certimeans.report.figures import is_available, page_style, paper
from certimeans.report.projection import has_points
from certimeans.report.words import guarantee, headline
from certimeans.result import SolveResult

_MOST_POINTS = 20_000  # more take seconds to draw


def notebook_view(result: SolveResult) -> str:
    """Return a piece of HTML that says what was solved and what is proven, with the clusters if they can be drawn."""
    has_labels = result.labels is not None
    facts = [
        ("problem", repr(result.instance)),
        ("status", headline(result) + (f" ({result.message})" if result.message else "")),
        ("cost", text_up(result.objective) if has_labels else "no clustering"),
        ("proven lower bound", text_down(result.lower_bound)),
        ("proven gap", percent_up(result.gap)),
        ("nodes, time", f"{result.nodes:,} in {result.seconds:.2f} s"),
    ]
    left = "text-align:left"
    rows = "".join(
        f'<tr><th style="{left}">{name}</th><td style="{left}">{escape(value)}</td></tr>' for name, value in facts
    )
    return f"<div><p>{escape(guarantee(result))}</p><table>{rows}</table>{_picture(result)}</div>"


def _picture(result: SolveResult) -> str:
    if not is_available() or not has_points(result.instance) or result.instance.n_points > _MOST_POINTS:
        return ""
    buffer = io.BytesIO()
    with page_style():
        figure = draw_clusters(result, None).get_figure(root=True)
        if figure is None:
            return ""
        figure.savefig(buffer, format="png", dpi=90, facecolor=paper())
    image = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="the points by cluster" src="data:image/png;base64,{image}">'
