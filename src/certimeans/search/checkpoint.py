"""Save the search and read it again: tree and incumbent as one JSON file, the arrays of each node's steps beside it.

The JSON file is replaced atomically, carries a checksum, and its predecessor is kept: whenever the process dies, one of
the two is whole. Files with arrays never change; they are written before the JSON file that names them, and removed
when neither it nor its predecessor does. What is read here is only well-formed: :mod:`certimeans.search.resume` proves
it again.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import re
import shutil
import zipfile
import zlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from certimeans._version import __version__
from certimeans.errors import InputError
from certimeans.problem.instance import Instance
from certimeans.problem.io.atomic import write_atomically
from certimeans.problem.io.text import read_regular
from certimeans.proof.store import pack, unpack
from certimeans.search.node import AnyDecision, Decision, SizeDecision
from certimeans.search.statistics import NodeWork, RunStatistics
from certimeans.search.tree import Steps, Tree, TreeNode, TreeStatus

FORMAT = 3
_NAME = "checkpoint.json"
_NEXT = "checkpoint.next.json"
_PREVIOUS = "checkpoint.previous.json"
_PROOFS = "proofs"
_DIGEST = re.compile(r"[0-9a-f]{16}")
_DAMAGED = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    OverflowError,
    OSError,
    EOFError,
    MemoryError,
    RecursionError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What may be raised when a file is read that is damaged or not ours."""


@dataclass(frozen=True, eq=False)
class SavedSearch:
    """All that a search needs to go on.

    Attributes
    ----------
    tree
        All nodes, with the steps that are still needed.
    labels
        The incumbent, or ``None``.
    statistics
        What was done until then.
    """

    tree: Tree
    labels: tuple[int, ...] | None
    statistics: RunStatistics


class CheckpointStore:
    """Reads and writes the checkpoint of one instance in a folder."""

    def __init__(self, folder: Path, instance: Instance) -> None:
        self.folder = folder
        self._fingerprint = instance.fingerprint
        self._n_points = instance.n_points
        self._n_sizes = 0 if instance.limits is None else len(instance.limits.choices)
        self._files: dict[int, tuple[Steps, str]] = {}  # what is written already, by node
        self._named: set[str] = set()  # files that the present checkpoint names

    def open(self) -> SavedSearch | None:
        """Make the folder ready, and read what was saved there before; see :meth:`prepare` and :meth:`load`."""
        self.prepare()
        return self.load()

    def save(self, search: SavedSearch) -> None:
        """Replace the checkpoint, keeping the one before; write the steps that are new.

        Raises
        ------
        OSError, InputError
            If it cannot be written; the checkpoint on disk stays as it is.
        """
        (self.folder / _PROOFS).mkdir(parents=True, exist_ok=True)
        steps = {number: self._save_steps(number, own) for number, own in search.tree.steps.items()}
        content = json.dumps({**_to_plain(search), "steps": steps}, allow_nan=False)
        head = {"format": FORMAT, "version": __version__, "fingerprint": self._fingerprint}
        data = json.dumps({**head, "sha256": _digest(content.encode()), "search": content}).encode()
        path, following = self.folder / _NAME, self.folder / _NEXT
        try:
            following.unlink(missing_ok=True)  # whatever it is: a pipe would be written to, and block
            write_atomically(following, data)
            if path.exists():
                _copy(path, self.folder / _PREVIOUS)
            following.replace(path)
        finally:
            following.unlink(missing_ok=True)
        self._remove_unnamed({_file_name(number, entry["arrays"]) for number, entry in steps.items()})

    def _save_steps(self, number: int, steps: Steps) -> dict[str, Any]:
        plain, arrays = pack(steps)
        if not arrays:
            return {"plain": plain, "arrays": None}
        if number not in self._files or self._files[number][0] is not steps:
            buffer = io.BytesIO()
            np.savez(buffer, **arrays)  # type: ignore[arg-type]
            digest = _digest(buffer.getvalue())[:16]
            path = self.folder / _PROOFS / _file_name(number, digest)
            if not path.is_file():
                path.unlink(missing_ok=True)  # a pipe would be written to, and block
            write_atomically(path, buffer.getvalue())
            self._files[number] = (steps, digest)
        return {"plain": plain, "arrays": self._files[number][1]}

    def _remove_unnamed(self, named: set[str]) -> None:
        """Remove the files that neither this checkpoint nor the one before names."""
        for path in (self.folder / _PROOFS).iterdir():
            if path.name not in named | self._named:
                path.unlink(missing_ok=True)
        self._named = named

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
                data = read_regular(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise InputError(f"{path}: cannot be read ({error.strerror})") from None
            try:
                return self._parse(path, data)
            except InputError:
                raise
            except _DAMAGED:
                problems.append(f"{path}: the checkpoint is damaged")
        if problems:
            raise InputError(f"{problems[0]}; remove it to start anew")
        return None

    def prepare(self) -> None:
        """Make the folder, so that one that cannot be is found out before the search.

        Raises
        ------
        InputError
            If it cannot be made or written to. A full disk is no reason: it may have space later.
        """
        try:
            (self.folder / _PROOFS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                return
            raise InputError(f"{self.folder}: the folder cannot be made ({error.strerror})") from None
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise InputError(f"{self.folder}: the folder cannot be written to")

    def _parse(self, path: Path, data: bytes) -> SavedSearch:
        record = json.loads(data)
        content = record["search"]
        if _digest(content.encode()) != record["sha256"]:
            raise ValueError("checksum")
        if record["format"] != FORMAT:
            raise InputError(
                f"{path}: written by certimeans {record['version']} in format {record['format']}; this version reads "
                f"format {FORMAT}"
            )
        if record["fingerprint"] != self._fingerprint:
            raise InputError(f"{path}: the checkpoint belongs to another instance (points, weights, k or constraints)")
        try:
            return self._from_plain(json.loads(content))
        except InputError:
            raise ValueError("no search") from None

    def _from_plain(self, plain: dict[str, Any]) -> SavedSearch:
        steps = {int(number): self._load_steps(int(number), entry) for number, entry in plain["steps"].items()}
        nodes = [_node(*fields) for fields in plain["nodes"]]
        named = [i for node in nodes for i in _points_of(node.decision)]
        if named and not 0 <= min(named) <= max(named) < self._n_points:
            raise ValueError("a decision names a point that does not exist")
        labels = plain["labels"]
        if labels is not None:
            labels = np.array(labels, dtype=np.int64)
            if labels.shape != (self._n_points,):
                raise ValueError("labels of the wrong length")
        self._named = {_file_name(n, entry["arrays"]) for n, entry in plain["steps"].items()}
        return SavedSearch(
            Tree.of(nodes, steps, self._n_sizes),
            None if labels is None else tuple(labels.tolist()),
            _statistics(plain["statistics"]),
        )

    def _load_steps(self, number: int, entry: dict[str, Any]) -> Steps:
        digest = entry["arrays"]
        if digest is None:
            return unpack(entry["plain"], {})
        if not _DIGEST.fullmatch(digest):
            raise ValueError("no name of a file")
        content = read_regular(self.folder / _PROOFS / _file_name(number, digest))
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            steps = unpack(entry["plain"], dict(arrays))
        self._files[number] = (steps, digest)
        return steps


def _file_name(number: int | str, digest: str | None) -> str:
    return f"{number}-{digest}.npz"


def _copy(path: Path, to: Path) -> None:
    """Put a second name on a file, or a copy where the file system knows no such thing, replacing what was there."""
    temporary = to.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    try:
        try:
            os.link(path, temporary)
        except OSError:
            shutil.copyfile(path, temporary)
        temporary.replace(to)
    finally:
        temporary.unlink(missing_ok=True)


def _to_plain(search: SavedSearch) -> dict[str, Any]:
    done = search.statistics
    return {
        "nodes": [
            list(vars(replace(node, lower_bound=_finite(node.lower_bound))).values()) for node in search.tree.nodes
        ],
        "labels": search.labels,
        "statistics": {
            "nodes": done.nodes,
            "cuts": done.cuts,
            "root_seconds": done.root_seconds,
            "work": asdict(done.work),
        },
    }


def _statistics(plain: dict[str, Any]) -> RunStatistics:
    counts = [int(plain["nodes"]), int(plain["cuts"])]
    work = {name: type(getattr(NodeWork(), name))(value) for name, value in plain["work"].items()}
    seconds = float(plain["root_seconds"])
    if min(counts) < 0 or not all(math.isfinite(value) and value >= 0 for value in (seconds, *work.values())):
        raise ValueError("numbers that count nothing")
    return RunStatistics(nodes=counts[0], cuts=counts[1], root_seconds=seconds, work=NodeWork(**work))


def _finite(bound: float) -> Any:
    return bound if math.isfinite(bound) else None


def _node(
    number: int, parent: int, decision: list[Any] | None, status: str, bound: float | None, size: int, seconds: float
) -> TreeNode:
    made = None if decision is None else _decision(*decision)
    if int(size) < 0 or not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError("a node of no size or time")
    claimed = math.inf if bound is None else float(bound)
    return TreeNode(int(number), int(parent), made, TreeStatus(status), claimed, int(size), float(seconds))


def _decision(first: int, second: int, together: bool | None = None) -> AnyDecision:  # as stored
    if together is None:
        return SizeDecision(int(first), int(second))
    return Decision(int(first), int(second), bool(together))


def _points_of(decision: AnyDecision | None) -> tuple[int, ...]:
    if isinstance(decision, SizeDecision):
        return (decision.point,)
    return () if decision is None else (decision.i, decision.j)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
