import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from certimeans import InputError, SolveStatus, solve
from certimeans.problem.instance import Instance
from certimeans.proof.steps import InfeasibleStep, MergeStep
from certimeans.search.checkpoint import FORMAT, CheckpointStore, SavedSearch
from certimeans.search.node import Decision
from certimeans.search.statistics import NodeWork, RunStatistics
from certimeans.search.tree import Tree, TreeNode, TreeStatus
from tests.proof.test_store import BOUND
from tests.search.test_solve import branching_points

SAVED = SavedSearch(
    tree=Tree.of(
        [
            TreeNode(0, -1, None, TreeStatus.BRANCHED, 0.25, 3, 1.5),
            TreeNode(1, 0, Decision(0, 2, together=True), TreeStatus.INFEASIBLE, math.inf, 0, 0.1),
            TreeNode(2, 0, Decision(0, 2, together=False), TreeStatus.OPEN, 0.25),
        ],
        {0: (MergeStep(np.array([[0, 1, 2]])), BOUND), 1: (InfeasibleStep(),)},
    ),
    labels=(0, 1, 0),
    statistics=RunStatistics(nodes=4, cuts=3, root_seconds=1.5, work=NodeWork(rounds=17, bound_seconds=0.5)),
)


def assert_same(first: SavedSearch | None, second: SavedSearch) -> None:
    """Compare two saved searches, steps included."""
    assert first is not None
    assert {**vars(first), "tree": None} == {**vars(second), "tree": None}
    assert first.tree.nodes == second.tree.nodes
    assert first.tree.steps.keys() == second.tree.steps.keys()
    for number, steps in first.tree.steps.items():
        for step, other in zip(steps, second.tree.steps[number], strict=True):
            assert step.kind == other.kind
            np.testing.assert_equal(vars(step), vars(other))


def store_in(folder: Path, k: int = 2) -> CheckpointStore:
    return CheckpointStore(folder, Instance.create([[0.0], [1.0], [5.0]], k))


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    """Decisions, bounds and labels are the same after a round trip; without a file there is nothing to load."""
    store = store_in(tmp_path / "new")
    assert store.load() is None
    store.save(SAVED)
    assert_same(store.load(), SAVED)


@pytest.mark.parametrize("name", ["checkpoint.json", "checkpoint.previous.json"])
def test_a_pipe_or_a_device_is_not_a_checkpoint(name: str, tmp_path: Path) -> None:
    """It is refused by name, for it could block or never end."""
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match=f"{re.escape(name)}: not a regular file"):
        store_in(tmp_path).load()
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(InputError, match=f"{re.escape(name)}: not a regular file"):
        store_in(tmp_path).load()


def test_pipes_in_place_of_other_files_do_not_block(tmp_path: Path) -> None:
    """Those that are written are replaced; a proof that is a pipe makes a damaged checkpoint."""
    store = store_in(tmp_path)
    os.mkfifo(tmp_path / "checkpoint.next.json")
    store.save(SAVED)
    assert_same(store.load(), SAVED)
    proof = next((tmp_path / "proofs").iterdir())
    proof.unlink()
    os.mkfifo(proof)
    with pytest.raises(InputError, match="the checkpoint is damaged"):
        store_in(tmp_path).load()
    store_in(tmp_path).save(SAVED)
    assert_same(store_in(tmp_path).load(), SAVED)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path: Path) -> None:
    """Truncated at any place, or altered, the newest file is not used; with both damaged the user is told."""
    store = store_in(tmp_path)
    store.save(SAVED)
    store.save(SAVED)
    path = tmp_path / "checkpoint.json"
    whole = path.read_bytes()
    for damaged in (b"", whole[:10], whole[:-1], whole.replace(b"17", b"18"), b"[]", b"null", b"\xff\xfe"):
        path.write_bytes(damaged)
        assert_same(store.load(), SAVED)
    (tmp_path / "checkpoint.previous.json").write_bytes(whole[:50])
    path.write_bytes(whole)
    next((tmp_path / "proofs").iterdir()).write_bytes(b"PK")
    with pytest.raises(InputError, match=r"checkpoint\.json: the checkpoint is damaged; remove it"):
        store.load()


def test_foreign_checkpoints_are_refused(tmp_path: Path) -> None:
    """Another instance, or another format, is an error that says so."""
    store_in(tmp_path).save(SAVED)
    with pytest.raises(InputError, match="belongs to another instance"):
        store_in(tmp_path, k=3).load()
    path = tmp_path / "checkpoint.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**record, "format": 99}), encoding="utf-8")
    with pytest.raises(InputError, match="in format 99; this version reads format 3"):
        store_in(tmp_path).load()


def test_a_stopped_search_goes_on_to_the_same_optimum(tmp_path: Path) -> None:
    """Stopped after every second node and resumed, the search ends with the optimum of an undisturbed one."""
    points = branching_points()
    undisturbed = solve(points, 8)
    nodes = 0
    for _ in range(30):
        nodes += 2
        result = solve(points, 8, checkpoint=tmp_path, max_nodes=nodes)
        if result.status is SolveStatus.OPTIMAL:
            break
        assert result.lower_bound <= undisturbed.objective
    assert result.status is SolveStatus.OPTIMAL
    assert result.objective == pytest.approx(undisturbed.objective, rel=1e-4)
    again = solve(points, 8, checkpoint=tmp_path)
    assert again.status is SolveStatus.OPTIMAL
    assert again.nodes == result.nodes


SCRIPT = """
import sys, numpy
from certimeans import solve
from certimeans.search import checkpointer
checkpointer.SECONDS_BETWEEN_SAVES = 0.0
result = solve(numpy.load(sys.argv[1]), 8, checkpoint=sys.argv[2], random_state=0)
print(result.status, repr(result.objective))
"""


def test_a_search_stopped_by_the_clock_goes_on(tmp_path: Path) -> None:
    """The node that the time limit stopped is open in the checkpoint, so that the next run can prove the optimum."""
    stopped = solve(branching_points(), 8, checkpoint=tmp_path, time_limit=0.3)
    assert stopped.status is SolveStatus.TIME_LIMIT
    assert solve(branching_points(), 8, checkpoint=tmp_path).status is SolveStatus.OPTIMAL


def test_a_killed_search_resumes_to_the_same_optimum(tmp_path: Path) -> None:
    """SIGKILL at several moments: each new process goes on from the checkpoint, and the last one proves the optimum."""
    points = branching_points()
    np.save(tmp_path / "points.npy", points)
    undisturbed = solve(points, 8)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "points.npy"), str(tmp_path / "saved")]
    checkpoint = tmp_path / "saved" / "checkpoint.json"
    for delay in (0.0, 0.2, 0.4):
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:  # until it has saved something, and a little longer
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns > before:
                break
            time.sleep(0.005)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert json.loads(checkpoint.read_bytes())["format"] == FORMAT  # there is a whole one at any time
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, objective = done.stdout.split()
    assert status == "optimal"
    assert float(objective) == pytest.approx(undisturbed.objective, rel=1e-4)
