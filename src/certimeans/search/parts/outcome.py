"""What a search by parts ends with: the tree of one node whose proof is a sum of parts, figures, and a message."""

from __future__ import annotations

from dataclasses import dataclass

from certimeans.bounds.parts.splitting import Split
from certimeans.errors import InternalError
from certimeans.presolve.reduce import Presolved
from certimeans.printing import percent_up
from certimeans.proof.steps import CovarianceStep, IdenticalStep, MergeStep, PartsStep, Step
from certimeans.search.coordinator import SearchOutcome
from certimeans.search.incumbent import Incumbent
from certimeans.search.parts.cover import Cover
from certimeans.search.parts.store import PartStore
from certimeans.search.parts.tasks import Key
from certimeans.search.statistics import NodeWork, PartsStatistics, RunStatistics
from certimeans.search.tree import ROOT, Tree, TreeNode, TreeStatus
from certimeans.status import SolveStatus, relative_gap


@dataclass(frozen=True)
class Rest:
    """Parts that nothing was known about in the end, as one part.

    Attributes
    ----------
    key
        The part.
    n_parts
        How many parts it was made of.
    """

    key: Key
    n_parts: int


@dataclass(frozen=True, eq=False)
class Proven:
    """What was proven, and how.

    Attributes
    ----------
    covariance
        The bound of the whole that costs nothing.
    split, cover
        The parts, and what is proven about them; ``None`` if there are none.
    rest
        Parts that nothing was known about in the end, if there were such.
    n_cuts, work, seconds
        Cuts of all parts, other work, and when the last of them came in.
    """

    presolved: Presolved
    incumbent: Incumbent
    covariance: float
    split: Split | None
    cover: Cover | None
    rest: Rest | None
    n_cuts: int
    work: NodeWork
    seconds: float

    @property
    def bound(self) -> float:
        """The lower bound."""
        parts = self.incumbent.nothing_proven if self.cover is None else self.cover.total()
        return max(self.covariance, parts)

    def outcome(self, status: SolveStatus, store: PartStore, message: str, *, is_stopped: bool) -> SearchOutcome:
        """Put everything together.

        Parameters
        ----------
        is_stopped
            Whether somebody asked to end.

        Raises
        ------
        InternalError
            If a bound is above the cost of a clustering.
        """
        bound, cost = self.bound, self.incumbent.cost
        if bound > cost:
            raise InternalError("the bounds contradict the best clustering; please report this with the data")
        steps: list[Step] = [IdenticalStep()] if self.presolved.n_identical else []
        steps += [MergeStep(self.presolved.merges)] if len(self.presolved.merges) else []
        proofs = () if self.cover is None else self.cover.proofs()
        if self.cover is not None and self.cover.total() > self.covariance:
            steps.append(PartsStep(proofs, keep=store))
        elif bound > self.incumbent.nothing_proven:
            steps.append(CovarianceStep())
        tree_status = TreeStatus.PRUNED if status is SolveStatus.OPTIMAL else TreeStatus.OPEN
        node = TreeNode(ROOT, -1, None, tree_status, bound, self.presolved.super_points.size, self.seconds)
        statistics = RunStatistics(
            nodes=1,
            cuts=self.n_cuts,
            root_lower_bound=bound,
            root_seconds=self.seconds,
            work=self.work,
            parts=self._statistics(len(proofs)),
        )
        tree = Tree.of([node], {ROOT: tuple(steps)} if steps else {})
        is_complete = not is_stopped and status in {SolveStatus.OPTIMAL, SolveStatus.INTERRUPTED}
        return SearchOutcome(status, min(bound, cost), tree, statistics, is_complete, message)

    def _statistics(self, n_proofs: int) -> PartsStatistics | None:
        if self.cover is None or self.split is None:
            return None
        points = self.presolved.super_points
        rest, n_more = (None, 0) if self.rest is None else (self.rest.key, self.rest.n_parts - 1)
        return PartsStatistics(
            count=len(self.cover.tops) + n_more,
            bounded=n_proofs,
            size=max(self.split.size_of(key, points.group_of) for key in self.cover.tops if key != rest),
            shared=len(self.split.shared),
            links=len(points.graph.edges),
            links_left_out=self.split.left_out(self.presolved, self.cover.tops),
        )

    def message(self, status: SolveStatus, n_given_up: int, workers: str, *, is_stopped: bool) -> str:
        """Say what the user should know about the end of a run.

        Parameters
        ----------
        n_given_up
            Number of parts whose workers died too often.
        workers
            What is to be said about the workers.
        is_stopped
            Whether somebody asked to end.
        """
        said = []
        if n_given_up:
            said.append(f"{n_given_up} parts given up after their workers died")
        elif status is SolveStatus.INTERRUPTED and not is_stopped:
            said.append(self._all_is_done())
        if status is not SolveStatus.OPTIMAL and workers:
            said.append(workers)
        return "; ".join(said)

    def _all_is_done(self) -> str:
        """Say what is proven when nothing more can be done."""
        gap = percent_up(relative_gap(self.incumbent.cost, min(self.bound, self.incumbent.cost)))
        more = "only larger parts could prove a smaller one"
        if self.presolved.super_points.limits is not None:
            more = "parts know nothing of the limits on sizes, which may be what is missing"
        return f"all parts are bounded: a gap of {gap} is proven, and {more}"
