"""Multipliers of a solved problem: where the bounds of similar problems start."""

from __future__ import annotations

from certimeans.blas import one_blas_thread
from certimeans.bounds.protocol import Question
from certimeans.bounds.relaxation.bounder import LARGEST_SIZE, RelaxationBounder, WarmStart
from certimeans.deadline import Deadline
from certimeans.presolve.reduce import reduced
from certimeans.problem.instance import Instance
from certimeans.search.memory import memory_limit
from certimeans.search.parts.choice import is_by_parts
from certimeans.search.settings import NodeSettings
from certimeans.status import pruning_cost


def bound_once_more(instance: Instance, cost: float, gap: float, seed: int, deadline: Deadline) -> WarmStart | None:
    """Bound a problem that has a clustering of this cost, for the sake of the multipliers.

    The proof of a result has multipliers, too, but not the matrix that goes with them, and none of the root's if the
    search went on below it.

    Returns
    -------
    WarmStart or None
        ``None`` if the problem is too large to be bounded as a whole.
    """
    presolved = reduced(instance, deadline)
    points, bounder, settings = presolved.super_points, RelaxationBounder(), NodeSettings()
    is_too_large = points.size > LARGEST_SIZE or bounder.bytes_needed(points) > memory_limit(settings.memory_limit)
    if is_too_large or is_by_parts(presolved, "auto", settings):
        return None
    with one_blas_thread():
        answer = bounder.bound(Question(points, lambda: pruning_cost(cost, gap), deadline, seed))
    return answer.start if isinstance(answer.start, WarmStart) else None
