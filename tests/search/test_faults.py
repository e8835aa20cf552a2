import contextlib
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import BrokenExecutor, Future
from dataclasses import replace
from pathlib import Path

import pytest

from certimeans import SolveStatus, solve
from certimeans.deadline import Deadline
from certimeans.errors import InternalError
from certimeans.presolve.reduce import presolve
from certimeans.problem.instance import Instance
from certimeans.search import process_workers
from certimeans.search.coordinator import Coordinator
from certimeans.search.incumbent import Incumbent
from certimeans.search.limits import Limits, Progress
from certimeans.search.node import NodeOutcome, NodeTask, Outcome, Task
from certimeans.search.workers import SerialWorkers
from tests.search.test_solve import branching_points


def worker_pids() -> list[int]:
    """Find the solver's worker processes among our children."""
    children: list[int] = []
    commands: dict[int, bytes] = {}
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            children += map(int, (task / "children").read_text().split())
    for pid in children:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            commands[pid] = Path(f"/proc/{pid}/cmdline").read_bytes()
    return [pid for pid, command in commands.items() if b"loky" in command and b"resource_tracker" not in command]


# A killed worker cannot clean up after itself, and loky's finalizers complain about that.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_killed_worker_costs_only_its_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL for a worker after two nodes and after four: a new pool, the same optimum, no node given up."""
    monkeypatch.setattr(process_workers, "SECONDS_BEFORE_PROCESSES", 0.0)
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


def test_a_short_tree_starts_no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads of this process evaluate its nodes: processes would take longer to start than the tree takes."""
    monkeypatch.setattr(process_workers, "SECONDS_BEFORE_PROCESSES", math.inf)
    seen: list[int] = []
    result = solve(branching_points(), 8, gap=0.001, n_jobs=2, callback=lambda _: seen.extend(worker_pids()))
    assert result.status is SolveStatus.OPTIMAL
    assert result.nodes > 1
    assert seen == []


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    """SIGKILL for the whole solver: its workers are gone within seconds, and so are their files."""
    program = """
        import sys, tempfile
        tempfile.tempdir = sys.argv[1]
        from certimeans import solve
        from certimeans.search import process_workers
        from tests.search.test_faults import worker_pids
        from tests.search.test_solve import branching_points
        def tell(progress):
            if len(worker_pids()) == 2:
                print(*worker_pids(), flush=True)
        process_workers.SECONDS_BEFORE_PROCESSES = 0.0
        solve(branching_points(), 8, gap=0, n_jobs=2, callback=tell)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as solver:
        assert solver.stdout is not None
        workers = [int(pid) for pid in solver.stdout.readline().split()]
        assert len(workers) == 2
        time.sleep(1.0)  # they have read the problem by then
        solver.kill()
    end = time.monotonic() + 10
    while any(is_alive(pid) for pid in workers) and time.monotonic() < end:
        time.sleep(0.1)
    assert [pid for pid in workers if is_alive(pid)] == []
    assert list(tmp_path.glob("certimeans-*")) == []


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not fetched by anybody does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class LyingWorkers(SerialWorkers):
    """Workers whose bounds are far above what the clusterings cost that they find."""

    def submit(self, task: Task) -> Future[Outcome]:
        """Claim too much."""
        future: Future[Outcome] = Future()
        outcome = super().submit(task).result()
        assert isinstance(outcome, NodeOutcome)
        future.set_result(replace(outcome, lower_bound=1e9))
        return future


def test_a_bound_above_the_best_clustering_is_an_error_and_no_result() -> None:
    """Something is wrong then, and nobody knows what: better no answer."""
    instance = Instance.create(branching_points()[:10], 2)
    workers = LyingWorkers(presolve(instance), Deadline())
    with pytest.raises(InternalError, match="the bounds contradict the best clustering"):
        Coordinator(workers, Incumbent(instance), Limits(), Deadline(), seed=0).run()


class FailingWorkers(SerialWorkers):
    """Workers that fail on one node, every time."""

    def __init__(self, instance: Instance, fatal: int, error: BaseException) -> None:
        super().__init__(presolve(instance), Deadline())
        self.fatal = fatal
        self.error = error
        self.n_failures = 0

    def submit(self, task: Task) -> Future[Outcome]:
        """Fail on the fatal node."""
        if not isinstance(task, NodeTask) or task.number != self.fatal:
            return super().submit(task)
        self.n_failures += 1
        future: Future[Outcome] = Future()
        future.set_exception(self.error)
        return future


@pytest.mark.parametrize(("fatal", "error"), [(0, BrokenExecutor("killed")), (1, BrokenExecutor()), (1, MemoryError())])
def test_a_node_that_no_worker_survives_is_given_up_and_never_a_false_optimum(fatal: int, error: BaseException) -> None:
    """After three tries its parent's bound stands, the search goes on elsewhere, and the status is not optimal."""
    instance = Instance.create(branching_points(), 8)
    workers, incumbent = FailingWorkers(instance, fatal, error), Incumbent(instance)
    outcome = Coordinator(workers, incumbent, Limits(), Deadline(), seed=0).run()
    assert workers.n_failures == 3
    assert outcome.statistics.abandoned == 1
    assert outcome.status is SolveStatus.INTERRUPTED
    assert "1 nodes given up" in outcome.message
    best = solve(instance.points, 8).objective
    assert outcome.lower_bound <= best
    assert (outcome.lower_bound > 0) == (fatal == 1)
    assert math.isinf(incumbent.cost) == (fatal == 0)
