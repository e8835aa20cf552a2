"""Solve on a Dask cluster.

    python examples/dask_cluster.py                        # starts two workers on this machine
    python examples/dask_cluster.py tcp://scheduler:8786   # uses the cluster whose scheduler is there

Every worker needs certimeans installed. A scheduler's port runs whatever is sent to it: keep it on a trusted network.
"""

import sys

import numpy as np
from distributed import Client, LocalCluster

from certimeans import solve


def main(client: Client) -> None:
    """Solve points without any cluster structure, which need a search tree."""
    points = np.random.default_rng(0).random((90, 3))
    result = solve(points, n_clusters=8, cannot_link=[(0, 1), (2, 3)], executor=client)
    workers = len(client.nthreads())
    print(f"{workers} workers evaluated {result.nodes} nodes")
    print(result)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with Client(sys.argv[1]) as client:
            main(client)
    else:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            main(client)
