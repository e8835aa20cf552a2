"""Write a certificate: the instance, the answer, the search tree and its proofs, as docs/certificate.md describes."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certimeans._version import __version__
from certimeans.problem.instance import Instance
from certimeans.problem.io.atomic import write_atomically
from certimeans.proof.steps import MergeStep, RelaxationStep
from certimeans.proof.store import to_plain
from certimeans.search.tree import Tree, TreeNode, TreeStatus

FORMAT = "certimeans certificate"
FORMAT_VERSION = 1
JSON_NAME = "certificate.json"
ARRAYS_NAME = "certificate.npz"


def write_certificate(
    folder: Path,
    instance: Instance,
    tree: Tree,
    labels: NDArray[np.int64] | None,
    objective: float,
    lower_bound: float,
) -> None:
    """Write both files of a certificate into a folder.

    Parameters
    ----------
    labels, objective
        The clustering and its cost; ``None`` and infinite without one.
    lower_bound
        What the tree proves.
    """
    arrays: dict[str, NDArray[Any]] = {
        "points": instance.points.astype("<f8"),
        "weights": instance.weights.astype("<f8"),
        "must_link": instance.must_link.astype("<i8"),
        "cannot_link": instance.cannot_link.astype("<i8"),
    }
    if labels is not None:
        arrays["labels"] = labels.astype("<i8")
    for number, steps in tree.steps.items():
        merges = [step.rows for step in steps if isinstance(step, MergeStep)]
        if merges:
            arrays[f"node{number}_merges"] = np.vstack(merges).astype("<i8")
        for step in steps:
            if isinstance(step, RelaxationStep):
                arrays |= {f"node{number}_{name}": values for name, values in to_plain(step)[1].items()}
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "software": f"certimeans {__version__}",
        "fingerprint": instance.fingerprint,
        "n": instance.n_points,
        "d": instance.n_features,
        "k": instance.n_clusters,
        "objective": objective if np.isfinite(objective) else None,
        "lower_bound": lower_bound,
        "nodes": [_plain(node, has_proof=bool(tree.argument(node.number))) for node in tree.nodes],
    }
    write_atomically(folder / ARRAYS_NAME, _zipped(arrays))
    write_atomically(folder / JSON_NAME, (json.dumps(content, allow_nan=False) + "\n").encode())


def _plain(node: TreeNode, *, has_proof: bool) -> dict[str, Any]:
    return {
        "parent": None if node.parent < 0 else node.parent,
        "decision": None if node.decision is None else list(node.decision),
        "infeasible": node.status is TreeStatus.INFEASIBLE,
        "proof": has_proof,
    }


def _zipped(arrays: dict[str, NDArray[Any]]) -> bytes:
    """Pack arrays as ``numpy.savez_compressed`` does, but with dates that do not change from run to run."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, values in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(values), allow_pickle=False)
            archive.writestr(entry, content.getvalue(), compresslevel=1)
    return buffer.getvalue()
