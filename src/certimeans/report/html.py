"""report.html: one page with everything in it, to open offline, on a phone, or to send to a colleague."""

from __future__ import annotations

from html import escape
from string import Template

import numpy as np

from certimeans._version import __version__
from certimeans.printing import percent_up, text_down, text_up
from certimeans.report.cluster_plots import draw_clusters, plot_centres, plot_sizes
from certimeans.report.comparison import PlainComparison, compare_with_plain
from certimeans.report.environment import describe_environment
from certimeans.report.figures import draw_svg, is_available
from certimeans.report.page import PAGE
from certimeans.report.projection import has_points
from certimeans.report.search_plots import plot_bounds, plot_gap, plot_tree, tree_width
from certimeans.report.sections import broken_constraints, cluster_table
from certimeans.report.words import counted, guarantee, headline
from certimeans.result import SolveResult, SolveStatus


def render_report(result: SolveResult, command: str | None = None) -> str:
    """Return a self-contained HTML page about a result.

    Parameters
    ----------
    command
        The command line that made the result, to be shown in the page.
    """
    comparison = compare_with_plain(result)
    return Template(PAGE).substitute(
        title=f"certimeans: {result.instance.n_clusters} clusters, {escape(headline(result))}",
        badge_class="good" if result.status is SolveStatus.OPTIMAL else "limited",
        badge=escape(headline(result)),
        guarantee=_text(guarantee(result)),
        problem=escape(_problem(result)),
        tiles=_tiles(result),
        notes="".join(f"<p>{_text(note)}</p>" for note in _notes(result, comparison)) + _about_data(result),
        pictures=_pictures(result, comparison),
        broken=broken_constraints(result, comparison),
        table=cluster_table(result),
        tree=_tree(result),
        reproduce=_reproduce(result, command),
        version=escape(__version__),
        cost=_cost_in_words(result),
    )


def _problem(result: SolveResult) -> str:
    instance = result.instance
    given = f"with {counted(instance.n_features, 'feature')}" if has_points(instance) else "given by a Gram matrix"
    least = "sum of squared distances to the centres" if has_points(instance) else "cost"
    words = [f"{counted(instance.n_points, 'point')} {given} were to be put into "]
    words += [f"{counted(instance.n_clusters, 'non-empty cluster')} at the least {least}"]
    if instance.standardize:
        words += [", measured in standard deviations of the features"]
    if (instance.weights != 1).any():
        words += [", each point counted with its weight"]
    kinds = [counted(len(instance.must_link), "must-link"), counted(len(instance.cannot_link), "cannot-link")]
    kinds = [kind for kind in kinds if not kind.startswith("0 ")]
    if instance.constraints.cluster_sizes is not None:
        kinds.append(instance.constraints.cluster_sizes.in_words())
    words += [f", keeping {' and '.join(kinds)}" if kinds else ", without constraints", "."]
    if result.size < instance.n_points:
        words += [f" What must share a cluster was merged, which left {counted(result.size, 'super-point')}."]
    return "".join(words)


def _tiles(result: SolveResult) -> str:
    gap = "–" if result.labels is None else percent_up(result.gap)
    cost = "none" if result.labels is None else text_up(result.objective)
    tiles = [
        ("cost", cost),
        ("proven lower bound", text_down(result.lower_bound)),
        ("proven gap", gap),
        ("time", f"{result.seconds:.2f} s" if result.seconds < 100 else f"{result.seconds:.0f} s"),
        ("nodes", f"{result.nodes:,}"),
    ]
    return "".join(f"<div class=tile><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in tiles)


def _notes(result: SolveResult, comparison: PlainComparison | None) -> list[str]:
    notes = [result.message] if result.message else []
    if comparison is None:
        return notes
    moved = int(np.count_nonzero(comparison.changed))
    if moved == 0:
        notes.append("The constraints cost nothing: the best plain k-means clustering found keeps them all.")
        return notes
    broken = " and ".join(
        [
            counted(len(comparison.broken_must_links), "must-link"),
            counted(len(comparison.broken_cannot_links), "cannot-link"),
        ]
    )
    broken += " and the limits on sizes" if comparison.breaks_sizes else ""
    saved = percent_up(1 - comparison.cost / result.objective) if result.objective > 0 else "0 %"
    notes.append(
        "What the constraints changed: the best plain k-means clustering found costs "
        f"{comparison.cost:.8g} ({saved} less), puts {counted(moved, 'point')} elsewhere and breaks {broken}"
        f"{', listed below' if len(comparison.broken_must_links) + len(comparison.broken_cannot_links) else ''}."
    )
    return notes


def _about_data(result: SolveResult) -> str:
    """Say how the data were understood."""
    if not result.notes:
        return ""
    return f"<p class=note>About the data: {_text('; '.join(result.notes))}.</p>"


def _pictures(result: SolveResult, comparison: PlainComparison | None) -> str:
    if not is_available():
        return (
            "<p class=missing>This report has no pictures, because matplotlib is not installed: "
            "<code>pip install 'certimeans[plot]'</code>, then solve again.</p>"
        )
    drawn = []
    without_points = ""
    if has_points(result.instance):
        svg = draw_svg(lambda: draw_clusters(result, comparison), "the points by cluster, with their constraints")
        drawn.append((svg, "" if result.labels is None else _about_clusters(comparison)))
    else:
        without_points = (
            "<p class=missing>The problem was given as a Gram matrix, without points: there are no centres, and no "
            "picture of the clusters.</p>"
        )
    if result.labels is None:
        if result.lower_bound > 0:
            drawn.append((draw_svg(lambda: plot_bounds(result), "proven bound over time"), ""))
    else:
        drawn += _pictures_of_answer(result)
    figures = (
        f"<figure class=card>{svg}{f'<figcaption>{escape(caption)}</figcaption>' if caption else ''}</figure>"
        for svg, caption in drawn
    )
    return f"{without_points}<div class=pictures>{''.join(figures)}</div>"


def _pictures_of_answer(result: SolveResult) -> list[tuple[str, str]]:
    """Draw sizes, bounds and centres, in an order that fills two columns to about the same height."""
    sizes = (draw_svg(lambda: plot_sizes(result), "number of points of each cluster"), "")
    bounds = draw_svg(lambda: plot_bounds(result), "cost of the best clustering and proven bound over time")
    gap = draw_svg(lambda: plot_gap(result), "proven gap over time")
    about_gap = "The proof is complete when the bound meets the cost, within the gap asked for."
    if not has_points(result.instance):
        return [(bounds, ""), (gap, about_gap), sizes]
    centres = (
        draw_svg(lambda: plot_centres(result), "heat map of the cluster centres"),
        "Orange is above the mean of the feature, purple below.",
    )
    both = (bounds + gap, about_gap)
    # The heat map grows with the number of features.
    return [sizes, both, centres] if result.instance.n_features <= 10 else [both, sizes, centres]


def _about_clusters(comparison: PlainComparison | None) -> str:
    words = "Numbers or crosses mark the centres."
    if comparison is not None and comparison.changed.any():
        words += " Rings: plain k-means, without the constraints, puts these points elsewhere."
    return words


def _tree(result: SolveResult) -> str:
    if len(result.tree) < 2 or not is_available():
        return ""
    svg = draw_svg(lambda: plot_tree(result), "the search tree")
    width = tree_width(result)
    least = 70 * width if width > 5.2 else 0.0  # a small tree fits on a phone, a large one is scrolled
    return (
        "<section><h2>Search tree</h2><p class=note>Where the root's bound left a gap, the problem was split: two "
        "points share a cluster (=) or do not (≠), or the cluster of a point has one of the prescribed sizes. Each "
        "case was bounded on its own; small trees show the bounds.</p><figure class='card scroll'>"
        f"<div style='min-width:{least:.0f}px;max-width:{115 * width:.0f}px;margin:auto'>{svg}</div></figure></section>"
    )


def _reproduce(result: SolveResult, command: str | None) -> str:
    instance = result.instance
    data = "points" if has_points(instance) else "gram=..."
    scaling = ", standardize=True" if instance.standardize else ""
    shown = command or (
        f"certimeans.solve({data}, n_clusters={instance.n_clusters}{scaling}, ..., random_state={result.seed})"
    )
    facts = [("made by", shown), ("seed", str(result.seed)), ("fingerprint", instance.fingerprint)]
    facts += describe_environment()
    rows = "".join(f"<tr><th scope=row>{escape(n)}</th><td><code>{escape(v)}</code></td></tr>" for n, v in facts)
    return f"<table class=facts>{rows}</table>"


def _cost_in_words(result: SolveResult) -> str:
    if has_points(result.instance):
        return "Cost means the (weighted) sum of squared distances of the points to the centre of their cluster."
    return (
        "Cost means the (weighted) sum of the diagonal entries of the Gram matrix, less, for each cluster, the sum of "
        "its (weighted) entries divided by the cluster's weight."
    )


def _text(sentence: str) -> str:
    """Escape a sentence and keep numbers and their units on one line."""
    return escape(sentence).replace(" %", "&nbsp;%")
