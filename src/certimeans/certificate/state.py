"""What is known of every clustering that an entry of the proof is about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certimeans._typing import BoolArray, IntArray
from certimeans.certificate.colouring import is_colourable
from certimeans.certificate.sizes import Limits
from certimeans.errors import CertificateError


class State:
    """Points in one group are together, linked groups are apart.

    Attributes
    ----------
    group
        The group of each point, named by one of its points.
    n_groups
        How many there are.
    links
        The groups to which each group has a cannot-link; groups without any may be missing.
    contradiction
        Whether a cannot-link has both ends in one group.
    sizes
        Points whose cluster has a certain one of the prescribed sizes, and that size.
    """

    def __init__(self, n: int, must_link: IntArray, cannot_link: IntArray) -> None:
        self.group = list(range(n))
        self.n_groups = n
        self._members: dict[int, list[int]] = {}  # of groups with more than one point
        self.links: dict[int, set[int]] = {}
        self._apart: list[tuple[int, int]] = []  # the pairs of points behind the links
        self.contradiction = False
        self.sizes: list[tuple[int, int]] = []
        for i, j in must_link.tolist():
            self.unite(i, j)
        for i, j in cannot_link.tolist():
            self.separate(i, j)

    def copy(self) -> State:
        """Return a copy that can be changed on its own."""
        other = object.__new__(State)
        other.group = self.group.copy()
        other.n_groups = self.n_groups
        other._members = self._members.copy()  # the lists inside are never changed
        other.links = {group: set(others) for group, others in self.links.items()}
        other._apart = self._apart.copy()
        other.contradiction = self.contradiction
        other.sizes = self.sizes.copy()
        return other

    def restricted(self, points: IntArray) -> State:
        """Return what is known of some of the points, numbered from 0: their groups, and the links of these."""
        first: dict[int, int] = {}
        together = [(first.setdefault(self.group[i], number), number) for number, i in enumerate(points.tolist())]
        apart = [
            (number, first[other])
            for group, number in first.items()
            for other in self.links.get(group, ())
            if group < other and other in first
        ]
        pairs = (np.array(list_, dtype=np.int64).reshape(-1, 2) for list_ in (together, apart))
        return State(len(points), *pairs)

    def unite(self, i: int, j: int) -> None:
        """Put two points together."""
        kept, gone = self.group[i], self.group[j]
        if kept == gone:
            return
        ours, theirs = self._members.get(kept, [kept]), self._members.pop(gone, [gone])
        if len(ours) < len(theirs):
            kept, gone, ours, theirs = gone, kept, theirs, ours
            self._members.pop(gone, None)
        for point in theirs:
            self.group[point] = kept
        self._members[kept] = ours + theirs
        self.n_groups -= 1
        for other in self.links.pop(gone, ()):
            self.links[other].discard(gone)
            if other == kept:
                self.contradiction = True
            else:
                self._link(other, kept)

    def free_points(self) -> IntArray:
        """Return the points that are alone in their group and have no cannot-link."""
        own = np.array(self.group, dtype=np.int64)
        is_free = np.bincount(own, minlength=len(own))[own] == 1
        is_free[[group for group, others in self.links.items() if others]] = False
        return np.flatnonzero(is_free)

    def unite_free(self, places: Sequence[IntArray]) -> None:
        """Put together each set of points, which have to be free."""
        for place in places:
            first, *others = sorted(place.tolist())
            if others:
                for point in others:
                    self.group[point] = first
                self._members[first] = [first, *others]
                self.n_groups -= len(others)

    def separate(self, i: int, j: int) -> None:
        """Put two points apart."""
        self._apart.append((i, j))
        a, b = self.group[i], self.group[j]
        if a == b:
            self.contradiction = True
        else:
            self._link(a, b)

    def decide_size(self, point: int, size: int, *, is_unique: bool) -> None:
        """Let the cluster of a point have a size, which only one cluster has if it ``is_unique``.

        So it is apart from points whose clusters have other sizes, and with those in the only cluster of its size.
        """
        for other, known in self.sizes:
            if known != size:
                self.separate(point, other)
            elif is_unique:
                self.unite(point, other)
        self.sizes.append((point, size))

    def decided_sizes(self, groups: IntArray) -> dict[int, int]:
        """Return the super-points, of a partition within this one, whose clusters have a decided size."""
        of_group = {self.group[point]: size for point, size in self.sizes}
        found = ((int(a), of_group.get(group)) for a, group in zip(groups, self.group, strict=True))
        return {a: size for a, size in found if size is not None}

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
            if not self.links.get(c, set()).issuperset([i, j, *clique[:position]]):
                raise CertificateError(f"{where}: points {row[0]} and {row[1]} are united without a reason")
        self.unite(row[0], row[1])

    def is_infeasible(self, k: int, limits: Limits | None = None) -> bool:
        """Whether no clustering into k clusters satisfies the state and limits on sizes, decided exactly."""
        if self.contradiction or self.n_groups < k:
            return True
        if limits is None:
            return not is_colourable(self.links, k)
        groups, size = self.numbered()
        number = dict(zip(self.group, groups.tolist(), strict=True))
        links: list[set[int]] = [set() for _ in range(size)]
        for group, others in self.links.items():
            links[number[group]] = {number[other] for other in others}
        totals, decided = limits.totals(groups, size), self.decided_sizes(groups)
        return not is_colourable(self.links, k) or not limits.can_be_kept(totals, links, decided)

    def numbered(self) -> tuple[IntArray, int]:
        """Return the group of each point, numbered from 0, and how many there are."""
        _, groups = np.unique(np.array(self.group, dtype=np.int64), return_inverse=True)
        return groups.reshape(-1).astype(np.int64), self.n_groups

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

    def _link(self, a: int, b: int) -> None:
        self.links.setdefault(a, set()).add(b)
        self.links.setdefault(b, set()).add(a)
