"""A run by parts on a Dask cluster on loopback: what each part costs, and what that says about many machines.

Each task has one part, as it would have with many workers. What hands tasks to the cluster notes when that is, and when
each result arrives; tasks, results and what was sent to the workers beforehand are weighed afterwards, as pickles.
"""

from __future__ import annotations

import math
import pickle
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest.mock import patch

from benchmarks.suite.large_instances import blobs
from benchmarks.suite.scaling_instances import Plan
from certimeans import Instance, Limits, SolveResult, solve_instance
from certimeans.bounds.parts.settings import PartSettings
from certimeans.report.environment import environment_line
from certimeans.search.dask_executor import DaskExecutor
from certimeans.search.executors import connect
from certimeans.search.limits import Progress
from certimeans.search.parts import workers as part_workers
from certimeans.search.parts.tasks import PartOutcome, PartTask
from certimeans.search.settings import NodeSettings
from certimeans.warmup import prepare_for_parts
from tests.oracles.cluster import Cluster

WORKERS = (1, 2)
_ONE_PART_PER_TASK = NodeSettings(parts=PartSettings(seconds_per_task=1e-9))
_WARM_UP = 2_000


@dataclass
class Traffic:
    """What went to the workers and came back, and when, in seconds since the beginning.

    Attributes
    ----------
    tasks
        Each with its future, and what stands for the solved part that the workers have and it starts from, if any.
    before
        When there was last news before the first task: the search for a clustering had ended.
    processor
        Processor time of this process when the first task was handed in and when the last result arrived.
    """

    began: float = field(default_factory=time.perf_counter)
    tasks: list[tuple[PartTask, Any, Future[list[PartOutcome]]]] = field(default_factory=list)
    before: float = 0.0
    first: float = math.inf
    last: float = 0.0
    processor: tuple[float, float] = (0.0, 0.0)

    def executor(self, client: Any) -> Any:
        """Return what hands tasks to a cluster, and notes them."""
        executor: Any = DaskExecutor(client)
        hand_in: Callable[..., Future[list[PartOutcome]]] = executor.submit

        def submit(perform: Callable[..., Any], task: PartTask, there: Any = None) -> Future[list[PartOutcome]]:
            if not self.tasks:
                self.first, self.processor = self._now(), (time.process_time(), 0.0)
            future = hand_in(perform, task) if there is None else hand_in(perform, task, there)
            self.tasks.append((task, there, future))
            future.add_done_callback(self._note_result)
            return future

        executor.submit = submit
        return executor

    def hear(self, _: Progress) -> None:
        """Note that there is news."""
        if not self.tasks:
            self.before = self._now()

    def _note_result(self, _: Future[list[PartOutcome]]) -> None:
        self.last, self.processor = self._now(), (self.processor[0], time.process_time())

    def _now(self) -> float:
        return time.perf_counter() - self.began


def dask_name(plan: Plan, workers: int) -> str:
    """Return how the run is called in the records."""
    return f"dask n={plan.dask_points} part_size={plan.dask_part_size} workers={workers}"


def measure_on_dask(plan: Plan, workers: int) -> dict[str, Any]:
    """Solve by parts on so many workers, each a process of its own."""
    base = plan.base
    points, _ = blobs(plan.dask_points, base.d, base.k, base.sigma)
    prepare_for_parts()
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), workers)
        try:
            client = connect(cluster.address())
            client.wait_for_workers(workers, timeout=60)
            limits = Limits(gap=plan.dask_gap)
            for _ in range(2 * workers):  # until all workers have loaded all code
                _solve(points[:_WARM_UP], plan, limits, client, None)
            traffic = Traffic()
            of_scheduler = client.run_on_scheduler(time.process_time)
            with patch.object(part_workers, "DaskExecutor", traffic.executor):
                result = _solve(points, plan, limits, client, traffic)
            wall = time.perf_counter() - traffic.began
            of_scheduler = client.run_on_scheduler(time.process_time) - of_scheduler
            row = _row(plan, workers, result, traffic)
            client.close()
        finally:
            cluster.close()
    return row | {"wall": wall, "end_seconds": wall - traffic.last, "scheduler_processor": of_scheduler}


def _solve(points: Any, plan: Plan, limits: Limits, client: Any, traffic: Traffic | None) -> SolveResult:
    return solve_instance(
        Instance(points, plan.base.k),
        limits,
        executor=client,
        part_size=plan.dask_part_size,
        settings=_ONE_PART_PER_TASK,
        callback=None if traffic is None else traffic.hear,
    )


def _row(plan: Plan, workers: int, result: SolveResult, traffic: Traffic) -> dict[str, Any]:
    done = [(task, there, future.result()) for task, there, future in traffic.tasks]
    seconds: dict[bool, list[float]] = {True: [], False: []}  # of parts that start cold, and of the others
    for task, there, outcomes in done:
        seconds[task.template is None and there is None] += [outcome.seconds for outcome in outcomes]
    cold, warm = seconds[True], seconds[False]
    templates = {there.key: _weight(there.result()) for _, there, _ in done if there is not None}
    return {
        "name": dask_name(plan, workers),
        "target_gap": plan.dask_gap,
        "target_seconds": None,
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        "environment": environment_line(),
        "workers": workers,
        "n": plan.dask_points,
        "part_size": plan.dask_part_size,
        "gap": result.gap,
        "parts": result.parts,
        "tasks": len(done),
        "search_seconds": traffic.before,
        "split_seconds": traffic.first - traffic.before,
        "pass_seconds": traffic.last - traffic.first,
        "cold_parts": len(cold),
        "cold_seconds": fmean(cold or warm),
        "warm_seconds": fmean(warm or cold),
        "client_processor": traffic.processor[1] - traffic.processor[0],
        "template_bytes": sum(templates.values()),
        "task_bytes": fmean(_weight(task) for task, _, _ in done),
        "result_bytes": fmean(_weight(outcomes) for _, _, outcomes in done),
    }


def _weight(thing: object) -> int:
    return len(pickle.dumps(thing, protocol=5))


@dataclass(frozen=True)
class Costs:
    """What a run by parts costs, one part per task; all in seconds but for the bytes.

    Attributes
    ----------
    search, split
        What one process does before any part is bounded: it looks for a clustering, and splits.
    end
        What it does after the last.
    parts
        How many are bounded.
    cold, warm
        Time of a worker for a part that starts from nothing, and for one that starts from a solved part.
    wait
        From the end of a part until its worker has the next one.
    client, scheduler
        Processor time for each part, of the process that hands it out and takes its proof, and of Dask's scheduler.
    bytes
        Sent for each part, there and back.
    """

    search: float
    split: float
    end: float
    parts: int
    cold: float
    warm: float
    wait: float
    client: float
    scheduler: float
    bytes: float

    @staticmethod
    def of(row: dict[str, Any]) -> Costs:
        """Read the costs off a run with one worker."""
        tasks = row["tasks"]
        busy = row["cold_parts"] * row["cold_seconds"] + (tasks - row["cold_parts"]) * row["warm_seconds"]
        return Costs(
            row["search_seconds"],
            row["split_seconds"],
            row["end_seconds"],
            tasks,
            row["cold_seconds"],
            row["warm_seconds"],
            max(0.0, row["pass_seconds"] - busy) / tasks,
            row["client_processor"] / tasks,
            row["scheduler_processor"] / tasks,
            row["task_bytes"] + row["result_bytes"],
        )

    @property
    def serial(self) -> float:
        """What no further worker makes shorter."""
        return self.search + self.split + self.end

    def times(self, factor: int) -> Costs:
        """Return the costs of a problem of so many times the points: everything takes so many times as long."""
        return replace(
            self,
            search=factor * self.search,
            split=factor * self.split,
            end=factor * self.end,
            parts=factor * self.parts,
        )

    def bottlenecks(self, bytes_per_second: float) -> dict[str, float]:
        """Return what each part costs that passes one place: no number of workers makes that shorter."""
        return {
            "the client's processor": self.client,
            "the client's network": self.bytes / bytes_per_second,
            "Dask's scheduler": self.scheduler,
        }

    def n_cold(self, workers: int) -> int:
        """Return how many parts are handed out before the first is done: half as many again as there are workers."""
        return min(self.parts, workers + workers // 2)

    def pass_seconds(self, workers: int, bytes_per_second: float) -> float:
        """Return how long so many workers take for all parts."""
        cold = self.n_cold(workers)
        rounds = math.ceil(cold / workers), math.ceil((self.parts - cold) / workers)
        working = rounds[0] * (self.cold + self.wait) + rounds[1] * (self.warm + self.wait)
        return max(working, self.parts * max(self.bottlenecks(bytes_per_second).values()))

    def seconds(self, workers: int, bytes_per_second: float) -> float:
        """Return how long the whole takes with so many workers."""
        return self.serial + self.pass_seconds(workers, bytes_per_second)

    def least_seconds(self, bytes_per_second: float) -> float:
        """Return what remains with any number of workers, but for the time of a single part."""
        return self.serial + self.parts * max(self.bottlenecks(bytes_per_second).values())

    def most_workers(self, bytes_per_second: float) -> float:
        """Return with how many workers something else than they themselves keeps parts from being done sooner."""
        return (self.warm + self.wait) / max(self.bottlenecks(bytes_per_second).values())
