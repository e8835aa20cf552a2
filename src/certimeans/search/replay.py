"""Which groups a saved proof may rest on: its inference is checked row by row, not believed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from certimeans._typing import IntArray
from certimeans.problem.instance import Instance
from certimeans.proof.steps import MergeStep, Step
from certimeans.search.node import Decision


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


def proven_groups(instance: Instance, decisions: Iterable[Decision], steps: Iterable[Step]) -> IntArray:
    """Return the group of each point that constraints, decisions and the merge steps among ``steps`` prove.

    Raises
    ------
    ValueError
        If a row of a merge step has no reason, or what is stated contradicts itself.
    """
    groups, decided = _Groups(instance.n_points), tuple(decisions)
    together = [(d.i, d.j) for d in decided if d.together]
    apart = [(d.i, d.j) for d in decided if not d.together]
    for i, j in [*instance.must_link.tolist(), *together]:
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
