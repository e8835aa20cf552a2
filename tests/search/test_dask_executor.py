import os
import signal
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from certimeans.search.dask_executor import DaskExecutor
from certimeans.search.executors import connect
from tests.oracles.cluster import Cluster

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, on Python's and on its settings


def wait_until(path: Path) -> None:
    """Wait until a file is there."""
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_futures_end_whatever_is_lost(tmp_path: Path) -> None:
    """Results and errors come back; what dies with its worker and its data is cancelled, as is what is called off."""

    def slow_to_send(data: list[int], begun: str) -> object:
        class Slow:
            def __reduce__(self):  # type: ignore[no-untyped-def]  # types would be sent along
                Path(begun).touch()
                time.sleep(600)
                return list, (data,)

        return Slow()

    cluster = Cluster(tmp_path, n_workers=1)
    try:
        client = connect(cluster.address())
        client.wait_for_workers(1, timeout=60)
        executor = DaskExecutor(client)
        [there] = client.scatter([[1, 2, 3]], broadcast=True, hash=False)
        assert executor.submit(sum, there).result(timeout=60) == 6
        with pytest.raises(ValueError, match="x"):
            executor.submit(int, "x").result(timeout=60)
        lost = executor.submit(slow_to_send, there, str(tmp_path / "begun"))
        wait_until(tmp_path / "begun")
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        with pytest.raises(CancelledError):
            lost.result(timeout=60)
        waiting = executor.submit(sum, [1, 2])  # there is no worker
        assert waiting.cancel()
        with pytest.raises(CancelledError):
            waiting.result(timeout=0)
        end = time.monotonic() + 60
        while client.run_on_scheduler(lambda dask_scheduler: [x for x in dask_scheduler.tasks if "sum" in x]):
            assert time.monotonic() < end
            time.sleep(0.05)
        client.close()
    finally:
        cluster.close()
