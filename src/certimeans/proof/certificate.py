"""Write a certificate: the instance, the answer and the proof, as docs/certificate.md describes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from certimeans._typing import IntArray
from certimeans._version import __version__
from certimeans.errors import InputError
from certimeans.problem.instance import Instance
from certimeans.problem.io.atomic import write_atomically
from certimeans.proof.steps import PartsStep, Proof, RegionsStep, StoredPart
from certimeans.proof.store import Arrays, to_plain, zipped

FORMAT = "certimeans certificate"
FORMAT_VERSION = 2
JSON_NAME = "certificate.json"
ARRAYS_NAME = "certificate.npz"
PARTS_NAME = "certificate.parts"


def write_certificate(
    folder: Path, instance: Instance, proof: Proof, labels: IntArray | None, objective: float, lower_bound: float
) -> None:
    """Write a certificate into a folder: two files, and one for each part or region if there are some.

    Parameters
    ----------
    labels, objective
        The clustering and its cost; ``None`` and infinite without one.
    lower_bound
        What the proof proves; minus infinite if nothing, for a Gram matrix.
    """
    arrays: Arrays = {
        instance.geometry: instance.table.astype("<f8"),
        "weights": instance.weights.astype("<f8"),
        "must_link": instance.must_link.astype("<i8"),
        "cannot_link": instance.cannot_link.astype("<i8"),
    }
    stated = instance.constraints.cluster_sizes
    if stated is not None and stated.capacity is not None:
        arrays["capacity"] = stated.capacity.astype("<f8")
    if labels is not None:
        arrays["labels"] = labels.astype("<i8")
    entries = _plain_entries(proof, arrays, folder / PARTS_NAME)
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "software": f"certimeans {__version__}",
        "fingerprint": instance.fingerprint,
        "geometry": instance.geometry,
        "standardize": instance.standardize,
        "cluster_sizes": _sizes(instance),
        "n": instance.n_points,
        "d": instance.n_features if instance.geometry == "points" else None,
        "k": instance.n_clusters,
        "objective": objective if np.isfinite(objective) else None,
        "lower_bound": lower_bound if np.isfinite(lower_bound) else None,
        "proof": entries,
    }
    write_atomically(folder / ARRAYS_NAME, zipped(arrays))
    write_atomically(folder / JSON_NAME, (json.dumps(content, allow_nan=False) + "\n").encode())


def _plain_entries(proof: Proof, arrays: Arrays, folder: Path) -> list[list[dict[str, Any]]]:
    """Take the steps of a proof apart; their arrays are added to the given ones, or written to files of their own."""
    entries: list[list[dict[str, Any]]] = []
    for e, steps in enumerate(proof):
        entries.append([])
        for s, step in enumerate(steps):
            if isinstance(step, PartsStep):
                entries[-1].append({"kind": step.kind, "parts": [part.entries for part in step.parts]})
                _copy_parts(step.parts, folder, f"e{e}s{s}")
                continue
            if isinstance(step, RegionsStep):
                plain, stored = _regions(step)
                entries[-1].append(plain)
                arrays[f"e{e}s{s}_regions"] = step.region_of.astype("<i8")
                _copy_parts(stored, folder, f"e{e}s{s}")
                continue
            plain, own = to_plain(step)
            entries[-1].append(plain)
            arrays |= {f"e{e}s{s}_{name}": values for name, values in own.items()}
    return entries


def _regions(step: RegionsStep) -> tuple[dict[str, Any], list[StoredPart]]:
    """Return a step by regions as plain data, and the proofs of its regions as they are stored."""
    plain: dict[str, Any] = {"kind": step.kind, "proofs": []}
    stored: list[StoredPart] = []
    for one in step.proofs:
        own: Arrays = {"members": np.flatnonzero(step.region_of == one.region).astype("<i8")}
        entries = _plain_entries(one.proof, own, Path())
        plain["proofs"].append({"region": one.region, "clusters": one.n_clusters, "proof": entries})
        stored.append(StoredPart(entries, zipped(own)))
    return plain, stored


def _sizes(instance: Instance) -> dict[str, Any] | None:
    """Return what is stated about sizes, but for the capacities, which are an array."""
    stated = instance.constraints.cluster_sizes
    if stated is None:
        return None
    return {
        "size_min": stated.size_min,
        "size_max": stated.size_max,
        "sizes": None if stated.sizes is None else sorted(stated.sizes),
        "capacity": stated.capacity is not None,
    }


def _copy_parts(parts: Sequence[StoredPart], folder: Path, prefix: str) -> None:
    """Put the proofs of parts beside the certificate: a second name for each file, or a copy where there is no such."""
    try:
        folder.mkdir(exist_ok=True)
        for number, part in enumerate(parts):
            path = folder / f"{prefix}p{number}.npz"
            path.unlink(missing_ok=True)
            if isinstance(part.file, bytes):
                path.write_bytes(part.file)
                continue
            try:
                os.link(part.file, path)
            except OSError:
                shutil.copyfile(part.file, path)
    except OSError as error:
        raise InputError(f"{folder}: the proofs of the parts cannot be written ({error.strerror})") from None
