"""Save the search and resume it: tree and incumbent as one JSON file, each node's proof as an ``.npz`` beside it.

An open node is its decisions; it starts again from the proof of its parent. The JSON file is replaced atomically,
carries a checksum, and its predecessor is kept: whenever the process dies, one of the two is whole. Proofs are written
once, before the tree that mentions them, and stay.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from certimeans._version import __version__
from certimeans.errors import InputError
from certimeans.problem.instance import Instance
from certimeans.problem.io.atomic import write_atomically
from certimeans.search.node import Decision
from certimeans.search.proof_arrays import from_arrays, to_arrays
from certimeans.search.tree import Tree, TreeNode, TreeStatus

FORMAT = 2
_NAME = "checkpoint.json"
_PREVIOUS = "checkpoint.previous.json"
_PROOFS = "proofs"


@dataclass(frozen=True, eq=False)
class SavedSearch:
    """All that a search needs to go on.

    Attributes
    ----------
    tree
        All nodes, with the proofs that are still needed.
    labels
        The incumbent, or ``None``.
    """

    tree: Tree
    labels: tuple[int, ...] | None
    nodes_done: int
    rounds: int
    cuts: int
    root_lower_bound: float
    root_seconds: float


class CheckpointStore:
    """Reads and writes the checkpoint of one instance in a folder."""

    def __init__(self, folder: Path, instance: Instance) -> None:
        self.folder = folder
        self._fingerprint = instance.fingerprint
        self._n_points = instance.n_points
        self._written: set[int] = set()

    def save(self, search: SavedSearch) -> None:
        """Replace the checkpoint, keeping the one before; write the proofs that are new."""
        self._save_proofs(search.tree)
        content = json.dumps(_to_plain(search), allow_nan=False)
        head = {"format": FORMAT, "version": __version__, "fingerprint": self._fingerprint}
        data = json.dumps({**head, "sha256": _digest(content), "search": content}).encode()
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / _NAME
        if path.exists():
            path.replace(self.folder / _PREVIOUS)
        write_atomically(path, data)

    def forget(self, number: int) -> None:
        """Write the proof of a node again with the next checkpoint, since it changed."""
        self._written.discard(number)

    def _save_proofs(self, tree: Tree) -> None:
        for number in (tree.proofs.keys() | tree.merges.keys()) - self._written:
            buffer = io.BytesIO()
            np.savez(buffer, **to_arrays(tree.proofs.get(number), tree.merges.get(number)))  # type: ignore[arg-type]
            folder = self.folder / _PROOFS
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / f"{number}.npz", buffer.getvalue())
            self._written.add(number)

    def _load_proofs(self, tree: Tree, proofs: list[int], merges: list[int]) -> None:
        for number in sorted({*proofs, *merges}):
            with np.load(self.folder / _PROOFS / f"{number}.npz", allow_pickle=False) as arrays:
                proof, steps = from_arrays(arrays)
            if (proof is not None and proof.group_of.shape != (self._n_points,)) or not 0 <= number < len(tree.nodes):
                raise ValueError("a proof of another shape")
            if proof is not None and number in proofs:
                tree.proofs[number] = proof
            if steps is not None and number in merges:
                tree.merges[number] = steps
            self._written.add(number)

    def load(self) -> SavedSearch | None:
        """Read the checkpoint, or the one before if that is damaged; ``None`` if there is none at all.

        Raises
        ------
        InputError
            If both are damaged, or belong to another instance or to a format that this version does not read.
        """
        problems = []
        for path in (self.folder / _NAME, self.folder / _PREVIOUS):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise InputError(f"{path}: cannot be read ({error.strerror})") from None
            try:
                return self._parse(path, data)
            except (ValueError, KeyError, TypeError, IndexError, OSError, RecursionError, zipfile.BadZipFile) as error:
                if isinstance(error, InputError):
                    raise
                problems.append(f"{path}: the checkpoint is damaged")
        if problems:
            raise InputError(f"{problems[0]}; remove it to start anew")
        return None

    def _parse(self, path: Path, data: bytes) -> SavedSearch:
        record = json.loads(data)
        content = record["search"]
        if _digest(content) != record["sha256"]:
            raise ValueError("checksum")
        if record["format"] != FORMAT:
            raise InputError(
                f"{path}: written by certimeans {record['version']} in format {record['format']}; this version reads "
                f"format {FORMAT}"
            )
        if record["fingerprint"] != self._fingerprint:
            raise InputError(f"{path}: the checkpoint belongs to another instance (points, weights, k or constraints)")
        return self._from_plain(json.loads(content))

    def _from_plain(self, plain: dict[str, Any]) -> SavedSearch:
        tree = Tree.of([_node(*fields) for fields in plain["nodes"]], plain["proven"])
        if any(d is not None and not (0 <= min(d.i, d.j) <= max(d.i, d.j) < self._n_points) for d in _decisions(tree)):
            raise ValueError("a decision names a point that does not exist")
        self._load_proofs(tree, plain["proofs"], plain["merges"])
        labels = plain["labels"]
        if labels is not None and np.shape(labels) != (self._n_points,):
            raise ValueError("labels of the wrong length")
        return SavedSearch(
            tree=tree,
            labels=None if labels is None else tuple(labels),
            **{name: plain[name] for name in ("nodes_done", "rounds", "cuts", "root_lower_bound", "root_seconds")},
        )


def _to_plain(search: SavedSearch) -> dict[str, Any]:
    tree = search.tree
    plain = {name: value for name, value in vars(search).items() if name != "tree"}
    return {
        **plain,
        "nodes": [list(vars(replace(node, lower_bound=_finite(node.lower_bound))).values()) for node in tree.nodes],
        "proven": sorted(tree.proven),
        "proofs": sorted(tree.proofs),
        "merges": sorted(tree.merges),
    }


def _finite(bound: float) -> Any:
    return bound if np.isfinite(bound) else None


def _node(
    number: int, parent: int, decision: list[Any] | None, status: str, bound: float | None, size: int, seconds: float
) -> TreeNode:
    made = None if decision is None else Decision(int(decision[0]), int(decision[1]), bool(decision[2]))
    return TreeNode(
        number, parent, made, TreeStatus(status), np.inf if bound is None else float(bound), int(size), float(seconds)
    )


def _decisions(tree: Tree) -> list[Decision | None]:
    return [node.decision for node in tree.nodes]


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
