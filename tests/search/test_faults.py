import math
import os
import signal
from concurrent.futures import BrokenExecutor, Future
from pathlib import Path

import pytest

from certimeans import SolveStatus, solve
from certimeans.deadline import Deadline
from certimeans.heuristics.incumbent import Incumbent
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from certimeans.search.coordinator import Coordinator
from certimeans.search.executors import SerialWorkers
from certimeans.search.limits import Limits, Progress
from certimeans.search.node import NodeOutcome, NodeTask
from tests.search.test_solve import branching_points


def worker_pids() -> list[int]:
    """Find the solver's worker processes among our children."""
    children = [
        int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()
    ]
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
    return [pid for pid, command in commands.items() if b"loky" in command and b"resource_tracker" not in command]


# A killed worker cannot clean up after itself, and loky's finalizers complain about that.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_killed_worker_costs_only_its_nodes() -> None:
    """SIGKILL for a worker after two nodes and after four: a new pool, the same optimum, no node given up."""
    points = branching_points()
    undisturbed = solve(points, 8)
    killed: list[int] = []

    def kill_now_and_then(progress: Progress) -> None:
        if len(killed) < 2 and progress.nodes_done >= 2 * len(killed) + 2 and worker_pids():
            killed.append(worker_pids()[0])
            os.kill(killed[-1], signal.SIGKILL)

    result = solve(points, 8, n_jobs=2, callback=kill_now_and_then)
    assert len(killed) == 2
    assert result.status is SolveStatus.OPTIMAL
    assert result.message == ""
    assert result.objective == pytest.approx(undisturbed.objective, rel=1e-4)
    assert worker_pids() == []


class DeadlyWorkers(SerialWorkers):
    """Workers that die of one node, every time."""

    def __init__(self, instance: Instance, deadly: int) -> None:
        super().__init__(presolve(instance), Deadline())
        self.deadly = deadly
        self.n_deaths = 0

    def submit(self, task: NodeTask) -> Future[NodeOutcome]:
        """Break on the deadly node."""
        if task.number != self.deadly:
            return super().submit(task)
        self.n_deaths += 1
        future: Future[NodeOutcome] = Future()
        future.set_exception(BrokenExecutor("killed"))
        return future


@pytest.mark.parametrize("deadly", [0, 1])
def test_a_node_that_kills_its_workers_is_given_up_and_never_a_false_optimum(deadly: int) -> None:
    """After three tries its parent's bound stands, the search goes on elsewhere, and the status is not optimal."""
    instance = Instance.create(branching_points(), 8)
    workers, incumbent = DeadlyWorkers(instance, deadly), Incumbent(instance)
    outcome = Coordinator(workers, incumbent, Limits(), Deadline(), seed=0).run()
    assert workers.n_deaths == 3
    assert outcome.abandoned == 1
    assert outcome.status is SolveStatus.INTERRUPTED
    best = solve(instance.points, 8).objective
    assert outcome.lower_bound <= best
    assert (outcome.lower_bound > 0) == (deadly == 1)
    assert math.isinf(incumbent.cost) == (deadly == 0)
