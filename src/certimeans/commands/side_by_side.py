"""Two points side by side, for a person who has to say whether they belong together."""

from __future__ import annotations

import numpy as np

from certimeans.ambiguity import AmbiguousPair
from certimeans.prices import interval_in_words
from certimeans.result import SolveResult

_MOST_FEATURES = 15
_WIDEST = 30
_UNUSUAL = 2.0  # standard deviations


def describe_pair(result: SolveResult, pair: AmbiguousPair) -> str:
    """Show names, features with how unusual each value is, clusters, and what either answer costs."""
    i, j = pair.points
    rows = [("", result.short_name_of(i), result.short_name_of(j)), *_features(result, i, j)]
    labels = result.clustering.labels if result.clustering is not None else np.zeros(0)
    rows.append(("cluster now", str(labels[i]), str(labels[j])))
    widths = [min(_WIDEST, max(len(row[column]) for row in rows)) for column in range(3)]
    lines = ["  ".join(f"{_cut(cell, width):{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    together, apart = interval_in_words(pair.together), interval_in_words(pair.apart)
    lines.append(
        f"together costs {together}, apart {apart}: now {pair.now}, the other answer costs {pair.percent()} more"
    )
    return "\n".join(line.rstrip() for line in lines)


def _features(result: SolveResult, i: int, j: int) -> list[tuple[str, str, str]]:
    """Return the features in which the two differ most, in the user's units, with standard scores."""
    instance = result.instance
    if instance.geometry != "points":
        return []
    points = instance.points
    means, spreads = points.mean(axis=0), points.std(axis=0)
    scores = (points[[i, j]] - means) / np.where(spreads > 0, spreads, 1.0)
    order = np.argsort(-np.abs(scores[0] - scores[1]), kind="stable")
    shown = np.sort(order[:_MOST_FEATURES]).tolist()
    names = instance.feature_names or tuple(f"feature {f}" for f in range(instance.n_features))
    rows = [(names[f], *(f"{points[p, f]:.6g} ({_score(scores[s, f])})" for s, p in enumerate((i, j)))) for f in shown]
    if len(shown) < instance.n_features:
        rows.append((f"({instance.n_features - len(shown)} more differ less)", "", ""))
    return rows


def _score(score: float) -> str:
    return f"{score:+.1f} sd{', unusual' if abs(score) >= _UNUSUAL else ''}"


def _cut(text: str, width: int) -> str:
    """Shorten in the middle: names often differ at their end."""
    if len(text) <= width:
        return text
    tail = width // 2
    return f"{text[: width - tail - 1]}…{text[-tail:]}"
