"""Tables of the report: what the clusters are like, and which constraints plain k-means breaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html import escape

import numpy as np

from certimeans.analysis.profile import Profile, profile_of
from certimeans.report.cluster_plots import telling_features
from certimeans.report.colours import cluster_look
from certimeans.report.comparison import PlainComparison
from certimeans.report.figures import plain
from certimeans.result import SolveResult

_MOST_COLUMNS = 30
_MOST_ROWS = 200
_MOST_PAIRS = 100
_LONGEST_TITLE = 26


def cluster_table(result: SolveResult) -> str:
    """Return the clusters in the user's units: sizes, what distinguishes each, means and spreads."""
    if result.clustering is None:
        return ""
    profile = profile_of(result)
    short = replace(profile, names=tuple(plain(name, _LONGEST_TITLE) for name in profile.names))
    features = telling_features(result, _MOST_COLUMNS).tolist() if profile.names else []
    weighted = bool((result.instance.weights != 1).any())
    weights = np.bincount(result.clustering.labels, result.instance.weights)
    limits = _sizes_beside_limits(result)
    titles = ["cluster", "points", *(["weight"] if weighted else []), *limits]
    titles += ["distinguished by"] if features else []
    head = "".join(f"<th scope=col{' class=words' if ' ' in title else ''}>{title}</th>" for title in titles)
    head += "".join(_title(profile.names[feature]) for feature in features)
    rows = []
    for cluster in range(min(len(profile.sizes), _MOST_ROWS)):
        cells = [f"<td>{profile.sizes[cluster]:,}</td>"]
        cells += [f"<td>{weights[cluster]:.6g}</td>"] if weighted else []
        cells += [f"<td>{escape(column[cluster])}</td>" for column in limits.values()]
        cells += [f"<td class=words>{escape(short.in_words(cluster))}</td>"] if features else []
        cells += _means(profile, cluster, features)
        swatch = f'<i style="background:{cluster_look(cluster).colour}"></i>'
        rows.append(f"<tr><th scope=row>{swatch}{cluster}</th>{''.join(cells)}</tr>")
    if features:
        empty = "<td></td>" * (1 + weighted + len(limits))
        overall = "".join(
            f"<td>{profile.overall_means[f]:.5g} <small>± {profile.overall_spreads[f]:.3g}</small></td>"
            for f in features
        )
        total = f"<td>{int(profile.sizes.sum()):,}</td>"
        rows.append(f"<tr class=all><th scope=row>all</th>{total}{empty}{overall}</tr>")
    notes = list(_left_out(result, features))
    if features:
        notes.append("means ± standard deviations in the units of the data; sd: standard deviations of all points")
    note = f"<p class=note>Shown: {'; '.join(notes)}.</p>" if notes else ""
    return (
        f"<section><h2>Clusters{' and their centres' if features else ''}</h2>{note}<div class='card scroll'>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _sizes_beside_limits(result: SolveResult) -> dict[str, list[str]]:
    """Return columns for what the clusters count, if that is not points, and for what they may count."""
    limits, clustering = result.instance.limits, result.clustering
    if limits is None or clustering is None:
        return {}
    totals = limits.totals(clustering.labels, clustering.n_clusters)
    if limits.exact is not None:
        allowed = [f"exactly {limits.in_words(total)}" for total in totals]
    else:
        ends = [limits.in_words(end) for end in (limits.least, limits.most)]
        allowed = [f"{ends[0]} to {ends[1]}"] * len(totals)
    columns = {} if limits.counts_points else {"capacity": [limits.in_words(total) for total in totals]}
    return columns | {"allowed": allowed}


def broken_constraints(result: SolveResult, comparison: PlainComparison | None) -> str:
    """Return a list of the constraints that plain k-means breaks, by name."""
    if comparison is None:
        return ""
    pairs = [("must-link", "=", i, j) for i, j in comparison.broken_must_links.tolist()]
    pairs += [("cannot-link", "≠", i, j) for i, j in comparison.broken_cannot_links.tolist()]
    if not pairs:
        return ""
    constraints = result.instance.constraints
    rows = []
    for kind, sign, i, j in pairs[:_MOST_PAIRS]:
        stated = constraints.reason("must-link" if kind == "must-link" else "cannot-link", i, j)
        names = f"{escape(result.name_of(i))} {sign} {escape(result.name_of(j))}"
        rows.append(f"<tr><th scope=row>{names}</th><td class=words>{escape(stated)}</td></tr>")
    more = f" The first {_MOST_PAIRS} of {len(pairs):,}:" if len(pairs) > _MOST_PAIRS else ""
    return (
        "<section><h2>What plain k-means would break</h2><p class=note>Constraints that the best clustering found "
        f"without them does not keep (= must link, ≠ cannot link).{more}</p><div class='card scroll'><table><tbody>"
        f"{''.join(rows)}</tbody></table></div></section>"
    )


def _title(name: str) -> str:
    return f'<th scope=col title="{escape(name, quote=True)}">{escape(plain(name, _LONGEST_TITLE))}</th>'


def _means(profile: Profile, cluster: int, features: list[int]) -> list[str]:
    means, spreads = profile.means[cluster], profile.spreads[cluster]
    return [f"<td>{means[f]:.5g} <small>± {spreads[f]:.3g}</small></td>" for f in features]


def _left_out(result: SolveResult, features: list[int]) -> Iterator[str]:
    n_features, n_clusters = result.instance.n_features, result.instance.n_clusters
    if features and len(features) < n_features:
        yield f"the {len(features)} of {n_features} features that differ most between the clusters"
    if n_clusters > _MOST_ROWS:
        yield f"the first {_MOST_ROWS} of {n_clusters} clusters"
