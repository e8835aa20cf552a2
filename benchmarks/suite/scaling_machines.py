"""What many machines would do with a problem by parts: text and table from the costs of two measured runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchmarks.record import markdown_table
from benchmarks.suite.large import percent
from benchmarks.suite.scaling_dask import WORKERS, Costs, dask_name
from benchmarks.suite.scaling_fit import Rows
from benchmarks.suite.scaling_instances import Plan
from certimeans.printing import percent_up

NETWORKS = {"1 Gbit/s": 125e6, "10 Gbit/s": 1.25e9}
"""Bytes per second at the process that hands out parts: assumed, not measured."""
_MACHINES, _MORE = 100, 10
_WORKERS_TOLD = (1, 2, 10, 30, _MACHINES, 10 * _MACHINES)

_PROBLEM = """\
{points:,} points of the basic kind in parts of {size}, each a task of its own, to a gap of {gap} without a time
limit: Dask's scheduler and workers of one thread each, all of them processes on this machine, which talk over
loopback. *cold* parts have no solved part to start from; *client* is the process that calls `solve`."""

_RATIO = """\
A task has {task}, and its result {result} (as pickles, means over all {count}); that is {total} in all. What most
parts start from, {template} of solved parts, is sent to each worker once. With two workers instead of one, the
parts are done {ratio:.2f} times as fast (from what the first run cost, {expected:.2f} is expected), and the whole
{whole:.2f} times. Two workers, the scheduler and the client shared the cores of this machine."""

_FORECAST = """\
Computed from the run with one worker, not measured: the time with more workers, and how many times as fast as
with one; *Gbit/s* is the network of the client."""

_HUNDRED = """\
**A cluster of {machines} machines**, with a worker on each and {network} at the client, would take about
{after:.0f} s instead of {before:.0f} s: {gain:.1f} times as fast. Serial are the search for a clustering
({search:.1f} s), the split, which matches the means of clusters in all parts ({split:.1f} s), and the end
({end:.1f} s). Parallel are the {parts:,} parts, {warm:.2f} s each, {cold:.2f} s for the first {n_cold}, which
start cold; they are {share:.0f} % of the time then. {total} of messages go through the client: each part takes
{client:.2g} ms of its processor and {network_ms:.2g} ms of its network, and {scheduler:.2g} ms of Dask's
scheduler. So from about {most:.0f} workers on, parts wait for {narrowest}, and further workers stay idle;
whatever their number, {least:.0f} s remain, {most_gain:.1f} times as fast as with one worker (Amdahl's law).
More points do not change these ratios, because search, split and messages grow with them. More work for each
part does, that is a smaller gap or larger parts: {machines} workers are busy if a part takes {busy:.2g} s or
more."""


def describe_machines(plan: Plan, rows: Rows) -> str:
    """Write the section; nothing if not all runs on Dask are known."""
    known = [rows.get((dask_name(plan, workers), plan.dask_gap, None)) for workers in WORKERS]
    found = [row for row in known if row is not None]
    if len(found) < len(WORKERS):
        return ""
    one, two = found
    costs = Costs.of(one)
    problem = _PROBLEM.format(points=plan.dask_points, size=plan.dask_part_size, gap=percent(plan.dask_gap))
    texts = problem, _measured(found), _ratio(one, two), _FORECAST, _forecast(costs), describe_hundred(costs)
    return "\n\n".join(["## Several machines", *texts])


def _measured(found: Sequence[dict[str, Any]]) -> str:
    header = [
        "workers", "wall", "search", "split", "all parts", "end", "parts", "part", "part, cold", "client per part",
        "scheduler per part", "gap",
    ]  # fmt: skip
    seconds = "wall", "search_seconds", "split_seconds", "pass_seconds", "end_seconds"
    lines = [
        [
            row["workers"],
            *(f"{row[name]:.1f} s" for name in seconds),
            row["tasks"],
            f"{row['warm_seconds']:.3f} s",
            f"{row['cold_seconds']:.3f} s ({row['cold_parts']})",
            *(f"{1e3 * row[name] / row['tasks']:.1f} ms" for name in ("client_processor", "scheduler_processor")),
            percent_up(row["gap"]),
        ]
        for row in found
    ]
    return markdown_table(header, lines)


def _ratio(one: dict[str, Any], two: dict[str, Any]) -> str:
    costs, loopback = Costs.of(one), math.inf
    return _RATIO.format(
        task=_size(one["task_bytes"]),
        template=_size(one["template_bytes"]),
        result=_size(one["result_bytes"]),
        count=one["tasks"],
        total=_size(costs.bytes * costs.parts),
        ratio=one["pass_seconds"] / two["pass_seconds"],
        expected=costs.pass_seconds(1, loopback) / costs.pass_seconds(2, loopback),
        whole=one["wall"] / two["wall"],
    )


def _forecast(costs: Costs) -> str:
    problems = {"this problem": costs, f"{_MORE} times the points": costs.times(_MORE)}
    header = ["workers", *(f"{problem}, {network}" for problem in problems for network in NETWORKS)]

    def cell(problem: Costs, workers: int, speed: float) -> str:
        seconds = problem.seconds(workers, speed)
        return f"{seconds:.0f} s ({problem.seconds(1, speed) / seconds:.1f})"

    lines = [
        [
            f"{workers:,}",
            *(cell(problem, workers, speed) for problem in problems.values() for speed in NETWORKS.values()),
        ]
        for workers in _WORKERS_TOLD
    ]
    return markdown_table(header, lines)


def describe_hundred(costs: Costs) -> str:
    """Say what a hundred machines would do with a problem, and where more of them stop helping."""
    (network, speed), *_ = NETWORKS.items()
    before, after = costs.seconds(1, speed), costs.seconds(_MACHINES, speed)
    each = costs.bottlenecks(speed)
    narrowest, least = max(each, key=lambda name: each[name]), costs.least_seconds(speed)
    return _HUNDRED.format(
        machines=_MACHINES,
        network=network,
        before=before,
        after=after,
        gain=before / after,
        search=costs.search,
        split=costs.split,
        end=costs.end,
        parts=costs.parts,
        warm=costs.warm,
        cold=costs.cold,
        n_cold=costs.n_cold(_MACHINES),
        share=100 * costs.pass_seconds(_MACHINES, speed) / after,
        total=_size(costs.bytes * costs.parts),
        client=1e3 * costs.client,
        network_ms=1e3 * costs.bytes / speed,
        scheduler=1e3 * costs.scheduler,
        most=costs.most_workers(speed),
        narrowest=narrowest,
        least=least,
        most_gain=before / least,
        busy=_MACHINES * each[narrowest],
    )


def _size(count: float) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} bytes"
