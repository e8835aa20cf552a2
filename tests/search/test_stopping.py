"""Limits and Ctrl-C, whatever the search is doing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certimeans.search.evaluate as evaluation
from certimeans import SolveStatus, solve
from certimeans.certificate.check import verify
from certimeans.deadline import Deadline
from certimeans.heuristics.quick import quick_clustering
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from certimeans.search import workers
from certimeans.search.background import in_background, result_before
from certimeans.search.checkpoint import CheckpointStore
from certimeans.search.evaluate import Surroundings, evaluate
from certimeans.search.node import NodeOutcome, NodeReport, NodeTask
from tests.search.test_solve import branching_points, hard_points

CTRL_C = """
import os, signal, sys, threading, time
import numpy
from certimeans import solve

sent = []

def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

def at_the_root(progress):
    if progress.phase == PHASE and not sent:
        sent.append(0.0)
        threading.Timer(1.0, interrupt).start()

solve(numpy.random.default_rng(0).random((40, 5)), 3)
result = solve(numpy.random.default_rng(0).random((6000, 5)), 10, callback=at_the_root, part_size=PART_SIZE)
print(result.status, time.monotonic() - sent[-1], result.objective, result.lower_bound, time.time())
"""


@pytest.mark.parametrize(("phase", "part_size"), [("root", None), ("parts", "auto")])
def test_ctrl_c_ends_a_large_problem_at_once(phase: str, part_size: str | None) -> None:
    """6,000 points, as a whole or by parts, interrupted in the middle of linear algebra: answer and end at once."""
    code = f"PHASE, PART_SIZE = {phase!r}, {part_size!r}{CTRL_C}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    status, seconds, objective, bound, printed = done.stdout.split()
    assert time.time() - float(printed) < 1.0
    assert status == "interrupted"
    assert float(seconds) < 1.0
    assert 0 <= float(bound) < float(objective) < np.inf


class _Stuck:
    """An evaluation that reports what it found and then does not look at the clock for a while."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.reported = 0.0

    def __call__(self, presolved: Any, task: NodeTask, surroundings: Surroundings) -> NodeOutcome:
        outcome = evaluate(presolved, task, Surroundings(surroundings.deadline))
        assert surroundings.report is not None
        self.reported = 0.9 * outcome.lower_bound
        surroundings.report(NodeReport(task.number, self.reported, outcome.labels, 0, outcome.steps))
        time.sleep(self.seconds)
        return outcome


def test_what_an_abandoned_evaluation_has_reported_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound, labels and steps are in the result, in its certificate and in the checkpoint."""
    stuck = _Stuck(20.0)
    points = hard_points(30)
    solve(points, 3)  # compiled by now
    with monkeypatch.context() as patch:
        patch.setattr(workers, "LARGE_SIZE", 1)
        patch.setattr(workers, "evaluate", stuck)
        began = time.monotonic()
        result = solve(points, 3, time_limit=2.0, checkpoint=tmp_path / "saved", gap=0.0)
    assert time.monotonic() - began < 3.0
    assert result.status is SolveStatus.TIME_LIMIT
    assert result.labels is not None
    assert result.lower_bound == result.root_lower_bound == stuck.reported > 0
    result.save(tmp_path / "out", report=False)
    verify(tmp_path / "out")
    saved = CheckpointStore(tmp_path / "saved", result.instance).load()
    assert saved is not None
    assert saved.tree.argument(0)
    assert solve(points, 3, checkpoint=tmp_path / "saved").status is SolveStatus.OPTIMAL


def test_a_large_problem_in_a_thread_ends_like_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Same labels, nodes and bounds."""
    here = solve(hard_points(60), 5)
    monkeypatch.setattr(workers, "LARGE_SIZE", 1)
    there = solve(hard_points(60), 5)
    assert (there.nodes, there.lower_bound, there.objective) == (here.nodes, here.lower_bound, here.objective)


def test_ctrl_c_during_presolve_is_not_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler is there from the start, and the search that follows ends at once."""

    def interrupted(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return presolve(*arguments)

    monkeypatch.setattr("certimeans.solver.presolve", interrupted)
    result = solve(branching_points(), 8)
    assert result.status is SolveStatus.INTERRUPTED
    assert result.message == ""


def test_labels_of_a_heuristic_that_break_a_constraint_do_not_end_a_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are dropped: here every heuristic puts all points into one cluster."""
    monkeypatch.setattr(
        evaluation, "search_clustering", lambda points, **_: np.zeros(points.size, dtype=np.int64), raising=True
    )
    result = solve(hard_points(20), 3, max_nodes=2)
    assert result.labels is not None  # one that takes no search
    assert len(set(result.labels.tolist())) == 3
    assert result.status is not SolveStatus.OPTIMAL


@pytest.mark.parametrize("geometry", ["points", "gram"])
@pytest.mark.parametrize("links", [0, 60, 500])
def test_without_any_time_there_is_a_clustering_where_one_is_easily_found(geometry: str, links: int) -> None:
    """With links for which one assignment is enough, and with so many that only the colouring keeps them."""
    random = np.random.default_rng(links)
    hidden, pairs = random.integers(0, 4, size=60), random.integers(0, 60, size=(links, 2))
    points = random.random((60, 2))
    instance = Instance.create(
        points if geometry == "points" else None,
        4,
        gram=points @ points.T if geometry == "gram" else None,
        cannot_link=pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]],
    )
    presolved = presolve(instance)
    labels = quick_clustering(presolved.super_points, presolved.colouring)
    assert labels is not None
    assert Clustering.from_labels(instance, presolved.super_points.expand_labels(labels)).satisfies(instance)


def test_a_limit_that_leaves_no_time_to_search_still_gives_labels() -> None:
    """They keep every constraint, and the gap says what they are worth."""
    result = solve(hard_points(3000), 10, cannot_link=[(0, 1), (1, 2)], time_limit=1e-6)
    assert result.status is SolveStatus.TIME_LIMIT
    assert result.labels is not None
    assert result.lower_bound <= result.objective < np.inf


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_limits_are_kept(n_jobs: int) -> None:
    """1,500 points, one process and two."""
    began = time.monotonic()
    result = solve(np.random.default_rng(0).random((1500, 4)), 15, time_limit=2.0, n_jobs=n_jobs)
    assert time.monotonic() - began < 3.0
    assert result.status is SolveStatus.TIME_LIMIT


def test_background_work_is_left_behind_at_a_deadline() -> None:
    """Its result comes if it is there in time; errors come through."""
    assert result_before(in_background(lambda: 3), Deadline()) == 3
    with pytest.raises(ZeroDivisionError):
        result_before(in_background(lambda: 1 // 0), Deadline())
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        result_before(in_background(time.sleep, 5), Deadline(0.1))
    assert time.monotonic() - began < 1.0


def test_a_shorter_deadline_ends_with_the_longer_one() -> None:
    """It passes by itself, or with the other one; a request to stop ends both."""
    long = Deadline(100)
    short = long.within(0.0)
    assert short.passed()
    assert not long.passed()
    other = long.within(50)
    assert 49 < other.remaining() <= 50
    long.request_stop()
    assert other.passed()
    assert Deadline(0.0).within(50).passed()


@pytest.mark.parametrize(
    ("work", "ending"),
    [
        ("(time.sleep, 60)", "raise SystemExit(3)"),
        ("(time.sleep, 60)", "end_process_if_busy(3); print('too far')"),
        ("(int).result(); time.sleep(0.1)", "end_process_if_busy(4); sys.exit(3)"),
    ],
)
def test_a_process_with_work_left_behind_ends_with_its_own_status(work: str, ending: str) -> None:
    """What was written arrives, and the exit status is the program's; exit handlers of Python still run, once."""
    code = (
        "import atexit, sys, time\n"
        "from certimeans.orphans import end_process_if_busy\n"
        "from certimeans.search.background import in_background\n"
        "atexit.register(print, 'handler')\n"
        f"in_background{work}\n"
        "print('written')\n"
        f"{ending}\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stdout.split(), done.stderr) == (3, ["written", "handler"], "")
