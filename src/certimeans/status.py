"""Why the solver stopped, and how far apart the two bounds are."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

import numpy as np

from certimeans.problem.rounding import rounded_up


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
    """As for the time limit, after Ctrl-C or SIGTERM. Or, with a message that says so: all parts are bounded, and only
    larger ones could prove more; the gap is so small that rounding hides it; the problem does not fit into memory; or
    workers died too often."""


def relative_gap(upper: float, lower: float) -> float:
    r"""Return (upper - lower) / \|upper\|, rounded up.

    0 if the bound has reached the cost, infinite without a clustering, or if only the cost is 0.
    """
    if not np.isfinite(upper):
        return float("inf")
    if upper <= lower:
        return 0.0
    if upper == 0 or not np.isfinite(lower):
        return float("inf")
    return rounded_up((Fraction(upper) - Fraction(lower)) / abs(Fraction(upper)))


def pruning_cost(cost: float, gap: float) -> float:
    """Return the bound that proves a clustering of that cost optimal within a gap; a gap is rounded up when told."""
    return cost if np.isinf(cost) else min(cost, cost - gap * abs(cost) + 2.0**-49 * abs(cost))


def finite_or_none(value: float) -> float | None:
    """Return a number as JSON knows it: ``None`` for an infinite one."""
    return float(value) if np.isfinite(value) else None
