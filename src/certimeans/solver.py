"""The whole pipeline on one screen.

The module is not called ``solve``, so that ``certimeans.solve`` is the function, whatever was imported first.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from certimeans.arguments import as_n_jobs, as_seed, create_instance
from certimeans.deadline import Deadline
from certimeans.errors import InternalError
from certimeans.heuristics.incumbent import Incumbent
from certimeans.presolve.reduce import Presolved, presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.constraints import Constraints, PairsLike
from certimeans.problem.instance import Instance
from certimeans.report.progress import with_log
from certimeans.result import SolveResult, SolveStatus
from certimeans.search.checkpoint import CheckpointStore
from certimeans.search.coordinator import Coordinator, SearchOutcome
from certimeans.search.evaluate import resumed_inheritance
from certimeans.search.executors import DaskWorkers, ForeignWorkers, ProcessWorkers, SerialWorkers, Workers
from certimeans.search.history import History
from certimeans.search.limits import Limits, Progress
from certimeans.search.settings import NodeSettings
from certimeans.settings import SolverSettings
from certimeans.warmup import is_preparing, prepare


def solve(  # noqa: PLR0913  # the arguments that users of scikit-learn and of MIP solvers expect
    points: ArrayLike | None = None,
    n_clusters: int | None = None,
    *,
    gram: ArrayLike | None = None,
    squared_distances: ArrayLike | None = None,
    standardize: bool = False,
    must_link: PairsLike | None = None,
    cannot_link: PairsLike | None = None,
    diameter: float | None = None,
    split: float | None = None,
    partial_labels: Iterable[Any] | None = None,
    sample_weight: ArrayLike | None = None,
    initial_labels: ArrayLike | None = None,
    gap: float = 1e-4,
    time_limit: float | None = None,
    max_nodes: int | None = None,
    n_jobs: int | None = 1,
    random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    callback: Callable[[Progress], None] | None = None,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    verbose: int = 0,
    settings: SolverSettings | str | Path | None = None,
) -> SolveResult:
    """Find a clustering of least cost that keeps every constraint, and prove it.

    Parameters
    ----------
    points
        One row per point; an array or a DataFrame.
    n_clusters
        The number of clusters.
    gram
        Instead of points: their inner products, a symmetric matrix, such as a kernel matrix. There are no centres then.
    squared_distances
        Instead of points: the squared distance of each pair of them, a symmetric matrix.
    standardize
        Whether to scale every feature to mean 0 and variance 1 first; cost and bound are then about the scaled points.
    must_link, cannot_link
        Pairs of points, numbered from 0, that share a cluster, and that do not.
    diameter
        Two points farther apart than this cannot link.
    split
        Two points closer than this must link.
    partial_labels
        Known classes, one entry per point: the same class must link, different classes cannot; ``None``, NaN and -1
        mean unknown.
    sample_weight
        Weight of each point.
    initial_labels
        A clustering to start from; it counts only if it keeps every constraint.
    gap
        Proven relative gap at which to stop.
    time_limit, max_nodes
        Seconds and search nodes after which to stop with the best clustering and bound so far.
    n_jobs
        Number of processes; -1 for all cores, ``None`` for 1 or what a ``joblib.parallel_config`` says.
    random_state
        Seed; the same seed on the same machine with one process gives the same result. ``None`` draws a new one, which
        the result reports as ``seed``.
    callback
        Told about progress: after each node, and after each round of cutting planes of a node in this process.
    executor
        Where to evaluate nodes instead: anything that speaks ``concurrent.futures.Executor``, ``n_jobs`` nodes at a
        time; for Dask's ``Client.get_executor()``, as many as the cluster has threads.
    checkpoint
        A folder: the search is saved there every few seconds, and resumed from there if it was saved before.
    verbose
        1 writes the log of the command line to standard error.
    settings
        How the parts of the solver work, for experiments: a :class:`~certimeans.SolverSettings` or a TOML file.

    Raises
    ------
    InfeasibleError
        If no clustering satisfies the constraints; it names pairs that contradict each other.
    InputError
        If an argument is not usable; the message names it.
    """
    constraints = Constraints.create(
        must_link, cannot_link, diameter=diameter, split=split, partial_labels=partial_labels
    )
    instance = create_instance(
        points,
        n_clusters,
        constraints,
        gram=gram,
        squared_distances=squared_distances,
        standardize=standardize,
        weights=sample_weight,
    )
    return solve_instance(
        instance,
        Limits(gap, time_limit, max_nodes),
        n_jobs=n_jobs,
        seed=random_state,
        initial_labels=initial_labels,
        callback=with_log(callback, instance, verbose),
        executor=executor,
        checkpoint=checkpoint,
        settings=SolverSettings.load(settings),
    )


def solve_instance(  # noqa: PLR0913  # the arguments of solve
    instance: Instance,
    limits: Limits,
    *,
    n_jobs: int | None = 1,
    seed: int | np.random.RandomState | np.random.Generator | None = 0,
    initial_labels: ArrayLike | None = None,
    callback: Callable[[Progress], None] | None = None,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    settings: NodeSettings | None = None,
) -> SolveResult:
    """Solve an instance that was built before; see :func:`solve`."""
    n_jobs, seed = as_n_jobs(n_jobs), as_seed(seed)
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
