"""The upper bound: search for a good clustering of super-points that keeps every cannot-link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.errors import InputError
from certimeans.heuristics.chains import make_workspace
from certimeans.heuristics.children import MENDING_STEPS, Guide
from certimeans.heuristics.ejections import QUICK, begin_trees, make_path
from certimeans.heuristics.memetic import GROWS_TREES, IDLE, evolve
from certimeans.heuristics.penalty import mend
from certimeans.heuristics.population import BETTER, add_member, best_slot, make_population
from certimeans.heuristics.starts import fill_empty_clusters, make_room, smallest_last_order
from certimeans.heuristics.state import count_violations, make_clusters, make_space, set_labels
from certimeans.presolve.contract import SuperPoints
from certimeans.randomness import random_state

# Compiled code runs for about this many evaluations (a few milliseconds) before the deadline is looked at.
_EVALUATIONS_PER_CALL = 100_000

_DENSE = 1.5  # cannot-links for each super-point
_VISITS_BEFORE_MIXING = 100  # of each super-point: where descents are long, few start from fresh centres
_PATIENCE = 3  # on dense graphs the search goes on until it is so many times as long as at its last improvement
_MOST_DENSE_SEARCHES = 4  # times n_searches
_ISLANDS = 3  # populations there, one after the other: each may settle on another clustering, the best one counts
_MENDING_PRICE = 0.05  # in units of the mean scatter of a super-point


@dataclass(frozen=True)
class SearchSettings:
    """How much to search.

    Attributes
    ----------
    n_searches
        Number of descents to a local optimum. On a dense cannot-link graph, where seeds would differ otherwise, more
        are made while improvements keep coming: three times as many as at the last one, at most four times
        ``n_searches``; and all that three times.
    population
        Number of local optima that survive a selection; twice as many live before it.
    max_visits
        Most visits of super-points in all descents together: what ends the search of many points.
    """

    n_searches: int = 300
    population: int = 15
    max_visits: int = 20_000_000

    def __post_init__(self) -> None:
        for name, least in (("n_searches", 1), ("population", 2), ("max_visits", 1)):
            value = getattr(self, name)
            if value < least:
                raise InputError(f"{name} must be at least {least}; got {value}")


def search_clustering(
    super_points: SuperPoints,
    *,
    colouring: IntArray | None = None,
    start: IntArray | None = None,
    seed: int | Sequence[int] = 0,
    deadline: Deadline | None = None,
    settings: SearchSettings | None = None,
    on_improvement: Callable[[IntArray], None] | None = None,
) -> IntArray | None:
    """Search for a clustering of low cost: Kempe search inside a memetic loop.

    Parameters
    ----------
    colouring
        Colours that keep the cannot-links, at most k of them, if known: the last resort among the starts.
    start
        A clustering of the super-points to begin with; if it breaks cannot-links it is mended where possible.
    seed
        Equal seeds give equal results, unless the deadline cuts the search short.
    deadline
        When to end, whatever was found by then.
    on_improvement
        Called with the labels of each new best clustering.

    Returns
    -------
    IntArray or None
        Labels of the super-points: k non-empty clusters, no cannot-link broken. ``None`` if none was found, which
        proves nothing.
    """
    settings = settings or SearchSettings()
    deadline = deadline or Deadline()
    if super_points.size < super_points.n_clusters:
        return None
    search = _Search(super_points, colouring, settings)
    best: IntArray | None = None
    known_cost = np.inf
    for island in range(_ISLANDS if search.is_dense else 1):
        search.begin_population([*np.atleast_1d(seed), island] if island else seed)
        if start is not None and island == 0:
            search.begin_with(start)
        while not (search.is_over() or deadline.passed()):
            search.advance()
            if search.best_cost() < known_cost * BETTER:
                best, known_cost = search.best_labels(), search.best_cost()
                if on_improvement is not None:
                    on_improvement(best)
        search.end_descent()
        if search.best_cost() < known_cost:
            best, known_cost = search.best_labels(), search.best_cost()
    return search.fill(colouring) if best is None else best


class _Search:
    """The memetic loop over one problem, advanced a few milliseconds at a time."""

    def __init__(
        self,
        super_points: SuperPoints,
        colouring: IntArray | None,
        settings: SearchSettings,
    ) -> None:
        self.settings = settings
        self.space = make_space(super_points)
        self.room = make_room(self.space)
        order, degeneracy = smallest_last_order(super_points.graph)
        # Else assigning in order never fails and Kempe chains stay short; nothing else is needed.
        size, n_links = super_points.size, len(super_points.graph.edges)
        self.is_dense = degeneracy >= super_points.n_clusters or n_links > _DENSE * size
        nothing = np.empty(0, dtype=np.int64)
        self.guide = Guide(
            nothing if self.is_dense else order,
            nothing if colouring is None else np.ascontiguousarray(colouring, dtype=np.int64),
            n_fresh=max(2, min(settings.population, settings.max_visits // (_VISITS_BEFORE_MIXING * size))),
        )
        self.clusters = make_clusters(self.space)
        self.path = make_path(self.space)
        self.visits = 0
        width = 1 if self.space.by_gram else max(1, self.space.rows.shape[1])
        self.visits_per_call = max(1, _EVALUATIONS_PER_CALL // (super_points.n_clusters * width))

    def begin_population(self, seed: int | Sequence[int]) -> None:
        """Begin anew with an empty population; only the visits made so far count on."""
        self.random = random_state(seed)
        self.population = make_population(self.space, 2 * self.settings.population)
        self.work = make_workspace(self.space)
        self.budget = self.settings.n_searches
        self.known_cost = np.inf

    def begin_with(self, labels: IntArray) -> None:
        """Let the first descent start from given labels."""
        size, k = len(self.space.weights), self.space.n_clusters
        labels = np.array(labels, dtype=np.int64)
        if labels.shape != (size,) or labels.min() < 0 or labels.max() >= k:
            raise InputError(f"start must hold a cluster in 0..{k - 1} for each of the {size} super-points")
        self.room.labels[:] = labels
        fill_empty_clusters(self.room.labels, self.room.tally, self.random)
        set_labels(self.space, self.clusters, self.room.labels)
        if count_violations(self.clusters) == 0 or mend(
            self.space, self.clusters, self.work, _MENDING_PRICE / size, MENDING_STEPS, self.random
        ):
            begin_trees(self.space, self.clusters, self.path, QUICK)
            self.population.busy[0] = GROWS_TREES

    def is_over(self) -> bool:
        """Whether the budget is used up."""
        return bool(self.population.born[0] >= self.budget or self.visits >= self.settings.max_visits)

    def advance(self) -> None:
        """Search on for some milliseconds."""
        self.visits += evolve(
            self.space,
            self.guide,
            self.population,
            self.room,
            self.clusters,
            self.work,
            self.path,
            self.random,
            self.budget,
            self.visits_per_call,
        )
        if self.is_dense and self.best_cost() < self.known_cost * BETTER:
            self.known_cost = self.best_cost()
            wanted = _PATIENCE * int(self.population.born[0])
            self.budget = max(self.budget, min(wanted, _MOST_DENSE_SEARCHES * self.settings.n_searches))

    def end_descent(self) -> None:
        """Count an unfinished descent's clustering as found: it keeps every constraint at any time."""
        if self.population.busy[0] != IDLE:
            add_member(self.space, self.population, self.clusters)

    def best_cost(self) -> float:
        """Cost of the best clustering found; infinite if there is none."""
        slot = best_slot(self.population)
        return float(self.population.cost[slot]) if slot >= 0 else np.inf

    def best_labels(self) -> IntArray:
        """Labels of the best clustering found."""
        labels: IntArray = self.population.labels[best_slot(self.population)].copy()
        return labels

    def fill(self, colouring: IntArray | None) -> IntArray | None:
        """Make a clustering of a colouring, if there is one."""
        if colouring is None:
            return None
        self.room.labels[:] = colouring
        fill_empty_clusters(self.room.labels, self.room.tally, self.random)
        return self.room.labels.copy()
