"""Where nodes are evaluated: in this process, in local processes, on a Dask cluster, or wherever an executor runs."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

from certimeans.deadline import Deadline
from certimeans.errors import InputError
from certimeans.presolve.reduce import Presolved
from certimeans.search.foreign_workers import ForeignWorkers, connect, dask_workers
from certimeans.search.process_workers import ProcessWorkers
from certimeans.search.workers import SerialWorkers, Workers

__all__ = ["connect", "make_workers"]


def make_workers(presolved: Presolved, n_jobs: int, executor: Executor | Any | None, deadline: Deadline) -> Workers:
    """Choose where to evaluate nodes.

    Parameters
    ----------
    executor
        ``None`` for this machine; any ``concurrent.futures.Executor``; or a Dask client or its executor.

    Raises
    ------
    InputError
        If it is none of these.
    """
    if executor is None:
        return SerialWorkers(presolved, deadline) if n_jobs == 1 else ProcessWorkers(presolved, n_jobs, deadline)
    cluster = dask_workers(presolved, executor, deadline)
    if cluster is not None:
        return cluster
    if not callable(getattr(executor, "submit", None)):
        raise InputError(f"executor must have a method 'submit', or be a Dask client; got {executor!r}")
    return ForeignWorkers(presolved, executor, n_jobs)
