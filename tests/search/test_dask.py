import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from certimeans import InputError, SolveStatus, solve
from certimeans.cli import main
from certimeans.search.executors import connect
from certimeans.search.limits import Progress
from tests.oracles.cluster import Cluster
from tests.search.test_solve import branching_points


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a scheduler and two workers."""
    cluster = Cluster(tmp_path_factory.mktemp("dask"))
    yield cluster
    cluster.close()


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    """Connect to the cluster, once its workers are there."""
    client = connect(cluster.address())
    client.wait_for_workers(1, timeout=60)
    yield client
    client.close()


pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, on Python's and on its settings


def test_a_cluster_proves_the_same_optimum(client: Any) -> None:
    """Through the client or its executor, with as many nodes outstanding as there are threads."""
    points = branching_points()
    serial = solve(points, 8)
    for executor in (client, client.get_executor()):
        result = solve(points, 8, executor=executor)
        assert result.status is SolveStatus.OPTIMAL
        assert result.objective == pytest.approx(serial.objective, rel=1e-4)


def test_a_killed_worker_of_the_cluster_costs_only_its_nodes(cluster: Cluster, client: Any) -> None:
    """SIGKILL for a worker in the middle of the search: the other one goes on to the same optimum."""
    points = branching_points()
    serial = solve(points, 8)
    client.wait_for_workers(2, timeout=60)

    def kill_one(progress: Progress) -> None:
        if progress.nodes_done >= 2 and len(cluster.workers) == 2:
            os.kill(cluster.workers.pop().pid, signal.SIGKILL)

    result = solve(points, 8, executor=client, callback=kill_one)
    assert len(cluster.workers) == 1
    assert result.status is SolveStatus.OPTIMAL
    assert result.message == ""
    assert result.objective == pytest.approx(serial.objective, rel=1e-4)


def test_a_cluster_without_workers_is_said_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A warning says what to do, at the start and when the last worker dies; limits are kept, and workers may come."""
    cluster = Cluster(tmp_path, n_workers=0)
    told: list[str] = []

    def look_after_workers(progress: Progress) -> None:
        if progress.message and not cluster.workers:
            told.append(progress.message)
            cluster.add_worker()
        if progress.nodes_done >= 2 and len(told) == 1:
            cluster.workers.pop().kill()

    try:
        client = connect(cluster.address())
        began = time.monotonic()
        stopped = solve(branching_points(), 8, executor=client, time_limit=1.5)
        assert time.monotonic() - began < 2.5
        assert stopped.status is SolveStatus.TIME_LIMIT
        assert "has no workers; start one with: dask worker tcp://" in stopped.message
        assert len(caplog.records) == 1
        result = solve(branching_points(), 8, executor=client, callback=look_after_workers, time_limit=100)
        client.close()
    finally:
        cluster.close()
    assert len(told) == 2
    assert result.status is SolveStatus.OPTIMAL
    assert result.message == ""
    assert sum("has no workers" in record.getMessage() for record in caplog.records) == 3


def test_the_command_line_uses_a_cluster(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--dask ADDRESS`` solves there; an address where nobody listens is bad input."""
    path = tmp_path / "points.txt"
    path.write_text("0 0\n1 0\n9 9\n9 8\n", encoding="utf-8")
    assert main(["solve", str(path), "-k", "2", "--dask", cluster.address(), "--quiet"]) == 0
    assert "optimal" in capsys.readouterr().out
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        connect("nonsense://127.0.0.1:1")
