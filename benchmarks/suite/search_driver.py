"""Search prepared instances, one at a time; started by ``versions.py`` with the sources of any version.

Usage: ``python search_driver.py DATA``, or ``-`` for planted instances only. Each line of standard input is a JSON
list of the name of an instance and a seed; the answer is one of the cost and the processor time of the search. It runs
with versions of the package of long ago, so it imports from wherever they have their search.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits


def search_function() -> Any:
    """Return the search of this version."""
    try:
        module = importlib.import_module("certimeans.heuristics.upper_bound")
    except ImportError:  # the first version
        module = importlib.import_module("certimeans.heuristics.search")
    return module.search_clustering


def instances(folder: str) -> Iterator[tuple[str, Any]]:
    """Yield the paper's instances, if there are data, and the planted ones, each with its name."""
    if folder != "-":
        for case in importlib.import_module("benchmarks.suite.instances").load_cases(Path(folder)):
            yield case.name, case.instance
        return
    planted = importlib.import_module("benchmarks.micro.planted")
    for stream, noise in planted.STREAMS.items():
        for name, draw in (("glass-like", planted.glass_like), ("blobs", planted.blob_like)):
            for density in planted.CANNOT_LINKS_PER_POINT:
                random = np.random.default_rng([density, stream])
                points, classes = draw(random)
                instance, _ = planted.plant(points, classes, density * len(points), random, noise)
                yield f"{name}, {density}; {stream}", instance
    random = np.random.default_rng(8)
    points, classes = planted.blob_like(random, 50_000, 10, 10)
    yield "50,000 points", planted.plant(points, classes, 10_000, random)[0]


def main() -> None:
    """List the instances, then answer."""
    presolve = importlib.import_module("certimeans.presolve.reduce").presolve
    cost_of = importlib.import_module("certimeans.problem.clustering").Clustering.from_labels
    deadline = importlib.import_module("certimeans.deadline").Deadline
    search = search_function()
    known = dict(instances(sys.argv[1]))
    print(json.dumps(list(known)), flush=True)
    with threadpool_limits(1):
        for line in sys.stdin:
            name, seed = json.loads(line)
            presolved = presolve(known[name], deadline(10.0))  # anew, so that nothing is left from the last search
            groups = presolved.super_points
            begin = time.process_time()
            labels = search(groups, colouring=presolved.colouring, seed=seed)
            seconds = time.process_time() - begin
            clustering = cost_of(known[name], groups.expand_labels(labels))
            if not clustering.satisfies(known[name]):
                raise AssertionError(name)
            print(json.dumps([clustering.cost, seconds]), flush=True)


if __name__ == "__main__":
    main()
