import gc
import os
import signal
import time
import weakref
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError
from pathlib import Path
from typing import Any

import pytest

from certimeans import SolveStatus, solve
from certimeans.search.dask_executor import DaskExecutor
from certimeans.search.executors import connect
from certimeans.search.limits import Progress
from tests.oracles.cluster import Cluster
from tests.search.test_solve import branching_points

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, on Python's and on its settings


def wait_until(is_so: Callable[[], Any]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def slow_result() -> Callable[[list[int], str], object]:
    """Return a function whose result writes a file and takes ten minutes when it is sent; workers know no tests."""

    def slow_to_send(data: list[int], begun: str) -> object:
        class Slow:
            def __reduce__(self):  # type: ignore[no-untyped-def]  # types would be sent along
                Path(begun).touch()
                time.sleep(600)
                return list, (data,)

        return Slow()

    return slow_to_send


def test_futures_end_whatever_is_lost(tmp_path: Path) -> None:
    """Results and errors come back; what dies with its worker and its data is cancelled, as is what is called off."""
    cluster = Cluster(tmp_path, n_workers=1)
    try:
        client = connect(cluster.address())
        client.wait_for_workers(1, timeout=60)
        executor = DaskExecutor(client)
        [there] = client.scatter([[1, 2, 3]], broadcast=True, hash=False)
        assert executor.submit(sum, there).result(timeout=60) == 6
        with pytest.raises(ValueError, match="x"):
            executor.submit(int, "x").result(timeout=60)
        lost = executor.submit(slow_result(), there, str(tmp_path / "begun"))
        wait_until((tmp_path / "begun").exists)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        with pytest.raises(CancelledError):
            lost.result(timeout=60)
        waiting = executor.submit(sum, [1, 2])  # there is no worker
        assert waiting.cancel()
        with pytest.raises(CancelledError):
            waiting.result(timeout=0)
        wait_until(
            lambda: not client.run_on_scheduler(lambda dask_scheduler: [x for x in dask_scheduler.tasks if "sum" in x])
        )
        client.close()
    finally:
        cluster.close()


def test_futures_end_if_the_connection_is_lost(tmp_path: Path) -> None:
    """SIGKILL for the scheduler while a result is fetched and another awaited; a client that gave up takes no calls."""
    from distributed import Client  # noqa: PLC0415  # an extra

    cluster = Cluster(tmp_path, n_workers=1)
    try:
        client = Client(cluster.address(), timeout=2)
        client.wait_for_workers(1, timeout=60)
        executor = DaskExecutor(client)
        fetched = executor.submit(slow_result(), [1], str(tmp_path / "begun"))
        wait_until((tmp_path / "begun").exists)
        awaited = executor.submit(time.sleep, 600)
        cluster.scheduler.kill()
        for future in (fetched, awaited):
            with pytest.raises(CancelledError):
                future.result(timeout=60)
        wait_until(lambda: client.status == "closed")
        with pytest.raises(BrokenExecutor, match="the connection to the Dask cluster is lost"):
            executor.submit(sum, [1, 2])
    finally:
        cluster.close()


def test_a_result_is_released_when_it_was_fetched(tmp_path: Path) -> None:
    """Nothing of ours refers to a future in a circle, which would keep its result here and on the cluster."""
    cluster = Cluster(tmp_path, n_workers=1)
    gc.disable()
    try:
        client = connect(cluster.address())
        future = DaskExecutor(client).submit(sum, [1, 2])
        assert future.result(timeout=60) == 3
        reference = weakref.ref(future)
        del future
        wait_until(lambda: reference() is None)
        client.close()
    finally:
        gc.enable()
        cluster.close()


@pytest.mark.parametrize("part_size", [None, 20])
def test_a_scheduler_that_is_gone_ends_the_search_with_what_is_proven(tmp_path: Path, part_size: int | None) -> None:
    """SIGKILL in the middle, without a time limit: the run says so, and what was bounded counts."""
    from distributed import Client  # noqa: PLC0415  # an extra

    cluster = Cluster(tmp_path, n_workers=1)

    def kill(progress: Progress) -> None:
        if progress.nodes_done >= 2 or progress.parts_done >= 2:
            cluster.scheduler.kill()

    try:
        client = Client(cluster.address(), timeout=2)
        client.wait_for_workers(1, timeout=60)
        result = solve(branching_points(), 8, executor=client, callback=kill, part_size=part_size, gap=1e-9)
    finally:
        cluster.close()
    assert result.status is SolveStatus.INTERRUPTED
    assert "the connection to the Dask cluster at tcp://" in result.message
    assert 0 < result.lower_bound <= result.objective
