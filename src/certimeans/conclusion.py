"""From the end of a search to a result that was checked against itself."""

from __future__ import annotations

import math
from dataclasses import replace

from certimeans.errors import InfeasibleError, InternalError
from certimeans.presolve.conflicts import no_clustering_within
from certimeans.presolve.reduce import Presolved
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from certimeans.problem.scaling import farthest_entry
from certimeans.result import SolveResult
from certimeans.search.coordinator import SearchOutcome
from certimeans.search.history import History
from certimeans.search.incumbent import Incumbent
from certimeans.search.statistics import peak_memory
from certimeans.status import SolveStatus

_LARGE_TABLE = 1_000_000


def checked_result(
    presolved: Presolved,
    incumbent: Incumbent,
    outcome: SearchOutcome,
    history: History,
    target_gap: float,
    seed: int,
    seconds: float,
) -> SolveResult:
    """Build the result and check it against itself: better no result than a wrong one."""
    instance = presolved.instance
    instance.check_unchanged()
    clustering = incumbent.clustering
    if clustering is not None:
        # The incumbent was checked when it came in; once more unless that takes longer than one waits after a Ctrl-C.
        again = (
            clustering if instance.table.size > _LARGE_TABLE else Clustering.from_labels(instance, clustering.labels)
        )
        if not again.satisfies(instance) or again.cost != clustering.cost or outcome.lower_bound > again.cost:
            raise InternalError("the result contradicts itself; please report this with the data")
    elif outcome.is_complete and outcome.lower_bound == math.inf and instance.limits is not None:
        raise InfeasibleError(no_clustering_within(instance))
    elif outcome.status is SolveStatus.OPTIMAL:
        raise InternalError("the search ended without a clustering and without a proof; please report this")
    undecided = _undecided(presolved, clustering)
    statistics = replace(
        outcome.statistics,
        size=presolved.super_points.size,
        root_lower_bound=min(outcome.statistics.root_lower_bound, incumbent.cost),
        seconds=seconds,
        peak_memory=peak_memory(),
    )
    return SolveResult(
        instance=instance,
        status=outcome.status,
        clustering=clustering,
        lower_bound=outcome.lower_bound,
        statistics=statistics,
        target_gap=target_gap,
        seed=seed,
        message="; ".join(filter(None, [outcome.message + _hint(instance, outcome), undecided])),
        history=tuple(history.entries),
        search_tree=outcome.tree,
        is_complete=outcome.is_complete,
    )


def _hint(instance: Instance, outcome: SearchOutcome) -> str:
    """Name a number that costs all others their digits, if the gap stays open because these are missing."""
    is_open = outcome.status is SolveStatus.INTERRUPTED and outcome.is_complete and instance.geometry == "points"
    entry = farthest_entry(instance.points) if is_open else None
    if entry is None:
        return ""
    value = instance.points[entry]
    return f"; points[{entry[0]}, {entry[1]}] = {value:.6g} lies far from all others: is it a mistake or a fill value?"


def _undecided(presolved: Presolved, clustering: Clustering | None) -> str:
    """Say that it is not known whether there is a clustering, if so."""
    if clustering is not None or presolved.colouring is not None or presolved.instance.limits is None:
        return ""
    return "it is undecided whether any clustering keeps the limits on sizes"
