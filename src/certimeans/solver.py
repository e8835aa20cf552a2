"""The whole pipeline on one screen: :func:`solve_instance`; :func:`solve` turns what users pass into an instance.

The module is not called ``solve``, so that ``certimeans.solve`` is the function, whatever was imported first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from certimeans.arguments import LinkBy, as_n_jobs, as_part_size, as_positions, as_seed, as_source, with_notes
from certimeans.blas import one_blas_thread
from certimeans.conclusion import checked_result
from certimeans.deadline import Deadline
from certimeans.errors import InfeasibleError, InputError
from certimeans.heuristics.quick import quick_clustering
from certimeans.presolve.reduce import Presolved, presolve
from certimeans.presolve.weightless import WithoutWeightless, leave_out_weightless
from certimeans.problem.clustering import as_labels
from certimeans.problem.constraints import Constraints, PairsLike
from certimeans.problem.instance import Instance, one_table
from certimeans.problem.io.points import PointsFile
from certimeans.report.progress import logged
from certimeans.result import SolveResult
from certimeans.search.branch_and_bound import branch_and_bound
from certimeans.search.checkpoint import CheckpointStore
from certimeans.search.history import History
from certimeans.search.incumbent import Incumbent
from certimeans.search.interruption import interruptible
from certimeans.search.limits import Limits, Progress
from certimeans.search.node import Inheritance
from certimeans.search.outside import find_plugins
from certimeans.search.parts.choice import is_by_parts
from certimeans.search.regions.finding import regions_of
from certimeans.search.regions.search import search_by_regions
from certimeans.search.settings import NodeSettings
from certimeans.settings import SolverSettings
from certimeans.warmup import prepare

_LOGGER = logging.getLogger("certimeans")
_SMALLEST_GAP = 1e-10
"""About what rounding leaves provable where the cost is a tenth of the scatter; less where it is smaller."""
_SECONDS_PER_NUMBER = 1e-7
"""Time to prove the cost of a clustering, for each number in the table."""


def solve(  # noqa: PLR0913  # the arguments that users of scikit-learn and of MIP solvers expect
    points: ArrayLike | PointsFile | None = None,
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
    size_min: float | None = None,
    size_max: float | None = None,
    sizes: Iterable[float] | None = None,
    capacity: ArrayLike | None = None,
    link_by: LinkBy = "auto",
    sample_weight: ArrayLike | None = None,
    initial_labels: ArrayLike | None = None,
    gap: float = 1e-4,
    time_limit: float | None = None,
    max_nodes: int | None = None,
    n_jobs: int | None = 1,
    random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    callback: Callable[[Progress], None] | None = None,
    executor: Executor | Any | None = None,
    checkpoint: str | Path | None = None,
    part_size: int | Literal["auto"] | None = "auto",
    verbose: int = 0,
    settings: SolverSettings | str | Path | None = None,
) -> SolveResult:
    """Find a clustering of least cost that keeps every constraint, and prove it.

    Parameters
    ----------
    points
        One row per point; an array, a DataFrame, or what :func:`~certimeans.read_points` returns. A ``.npy`` file of
        doubles that is mapped (``mmap_mode="r"``) is not loaded; a Dask array is computed one block of rows after the
        other.
    n_clusters
        The number of clusters.
    gram
        Instead of points: their inner products, a symmetric matrix, such as a kernel matrix. There are no centres then.
    squared_distances
        Instead of points: the squared distance of each pair of them, a symmetric matrix.
    standardize
        Whether to scale every feature to mean 0 and variance 1 first; cost and bound are then about the scaled points.
    must_link, cannot_link
        Pairs of points that share a cluster, and that do not: numbered from 0, or labels of a DataFrame's index or
        names of a file's points; see ``link_by``.
    diameter
        Two points farther apart than this cannot link.
    split
        Two points closer than this must link.
    partial_labels
        Known classes, one entry per point: the same class must link, different classes cannot; ``None``, NaN and -1
        mean unknown.
    size_min, size_max
        Every cluster has at least, and at most, that many points.
    sizes
        The exact sizes of the clusters, in any order.
    capacity
        One number for each point, zero or more: limits and sizes then apply to its sum over a cluster, compared
        exactly, instead of the number of points.
    link_by
        What pairs hold: ``"position"``, numbers from 0, or ``"label"``, labels of a DataFrame's index or names from a
        file. ``"auto"``: labels if the index is not 0, 1, 2, ..., else positions; an integer that may be both is
        refused.
    sample_weight
        Weight of each point. A point of weight zero has no influence: the problem is solved without it, and it then
        gets the cluster of the nearest centre. No constraint may mention it.
    initial_labels
        A clustering to start from; it counts only if it keeps every constraint.
    gap
        Proven relative gap at which to stop.
    time_limit, max_nodes
        Seconds and search nodes after which to stop with the best clustering and bound so far. Problems that are
        bounded by parts have one node.
    n_jobs
        Number of processes; -1 for all cores, ``None`` for 1 or what a ``joblib.parallel_config`` says.
    random_state
        Seed; the same seed on the same machine with one process gives the same result, unless a time limit or the
        automatic choice of a part size makes it depend on the clock. ``None`` draws a new one, which the result reports
        as ``seed``.
    callback
        Told about progress: after each node, and after each round of cutting planes of a node in this process.
    executor
        Where to evaluate nodes instead: anything that speaks ``concurrent.futures.Executor``, ``n_jobs`` nodes at a
        time; for a Dask ``Client`` (or its ``get_executor()``), as many as the cluster has threads.
    checkpoint
        A folder: the search is saved there every few seconds, and resumed from there if it was saved before.
    part_size
        Large problems are bounded by parts, which are split so that they look alike: super-points per part; ``"auto"``
        to decide by size, memory, gap and time limit; ``None`` to bound everything at once.
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
    values, source, feature_names = as_source(points)
    constraints = Constraints.create(
        as_positions(must_link, source, "must_link", link_by),
        as_positions(cannot_link, source, "cannot_link", link_by),
        diameter=diameter,
        split=split,
        partial_labels=partial_labels,
        size_min=size_min,
        size_max=size_max,
        sizes=sizes,
        capacity=capacity,
    )
    table, geometry = one_table(values, gram, squared_distances)
    if n_clusters is None:
        raise InputError("say how many clusters you want with n_clusters")
    reduction = leave_out_weightless(
        table,
        n_clusters,
        constraints,
        sample_weight,
        geometry=geometry,
        standardize=standardize,
        feature_names=feature_names,
    )
    with logged(callback, reduction.instance, verbose) as told:
        result = solve_reduced(
            reduction,
            Limits(gap, time_limit, max_nodes),
            n_jobs=n_jobs,
            seed=random_state,
            initial_labels=initial_labels,
            callback=told,
            executor=executor,
            checkpoint=checkpoint,
            part_size=part_size,
            settings=SolverSettings.load(settings),
        )
    return replace(result, source=with_notes(source, result.instance))


def solve_reduced(
    reduction: WithoutWeightless, limits: Limits, *, initial_labels: ArrayLike | None = None, **options: Any
) -> SolveResult:
    """Solve a problem without its points of weight zero, and tell the result in the numbers of all points."""
    try:
        result = solve_instance(
            reduction.instance, limits, initial_labels=reduction.restrict_labels(initial_labels), **options
        )
    except InfeasibleError as error:
        raise InfeasibleError(reduction.restore_conflict(error.conflict)) from None
    return replace(result, reduction=reduction)


def solve_instance(  # noqa: PLR0913  # the arguments of solve
    instance: Instance,
    limits: Limits,
    *,
    n_jobs: int | None = 1,
    seed: int | np.random.RandomState | np.random.Generator | None = 0,
    initial_labels: ArrayLike | None = None,
    callback: Callable[[Progress], None] | None = None,
    executor: Executor | Any | None = None,
    checkpoint: str | Path | None = None,
    part_size: int | Literal["auto"] | None = "auto",
    settings: NodeSettings | None = None,
    start: Callable[[Presolved], Inheritance | None] | None = None,
) -> SolveResult:
    """Solve an instance that was built before; see :func:`solve`.

    ``start`` returns what the bound of the root starts from, as a similar problem left it. The root then looks for a
    clustering after its bound only.
    """
    n_jobs, seed, part_size = as_n_jobs(n_jobs), as_seed(seed), as_part_size(part_size)
    settings = settings or NodeSettings()
    find_plugins(settings)
    if limits.gap < _SMALLEST_GAP:
        _LOGGER.warning(
            "a gap of %g was asked for; double precision proves about %g, and the search ends there",
            limits.gap,
            _SMALLEST_GAP,
        )
    prepare(instance)  # compilation does not count towards the time limit
    deadline = Deadline(_seconds_to_search(limits.seconds, instance))
    history = History(callback)
    with interruptible(deadline), one_blas_thread():
        store = None if checkpoint is None else CheckpointStore(Path(checkpoint), instance)
        saved = None if store is None else store.open()
        history.begin()
        presolved = presolve(instance, deadline)
        history.say(presolved.describe(), deadline.elapsed())
        incumbent = Incumbent(instance)
        if initial_labels is not None:
            incumbent.offer(as_labels(initial_labels, instance.n_points), "initial labels")
        if is_by_parts(presolved, part_size, settings):
            from certimeans.search.parts.run import search_by_parts  # noqa: PLC0415  # much code, for large problems

            outcome = search_by_parts(
                presolved,
                incumbent,
                limits,
                deadline,
                part_size=part_size,
                seed=seed,
                n_jobs=n_jobs,
                executor=executor,
                folder=None if store is None else store.folder,
                on_progress=history.add,
                settings=settings,
            )
        elif (regions := regions_of(presolved, incumbent, saved, seed, deadline, settings)) is not None:
            outcome = search_by_regions(
                presolved,
                regions,
                incumbent,
                limits,
                deadline,
                history,
                seed=seed,
                n_jobs=n_jobs,
                executor=executor,
                store=store,
                saved=saved,
                settings=settings,
            )
        else:
            outcome = branch_and_bound(
                presolved,
                incumbent,
                limits,
                deadline,
                history,
                seed=seed,
                n_jobs=n_jobs,
                executor=executor,
                store=store,
                saved=saved,
                settings=settings,
                start=None if start is None else start(presolved),
            )
        if incumbent.clustering is None:
            _offer_any(incumbent, presolved, seed)
    return checked_result(presolved, incumbent, outcome, history, limits.gap, seed, deadline.elapsed())


def _offer_any(incumbent: Incumbent, presolved: Presolved, seed: int) -> None:
    """Offer a clustering that takes no search, where the time did not suffice for one."""
    labels = quick_clustering(presolved.super_points, presolved.colouring, seed)
    if labels is not None:
        incumbent.offer(presolved.super_points.expand_labels(labels), "no search")


def _seconds_to_search(seconds: float | None, instance: Instance) -> float | None:
    """Leave a little of the time for checking the last clustering: a second for a million points."""
    return None if seconds is None else seconds - min(0.1 * seconds, _SECONDS_PER_NUMBER * instance.table.size)
