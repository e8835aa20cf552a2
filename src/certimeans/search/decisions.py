"""What decisions on the way to a node say about its super-points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from certimeans._typing import IntArray
from certimeans.presolve.contract import SuperPoints
from certimeans.problem.sizes import SizeLimits
from certimeans.search.node import AnyDecision, Decision, SizeDecision


def as_pairs(decisions: Sequence[AnyDecision], limits: SizeLimits | None) -> tuple[Decision, ...]:
    """Return all pairs of points that are decided on, and those that follow from decided sizes.

    Two points whose clusters have different sizes are apart; if one cluster alone has a size, they are together.

    Raises
    ------
    ValueError
        If a decision is about a size that is not prescribed.
    """
    pairs = [decision for decision in decisions if isinstance(decision, Decision)]
    sizes = _decided_sizes(decisions, limits)
    for (i, first), (j, second) in combinations(dict.fromkeys(sizes), 2):
        assert limits is not None  # noqa: S101  # there are sizes
        assert limits.exact is not None  # noqa: S101  # the same
        if first != second:
            pairs.append(Decision(i, j, together=False))
        elif limits.exact.count(first) == 1:
            pairs.append(Decision(i, j, together=True))
    return tuple(pairs)


def pairs_of_groups(decisions: Sequence[Decision], group_of: IntArray, *, together: bool) -> IntArray:
    """Return the pairs of groups that decisions put together, or apart."""
    pairs = [(group_of[d.i], group_of[d.j]) for d in decisions if d.together == together]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def with_decided_sizes(points: SuperPoints, decisions: Sequence[AnyDecision]) -> SuperPoints:
    """Say of super-points which sizes their clusters are decided to have."""
    sizes = _decided_sizes(decisions, points.limits)
    if not sizes or points.limits is None:
        return points
    decided = tuple(dict.fromkeys((int(points.group_of[i]), size) for i, size in sizes))
    return replace(points, limits=replace(points.limits, decided=decided))


def _decided_sizes(decisions: Sequence[AnyDecision], limits: SizeLimits | None) -> list[tuple[int, int]]:
    """Return points and the sizes of their clusters."""
    made = [decision for decision in decisions if isinstance(decision, SizeDecision)]
    choices = () if limits is None else limits.choices
    if not all(0 <= decision.place < len(choices) for decision in made):
        raise ValueError("a decision about a size that is not prescribed")
    return [(decision.point, choices[decision.place]) for decision in made]
