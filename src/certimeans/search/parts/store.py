"""The proofs of parts on disk, as they arrive: in the checkpoint's folder, or in one that ends with the result.

``plan.npz`` has the split and the clustering that it follows; ``index.jsonl`` grows by a line for each part that was
bounded, whose arrays are in a file of their own. Whenever the process dies, whole lines with whole files count, and
what they claim is proven again.
"""

from __future__ import annotations

import io
import json
import logging
import math
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from certimeans._typing import IntArray
from certimeans.bounds.parts.splitting import Split
from certimeans.errors import InputError
from certimeans.problem.instance import Instance
from certimeans.problem.io.text import read_regular
from certimeans.search.parts.cover import Known
from certimeans.search.parts.tasks import Entries, Key, PartOutcome

_LOGGER = logging.getLogger("certimeans")
_FORMAT = 3
_PASSING = "passing-"  # begins the names of proofs that a resumed run does not go on with
_MOST_ITERATIONS = 1_000  # no run plans so many


@dataclass(frozen=True, eq=False)
class Plan:
    """How a problem is split.

    Attributes
    ----------
    labels
        The clustering of the points that the split follows.
    iterations
        Of each part, if time was short; see :class:`~certimeans.bounds.parts.bounding.Effort`.
    """

    split: Split
    labels: IntArray
    iterations: int | None = None


class StoredProof(NamedTuple):
    """What an earlier run says that it has proven about a part.

    Attributes
    ----------
    own_cost, is_short
        See :class:`~certimeans.search.parts.cover.Known`. They decide how a run goes on, and prove nothing.
    """

    key: Key
    entries: Entries
    path: Path
    own_cost: float = math.inf
    is_short: bool = False


class PartStore:
    """Writes and reads the proofs of the parts of one instance.

    Parameters
    ----------
    folder
        The checkpoint's folder; ``None`` for a temporary one, which is removed with this object.
    """

    def __init__(self, folder: Path | None, instance: Instance) -> None:
        self._instance = instance
        self._is_temporary = folder is None
        if folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="certimeans-parts-"))
            self._finalizer = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        else:
            self.folder = folder / "parts"
        self._count = 0
        self.message = ""

    @property
    def checkpoint(self) -> Path | None:
        """The checkpoint's folder; ``None`` if there is none."""
        return None if self._is_temporary else self.folder.parent

    def prepare(self) -> None:
        """Make the folder.

        Raises
        ------
        InputError
            If it cannot be made.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder}: the folder cannot be made ({error.strerror})") from None

    def clear(self) -> None:
        """Start anew: what was stored for another split is removed."""
        self._remove(self.folder.glob("*"))

    def begin(self, plan: Plan) -> None:
        """Say how the problem is split, for a run that resumes this one."""
        if self._is_temporary:
            return
        split, temporary = plan.split, self.folder / "plan.tmp.npz"
        head = json.dumps({"format": _FORMAT, "fingerprint": self._instance.fingerprint})
        try:
            np.savez(
                temporary,
                head=np.array(head),
                start=split.start,
                points=split.points,
                shared=split.shared,
                shares=split.shares,
                loss=np.array(split.loss),
                labels=plan.labels,
                iterations=np.array(plan.iterations or 0),
            )
            temporary.replace(self.folder / "plan.npz")
        except OSError as error:
            self._complain(error)

    def save(self, outcome: PartOutcome, gap: float = 0.0, *, is_final: bool = True) -> Known:
        """Write the proof of a part that was bounded; it stays in memory if it cannot be written.

        Parameters
        ----------
        gap
            What the run is to prove: a resumed one that is to prove more goes on with the part.
        is_final
            Whether a resumed run need not bound it again.
        """
        assert outcome.file is not None  # noqa: S101  # only stored parts have none, and they are not saved again
        kind = "" if is_final else _PASSING
        self._count += 1
        path = self.folder / f"{kind}{self._count:06}.npz"
        while path.exists():
            self._count += 1
            path = self.folder / f"{kind}{self._count:06}.npz"
        file: Path | bytes = path
        more = {"is_cut_short": outcome.is_cut_short, "gap": gap}
        if math.isfinite(outcome.own_cost):
            more["own_cost"] = outcome.own_cost
        line = json.dumps({"parts": outcome.key, "file": path.name, "entries": outcome.entries, **more})
        try:
            path.write_bytes(outcome.file)
            if is_final and not self._is_temporary:
                with (self.folder / "index.jsonl").open("a", encoding="utf-8") as index:
                    index.write(line + "\n")
        except OSError as error:
            self._complain(error)
            file = outcome.file
        return Known(outcome.value, outcome.cost, outcome.entries, file, outcome.own_cost, outcome.is_cut_short)

    def discard(self, known: Iterable[Known]) -> None:
        """Remove proofs that are needed no more."""
        self._remove(one.file for one in known if isinstance(one.file, Path))

    def _remove(self, paths: Iterable[Path]) -> None:
        """Remove files; a folder is none of ours."""
        for path in paths:
            try:
                if path.is_symlink() or not path.is_dir():
                    path.unlink(missing_ok=True)
            except OSError as error:
                self._complain(error, "what is needed no more could not be removed")

    def _complain(self, error: OSError, what: str = "what was proven about the parts could not be saved") -> None:
        if not self.message:
            _LOGGER.warning("%s: %s", what, error)
        self.message = f"{what}: {error}"

    def load_plan(self) -> Plan | None:
        """Read the split of an earlier run; ``None`` if there is none that can be used, and nothing would be lost.

        Its proofs of parts that this run does not know are removed.

        Raises
        ------
        InputError
            If it belongs to another instance or to a format that this version does not read, or if it is damaged and
            there are proofs that would be lost with it.
        """
        if self._is_temporary:
            return None
        path = self.folder / "plan.npz"
        data = _read(path)
        plan = None if data is None else self._parse(path, data)
        if data is not None and plan is None and any(True for _ in self.stored(sys.maxsize)):
            raise InputError(f"{path}: the plan of the parts is damaged; remove {self.folder} to start anew")
        self._remove(self.folder.glob(f"{_PASSING}*"))
        return plan

    def _parse(self, path: Path, data: bytes) -> Plan | None:
        """Return the plan in a file; ``None`` if it is damaged."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                head = json.loads(str(arrays["head"]))
                self._check(path, head["format"], head["fingerprint"])
                split = Split(
                    arrays["start"], arrays["points"], arrays["shared"], arrays["shares"], float(arrays["loss"])
                )
                plan = Plan(split, arrays["labels"], int(arrays["iterations"]) or None)
            return plan if _has_types(plan) and _is_valid(plan, self._instance) else None
        except InputError:
            raise
        except Exception:  # noqa: BLE001  # it may be edited in any way
            return None

    def _check(self, path: Path, written: object, fingerprint: object) -> None:
        """Make sure that a plan can be read, and is about this instance."""
        if written != _FORMAT:
            raise InputError(
                f"{path}: written in format {written}; this version reads format {_FORMAT}; remove it to start anew"
            )
        if fingerprint != self._instance.fingerprint:
            raise InputError(f"{path}: the checkpoint belongs to another instance (points, weights, k or constraints)")

    def stored(self, n_parts: int, gap: float = 0.0) -> Iterator[StoredProof]:
        """List what is said to be proven about parts; lines and files that are not whole are left out.

        Parameters
        ----------
        gap
            What is to be proven now.

        Raises
        ------
        InputError
            If the list of them cannot be read.
        """
        for line in (_read(self.folder / "index.jsonl") or b"").decode("utf-8", errors="replace").splitlines():
            try:
                content = json.loads(line)
                key, entries, name = tuple(content["parts"]), content["entries"], str(content["file"])
                path = self.folder / Path(name).name
                is_there = path.is_file()
            except (ValueError, KeyError, TypeError, RecursionError, OSError):  # OSError: a name that no file can have
                continue
            is_key = all(type(p) is int and 0 <= p < n_parts for p in key) and len(set(key)) == len(key) > 0
            if is_key and isinstance(entries, list) and is_there:
                before, own_cost = content.get("gap"), content.get("own_cost")
                was_wider = isinstance(before, float) and before > gap
                is_short = was_wider or content.get("is_cut_short") is True
                is_cost = isinstance(own_cost, float) and 0 <= own_cost < math.inf
                yield StoredProof(tuple(sorted(key)), entries, path, own_cost if is_cost else math.inf, is_short)


def _read(path: Path) -> bytes | None:
    """Read a file of ours; ``None`` if there is none.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    try:
        return read_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _has_types(plan: Plan) -> bool:
    """Whether the arrays of a plan that was read are of the kinds that this program writes."""
    split = plan.split
    numbers = (plan.labels, split.start, split.points, split.shared)
    return (
        all(array.dtype == np.int64 and array.ndim == 1 for array in numbers)
        and split.shares.dtype == np.float64
        and split.shares.ndim == 2
    )


def _is_valid(plan: Plan, instance: Instance) -> bool:
    """Whether a split that was read divides the weights of the points of this instance, and no more."""
    split, n = plan.split, instance.n_points
    chosen = np.concatenate([split.points, split.shared])
    least = 0 if len(split.shared) else 1  # points of its own: every part has a share of the others
    return bool(
        plan.labels.shape == (n,)
        and plan.labels.min() >= 0
        and plan.labels.max() < instance.n_clusters
        and 0 <= (plan.iterations or 0) <= _MOST_ITERATIONS
        and 0 <= split.loss < math.inf
        and len(split.start) > 1
        and split.start[0] == 0
        and split.start[-1] == len(split.points)
        and (np.diff(split.start) >= least).all()
        and len(chosen) == n
        and chosen.min() >= 0
        and chosen.max() < n
        and len(np.unique(chosen)) == n
        and split.shares.shape == (split.n_parts, len(split.shared))
        and (split.shares >= sys.float_info.min).all()
        and all(
            _is_at_most(shares, weight)
            for shares, weight in zip(split.shares.T.tolist(), instance.weights[split.shared].tolist(), strict=True)
        )
    )


def _is_at_most(shares: list[float], weight: float) -> bool:
    """Whether shares add up to no more than a weight."""
    try:
        return math.fsum([-weight, *shares]) <= 0  # rounded once, from the exact sum: it has its sign
    except OverflowError:
        return False
