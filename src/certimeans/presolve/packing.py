"""Whether groups of points fit into clusters of limited sizes: an exact search on integers.

A floating-point solver's "infeasible" is not a proof; this search is our own. It puts one group after the other, large
ones first, into a cluster that its cannot-links and the limits leave it, and turns back where what is left cannot fill
the clusters that are too small, or does not fit into the others. Clusters that are alike are tried once.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.graph import Contradiction, Graph
from certimeans.problem.sizes import SizeLimits

STEPS = 200_000
"""Groups put somewhere before the search gives up: about a second."""

_STEPS_BETWEEN_LOOKS = 1_000
_MOST_REMEMBERED = 200_000
_MOST_VARIABLES = 200_000
_MILP_SECONDS = 10.0


def find_packing(points: SuperPoints, max_steps: int = STEPS, deadline: Deadline | None = None) -> IntArray | None:
    """Find labels of super-points that keep cannot-links and limits, with no cluster empty.

    Returns
    -------
    IntArray or None
        Labels; ``None`` if the search gave up, which says nothing.

    Raises
    ------
    Contradiction
        If there are none.
    """
    assert points.limits is not None  # noqa: S101  # callers ask only where there are limits
    return pack(points.limits, points.graph, points.n_clusters, max_steps, deadline)


def pack(
    limits: SizeLimits, graph: Graph, n_clusters: int, max_steps: int = STEPS, deadline: Deadline | None = None
) -> IntArray | None:
    """Do the same for what counts the amounts of ``limits`` and has the cannot-links of a graph."""
    amounts = [int(amount) for amount in limits.amounts]
    slots = limits.slots(n_clusters)
    if len(amounts) < n_clusters or not _fits_in_total(amounts, slots):
        raise Contradiction
    neighbours = graph.neighbour_sets(np.arange(len(amounts))) if len(graph.edges) else {}
    degrees = graph.degrees.tolist()
    order = sorted(range(len(amounts)), key=lambda v: (-amounts[v], -degrees[v], v))
    decided = dict(limits.decided)
    if len(decided) < len(limits.decided):
        raise Contradiction  # one of two sums each
    required = [decided.get(v) for v in order]
    search = _Packing([amounts[v] for v in order], slots, _earlier_neighbours(order, neighbours), required)
    found = search.run(max_steps, deadline or Deadline())
    if found is None:
        return None
    labels = np.empty(len(amounts), dtype=np.int64)
    labels[order] = found
    return labels


def guess_packing(points: SuperPoints, deadline: Deadline) -> IntArray | None:
    """Look for such labels with a mixed-integer programme; ``None`` if that finds none, which proves nothing."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415  # slow to import, seldom needed
    from scipy.sparse import coo_array, eye_array, kron, vstack  # noqa: PLC0415

    limits, k, size, edges = points.limits, points.n_clusters, points.size, points.graph.edges
    assert limits is not None  # noqa: S101  # callers ask only where there are limits
    if size * k > _MOST_VARIABLES or len(edges) * k > _MOST_VARIABLES or deadline.passed():
        return None
    scale = max(1, limits.total)
    shares = np.array([[float(Fraction(int(amount), scale)) for amount in limits.amounts]])
    slots = [(float(Fraction(low, scale)), float(Fraction(high, scale))) for low, high in limits.slots(k)]
    rows, ends = np.arange(len(edges)).repeat(2), edges.ravel()
    incidence = coo_array((np.ones(len(ends)), (rows, ends)), shape=(len(edges), size))
    clusters = eye_array(k)
    blocks = [
        kron(eye_array(size), np.ones((1, k))),  # one cluster each
        kron(incidence, clusters),  # at most one of a cannot-link
        kron(np.ones((1, size)), clusters),  # no cluster is empty
        kron(shares, clusters),
    ]
    least = [np.ones(size), np.full(len(edges) * k, -np.inf), np.ones(k), np.array([low for low, _ in slots])]
    most = [np.ones(size), np.ones(len(edges) * k), np.full(k, np.inf), np.array([high for _, high in slots])]
    result = milp(
        np.zeros(size * k),
        integrality=np.ones(size * k),  # type: ignore[arg-type]  # the stubs of SciPy forget arrays of floats
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(vstack(blocks).tocsr(), np.concatenate(least), np.concatenate(most)),
        options={"time_limit": min(_MILP_SECONDS, deadline.remaining())},
    )
    if result.x is None:
        return None
    labels: IntArray = result.x.reshape(size, k).argmax(axis=1).astype(np.int64)
    # The solver works in floating point: what it returns is checked, not believed.
    is_proper = bool((labels[edges[:, 0]] != labels[edges[:, 1]]).all()) and len(np.unique(labels)) == k
    return labels if is_proper and limits.allow(limits.totals(labels, k)) else None


def _fits_in_total(amounts: list[int], slots: list[tuple[int, int]]) -> bool:
    """Whether the sum of all, and the largest of all, fit: what can be said without a search."""
    total = sum(amounts)
    least, most = sum(low for low, _ in slots), sum(high for _, high in slots)
    return least <= total <= most and max(amounts) <= max(high for _, high in slots)


def _earlier_neighbours(order: list[int], neighbours: dict[int, set[int]]) -> list[list[int]]:
    """Return for each place of the order the earlier places whose vertices are linked with its own."""
    place = {v: p for p, v in enumerate(order)}
    return [sorted(place[u] for u in neighbours.get(v, ()) if place[u] < p) for p, v in enumerate(order)]


class _Packing:
    """The search: a stack of choices.

    Parameters
    ----------
    amounts
        What each item counts, the largest first.
    slots
        The least and the most of each cluster.
    earlier
        For each item, the earlier ones that it cannot be with.
    required
        For each item, the sum that its cluster must have; ``None`` where that is free.
    """

    def __init__(
        self,
        amounts: list[int],
        slots: list[tuple[int, int]],
        earlier: list[list[int]],
        required: list[int | None],
    ) -> None:
        self.amounts = amounts
        self.required = required
        self.low = [low for low, _ in slots]
        self.high = [high for _, high in slots]
        self.earlier = earlier
        self.is_linked = any(earlier)
        self.left = [0] * (len(amounts) + 1)  # what the items from each place on count together
        for p in reversed(range(len(amounts))):
            self.left[p] = self.left[p + 1] + amounts[p]
        self.load = [0] * len(slots)
        self.members = [0] * len(slots)
        self.label = [-1] * len(amounts)
        self.missing = sum(self.low)  # what clusters lack to their least
        self.n_empty = len(slots)
        self.dead_ends: set[tuple[object, ...]] = set()

    def run(self, max_steps: int, deadline: Deadline) -> list[int] | None:
        """Return the cluster of each item, or ``None`` if it takes too many steps.

        Raises
        ------
        Contradiction
            If there is no way.
        """
        n = len(self.amounts)
        waiting: list[list[int]] = [self._choices(0)]
        for step in range(max_steps):
            if step % _STEPS_BETWEEN_LOOKS == 0 and deadline.passed():
                return None
            place = len(waiting) - 1
            if self.label[place] >= 0:
                self._take_out(place)
            if not waiting[-1]:
                self._remember(place)
                waiting.pop()
                if not waiting:
                    raise Contradiction
                continue
            self._put(place, waiting[-1].pop())
            if place + 1 == n:
                return self.label
            waiting.append(self._choices(place + 1))
        return None

    def _choices(self, place: int) -> list[int]:
        """List the clusters for an item, the best last; clusters that are alike only once."""
        key = self._key(place)
        if key is not None and key in self.dead_ends:
            return []
        amount, n_left, required = self.amounts[place], len(self.amounts) - place, self.required[place]
        blocked = {self.label[p] for p in self.earlier[place]}
        seen: set[tuple[object, ...]] = set()
        choices = []
        for c, load in enumerate(self.load):
            if c in blocked or load + amount > self.high[c] or (required is not None and self.high[c] != required):
                continue
            # With cannot-links, clusters with members are never alike.
            own = 0 if self.members[c] == 0 else c + 1 if self.is_linked else 1
            look = (load, self.low[c], self.high[c], own)
            if look in seen:
                continue
            seen.add(look)
            filled = min(amount, max(0, self.low[c] - load))
            empty = self.n_empty - (self.members[c] == 0)
            if self.missing - filled <= self.left[place + 1] and empty <= n_left - 1:
                choices.append(c)
        choices.sort(key=lambda c: (self.load[c] + amount == self.high[c], self.high[c] - self.load[c], -c))
        return choices

    def _put(self, place: int, c: int) -> None:
        amount = self.amounts[place]
        self.missing -= min(amount, max(0, self.low[c] - self.load[c]))
        self.n_empty -= self.members[c] == 0
        self.load[c] += amount
        self.members[c] += 1
        self.label[place] = c

    def _take_out(self, place: int) -> None:
        amount, c = self.amounts[place], self.label[place]
        self.load[c] -= amount
        self.members[c] -= 1
        self.n_empty += self.members[c] == 0
        self.missing += min(amount, max(0, self.low[c] - self.load[c]))
        self.label[place] = -1

    def _key(self, place: int) -> tuple[object, ...] | None:
        """Name what matters for the items from a place on; ``None`` with cannot-links, where everything does."""
        if self.is_linked:
            return None
        clusters = zip(self.load, self.low, self.high, (members > 0 for members in self.members), strict=True)
        return place, *sorted(clusters)

    def _remember(self, place: int) -> None:
        key = self._key(place)
        if key is not None and len(self.dead_ends) < _MOST_REMEMBERED:
            self.dead_ends.add(key)
