"""What a result means, in words; numbers are rounded so that no sentence claims more than was proven."""

from __future__ import annotations

import math

from certimeans.printing import percent_up, text_down, text_up
from certimeans.report.projection import has_points
from certimeans.result import SolveResult, SolveStatus
from certimeans.search.limits import Limits

_STOPPED_BY = {
    SolveStatus.TIME_LIMIT: "the time limit",
    SolveStatus.NODE_LIMIT: "the node limit",
    SolveStatus.INTERRUPTED: "an interruption",
}
_HEADLINES = {
    SolveStatus.OPTIMAL: "proven optimal",
    SolveStatus.TIME_LIMIT: "stopped at the time limit",
    SolveStatus.NODE_LIMIT: "stopped at the node limit",
    SolveStatus.INTERRUPTED: "interrupted",
}


def headline(result: SolveResult) -> str:
    """Return the status in a few words."""
    words = _HEADLINES[result.status]
    return words if result.labels is not None else f"{words}, no clustering found"


def guarantee(result: SolveResult) -> str:
    """Say in one sentence what is proven."""
    kind = _kind_of_clustering(result)
    bound, cost = text_down(result.lower_bound), text_up(result.objective)
    stopped = f"The search was ended by {_STOPPED_BY.get(result.status, 'a limit')}"
    # A bound of 0 says nothing about sums of squares; costs of a Gram matrix may be negative.
    nothing = not math.isfinite(result.lower_bound) or (result.lower_bound <= 0 and has_points(result.instance))
    if result.labels is None:
        end = "nothing is proven yet" if nothing else f"it is proven that every such clustering costs at least {bound}"
        return f"{stopped} before a {kind} was found; {end}, and one may still exist."
    if result.status is SolveStatus.OPTIMAL and result.gap == 0:
        return f"This clustering is proven optimal: no {kind} costs less."
    if nothing and result.status is not SolveStatus.OPTIMAL:
        return f"{stopped} before a bound was proven: this clustering costs {cost}, and it may be far from the best."
    proof = f"every {kind} costs at least {bound}, so none is more than {percent_up(result.gap)} cheaper."
    if result.status is SolveStatus.OPTIMAL:
        return f"This clustering is proven optimal within the gap asked for: it costs {cost}, {proof}"
    return f"{stopped} before optimality was proven: the best clustering found costs {cost}, {proof}"


def shortfall(result: SolveResult, limits: Limits) -> str:
    """Say which limit ended a search before the gap asked for was proven, and what is proven nevertheless."""
    ends = {
        SolveStatus.TIME_LIMIT: f"time_limit={limits.seconds}",
        SolveStatus.NODE_LIMIT: f"max_nodes={limits.nodes}",
    }
    return (
        f"the search was ended by {ends.get(result.status, result.message or 'an interruption')} with a proven gap of "
        f"{percent_up(result.gap)}, where gap={limits.gap} was asked for; the labels are the best found and keep every "
        "constraint"
    )


def _kind_of_clustering(result: SolveResult) -> str:
    instance = result.instance
    if len(instance.must_link) + len(instance.cannot_link) == 0 and instance.limits is None:
        return f"clustering into {counted(instance.n_clusters, 'cluster')}"
    return "clustering that keeps every constraint"


def counted(number: int, noun: str) -> str:
    """Write a number with its noun, in the plural if need be."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
