"""Branch and bound of a whole problem: where its nodes are evaluated, and from where a saved search goes on."""

from __future__ import annotations

import math
from typing import Any

from certimeans.deadline import Deadline
from certimeans.presolve.reduce import Presolved
from certimeans.search.checkpoint import CheckpointStore, SavedSearch
from certimeans.search.checkpointer import Checkpointer
from certimeans.search.coordinator import Coordinator, SearchOutcome
from certimeans.search.executors import make_workers
from certimeans.search.history import History
from certimeans.search.incumbent import Incumbent
from certimeans.search.limits import Limits
from certimeans.search.node import Inheritance
from certimeans.search.node_problem import resumed_inheritance
from certimeans.search.resume import prove_tree, warm_start_steps
from certimeans.search.settings import NodeSettings
from certimeans.search.tree import TreeStatus
from certimeans.status import pruning_cost


def branch_and_bound(  # noqa: PLR0913  # all that a run depends on
    presolved: Presolved,
    incumbent: Incumbent,
    limits: Limits,
    deadline: Deadline,
    history: History,
    *,
    seed: int = 0,
    n_jobs: int = 1,
    executor: Any = None,
    store: CheckpointStore | None = None,
    saved: SavedSearch | None = None,
    settings: NodeSettings | None = None,
    start: Inheritance | None = None,
) -> SearchOutcome:
    """Search the tree of a problem, in this process, in several, or on a cluster.

    Parameters
    ----------
    store, saved
        Where to save the search every few seconds, and what was saved there before, or kept in memory.
    start
        What the bound of the root starts from, as a similar problem left it.
    """
    workers = make_workers(presolved, n_jobs, executor, deadline)
    try:
        coordinator = Coordinator(
            workers, incumbent, limits, deadline, seed, history.add, Checkpointer(store), settings
        )
        coordinator.start_from(start)
        if saved is not None:
            _resume(coordinator, saved, presolved)
        if store is not None and saved is not None:
            history.say(f"resumed:  from {store.folder}, {_describe(coordinator)}", deadline.elapsed())
        elif store is not None:
            history.say(f"saved:    every few seconds in {store.folder}", deadline.elapsed())
        return coordinator.run()
    finally:
        workers.close()


def _resume(coordinator: Coordinator, saved: SavedSearch, presolved: Presolved) -> None:
    """Go on with a saved search; its labels are checked like any others, and its proofs are proven again."""
    incumbent = coordinator.incumbent
    if saved.labels is not None:
        incumbent.offer(saved.labels, "checkpoint")
    coordinator.workers.publish(incumbent.cost)
    enough = pruning_cost(incumbent.cost, coordinator.limits.gap)
    resumed = prove_tree(saved.tree, presolved, enough, coordinator.deadline)
    tree = resumed.tree

    def warm_start(number: int) -> Inheritance | None:
        steps = warm_start_steps(tree, number)
        return resumed_inheritance(presolved, tree.decisions(number), steps) if steps else None

    coordinator.resume(resumed, saved.statistics, warm_start)


def _describe(coordinator: Coordinator) -> str:
    """Say how far a search has come."""
    nodes = coordinator.tree.nodes
    n_open = sum(node.status is TreeStatus.OPEN for node in nodes)
    cost = coordinator.incumbent.cost
    incumbent = f"incumbent {cost:.8g}" if cost < math.inf else "no clustering yet"
    return f"{len(nodes)} nodes ({n_open} open), {incumbent}"
