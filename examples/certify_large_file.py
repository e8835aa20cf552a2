"""Certify the clustering of a large file on a Dask cluster.

    python examples/certify_large_file.py                                  # makes a file, starts two workers here
    python examples/certify_large_file.py points.npy 5 tcp://scheduler:8786  # your file, your k, your cluster

The file is mapped, not loaded. The bound is proven by parts: a part is a task that carries its own points, so no worker
ever holds the whole. Run it again with the same folder to go on where it was stopped, whatever stopped it.
"""

import sys
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

from certimeans import solve, verify


def main(client: Client, points: np.ndarray, n_clusters: int) -> None:
    """Solve, save what was proven, and prove it again."""
    result = solve(points, n_clusters, gap=1e-3, executor=client, checkpoint="saved", time_limit=600)
    print(result)
    result.save("certified", overwrite=True, report=False)
    print(verify("certified", n_jobs=2).sentence())


def make_file(path: Path) -> None:
    """Draw four clusters of 4,000 points in all."""
    random = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])
    np.save(path, centres[random.integers(0, 4, size=4000)] + random.normal(size=(4000, 2)))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        with Client(sys.argv[3]) as client:
            main(client, np.load(sys.argv[1], mmap_mode="r"), int(sys.argv[2]))
    else:
        make_file(Path("points.npy"))
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            main(client, np.load("points.npy", mmap_mode="r"), 4)
