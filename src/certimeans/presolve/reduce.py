"""Presolve: from an instance to its super-points, or to the reason why there is no clustering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.errors import InfeasibleError
from certimeans.presolve.colouring import find_colouring
from certimeans.presolve.conflicts import EXPLANATION_SECONDS, explain
from certimeans.presolve.contract import SuperPoints, contract
from certimeans.presolve.graph import Contradiction, connected
from certimeans.presolve.identical import unite_identical
from certimeans.presolve.infer import implied_groups
from certimeans.presolve.packing import find_packing, guess_packing
from certimeans.problem.instance import Instance


@dataclass(frozen=True, eq=False)
class Presolved:
    """An instance made smaller without losing a feasible clustering.

    Attributes
    ----------
    super_points
        The contracted problem; its ``expand_labels`` leads back.
    merges
        The steps of inference; see :func:`infer`.
    colouring
        Colours of the super-points that keep every cannot-link, at most k of them: a proof that a clustering exists.
        ``None`` if the deadline passed before one was found. With limits on sizes they keep these, too, and use every
        colour; ``None`` then also if the search for them gave up.
    n_groups
        How many groups the must-links form; the rest of presolve leaves ``super_points.size`` of them.
    n_identical
        How many points were united with an identical one, see :mod:`certimeans.presolve.identical`. If there are any,
        bounds of the super-points rest on that, and a proof has to begin with it.
    """

    instance: Instance
    super_points: SuperPoints
    merges: IntArray
    colouring: IntArray | None
    n_groups: int
    n_identical: int = 0

    def describe(self) -> str:
        """Say in a line what was made of the problem."""
        instance, size = self.instance, self.super_points.size
        links = f"{len(instance.must_link)} must-links, {len(instance.cannot_link)} cannot-links"
        inferred = self.n_groups - self.n_identical - size
        more = f"; {self.n_identical} identical points united" if self.n_identical > 0 else ""
        more += f"; {inferred} merged by inference" if inferred > 0 else ""
        return f"presolve: {instance.n_points} points, {size} super-points; {links}{more}"


# Not for tuning: uniting fewer points saves nothing worth a step in the proof.
_LEAST_SHARE_OF_IDENTICAL = 0.05


def presolve(instance: Instance, deadline: Deadline | None = None) -> Presolved:
    """Merge what must share a cluster, infer what follows, and decide whether a clustering exists.

    Raises
    ------
    InfeasibleError
        If none exists; its message names pairs that contradict each other.
    """
    try:
        return reduced(instance, deadline)
    except Contradiction:
        raise InfeasibleError(explain(instance, (deadline or Deadline()).within(EXPLANATION_SECONDS))) from None


def reduced(instance: Instance, deadline: Deadline | None = None, *, unite: bool = True) -> Presolved:
    """Do the same, without an explanation where there is no clustering.

    Parameters
    ----------
    unite
        Whether identical points become one.

    Raises
    ------
    Contradiction
        If there is none.
    """
    groups = connected(instance.n_points, instance.must_link)
    n_groups = int(groups.max()) + 1
    if n_groups < instance.n_clusters:
        raise Contradiction
    united = unite_identical(instance, groups) if unite else groups
    n_identical = n_groups - (int(united.max()) + 1)
    if n_identical < _LEAST_SHARE_OF_IDENTICAL * n_groups:
        united, n_identical = groups, 0
    stated = contract(instance, united)
    super_points, merges = infer(stated, deadline)
    colouring = find_colouring(super_points.graph, instance.n_clusters, deadline)
    if super_points.limits is not None:
        colouring = _pack(super_points, deadline or Deadline())
    return Presolved(instance, super_points, merges, colouring, n_groups, n_identical)


def _pack(points: SuperPoints, deadline: Deadline) -> IntArray | None:
    """Find labels that keep limits on sizes as well; ``None`` if it is undecided whether there are any.

    Raises
    ------
    Contradiction
        If there are none.
    """
    packing = find_packing(points, deadline=deadline)
    return guess_packing(points, deadline) if packing is None else packing


def infer(super_points: SuperPoints, deadline: Deadline | None = None) -> tuple[SuperPoints, IntArray]:
    """Merge the super-points that the cannot-links force together, and say why.

    Returns
    -------
    tuple
        The merged super-points, and the steps as in :class:`~certimeans.presolve.infer.Implied`, each group named by
        its first original point.

    Raises
    ------
    Contradiction
        If the cannot-links are found to contradict each other.
    """
    implied = implied_groups(super_points.graph, super_points.n_clusters, deadline)
    if int(implied.group_of.max()) + 1 < super_points.size:
        return super_points.merge(implied.group_of), super_points.first_points[implied.merges]
    return super_points, np.empty((0, super_points.n_clusters + 1), dtype=np.int64)
