"""The part of the report on what constraints cost; ``certimeans explain`` adds it to a page that is there already."""

from __future__ import annotations

from html import escape

from certimeans.prices import ConstraintPrice, ConstraintPrices
from certimeans.report.figures import draw_svg, is_available
from certimeans.report.price_plots import plot_prices

_BEGIN, _END = "<!-- prices begin -->", "<!-- prices end -->"
_MOST_ROWS = 200
_EXPLANATIONS = {
    "binds": "Without it there is a cheaper clustering.",
    "costs nothing": "Proven: without it there is no cheaper clustering.",
    "implied": "The other constraints leave no other way.",
    "undecided": "It costs no more than this, and perhaps nothing.",
}


def with_prices(page: str, prices: ConstraintPrices) -> str:
    """Put the section into a page, in place of an earlier one; a page that has no room for it stays as it is."""
    start, end = page.find(_BEGIN), page.find(_END)
    if start < 0 or end < start:
        return page
    return f"{page[:start]}{_BEGIN}{price_section(prices)}{page[end:]}"


def price_section(prices: ConstraintPrices) -> str:
    """Return the section: what it is about, a chart, and a table."""
    counts = [f"{sum(price.effect == effect for price in prices)} {effect}" for effect in _EXPLANATIONS]
    counts = [count for count in counts if not count.startswith("0 ")]
    chart = ""
    if is_available() and len(prices):
        svg = draw_svg(lambda: plot_prices(prices), "what each constraint costs")
        chart = f"<figure class='card narrow'>{svg}</figure>"
    rows = "".join(_row(price) for price in [*prices.groups, *prices[:_MOST_ROWS]])
    more = f"<p class=note>Shown: the {_MOST_ROWS} highest of {len(prices)}.</p>" if len(prices) > _MOST_ROWS else ""
    table = (
        "<div class='card scroll'><table class=prices><thead><tr><th scope=col>constraint</th><th scope=col>price</th>"
        f"<th scope=col>of the cost</th><th scope=col>effect</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
    return (
        "<section><h2>What the constraints cost</h2><p>The price of a constraint is the optimal cost with it less the "
        "optimal cost without it. Both are proven to lie in an interval, and so is the price: it is at least the full "
        f"bar, and at most the pale one. {escape(', '.join(counts))}.</p>{chart}{more}{table}</section>"
    )


def _row(price: ConstraintPrice) -> str:
    cells = [price.price(), price.percent(), f"{price.effect}"]
    tip = escape(_EXPLANATIONS[price.effect], quote=True)
    return (
        f"<tr title='{tip}'><th scope=row>{escape(price.title(70))}</th>"
        f"{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    )
