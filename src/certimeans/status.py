"""Why the solver stopped, and how far apart the two bounds are."""

from __future__ import annotations

from enum import StrEnum

import numpy as np


class SolveStatus(StrEnum):
    """Why the solver stopped, and what its answer means.

    In every case ``lower_bound`` is proven: no feasible clustering costs less. Labels, if there are any, were checked
    against every constraint, and ``objective`` is their cost, recomputed from the raw data.
    """

    OPTIMAL = "optimal"
    """The labels are optimal within the gap: (objective - lower_bound) / objective <= gap is proven."""
    INFEASIBLE = "infeasible"
    """No clustering satisfies the constraints. The solver raises ``InfeasibleError`` rather than return this."""
    TIME_LIMIT = "time_limit"
    """Time ran out. The labels are the best found, if any; the proven gap says how good they are."""
    NODE_LIMIT = "node_limit"
    """As for the time limit, with the number of nodes."""
    INTERRUPTED = "interrupted"
    """As for the time limit: Ctrl-C or SIGTERM; or, with a message that says so, a node that no worker survived, or a
    gap so small that rounding hides it."""


def relative_gap(upper: float, lower: float) -> float:
    """Return (upper - lower) / upper: 0 if both are 0 or the bound has passed, infinite without a clustering."""
    if not np.isfinite(upper):
        return float("inf")
    return 0.0 if upper <= lower else (upper - lower) / upper


def finite_or_none(value: float) -> float | None:
    """Return a number as JSON knows it: ``None`` for an infinite one."""
    return float(value) if np.isfinite(value) else None
