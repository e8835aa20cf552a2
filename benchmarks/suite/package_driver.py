"""Run one method of another package on prepared problems; started by ``packages.py`` in that package's environment.

Usage: ``python package_driver.py METHOD FOLDER``. The folder has ``tasks.json`` and points as ``.npy``; results are
printed as JSON, one line per run. Only numpy and the package itself are needed, so that old versions of both will do.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def htcopkmeans(points: Any, task: dict[str, Any]) -> Any:
    """Run COP-k-means of htcopkmeans; it returns None where it fails."""
    package = importlib.import_module("htcopkmeans.cop_kmeans")
    return package.cop_kmeans(points, task["k"], ml=_pairs(task, "must_link"), cl=_pairs(task, "cannot_link"))[0]


def _active(name: str, points: Any, task: dict[str, Any]) -> Any:
    module = "active_semi_clustering.semi_supervised.pairwise_constraints"
    method = getattr(importlib.import_module(module), name)(n_clusters=task["k"])
    method.fit(points, ml=_pairs(task, "must_link"), cl=_pairs(task, "cannot_link"))
    return method.labels_


def active_cop(points: Any, task: dict[str, Any]) -> Any:
    """Run COP-k-means of active-semi-supervised-clustering."""
    return _active("COPKMeans", points, task)


def active_pck(points: Any, task: dict[str, Any]) -> Any:
    """Run PCK-means, which pays for constraints that it breaks."""
    return _active("PCKMeans", points, task)


def active_mpck(points: Any, task: dict[str, Any]) -> Any:
    """Run MPCK-means, which also learns a metric."""
    return _active("MPCKMeans", points, task)


def sizes(points: Any, task: dict[str, Any]) -> Any:
    """Run k-means under bounds on the sizes of clusters."""
    method = importlib.import_module("k_means_constrained").KMeansConstrained(
        n_clusters=task["k"],
        size_min=task["size_min"],
        size_max=task["size_max"],
        n_init=1,
        random_state=task["seed"],
    )
    return method.fit(points).labels_


METHODS = {function.__name__: function for function in (htcopkmeans, active_cop, active_pck, active_mpck, sizes)}


def _pairs(task: dict[str, Any], kind: str) -> list[tuple[int, int]]:
    return [(i, j) for i, j in task[kind]]


def main() -> None:
    """Run all tasks."""
    method, folder = METHODS[sys.argv[1]], Path(sys.argv[2])
    tasks = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    with contextlib.suppress(Exception), warnings.catch_warnings():  # imports the package before the clock starts
        warnings.simplefilter("ignore")
        method(
            np.array([[0.0], [1.0]]),
            {"k": 1, "must_link": [], "cannot_link": [], "size_min": 1, "size_max": 2, "seed": 0},
        )
    for task in tasks:
        points = np.load(folder / task["points"], allow_pickle=False)
        np.random.seed(task["seed"])  # noqa: NPY002  # these packages draw from the global generator
        labels, error = None, ""
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = method(points, task)
            labels = None if found is None else [int(label) for label in found]
        except Exception as failure:  # noqa: BLE001  # whatever another package raises is a result
            error = f"{type(failure).__name__}: {failure}"
        seconds = time.perf_counter() - began
        result = {"name": task["name"], "seed": task["seed"], "labels": labels, "error": error, "seconds": seconds}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
