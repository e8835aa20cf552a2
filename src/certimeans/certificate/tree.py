"""The search tree: that its leaves cover every clustering, and what is known at each node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certimeans._typing import BoolArray, IntArray
from certimeans.certificate.colouring import is_colourable
from certimeans.certificate.read import Node
from certimeans.errors import CertificateError


def children_of(nodes: Sequence[Node]) -> list[list[int]]:
    """List the children of each node, after checking that they split what their parent covers.

    Every clustering has two points together or apart. So if each node has no children, or one for either case, every
    clustering that satisfies the decisions on the way to a node satisfies those on the way to a leaf below it. Parents
    come before their children (``read.py`` checks that), so everything hangs on the root.

    Raises
    ------
    CertificateError
        If a node has other children.
    """
    children: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        if node.parent is not None:
            children[node.parent].append(number)
    for number, found in enumerate(children):
        decisions = [decision for child in found if (decision := nodes[child].decision) is not None]
        if not found:
            continue
        if len(decisions) != 2:
            raise CertificateError(f"node {number} has {len(found)} children instead of two or none")
        (i, j, together), (a, b, also_together) = decisions
        if {i, j} != {a, b} or together == also_together:
            raise CertificateError(f"node {number}: one child must join two points, the other must separate the same")
    return children


class State:
    """What every clustering of a node satisfies: points in one group are together, linked groups are apart.

    Attributes
    ----------
    group
        The group of each point, named by one of its points.
    links
        The groups to which each group has a cannot-link.
    contradiction
        Whether a cannot-link has both ends in one group.
    """

    def __init__(self, n: int, must_link: IntArray, cannot_link: IntArray) -> None:
        self.group = list(range(n))
        self._members = [[i] for i in range(n)]
        self.links: dict[int, set[int]] = {i: set() for i in range(n)}
        self._apart: list[tuple[int, int]] = []  # the pairs of points behind the links
        self.contradiction = False
        for i, j in must_link.tolist():
            self.unite(i, j)
        for i, j in cannot_link.tolist():
            self.separate(i, j)

    def copy(self) -> State:
        """Return a copy that can be changed on its own."""
        other = object.__new__(State)
        other.group = self.group.copy()
        other._members = self._members.copy()  # the lists inside are never changed
        other.links = {group: set(others) for group, others in self.links.items()}
        other._apart = self._apart.copy()
        other.contradiction = self.contradiction
        return other

    def unite(self, i: int, j: int) -> None:
        """Put two points together."""
        kept, gone = self.group[i], self.group[j]
        if kept == gone:
            return
        if len(self._members[kept]) < len(self._members[gone]):
            kept, gone = gone, kept
        for point in self._members[gone]:
            self.group[point] = kept
        self._members[kept] = self._members[kept] + self._members[gone]
        for other in self.links.pop(gone):
            self.links[other].discard(gone)
            if other == kept:
                self.contradiction = True
            else:
                self.links[other].add(kept)
                self.links[kept].add(other)

    def separate(self, i: int, j: int) -> None:
        """Put two points apart."""
        self._apart.append((i, j))
        a, b = self.group[i], self.group[j]
        if a == b:
            self.contradiction = True
        else:
            self.links[a].add(b)
            self.links[b].add(a)

    def merge(self, row: Sequence[int], where: str) -> None:
        """Apply an inference step ``i, j, c_1, ..``: the groups of the c are linked to each other, to i and to j.

        With k - 1 of them, they take k - 1 clusters, none of them that of i or j: so i and j share the last one.

        Raises
        ------
        CertificateError
            If the reason does not hold.
        """
        i, j, *clique = (self.group[point] for point in row)
        if i == j:
            return
        for position, c in enumerate(clique):
            if self.contradiction:
                break  # no clustering is left, and everything is true of none
            if not self.links[c].issuperset([i, j, *clique[:position]]):
                raise CertificateError(f"{where}: points {row[0]} and {row[1]} are united without a reason")
        self.unite(row[0], row[1])

    def is_infeasible(self, k: int) -> bool:
        """Whether no clustering into k clusters satisfies the state, decided exactly."""
        return self.contradiction or len(self.links) < k or not is_colourable(self.links, k)

    def forbidden(self, groups: IntArray, size: int, where: str) -> BoolArray:
        """Say which super-points of a proof cannot link: a stated cannot-link or a decision separates points of them.

        Raises
        ------
        CertificateError
            If a super-point has points of two groups of the state.
        """
        own = np.array(self.group)
        of_super_point = np.empty(size, dtype=np.int64)
        of_super_point[groups] = own
        if not (of_super_point[groups] == own).all():
            raise CertificateError(f"{where}: a super-point has points that nothing holds together")
        first, second = groups[np.array(self._apart, dtype=np.int64).reshape(-1, 2)].T
        linked = np.zeros((size, size), dtype=np.bool_)
        linked[first, second] = linked[second, first] = True
        np.fill_diagonal(linked, val=False)
        return linked
