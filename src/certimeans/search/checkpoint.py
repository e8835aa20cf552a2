"""Save the search and resume it: the open nodes, the incumbent and the proven bound, as one JSON file.

A node is its decisions; a resumed node starts its relaxation cold, but its parent's bound stands. The file is replaced
atomically, carries a checksum, and its predecessor is kept: whenever the process dies, one of the two is whole.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certimeans._version import __version__
from certimeans.errors import InputError
from certimeans.problem._atomic import write_atomically
from certimeans.problem.instance import Instance
from certimeans.search.node import Decision

FORMAT = 1
_NAME = "checkpoint.json"
_PREVIOUS = "checkpoint.previous.json"


@dataclass(frozen=True)
class OpenNode:
    """A node that still has to be evaluated, and its parent's proven bound."""

    number: int
    parent: int
    decisions: tuple[Decision, ...]
    lower_bound: float


@dataclass(frozen=True)
class SavedSearch:
    """All that a search needs to go on.

    Attributes
    ----------
    closed_bound
        The least bound of the nodes that are done with; infinite if there are none.
    labels
        The incumbent, or ``None``.
    """

    open_nodes: tuple[OpenNode, ...]
    closed_bound: float
    labels: tuple[int, ...] | None
    nodes_created: int
    nodes_done: int
    rounds: int
    root_lower_bound: float
    root_seconds: float


class CheckpointStore:
    """Reads and writes the checkpoint of one instance in a folder."""

    def __init__(self, folder: Path, instance: Instance) -> None:
        self.folder = folder
        self._fingerprint = instance.fingerprint
        self._n_points = instance.n_points

    def save(self, search: SavedSearch) -> None:
        """Replace the checkpoint, keeping the one before."""
        content = json.dumps(_to_plain(search), allow_nan=False)
        head = {"format": FORMAT, "version": __version__, "fingerprint": self._fingerprint}
        data = json.dumps({**head, "sha256": _digest(content), "search": content}).encode()
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / _NAME
        if path.exists():
            path.replace(self.folder / _PREVIOUS)
        write_atomically(path, data)

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
            except (ValueError, KeyError, TypeError, RecursionError) as error:
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
        return _from_plain(json.loads(content), self._n_points)


def _to_plain(search: SavedSearch) -> dict[str, Any]:
    plain = dict(vars(search))
    plain["open_nodes"] = [
        [node.number, node.parent, [[d.i, d.j, d.together] for d in node.decisions], node.lower_bound]
        for node in search.open_nodes
    ]
    plain["closed_bound"] = None if math.isinf(search.closed_bound) else search.closed_bound
    return plain


def _from_plain(plain: dict[str, Any], n_points: int) -> SavedSearch:
    nodes = tuple(
        OpenNode(number, parent, tuple(Decision(int(i), int(j), bool(together)) for i, j, together in decisions), bound)
        for number, parent, decisions, bound in plain.pop("open_nodes")
    )
    for node in nodes:
        if any(not (0 <= d.i < n_points and 0 <= d.j < n_points) for d in node.decisions):
            raise ValueError("a decision names a point that does not exist")
    closed = plain.pop("closed_bound")
    labels = plain.pop("labels")
    if labels is not None and np.shape(labels) != (n_points,):
        raise ValueError("labels of the wrong length")
    return SavedSearch(
        open_nodes=nodes,
        closed_bound=math.inf if closed is None else float(closed),
        labels=None if labels is None else tuple(labels),
        **plain,
    )


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
