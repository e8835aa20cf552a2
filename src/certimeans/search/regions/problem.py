"""A region with a number of clusters, as a problem of its own: what is known about it, and what proves it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from certimeans._typing import IntArray
from certimeans.bounds.covariance import CovarianceBounder
from certimeans.bounds.protocol import Question
from certimeans.deadline import Deadline
from certimeans.heuristics.upper_bound import search_clustering
from certimeans.presolve.graph import Contradiction
from certimeans.presolve.reduce import Presolved, reduced
from certimeans.problem.constraints import Constraints
from certimeans.problem.selection import Selection
from certimeans.proof.steps import InfeasibleStep, MergeStep, Proof, Step
from certimeans.search.checkpoint import SavedSearch
from certimeans.search.coordinator import SearchOutcome
from certimeans.search.incumbent import Incumbent
from certimeans.search.settings import NodeSettings
from certimeans.search.statistics import RunStatistics
from certimeans.status import SolveStatus


class IncumbentOrCutoff(Incumbent):
    """The best clustering of a problem of which only costs below a cutoff are of interest."""

    cutoff = math.inf

    @property
    def cost(self) -> float:
        """The cost of the cheapest clustering, or the cutoff if that is less."""
        return min(super().cost, self.cutoff)


@dataclass(eq=False)
class RegionProblem:
    """A region with a number of clusters.

    Attributes
    ----------
    instance, presolved
        The problem; the second is ``None`` if there is no clustering, or no digits to prove anything with.
    incumbent
        Its best clustering.
    lower_bound, proof
        What it costs at least, and why.
    root_lower_bound
        What was proven without branching.
    is_closed
        Whether no search would prove more.
    saved
        From where a search goes on; ``None`` if there was none yet.
    message
        What the last search had to say.
    """

    instance: Selection
    presolved: Presolved | None
    incumbent: IncumbentOrCutoff
    lower_bound: float = 0.0
    root_lower_bound: float = 0.0
    proof: Proof = ()
    is_closed: bool = False
    saved: SavedSearch | None = None
    message: str = ""
    statistics: RunStatistics = field(default_factory=RunStatistics)

    @property
    def cost(self) -> float:
        """The cost of the best known clustering."""
        best = self.incumbent.clustering
        return math.inf if best is None else best.cost

    def take(self, outcome: SearchOutcome) -> None:
        """Take over what a search ended with."""
        best = self.incumbent.clustering
        labels = None if best is None else tuple(best.labels.tolist())
        self.saved = SavedSearch(outcome.tree, labels, outcome.statistics)
        self.statistics, self.message = outcome.statistics, outcome.message
        self.root_lower_bound = max(self.root_lower_bound, outcome.statistics.root_lower_bound)
        self.is_closed = outcome.is_complete and outcome.status is not SolveStatus.OPTIMAL
        if outcome.lower_bound > self.lower_bound:
            self.lower_bound, self.proof = outcome.lower_bound, outcome.tree.proof()


def members_of(presolved: Presolved, region_of: IntArray, region: int) -> IntArray:
    """Return the points of a region."""
    return np.flatnonzero(region_of[presolved.super_points.group_of] == region)


def region_problem(
    whole: Presolved,
    region_of: IntArray,
    pair: tuple[int, int],
    seed: int,
    deadline: Deadline,
    settings: NodeSettings,
) -> RegionProblem:
    """State the problem of a region, with a clustering, and a bound that costs next to nothing.

    ``pair`` is the region and the number of clusters. Super-points of the whole stay together, and linked ones stay
    apart.
    """
    (region, n_clusters), points = pair, whole.super_points
    members = members_of(whole, region_of, region)
    groups = points.group_of[members]
    names, first, number = np.unique(groups, return_index=True, return_inverse=True)
    together = np.column_stack([first[number], np.arange(len(members))])
    edges = points.graph.edges
    edges = edges[(region_of[edges] == region).all(axis=1)]
    constraints = Constraints.create(
        together[together[:, 0] != together[:, 1]], first[np.searchsorted(names, edges)].reshape(-1, 2)
    )
    instance = Selection.of(whole.instance, members, n_clusters, constraints)
    incumbent = IncumbentOrCutoff(instance)
    if not instance.is_in_range:
        return RegionProblem(instance, None, incumbent, is_closed=True)
    try:
        presolved = reduced(instance, deadline, unite=False)
    except Contradiction:
        infeasible: Proof = ((InfeasibleStep(),),)
        return RegionProblem(instance, None, incumbent, math.inf, math.inf, infeasible, is_closed=True)
    problem = RegionProblem(instance, presolved, incumbent)
    if n_clusters == len(names):
        incumbent.offer(number)
    elif n_clusters == 1:
        incumbent.offer(np.zeros(len(members), dtype=np.int64))
    else:
        labels = search_clustering(
            presolved.super_points,
            colouring=presolved.colouring,
            seed=seed,
            deadline=deadline,
            settings=settings.node_search,
        )
        if labels is not None:
            incumbent.offer(presolved.super_points.expand_labels(labels))
    answer = CovarianceBounder().bound(Question(presolved.super_points, lambda: math.inf, deadline))
    if answer.bound.step is not None:
        steps: tuple[Step, ...] = (answer.bound.step,)
        problem.proof = ((MergeStep(presolved.merges), *steps) if len(presolved.merges) else steps,)
        problem.lower_bound = problem.root_lower_bound = answer.bound.value
    return problem
