"""Searches by parts: where they run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from certimeans.deadline import Deadline
from certimeans.presolve.reduce import Presolved
from certimeans.search.coordinator import SearchOutcome
from certimeans.search.incumbent import Incumbent
from certimeans.search.limits import Limits, Progress
from certimeans.search.parts.choice import PartSize
from certimeans.search.parts.search import PartsSearch
from certimeans.search.parts.store import PartStore
from certimeans.search.parts.workers import make_part_workers
from certimeans.search.settings import NodeSettings


def search_by_parts(  # noqa: PLR0913  # all that a run depends on
    presolved: Presolved,
    incumbent: Incumbent,
    limits: Limits,
    deadline: Deadline,
    *,
    part_size: PartSize = "auto",
    seed: int = 0,
    n_jobs: int = 1,
    executor: Any = None,
    folder: Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    settings: NodeSettings | None = None,
) -> SearchOutcome:
    """Bound a problem by parts, here or on a cluster.

    Parameters
    ----------
    folder
        Where to keep what is proven, and to go on with what was kept there; ``None`` to keep it as long as the result.
    """
    store = PartStore(folder, presolved.instance)
    store.prepare()
    workers = make_part_workers(n_jobs, executor, deadline)
    try:
        search = PartsSearch(
            presolved, workers, store, incumbent, limits, deadline, seed, part_size, on_progress, settings
        )
        search.n_threads = n_jobs
        return search.run()
    finally:
        workers.close()
