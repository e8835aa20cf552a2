"""The best feasible assignment of super-points to fixed centres."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.elimination import eliminate, plan_elimination
from certimeans.presolve.graph import Graph

# Entries of one table of the dynamic programme: some milliseconds. Not for tuning: either way the result is exact.
_MAX_TABLE = 300_000


class Assigner:
    """Assigns super-points to centres at least total cost, keeping every cannot-link and leaving no cluster empty.

    Super-points without cannot-links go to their cheapest centre. Connected components of the cannot-link graph are
    solved by dynamic programming (:mod:`.elimination`) while their width allows, else by a mixed-integer programme.
    The plan depends on the graph only, so one assigner serves any number of costs.

    Parameters
    ----------
    graph
        The cannot-links.
    n_clusters
        k, the number of centres.
    """

    def __init__(self, graph: Graph, n_clusters: int) -> None:
        self._graph = graph
        self._n_clusters = n_clusters
        linked = np.flatnonzero(graph.degrees)
        components = graph.components[linked]
        narrow: dict[int, set[int]] = {}
        wide: list[int] = []
        by_component = linked[np.argsort(components, kind="stable")]
        ends = np.cumsum(np.unique(components, return_counts=True)[1])
        for members in np.split(by_component, ends[:-1]) if len(linked) else ():
            neighbours = graph.neighbour_sets(members)
            if plan_elimination(neighbours, n_clusters, _MAX_TABLE) is None:
                wide += members.tolist()
            else:
                narrow |= neighbours
        self._plan = plan_elimination(narrow, n_clusters, _MAX_TABLE) if narrow else None
        self._wide = np.array(wide, dtype=np.int64)

    def assign(self, costs: FloatArray, deadline: Deadline | None = None) -> IntArray | None:
        """Find the cheapest labels.

        Parameters
        ----------
        costs
            Cost of each super-point (row) at each centre (column).

        Returns
        -------
        IntArray or None
            The labels; ``None`` if there are none or the deadline passed first. Only dynamic programming proves
            that there are none, so nothing is claimed.
        """
        deadline = deadline or Deadline()
        costs = np.ascontiguousarray(costs, dtype=np.float64)
        labels: IntArray = costs.argmin(axis=1).astype(np.int64)
        if self._plan is not None and not eliminate(self._plan, costs, labels):
            return None
        if len(self._wide):
            found = _assign_by_milp(costs[self._wide], self._graph.subgraph(self._wide), deadline, may_be_empty=True)
            if found is None:
                return None
            labels[self._wide] = found
        if len(np.unique(labels)) < self._n_clusters:
            # Rare: a centre so far away that no super-point prefers it.
            return _assign_by_milp(costs, self._graph, deadline, may_be_empty=False)
        return labels


def _assign_by_milp(costs: FloatArray, graph: Graph, deadline: Deadline, *, may_be_empty: bool) -> IntArray | None:
    """Solve the assignment as a mixed-integer programme, one binary variable for each super-point and cluster."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415  # slow to import, seldom needed
    from scipy.sparse import coo_array, eye_array, kron, vstack  # noqa: PLC0415

    if deadline.passed():
        return None
    size, k = costs.shape
    clusters = eye_array(k)
    rows, edges = np.arange(len(graph.edges)).repeat(2), graph.edges.ravel()
    incidence = coo_array((np.ones(len(edges)), (rows, edges)), shape=(len(graph.edges), size))
    one_cluster_each = kron(eye_array(size), np.ones((1, k)))
    at_most_one_of_a_link = kron(incidence, clusters)
    members = kron(np.ones((1, size)), clusters)
    least = np.concatenate(
        [np.ones(size), np.full(len(graph.edges) * k, -np.inf), np.full(k, 0.0 if may_be_empty else 1.0)]
    )
    most = np.concatenate([np.ones(size), np.ones(len(graph.edges) * k), np.full(k, np.inf)])
    scale = float(np.abs(costs).max()) or 1.0  # the solver's tolerances are absolute
    result = milp(
        costs.ravel() / scale,
        integrality=np.ones(size * k),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(vstack([one_cluster_each, at_most_one_of_a_link, members]).tocsr(), least, most),
        options={} if np.isinf(deadline.remaining()) else {"time_limit": deadline.remaining()},
    )
    if result.x is None:
        return None
    labels: IntArray = result.x.reshape(size, k).argmax(axis=1)
    # The solver works in floating point: what it returns is checked, not believed.
    is_proper = bool((labels[graph.edges[:, 0]] != labels[graph.edges[:, 1]]).all())
    return labels if is_proper and (may_be_empty or len(np.unique(labels)) == k) else None
