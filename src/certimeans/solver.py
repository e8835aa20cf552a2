"""The whole pipeline on one screen.

The module is not called ``solve``, so that ``certimeans.solve`` is the function, whatever was imported first.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from certimeans.deadline import Deadline
from certimeans.errors import InputError, InternalError
from certimeans.heuristics.incumbent import Incumbent
from certimeans.presolve.reduce import Presolved, presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.constraints import PairsLike
from certimeans.problem.instance import Instance
from certimeans.result import SolveResult, SolveStatus
from certimeans.search.checkpoint import CheckpointStore
from certimeans.search.coordinator import Coordinator, SearchOutcome
from certimeans.search.evaluate import resumed_inheritance
from certimeans.search.executors import DaskWorkers, ForeignWorkers, ProcessWorkers, SerialWorkers, Workers
from certimeans.search.history import History
from certimeans.search.limits import Limits, Progress
from certimeans.search.settings import NodeSettings
from certimeans.warmup import is_preparing, prepare


def solve(  # noqa: PLR0913  # the arguments that users of scikit-learn and of MIP solvers expect
    points: ArrayLike,
    n_clusters: int,
    *,
    must_link: PairsLike | None = None,
    cannot_link: PairsLike | None = None,
    gap: float = 1e-4,
    time_limit: float | None = None,
    max_nodes: int | None = None,
    n_jobs: int = 1,
    random_state: int = 0,
    initial_labels: ArrayLike | None = None,
    callback: Callable[[Progress], None] | None = None,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    sample_weight: ArrayLike | None = None,
    **kinds: Any,
) -> SolveResult:
    """Find a clustering of least cost that keeps every constraint, and prove it.

    Parameters
    ----------
    points
        One row a point.
    n_clusters
        The number of clusters.
    must_link, cannot_link
        Pairs of points, numbered from 0, that share a cluster, and that do not.
    gap
        Proven relative gap at which to stop.
    time_limit, max_nodes
        Seconds and search nodes after which to stop with the best clustering and bound so far.
    n_jobs
        Number of processes.
    random_state
        Seed; the same seed on the same machine with one process gives the same result.
    initial_labels
        A clustering to start from; it counts only if it keeps every constraint.
    callback
        Told about progress: after each node, and after each round of cutting planes of a node in this process.
    executor
        Where to evaluate nodes instead: anything that speaks ``concurrent.futures.Executor``, ``n_jobs`` nodes at a
        time; for Dask's ``Client.get_executor()``, as many as the cluster has threads.
    checkpoint
        A folder: the search is saved there every few seconds, and resumed from there if it was saved before.
    sample_weight
        Positive weight of each point.
    **kinds
        ``diameter``, ``split`` and ``partial_labels``, see :class:`~certimeans.problem.constraints.Constraints`.

    Raises
    ------
    InfeasibleError
        If no clustering satisfies the constraints; it names pairs that contradict each other.
    InputError
        If an argument is not usable; the message names it.
    """
    instance = Instance.create(
        points, n_clusters, must_link=must_link, cannot_link=cannot_link, weights=sample_weight, **kinds
    )
    return solve_instance(
        instance,
        Limits(gap, time_limit, max_nodes),
        n_jobs=n_jobs,
        seed=random_state,
        initial_labels=initial_labels,
        callback=callback,
        executor=executor,
        checkpoint=checkpoint,
    )


def solve_instance(  # noqa: PLR0913  # the arguments of solve
    instance: Instance,
    limits: Limits,
    *,
    n_jobs: int = 1,
    seed: int = 0,
    initial_labels: ArrayLike | None = None,
    callback: Callable[[Progress], None] | None = None,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    settings: NodeSettings | None = None,
) -> SolveResult:
    """Solve an instance that was built before; see :func:`solve`. ``settings`` are for experiments."""
    _check(n_jobs, seed)
    prepare(instance)
    deadline = Deadline(limits.seconds)
    history = History(callback)
    store = None if checkpoint is None else CheckpointStore(Path(checkpoint), instance)
    saved = None if store is None else store.load()
    history.begin()
    presolved = presolve(instance, deadline)
    incumbent = Incumbent(instance)
    if initial_labels is not None and Clustering.from_labels(instance, initial_labels).satisfies(instance):
        incumbent.offer(initial_labels)
    with _interruptible(deadline), threadpool_limits(limits=1, user_api="blas"):
        workers = _workers(presolved, n_jobs, executor, deadline)
        try:
            coordinator = Coordinator(workers, incumbent, limits, deadline, seed, history.add, store, settings)
            if saved is not None:
                coordinator.resume(saved, partial(resumed_inheritance, presolved))
            outcome = coordinator.run()
        finally:
            workers.close()
    return _checked(presolved, incumbent, outcome, history, seed, deadline.elapsed())


def _workers(presolved: Presolved, n_jobs: int, executor: Executor | None, deadline: Deadline) -> Workers:
    if executor is not None:
        client = getattr(executor, "_client", None)  # Dask's executor, made by Client.get_executor()
        return ForeignWorkers(presolved, executor, n_jobs) if client is None else DaskWorkers(presolved, client)
    return SerialWorkers(presolved, deadline) if n_jobs == 1 else ProcessWorkers(presolved, n_jobs, deadline)


def _checked(
    presolved: Presolved, incumbent: Incumbent, outcome: SearchOutcome, history: History, seed: int, seconds: float
) -> SolveResult:
    """Build the result and check it against itself: better no result than a wrong one."""
    instance = presolved.instance
    clustering = incumbent.clustering
    if clustering is not None:
        again = Clustering.from_labels(instance, clustering.labels)
        if not again.satisfies(instance) or again.cost != clustering.cost or outcome.lower_bound > again.cost:
            raise InternalError("the result contradicts itself; please report this with the data")
    elif outcome.status is SolveStatus.OPTIMAL:
        raise InternalError("the search ended without a clustering and without a proof; please report this")
    message = ""
    if outcome.abandoned:
        message = f"{outcome.abandoned} nodes given up after their workers died"
    elif outcome.status is SolveStatus.INTERRUPTED and outcome.is_complete:
        message = "the search is complete, but double precision cannot prove a smaller gap"
    return SolveResult(
        instance=instance,
        status=outcome.status,
        clustering=clustering,
        lower_bound=outcome.lower_bound,
        root_lower_bound=min(outcome.root_lower_bound, incumbent.cost),
        root_seconds=outcome.root_seconds,
        nodes=outcome.nodes,
        size=presolved.super_points.size,
        cuts=outcome.cuts,
        rounds=outcome.rounds,
        seconds=seconds,
        seed=seed,
        message=message,
        history=tuple(history.entries),
        search_tree=outcome.tree,
    )


def _check(n_jobs: object, seed: object) -> None:
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs < 1:
        raise InputError(f"n_jobs must be a positive integer; got {n_jobs!r}")
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"random_state must be a non-negative integer; got {seed!r}")


@contextmanager
def _interruptible(deadline: Deadline) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM end the search cleanly; only the main thread can listen."""
    if threading.current_thread() is not threading.main_thread() or is_preparing():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, _: object) -> None:
        deadline.request_stop()
        signal.signal(number, before[signal.Signals(number)] or signal.SIG_DFL)  # a second signal acts as ever

    try:
        for number in before:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
