"""Certify a clustering of a large file on a Dask cluster.

    python examples/large_file_on_cluster.py                                        # a small file, two workers here
    python examples/large_file_on_cluster.py points.npy 5 tcp://scheduler:8786 out  # file, k, scheduler, results

The file is mapped, not loaded. The points are split into parts that look alike; each part is a task that carries its
own points, so no worker ever holds all of them, and what is proven of the parts adds up to a bound for the whole. A
worker that is lost costs its part; a run that was stopped goes on if it is started again. Every worker needs certimeans
installed. A scheduler's port runs whatever is sent to it: keep it on a trusted network.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

from certimeans import Progress, solve, verify


def make_file(path: Path) -> None:
    """Write overlapping blobs, for those who have no large file at hand."""
    random = np.random.default_rng(1)
    labels = random.integers(0, 3, size=1200)
    np.save(path, 10 * random.random((3, 4))[labels] + random.normal(size=(1200, 4)))


def tell(progress: Progress) -> None:
    """Print where the run stands, on standard error."""
    print(f"{progress.seconds:8.1f} s  gap {100 * progress.gap:.3f} %", file=sys.stderr)


def main(client: Client, file: Path, k: int, out: Path, part_size: int | None = None) -> None:
    """Solve to a gap of one percent, save the certificate, and let the checker prove it again."""
    points = np.load(file, mmap_mode="r")
    result = solve(
        points,
        n_clusters=k,
        gap=0.01,
        time_limit=3600,
        executor=client,
        part_size="auto" if part_size is None else part_size,
        checkpoint=out / "checkpoint",
        callback=tell,
    )
    print(result)
    result.save(out / "result", overwrite=True, report=False)
    print(f"the checker proves a gap of {100 * verify(out / 'result', n_jobs=2).gap:.2f} %")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with Client(sys.argv[3]) as client:
            main(client, Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[4]))
    else:
        with (
            tempfile.TemporaryDirectory() as folder,
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            make_file(Path(folder) / "points.npy")
            main(client, Path(folder) / "points.npy", 3, Path(folder), part_size=300)
