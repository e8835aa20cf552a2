"""Read a certificate. Nothing in its two files is trusted: every number is checked before it is used.

What cannot be read at all is an ``InputError``, what can be read but is not a certificate is a ``CertificateError``.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import CertificateError, InputError

_LARGEST_FILE = 2**31  # bytes of one array, or of the JSON file: far above what a proof needs, far below a bomb
_UNREADABLE = (OSError, ValueError, TypeError, SyntaxError, RuntimeError, EOFError, MemoryError, KeyError, struct.error,
               zipfile.BadZipFile, zlib.error)  # fmt: skip
Array = NDArray[Any]


class Node(NamedTuple):
    """A node of the search tree; ``decision`` is (i, j, together)."""

    parent: int | None
    decision: tuple[int, int, bool] | None
    infeasible: bool
    proof: bool


class Proof(NamedTuple):
    """The multipliers of one node. ``members``, ``coefficients``: entries of all cuts, one after another."""

    groups: IntArray
    size: int
    start: IntArray
    members: IntArray
    coefficients: IntArray
    multipliers: FloatArray
    slack: FloatArray


class Certificate:
    """The contents of a folder's ``certificate.json`` and ``certificate.npz``, checked for form.

    Raises
    ------
    InputError
        If the files are missing or cannot be read.
    CertificateError
        If what they hold is not a certificate of format version 1; the message names the entry.
    """

    def __init__(self, folder: Path) -> None:
        content = _read_json(folder / "certificate.json")
        _require(content.get("format") == "certimeans certificate", "certificate.json: this is not a certificate")
        version = content.get("format_version")
        _require(type(version) is int and version == 1, f"certificate.json: format version {version!r} is not known")
        self.n = _integer(content, "n", 1)
        self.d = _integer(content, "d", 1)
        self.k = _integer(content, "k", 1)
        _require(self.k <= self.n, f"certificate.json: k is {self.k}, but there are only {self.n} points")
        has_clustering = content.get("objective", ...) is not None
        self.objective = _number(content, "objective") if has_clustering else None
        self.lower_bound = _number(content, "lower_bound")
        nodes = content.get("nodes")
        if not isinstance(nodes, list) or not nodes:
            raise CertificateError("certificate.json: nodes must be a list with at least a root")
        self.nodes = [_node(number, entry, self.n) for number, entry in enumerate(nodes)]
        self.archive = _Archive(folder / "certificate.npz")
        self.points: FloatArray = self.archive.load("points", "<f8", (self.n, self.d))
        self.weights: FloatArray = self.archive.load("weights", "<f8", (self.n,))
        _require(bool((self.weights > 0).all()), "weights must be positive")
        self.must_link = self._pairs("must_link")
        self.cannot_link = self._pairs("cannot_link")
        self.labels: IntArray | None = None
        if has_clustering:
            self.labels = self.archive.load("labels", "<i8", (self.n,))
            _in_range("labels", self.labels, self.k)
        fingerprint = self._fingerprint()
        if content.get("fingerprint") != fingerprint:
            raise CertificateError(f"certificate.json: the fingerprint should be {fingerprint}")

    def merges(self, number: int) -> IntArray:
        """Return the inference steps of a node."""
        name = f"node{number}_merges"
        if name not in self.archive:
            return np.empty((0, self.k + 1), dtype=np.int64)
        rows: IntArray = self.archive.load(name, "<i8", (None, self.k + 1))
        _in_range(name, rows, self.n)
        return rows

    def proof(self, number: int) -> Proof:
        """Return the multipliers of a node; signs that depend on cannot-links are not checked here."""
        prefix = f"node{number}_"
        load = self.archive.load
        groups: IntArray = load(f"{prefix}groups", "<i8", (self.n,))
        _in_range(f"{prefix}groups", groups, self.n)
        size = int(groups.max()) + 1
        _require(bool((np.bincount(groups) > 0).all()), f"{prefix}groups: some number below {size} has no point")
        _require(size >= self.k, f"{prefix}groups: {size} super-points are fewer than {self.k} clusters")
        start: IntArray = load(f"{prefix}cut_start", "<i8", (None,))
        members = load(f"{prefix}cut_member", "<i4", (None,)).astype(np.int64)
        coefficients = load(f"{prefix}cut_coefficient", "|i1", (None,)).astype(np.int64)
        n_entries, n_cuts = len(members), len(start) - 1
        _require(
            n_cuts >= 0 and start[0] == 0 and start[-1] == n_entries and bool((start[:-1] <= start[1:]).all()),
            f"{prefix}cut_start must grow from 0 to the number of entries, {n_entries}",
        )
        _require(len(coefficients) == n_entries, f"{prefix}cut_coefficient must have {n_entries} entries")
        _require(bool((coefficients != 0).all()), f"{prefix}cut_coefficient: an entry is 0")
        _in_range(f"{prefix}cut_member", members, size)
        places = np.sort(np.repeat(np.arange(n_cuts), np.diff(start)) * size + members)
        _require(bool((places[:-1] != places[1:]).all()), f"{prefix}cut_member: a cut has a super-point twice")
        multipliers = load(f"{prefix}cut_multiplier", "<f8", (n_cuts,))
        _require(bool((multipliers >= 0).all()), f"{prefix}cut_multiplier: a multiplier is negative")
        slack = load(f"{prefix}slack", "<f4", (size * (size + 1) // 2,)).astype(np.float64)
        return Proof(groups, size, start, members, coefficients, multipliers, slack)

    def _pairs(self, name: str) -> IntArray:
        pairs: IntArray = self.archive.load(name, "<i8", (None, 2))
        _in_range(name, pairs, self.n)
        _require(bool((pairs[:, 0] < pairs[:, 1]).all()), f"{name}: the smaller number comes first in each pair")
        keys = pairs[:, 0] * self.n + pairs[:, 1]
        _require(bool((keys[:-1] < keys[1:]).all()), f"{name} must be sorted, each pair once")
        return pairs

    def _fingerprint(self) -> str:
        digest = hashlib.sha256(b"certimeans instance 1\n")
        digest.update(np.array([self.n, self.d, self.k], dtype="<i8").tobytes())
        for values in (self.points, self.weights):
            digest.update(np.ascontiguousarray(values + 0.0, dtype="<f8").tobytes())  # -0.0 + 0.0 is 0.0
        for pairs in (self.must_link, self.cannot_link):
            digest.update(np.array([len(pairs)], dtype="<i8").tobytes())
            digest.update(np.ascontiguousarray(pairs, dtype="<i8").tobytes())
        return digest.hexdigest()


class _Archive:
    """Arrays in a zip file, read one by one when they are asked for. Never unpickles."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(_content(path)))
            names = self._archive.namelist()
        except FileNotFoundError:
            raise InputError(f"{path}: no such file") from None
        except (OSError, ValueError, NotImplementedError, MemoryError, zipfile.BadZipFile) as error:
            raise InputError(f"{path}: cannot be read as a zip archive ({error})") from None
        _require(len(set(names)) == len(names), f"{path.name}: an array is there twice")
        self._names = set(names)

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._names

    def load(self, name: str, dtype: str, shape: tuple[int | None, ...]) -> Array:
        """Return an array of the given type and shape (``None``: any length) with finite entries."""
        _require(name in self, f"certificate.npz: array {name!r} is missing")
        length = self._archive.getinfo(f"{name}.npy").file_size
        _require(length <= _LARGEST_FILE, f"certificate.npz: {name} is too large")
        try:
            found_shape, in_fortran_order, found, data = _parse(self._archive.read(f"{name}.npy"))
        except _UNREADABLE as error:
            raise InputError(f"{self._path}: {name} cannot be read ({error})") from None
        _require(found == np.dtype(dtype), f"{name} must be of type {np.dtype(dtype)}, but is of type {found}")
        _require(
            len(found_shape) == len(shape)
            and all(expected in {None, got} for expected, got in zip(shape, found_shape, strict=True)),
            f"{name} has shape {found_shape} instead of {shape} (None: any length)",
        )
        _require(math.prod(found_shape) * found.itemsize == len(data), f"{name} has too few or too many bytes")
        array: Array = np.frombuffer(data, found).reshape(found_shape, order="F" if in_fortran_order else "C")
        _require(bool(np.isfinite(array).all()), f"{name} has an entry that is not finite")
        return np.ascontiguousarray(array)


def _parse(content: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any], bytes]:
    """Split a ``.npy`` file into shape, order, type and data, without allocating what the header promises."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in {(1, 0), (2, 0)}:
        raise ValueError(f"version {version} of the npy format")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, in_fortran_order, dtype = read(stream)
    return shape, in_fortran_order, dtype, content[stream.tell() :]


def _content(path: Path) -> bytes:
    if path.stat().st_size > _LARGEST_FILE:
        raise OSError("the file is too large")
    return path.read_bytes()


def _read_json(path: Path) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number")

    try:
        content = json.loads(_content(path).decode("utf-8"), parse_constant=refuse)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error})") from None
    if not isinstance(content, dict):
        raise CertificateError("certificate.json: this is not a certificate")
    return content


def _node(number: int, entry: object, n: int) -> Node:
    """Check one entry of ``nodes``; how they hang together is checked with the tree."""
    where = f"certificate.json: node {number}"
    if not isinstance(entry, dict):
        raise CertificateError(f"{where} is not an object")
    parent, decision = entry.get("parent", ...), entry.get("decision", ...)
    infeasible, proof = entry.get("infeasible"), entry.get("proof")
    if not (isinstance(infeasible, bool) and isinstance(proof, bool)):
        raise CertificateError(f"{where}: infeasible and proof must be true or false")
    if number == 0:
        _require(parent is None and decision is None, f"{where} is the root: it has no parent and no decision")
        return Node(None, None, infeasible, proof)
    _require(type(parent) is int and 0 <= parent < number, f"{where}: its parent must be a node before it")
    if not (isinstance(decision, list) and [type(entry) for entry in decision] == [int, int, bool]):
        raise CertificateError(f"{where}: its decision must be [i, j, true] or [i, j, false]")
    i, j, together = decision
    _require(0 <= i < n and 0 <= j < n and i != j, f"{where}: its decision must be on two of the {n} points")
    return Node(parent, (i, j, together), infeasible, proof)


def _integer(content: dict[str, Any], key: str, least: int) -> int:
    value = content.get(key)
    if type(value) is not int or not least <= value < 2**31:
        raise CertificateError(f"certificate.json: {key} must be an integer, at least {least}; got {value!r}")
    return value


def _number(content: dict[str, Any], key: str) -> float:
    value = content.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CertificateError(f"certificate.json: {key} must be a number; got {value!r}")
    if not abs(value) < 1.7e308:  # exact also for huge integers
        raise CertificateError(f"certificate.json: {key} is too large")
    return float(value)


def _in_range(name: str, numbers: IntArray, end: int) -> None:
    _require(bool(((numbers >= 0) & (numbers < end)).all()), f"{name}: an entry is not one of 0..{end - 1}")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise CertificateError(message)
