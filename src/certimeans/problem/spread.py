"""Which feature the distances are about, if it is nearly one alone."""

from __future__ import annotations

import numpy as np

from certimeans.problem.instance import Instance

_DOMINANT = 0.99
_MOST_ROWS = 100_000


def dominant_feature(instance: Instance) -> str | None:
    """Say which feature makes up at least 99 % of the variance of several; ``None`` if none does."""
    if instance.geometry != "points" or instance.standardize or instance.n_features < 2:
        return None
    points = instance.points[:: 1 + instance.n_points // _MOST_ROWS]  # of very many points, some say enough
    points = points / max(float(np.abs(points).max()), np.finfo(np.float64).tiny)
    variances = points.var(axis=0)
    total = float(variances.sum())
    feature = int(variances.argmax())
    if not total > 0 or variances[feature] < _DOMINANT * total or np.count_nonzero(variances) < 2:
        return None
    name = f"number {feature}" if instance.feature_names is None else repr(instance.feature_names[feature])
    percent = 100 * float(variances[feature]) / total
    return f"feature {name} makes up {min(percent, 99.9):.1f} % of the variance, so the clusters are about little else"
