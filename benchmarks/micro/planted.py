"""Dense cannot-link graphs with a planted clustering, and many points: ``python -m benchmarks.micro.planted``.

Cannot-links are drawn between points whose *noisy* labels differ: the class of a point, or another one for every
tenth point. The clustering of the noisy labels is feasible, so the search must never be worse; and its seeds should
agree. Several random streams and noises, so that no setting is fitted to single instances. Writes ``planted.md`` to
the results folder.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.record import markdown_table, write_result
from benchmarks.suite.instances import checked_clustering
from certimeans._typing import FloatArray, IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance

SEEDS = (0, 1, 2)
CANNOT_LINKS_PER_POINT = (1, 2, 3, 4, 6, 8)
# Noise of the labels for each seed of the data; the last two were added once the search was settled with the others.
STREAMS = {7: 0.1, 201: 0.1, 202: 0.05, 203: 0.2, 301: 0.1, 302: 0.15}
SECONDS_FOR_COLOURING = 2.0
AGREEMENT = 0.1  # per cent
HEADER = (
    "data, cannot-links a point; stream, noise",
    "super-points",
    "links",
    "coloured",
    "to planted",
    "seeds differ",
    "worst time (s)",
)


def blob_like(
    random: np.random.Generator, size: int = 300, k: int = 5, dimension: int = 2
) -> tuple[FloatArray, IntArray]:
    """Round blobs of equal size, some of which overlap."""
    classes = np.arange(size) % k
    return 3 * random.normal(size=(k, dimension))[classes] + random.normal(size=(size, dimension)), classes


def glass_like(random: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Six classes of very different size with heavy tails, as in the Glass data: 214 points, 9 features."""
    classes = np.repeat(np.arange(6), [70, 76, 17, 13, 9, 29])
    centres = 1.2 * random.normal(size=(6, 9))
    return centres[classes] + 0.6 * random.standard_t(3, size=(len(classes), 9)), classes


def plant(
    points: FloatArray, classes: IntArray, n_links: int, random: np.random.Generator, noise: float = 0.1
) -> tuple[Instance, IntArray]:
    """Draw cannot-links from noisy labels; return the instance and these labels."""
    size, k = len(classes), int(classes.max()) + 1
    noisy = np.where(random.random(size) < noise, random.integers(0, k, size=size), classes)
    pairs = random.integers(0, size, size=(4 * n_links, 2))
    pairs = np.unique(np.sort(pairs[noisy[pairs[:, 0]] != noisy[pairs[:, 1]]], axis=1), axis=0)
    links = random.permutation(pairs)[:n_links]
    return Instance.create(points, k, cannot_link=links), noisy


def measure(name: str, instance: Instance, planted: IntArray, settings: SearchSettings) -> list[str]:
    """Search with every seed; one row of the table."""
    presolved = presolve(instance, Deadline(SECONDS_FOR_COLOURING))
    groups = presolved.super_points
    costs, seconds = [], []
    for seed in SEEDS:
        begin = time.perf_counter()
        labels = search_clustering(groups, colouring=presolved.colouring, seed=seed, settings=settings)
        seconds.append(time.perf_counter() - begin)
        if labels is None:
            costs.append(np.inf)
            continue
        costs.append(checked_clustering(instance, groups, labels).cost)
    planted_cost = Clustering.from_labels(instance, planted).cost
    spread = 100 * (max(costs) / min(costs) - 1)
    coloured = "no" if presolved.colouring is None else "yes"
    row = [
        name,
        str(groups.size),
        str(len(groups.graph.edges)),
        coloured,
        f"{100 * (max(costs) / planted_cost - 1):+.2f}%",
        f"{spread:.3f}%",
        f"{max(seconds):.2f}",
    ]
    print(*row, flush=True)
    return row


def main() -> None:
    """Measure both kinds of data at every density, then many points."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, nargs="+", default=list(STREAMS), choices=STREAMS, help="only these")
    options = parser.parse_args()
    settings = SearchSettings()
    rows: list[list[str]] = []
    with threadpool_limits(1):
        measure("compiles", *plant(*blob_like(np.random.default_rng(0), 60), 120, np.random.default_rng(0)), settings)
        for stream in options.streams:
            noise = STREAMS[stream]
            for name, draw in (("glass-like", glass_like), ("blobs", blob_like)):
                for density in CANNOT_LINKS_PER_POINT:
                    random = np.random.default_rng([density, stream])
                    points, classes = draw(random)
                    instance, planted = plant(points, classes, density * len(points), random, noise)
                    rows.append(measure(f"{name}, {density}; {stream}, {noise:.0%}", instance, planted, settings))
        random = np.random.default_rng(8)
        points, classes = blob_like(random, 50_000, 10, 10)
        name = "50,000 points, d = 10, k = 10, 0.2; 8, 10%"
        rows.append(measure(name, *plant(points, classes, 10_000, random), settings))
    agree = sum(float(row[5].rstrip("%")) <= AGREEMENT for row in rows)
    body = [
        f"Seeds {', '.join(map(str, SEEDS))}, default budget, one thread.",
        f"Seeds agree within {AGREEMENT} % on {agree} of {len(rows)} instances.",
        f"*coloured*: an exact colouring was found within {SECONDS_FOR_COLOURING:g} s.",
        "*to planted*: cost of the worst seed against the planted clustering; above 0 would be a failure.",
        "",
        markdown_table(HEADER, rows),
    ]
    write_result("planted", "Planted clusterings", "\n".join(body))


if __name__ == "__main__":
    main()
