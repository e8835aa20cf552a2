"""Kernel k-means: two rings, which no k-means of the points can tell apart, with a few pairs that are known.

    python examples/kernel_kmeans.py [RESULTS_FOLDER]

The kernel matrix is all that the solver gets. What it proves is about the clustering of least cost in the space of the
kernel, and the certificate can be verified as any other.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from certimeans import CertifiedKMeans, solve, verify


def main(folder: Path) -> None:
    """Solve with and without the kernel, save, verify, and predict the cluster of new points."""
    points, ring = make_circles(80, factor=0.3, noise=0.05, random_state=0)
    inner, outer = np.flatnonzero(ring == 1), np.flatnonzero(ring == 0)
    cannot_link = list(zip(inner[:5].tolist(), outer[:5].tolist(), strict=True))

    plain = solve(points, n_clusters=2, cannot_link=cannot_link)
    print(f"k-means of the points: adjusted Rand index {adjusted_rand_score(ring, plain.labels):.2f}")

    kernel = rbf_kernel(points, gamma=3.0)
    result = solve(gram=kernel, n_clusters=2, cannot_link=cannot_link)
    print(f"kernel k-means: adjusted Rand index {adjusted_rand_score(ring, result.labels):.2f}\n")
    print(result)
    result.save(folder, overwrite=True)  # this example's own folder, from an earlier run
    print(verify(folder, instance=result.instance).sentence())

    model = CertifiedKMeans(n_clusters=2, kernel="precomputed").fit(kernel, cannot_link=cannot_link)
    new = [[0.0, 0.0], [1.0, 0.0]]  # inside the inner ring, and on the outer one
    print(f"\nnew points {new} are in clusters {model.predict(rbf_kernel(new, points, gamma=3.0)).tolist()}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "rings-result"))
