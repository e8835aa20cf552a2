"""What is known about all regions with all numbers of clusters, and what follows for the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.presolve.reduce import Presolved
from certimeans.proof.steps import RegionProof, RegionsStep
from certimeans.search.regions.allocation import Allocation, cheapest_allocation
from certimeans.search.regions.finding import Regions
from certimeans.search.regions.problem import RegionProblem, members_of, region_problem
from certimeans.search.settings import NodeSettings
from certimeans.search.statistics import NodeWork, RegionsStatistics, RunStatistics

Pair = tuple[int, int]
"""A region, and a number of clusters for it."""


class Account:
    """The problems of a region with a number of clusters, as far as they were looked at.

    Attributes
    ----------
    members
        The points of each region.
    most
        How many clusters each region can have: no more than it has super-points, and the others have one at least.
    problems
        What was looked at.
    """

    def __init__(
        self, presolved: Presolved, regions: Regions, seed: int, deadline: Deadline, settings: NodeSettings
    ) -> None:
        self.presolved, self.regions = presolved, regions
        self._seed, self._deadline, self._settings = seed, deadline, settings
        self.n_clusters = presolved.instance.n_clusters
        self.members = [members_of(presolved, regions.region_of, region) for region in range(regions.n_regions)]
        sizes = np.bincount(regions.region_of).tolist()
        self.most = [min(size, self.n_clusters - regions.n_regions + 1) for size in sizes]
        self.problems: dict[Pair, RegionProblem] = {}

    def problem(self, pair: Pair) -> RegionProblem:
        """Return the problem of a pair; a new one has a clustering, and a bound that costs next to nothing."""
        if pair not in self.problems:
            self.problems[pair] = region_problem(
                self.presolved, self.regions.region_of, pair, self._seed, self._deadline, self._settings
            )
        return self.problems[pair]

    def take_apart(self, labels: IntArray) -> None:
        """Let each region know what a clustering is in it."""
        for region, members in enumerate(self.members):
            own = labels[members]
            count = len(np.unique(own))
            if count <= self.most[region]:
                self.problem((region, count)).incumbent.offer(own)

    def lower(self, pair: Pair) -> float:
        """Return what is proven of a region with a number of clusters; more clusters never cost more."""
        return max((problem.lower_bound for problem in self._with_more(pair)), default=0.0)

    def cheapest(self, running: tuple[Pair, float] | None = None) -> Allocation:
        """Return the cheapest allocation as far as is proven; a problem that is searched may have a better bound."""
        return cheapest_allocation(self._tables(running), self.n_clusters)

    def bound(self, running: tuple[Pair, float] | None = None) -> float:
        """Return what the regions prove together."""
        return min(self.cheapest(running).cost, self.regions.least_join)

    def aim(self, pair: Pair, counts: Sequence[int], target: float) -> float:
        """Return the bound of a pair in an allocation at which to stop for now.

        If all pairs of the allocation are proven to the same share of what their best clusterings cost, the sum reaches
        the target. At least half of the way to the cost, so that few steps are enough; and never more than what the
        allocations with this pair need, as far as is proven of the others.
        """
        region, count = pair
        cost, lower = self.problems[pair].cost, self.lower(pair)
        total = math.fsum(self.problems[other].cost for other in enumerate(counts))
        share = cost * (target / total) if 0 < total < math.inf else math.inf
        others = [table for other, table in enumerate(self._tables()) if other != region]
        rest = cheapest_allocation(others, self.n_clusters - count).cost
        return max(0.0, min(target - rest, max(share, 0.5 * (lower + cost))) * (1 + 2.0**-40))

    def room(self, pair: Pair) -> float:
        """Return by how much the bound of a pair may rise."""
        return self.problems[pair].cost - self.lower(pair)

    def best_clustering(self) -> tuple[float, IntArray | None]:
        """Put the best clusterings of the regions together: about what they cost, and labels of all points."""
        tables = [
            [self.problems[region, c].cost if (region, c) in self.problems else math.inf for c in _to(most)]
            for region, most in enumerate(self.most)
        ]
        best = cheapest_allocation(tables, self.n_clusters)
        if math.isinf(best.cost):
            return best.cost, None
        labels = np.empty(self.presolved.instance.n_points, dtype=np.int64)
        first = 0
        for region, count in enumerate(best.counts):
            clustering = self.problems[region, count].incumbent.clustering
            assert clustering is not None  # noqa: S101  # its cost is finite
            labels[self.members[region]] = first + clustering.labels
            first += count
        return best.cost, labels

    def step(self) -> RegionsStep:
        """Return what proves the bound."""
        found = sorted(self.problems.items())
        proofs = tuple(RegionProof(*pair, problem.proof) for pair, problem in found if problem.proof)
        return RegionsStep(self.regions.region_of[self.presolved.super_points.group_of], proofs)

    def count_nodes(self, but: Pair | None = None) -> int:
        """Return how many nodes were evaluated."""
        return sum(problem.statistics.nodes for pair, problem in self.problems.items() if pair != but)

    def statistics(self, labels: IntArray | None) -> RunStatistics:
        """Return what was done; the labels are those of the best clustering."""
        problems = list(self.problems.values())
        roots = [
            [max((p.root_lower_bound for p in self._with_more((region, c))), default=0.0) for c in _to(most)]
            for region, most in enumerate(self.most)
        ]
        own = [] if labels is None else [labels[members] for members in self.members]
        return RunStatistics(
            nodes=max(1, self.count_nodes()),
            abandoned=sum(problem.statistics.abandoned for problem in problems),
            cuts=sum(problem.statistics.cuts for problem in problems),
            root_lower_bound=min(cheapest_allocation(roots, self.n_clusters).cost, self.regions.least_join),
            root_seconds=sum(problem.statistics.root_seconds for problem in problems),
            work=sum((problem.statistics.work for problem in problems), NodeWork()),
            regions=RegionsStatistics(
                points=tuple(len(members) for members in self.members),
                clusters=tuple(len(np.unique(part)) for part in own),
                problems=len(problems),
                searched=sum(problem.saved is not None for problem in problems),
            ),
        )

    def _with_more(self, pair: Pair) -> list[RegionProblem]:
        """Return what was looked at of a region with a number of clusters, or with more."""
        region, count = pair
        found = (self.problems.get((region, more)) for more in range(count, self.most[region] + 1))
        return [problem for problem in found if problem is not None]

    def _tables(self, running: tuple[Pair, float] | None = None) -> list[list[float]]:
        """Return what is proven of each region with one cluster, two, and so on."""
        bounds = [[self.lower((region, c)) for c in _to(most)] for region, most in enumerate(self.most)]
        if running is not None:
            (region, count), found = running
            bounds[region][:count] = [max(known, found) for known in bounds[region][:count]]
        return bounds


def _to(most: int) -> range:
    return range(1, most + 1)
