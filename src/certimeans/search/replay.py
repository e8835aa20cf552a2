"""Which groups a saved proof may rest on: its inference is checked row by row, not believed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from certimeans._typing import IntArray
from certimeans.presolve.graph import connected
from certimeans.presolve.identical import unite_identical
from certimeans.presolve.reduce import Presolved
from certimeans.problem.instance import Instance
from certimeans.proof.steps import IdenticalStep, Inference, MergeStep, Step
from certimeans.search.decisions import as_pairs
from certimeans.search.node import AnyDecision


class _Groups:
    """Points that are together, and which groups of them are apart."""

    def __init__(self, n_points: int) -> None:
        self.members = [[i] for i in range(n_points)]
        self.group_of = list(range(n_points))
        self.apart: list[set[int]] = [set() for _ in range(n_points)]

    def unite(self, i: int, j: int) -> None:
        kept, gone = self.group_of[i], self.group_of[j]
        if kept == gone:
            return
        if len(self.members[kept]) < len(self.members[gone]):
            kept, gone = gone, kept
        if gone in self.apart[kept]:
            raise ValueError(f"points {i} and {j} are together and apart")
        for point in self.members[gone]:
            self.group_of[point] = kept
        self.members[kept] += self.members[gone]
        self.members[gone] = []
        for other in self.apart[gone]:
            self.apart[other].discard(gone)
            self.apart[other].add(kept)
            self.apart[kept].add(other)

    def separate(self, i: int, j: int) -> None:
        a, b = self.group_of[i], self.group_of[j]
        if a == b:
            raise ValueError(f"points {i} and {j} are together and apart")
        self.apart[a].add(b)
        self.apart[b].add(a)

    def infer(self, row: list[int], n_clusters: int) -> None:
        """Unite the first two points of a row if its others, k - 1 of them, are apart from each other and from both."""
        i, j, *clique = (self.group_of[point] for point in row)
        if i == j:
            return
        for position, group in enumerate(clique):
            if not self.apart[group].issuperset([i, j, *clique[:position]]):
                raise ValueError(f"points {row[0]} and {row[1]} are united without a reason")
        if len(clique) != n_clusters - 1:
            raise ValueError(f"points {row[0]} and {row[1]} are united for {len(clique)} others")
        self.unite(row[0], row[1])


def inference_of_presolve(presolved: Presolved) -> tuple[Inference, ...]:
    """Return the steps that lead from the instance to the super-points of presolve: what a proof has to begin with."""
    identical = (IdenticalStep(),) if presolved.n_identical else ()
    return (*identical, MergeStep(presolved.merges)) if len(presolved.merges) else identical


def proven_groups(instance: Instance, decisions: Iterable[AnyDecision], steps: Iterable[Step]) -> IntArray:
    """Return the group of each point that constraints, decisions and the inference among ``steps`` prove.

    Identical points are united before anything is decided, so that step may only come from the root.

    Raises
    ------
    ValueError
        If a row of a merge step has no reason, or what is stated contradicts itself.
    """
    groups, decided = _Groups(instance.n_points), as_pairs(tuple(decisions), instance.limits)
    together = [(d.i, d.j) for d in decided if d.together]
    apart = [(d.i, d.j) for d in decided if not d.together]
    united, steps = _united_at_the_root(instance, tuple(steps))
    for i, j in [*instance.must_link.tolist(), *united, *together]:
        groups.unite(i, j)
    for i, j in [*instance.cannot_link.tolist(), *apart]:
        groups.separate(i, j)
    for step in steps:
        if isinstance(step, MergeStep):
            rows = np.asarray(step.rows)
            if rows.ndim != 2 or (rows.size and not (rows.min() >= 0 and rows.max() < instance.n_points)):
                raise ValueError("rows that name no points")
            for row in rows.tolist():
                groups.infer(row, instance.n_clusters)
    return np.array(groups.group_of, dtype=np.int64)


def _united_at_the_root(instance: Instance, steps: tuple[Step, ...]) -> tuple[list[tuple[int, int]], tuple[Step, ...]]:
    """Return the pairs of identical points that are united if the first of the steps says so, and the other steps."""
    if not steps or not isinstance(steps[0], IdenticalStep):
        return [], steps
    groups = unite_identical(instance, connected(instance.n_points, instance.must_link))
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return [(int(i), j) for j, i in enumerate(first[inverse].tolist()) if i != j], steps[1:]


def check_groups(group_of: IntArray, proven: IntArray, n_clusters: int) -> None:
    """Check that points in one group of a proof are together in what was proven.

    Raises
    ------
    ValueError
        If they are not, or groups are not numbered from 0 on, or there are fewer than clusters.
    """
    if group_of.shape != proven.shape or group_of.min() < 0:
        raise ValueError("groups of another shape")
    names, first, inverse = np.unique(group_of, return_index=True, return_inverse=True)
    if len(names) != group_of.max() + 1 or len(names) < n_clusters:
        raise ValueError("groups that are not numbered from 0 on, or too few")
    if not (proven[first][inverse] == proven).all():
        raise ValueError("a group with points that nothing holds together")
