"""What would the best clustering cost if something were otherwise? Answers are proven intervals.

The problem at hand, P, has a clustering of cost U and the proven bound L, so its optimum lies in [L, U]. To learn what
a constraint c costs, we do not drop it but turn it around: P' has its opposite in its place. Every clustering that
keeps the other constraints keeps c or its opposite, so without c the optimum is min(opt(P), opt(P')), and the price of
c is max(0, opt(P) - opt(P')). If P' has no clustering, the others imply c. If every clustering of P' is proven to cost
at least U, the price is exactly 0, and such a bound is usually proven soon: it need not come near the optimum of P'.
Each P' starts from the clustering of P and from the multipliers that bound P.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from types import TracebackType
from typing import Literal, NamedTuple, Self

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.analysis.warm import bound_once_more
from certimeans.blas import one_blas_thread
from certimeans.bounds.relaxation.bounder import WarmStart
from certimeans.bounds.relaxation.similar import carry_over
from certimeans.deadline import Deadline
from certimeans.errors import InfeasibleError
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.graph import Contradiction
from certimeans.presolve.reduce import Presolved, reduced
from certimeans.problem.constraints import Constraints, LinkKind
from certimeans.problem.expand import expand
from certimeans.problem.instance import Instance
from certimeans.result import SolveResult
from certimeans.search.limits import Limits
from certimeans.search.process_pool import NOT_STARTED, end_incomplete_pool, make_process_pool
from certimeans.search.settings import NodeSettings
from certimeans.status import SolveStatus

Link = tuple[LinkKind, int, int]

_MARGIN = 2.0**-46
"""What a gap is made smaller by, so that the bound it stops at is not below the one that is wanted."""
_MOST_ATTEMPTS = 3
_LEAST_GAP = 1e-10
"""Doubles prove no less, and the solver would say so each time."""
_LEAST_SECONDS = 10.0
_LEAST_TO_WARM_UP_FOR = 3
"""Questions that are worth bounding the problem once more."""
_FEW_SEARCHES = NodeSettings(root_search=SearchSettings(n_searches=5))
"""The search for a clustering has been made by the time the solver starts."""


class Interval(NamedTuple):
    """Two numbers between which another one is proven to be; infinite if there is no clustering."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Answer:
    """What is proven about a changed problem.

    Attributes
    ----------
    cost
        Its optimum lies in here. Both ends are infinite if it has no clustering.
    labels
        The best clustering found.
    was_stopped
        Whether the user interrupted.
    """

    cost: Interval
    labels: IntArray | None = None
    was_stopped: bool = False

    @property
    def is_impossible(self) -> bool:
        """Whether it is proven that there is no clustering."""
        return self.cost.low == math.inf


StatedKind = Literal["diameter", "split", "partial_labels", "cluster_sizes"]


@dataclass(frozen=True)
class Change:
    """How a problem is changed: links and other constraints that are dropped, and a link that is added."""

    drop: frozenset[Link] = frozenset()
    add: Link | None = None
    without: frozenset[StatedKind] = frozenset()

    @classmethod
    def flip(cls, link: Link) -> Change:
        """Put the opposite of a link in its place."""
        return cls(frozenset({link}), opposite(link))


def opposite(link: Link) -> Link:
    """Return the link that a pair has instead."""
    kind, i, j = link
    return ("cannot-link" if kind == "must-link" else "must-link"), i, j


class Questions:
    """Asks what changed versions of a solved problem cost.

    Parameters
    ----------
    result
        The solved problem.
    gap
        Relative gap to which optima are enclosed; that of the result if not given.
    time_limit
        Seconds for all questions together; without it, each may take as long as the result took, at least ten seconds.
    n_jobs
        Questions that are answered at the same time, in processes.
    """

    def __init__(
        self, result: SolveResult, *, gap: float | None = None, time_limit: float | None = None, n_jobs: int = 1
    ) -> None:
        Limits(result.target_gap if gap is None else gap, time_limit)  # refuses what is no limit
        self.instance = result.instance
        self.gap = result.target_gap if gap is None else gap
        self.deadline = Deadline(time_limit)
        self.seconds_each = math.inf if time_limit is not None else max(_LEAST_SECONDS, result.seconds)
        self.n_jobs = n_jobs
        self.seed = result.seed
        clustering = result.clustering
        assert clustering is not None  # noqa: S101  # callers look
        self.labels = clustering.labels
        self._is_stopped = False
        self.cost = Interval(result.lower_bound, clustering.cost)
        stated = self.instance.constraints
        self._others = expand(replace(stated, must_link=_none(), cannot_link=_none()), _positions(self.instance))

    def changed(self, change: Change) -> Instance:
        """Build the changed problem."""
        stated = self.instance.constraints
        kept = [link for link in stated_links(self.instance) if link not in change.drop]
        kept += [change.add] if change.add is not None else []
        others = self._others
        rest = replace(stated, must_link=_none(), cannot_link=_none(), **dict.fromkeys(change.without))
        if change.without - {"cluster_sizes"}:
            others = expand(rest, _positions(self.instance))
        pairs = Constraints(
            np.vstack([_pairs(kept, "must-link"), others.must_link]),
            np.vstack([_pairs(kept, "cannot-link"), others.cannot_link]),
            cluster_sizes=rest.cluster_sizes,
        )
        return replace(self.instance, constraints=pairs)

    def ask(
        self, changes: Sequence[Change], tell: Callable[[int], None] | None = None, *, enough: float | None = None
    ) -> list[Answer]:
        """Enclose the optimum of each changed problem, as far as time allows.

        Parameters
        ----------
        tell
            Called with the number of answers after each one.
        enough
            A cost that only has to be reached; that of the problem as it is, if not given.
        """
        target = self.cost.high if enough is None else enough
        answers: list[Answer] = []
        with suppress(KeyboardInterrupt):  # the solver takes it as a wish to stop; what is done beside it does not
            for answer in () if self._is_stopped else self._answers(changes, target):
                answers.append(answer)
                self._is_stopped = answer.was_stopped
                if tell is not None:
                    tell(len(answers))
        self._is_stopped |= len(answers) < len(changes)
        unknown = Answer(Interval(self.instance.scaled.scale.nothing_proven, math.inf), was_stopped=True)
        return answers + [unknown] * (len(changes) - len(answers))

    def _answers(self, changes: Sequence[Change], enough: float) -> Iterator[Answer]:
        """Answer one question after the other, until the user interrupts; here, if no other process does."""
        multipliers = self._multipliers if len(changes) >= _LEAST_TO_WARM_UP_FOR else None
        n_ahead = 2 * self.n_jobs + 1  # a few: each holds a copy of the points
        futures: deque[Future[Answer] | None] = deque()
        with _Pool(min(self.n_jobs, len(changes))) as pool:

            def submit(change: Change) -> Future[Answer] | None:
                if not pool.is_usable or self.deadline.passed():
                    return None
                return pool.submit(self._task(change, enough, multipliers), time.time() + self.deadline.remaining())

            for number, change in enumerate(changes):
                futures.extend([submit(later) for later in changes[number + len(futures) : number + n_ahead]])
                answer = _answer_of(futures.popleft())
                if answer is None:
                    answer = enclose(*self._task(change, enough, multipliers), deadline=self.deadline)
                yield answer
                if answer.was_stopped:
                    return

    def _task(self, change: Change, enough: float, multipliers: WarmStart | None) -> _Task:
        return _Task(self.changed(change), self.labels, enough, self.gap, self.seed, self.seconds_each, multipliers)

    @cached_property
    def _multipliers(self) -> WarmStart | None:
        deadline = self.deadline.within(self.seconds_each)
        return bound_once_more(self.instance, self.cost.high, self.gap, self.seed, deadline)


def stated_links(instance: Instance) -> list[Link]:
    """List the pairs that the user stated, without those that follow from distances and classes."""
    stated = instance.constraints
    links: list[Link] = [("must-link", i, j) for i, j in stated.must_link.tolist()]
    return links + [("cannot-link", i, j) for i, j in stated.cannot_link.tolist()]


class _Task(NamedTuple):
    instance: Instance
    start: IntArray
    enough: float
    gap: float
    seed: int
    seconds: float
    multipliers: WarmStart | None


def enclose(  # a task
    instance: Instance,
    start: IntArray,
    enough: float,
    gap: float,
    seed: int,
    seconds: float,
    multipliers: WarmStart | None = None,
    *,
    deadline: Deadline | None = None,
) -> Answer:
    """Enclose the optimum of a problem: to a gap, or as soon as it is proven to be at least ``enough``.

    Parameters
    ----------
    start
        Labels of a similar problem, from which to look for a clustering; they may break constraints.
    enough
        A cost that only has to be reached.
    multipliers
        What a similar problem's bound left.
    """
    from certimeans.solver import solve_instance  # noqa: PLC0415  # the solver's results have methods from here

    deadline = (deadline or Deadline()).within(seconds)
    if deadline.passed():
        return _unanswered(instance)
    try:
        presolved = reduced(instance, deadline)
    except Contradiction:
        return Answer(Interval(math.inf, math.inf))
    super_points = presolved.super_points
    own_start = start[super_points.first_points]
    labels = search_clustering(
        super_points, colouring=presolved.colouring, start=own_start, seed=seed, deadline=deadline
    )
    best = None if labels is None else super_points.expand_labels(labels)
    low, high = instance.scaled.scale.nothing_proven, math.inf

    def warm_start(root: Presolved) -> WarmStart | None:
        if multipliers is None or best is None:
            return None
        return carry_over(multipliers, root.super_points, instance.scaled.weights)

    for _ in range(_MOST_ATTEMPTS):
        known = math.inf if best is None else instance.cost(best).high
        slack = (known - enough) / abs(known) - _MARGIN if math.isfinite(known) and known != 0 else 0.0
        limits = Limits(
            min(max(gap, slack, _LEAST_GAP), 0.999), max(deadline.remaining(), 1e-3) if _is_limited(deadline) else None
        )
        try:
            result = solve_instance(
                instance, limits, seed=seed, initial_labels=best, settings=_FEW_SEARCHES, start=warm_start
            )
        except InfeasibleError:
            return Answer(Interval(math.inf, math.inf))
        low, high = max(low, result.lower_bound), min(high, result.objective)
        best = best if result.clustering is None else result.clustering.labels
        stopped = result.status is SolveStatus.INTERRUPTED and not result.is_complete
        # A better clustering than the one that the gap was made for may leave the bound short of its goal.
        is_done = low >= enough or high - low <= gap * abs(high) or result.status is not SolveStatus.OPTIMAL
        if is_done or stopped or deadline.passed():
            return Answer(Interval(low, high), best, stopped)
    return Answer(Interval(low, high), best)


def _is_limited(deadline: Deadline) -> bool:
    return math.isfinite(deadline.remaining())


def _unanswered(instance: Instance) -> Answer:
    return Answer(Interval(instance.scaled.scale.nothing_proven, math.inf))


def _enclose_until(task: _Task, end: float) -> Answer:
    """Answer in a process of the pool, where the task may have waited; ``end`` is on the clock that all share."""
    with one_blas_thread():
        return enclose(*task, deadline=Deadline(max(0.0, end - time.time()) if math.isfinite(end) else None))


def _answer_of(future: Future[Answer] | None) -> Answer | None:
    """Wait for an answer; ``None`` if nobody is asked, or a process died."""
    try:
        return None if future is None else future.result()
    except BrokenExecutor:
        return None


class _Pool:
    """Processes that answer questions, started with the first one; one that dies, as when memory ends, ends them all.

    Attributes
    ----------
    is_usable
        Whether another question may be submitted.
    """

    def __init__(self, n_processes: int) -> None:
        self.is_usable = n_processes > 1
        self._n_processes = n_processes
        self._executor: Executor | None = None

    def submit(self, task: _Task, end: float) -> Future[Answer] | None:
        """Queue a question for the next free process; return ``None`` if there is no process."""
        try:
            if self._executor is None:
                self._executor = make_process_pool(self._n_processes)
            return self._executor.submit(_enclose_until, task, end)
        except NOT_STARTED:  # or one died since
            end_incomplete_pool(self._executor)
            self.is_usable = False
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, kill_workers=True)  # type: ignore[call-arg]


def _positions(instance: Instance) -> FloatArray:
    return instance.positions(instance.points) if instance.geometry == "points" else np.empty((instance.n_points, 0))


def _pairs(links: Iterable[Link], kind: LinkKind) -> IntArray:
    return np.array([(i, j) for own, i, j in links if own == kind], dtype=np.int64).reshape(-1, 2)


def _none() -> IntArray:
    return np.empty((0, 2), dtype=np.int64)
