"""Read a certificate of format 2. Nothing in its files is trusted: every number is checked before it is used."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.certificate.archive import Archive, read_json, require
from certimeans.certificate.multipliers import BlockMultipliers, Multipliers
from certimeans.certificate.sizes import Limits, Stated, read_sizes
from certimeans.errors import MalformedCertificateError

_MOST_SUPER_POINTS = 10_000  # a relaxation has matrices of that size
# The arrays of each kind of step; steps.py has the rules.
ARRAYS: dict[str, tuple[str, ...]] = {
    "identical": (),
    "merge": ("rows",),
    "covariance": (),
    "relaxation": ("groups", "cut_start", "cut_member", "cut_coefficient", "cut_multiplier", "slack"),
    "size_blocks": (
        *("groups", "block_start", "cut_start", "cut_member", "cut_coefficient", "cut_multiplier"),
        *("link", "link_multiplier", "row_multiplier", "slack"),
    ),
    "infeasible": (),
    "branch": (),
    "branch_sizes": (),
    "parts": (),
    "regions": ("regions",),
}


class Step(NamedTuple):
    """A step of the proof: where it is, its kind and what else its JSON object holds."""

    entry: int
    number: int
    kind: str
    content: dict[str, Any]

    @property
    def where(self) -> str:
        """Name the step in messages."""
        return f"entry {self.entry}, step {self.number} ({self.kind})"


class Proof:
    """A proof about n points and k clusters, with the arrays of its steps in an archive."""

    n: int
    k: int
    proof: list[list[Step]]
    limits: Limits | None = None  # on sizes; a part has none, for a cluster may have its other points elsewhere
    has_size_rows: bool = False  # whether relaxations have multipliers for these
    _archive: Archive

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def merges(self, step: Step) -> Iterator[list[int]]:
        """Yield the inference steps of a ``merge``."""
        name = f"e{step.entry}s{step.number}_rows"
        for _, rows in self._archive.stream(name, "<i8", (None, self.k + 1), most=self.n)[1]:
            in_range(name, rows, self.n)
            yield from rows.tolist()

    def multipliers(self, step: Step) -> Multipliers:
        """Return the arrays of a ``relaxation``; signs that depend on cannot-links are not checked here."""
        prefix = f"e{step.entry}s{step.number}_"
        load = self._archive.load
        groups, size = self._groups(prefix)
        start, members, coefficients, multipliers = self._cuts(prefix, size, _most_cuts(size))
        slack = load(f"{prefix}slack", "<f4", (size * (size + 1) // 2,)).astype(np.float64)
        units = [Fraction(number(step.content, key, step.where)) for key in ("unit", "weight_unit")]
        require(min(units) > 0, f"{step.where}: unit and weight_unit must be positive")
        sizes: FloatArray | None = None
        anchors = _anchors(step, size)
        if self.has_size_rows or anchors:
            sizes = load(f"{prefix}size_multiplier", "<f8", (size, 2))
            require(bool((sizes >= 0).all()), f"{prefix}size_multiplier: a multiplier is negative")
        return Multipliers(
            groups, size, units[0], units[1], start, members, coefficients, multipliers, slack, sizes, anchors
        )

    def block_multipliers(self, step: Step, n_blocks: int) -> BlockMultipliers:
        """Return the arrays of a ``size_blocks``."""
        prefix = f"e{step.entry}s{step.number}_"
        load = self._archive.load
        groups, size = self._groups(prefix)
        cuts = self._cuts(prefix, size + 1, n_blocks * _most_cuts(size))  # with the point 0, whose number is s
        blocks: IntArray = load(f"{prefix}block_start", "<i8", (n_blocks + 1,))
        good = blocks[0] == 0 and blocks[-1] == len(cuts[3]) and bool((blocks[:-1] <= blocks[1:]).all())
        require(good, f"{prefix}block_start must grow from 0 to the number of cuts, {len(cuts[3])}")
        links = load(f"{prefix}link", "<i4", (None, 3), most=n_blocks * size * size).astype(np.int64)
        in_range(f"{prefix}link", links[:, :1], n_blocks)
        in_range(f"{prefix}link", links[:, 1:], size)
        require(bool((links[:, 1] < links[:, 2]).all()), f"{prefix}link: the smaller super-point comes first")
        places = np.sort((links[:, 0] * size + links[:, 1]) * size + links[:, 2])
        require(bool((places[:-1] != places[1:]).all()), f"{prefix}link: a link is there twice")
        of_links = load(f"{prefix}link_multiplier", "<f8", (len(links),))
        require(bool((of_links >= 0).all()), f"{prefix}link_multiplier: a multiplier is negative")
        rows = load(f"{prefix}row_multiplier", "<f8", (n_blocks, size))
        slack = load(f"{prefix}slack", "<f4", (n_blocks, size * (size + 1) // 2)).astype(np.float64)
        unit = Fraction(number(step.content, "unit", step.where))
        require(unit > 0, f"{step.where}: unit must be positive")
        return BlockMultipliers(groups, size, unit, blocks, *cuts, links, of_links, rows, slack)

    def _groups(self, prefix: str) -> tuple[IntArray, int]:
        """Return the super-point of each point, and how many there are."""
        groups: IntArray = self._archive.load(f"{prefix}groups", "<i8", (self.n,))
        in_range(f"{prefix}groups", groups, self.n)
        size = int(groups.max()) + 1
        require(bool((np.bincount(groups) > 0).all()), f"{prefix}groups: some number below {size} has no point")
        require(size <= _MOST_SUPER_POINTS, f"{prefix}groups: more than {_MOST_SUPER_POINTS} super-points")
        require(size >= self.k, f"{prefix}groups: {size} super-points are fewer than {self.k} clusters")
        return groups, size

    def _cuts(self, prefix: str, size: int, most: int) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """Return where each cut starts, members and coefficients of all, and the multipliers."""
        start: IntArray = self._archive.load(f"{prefix}cut_start", "<i8", (None,), most=most)
        members = self._archive.load(f"{prefix}cut_member", "<i4", (None,), most=most).astype(np.int64)
        coefficients = self._archive.load(f"{prefix}cut_coefficient", "|i1", (None,), most=most).astype(np.int64)
        n_entries, n_cuts = len(members), len(start) - 1
        require(
            n_cuts >= 0 and start[0] == 0 and start[-1] == n_entries and bool((start[:-1] <= start[1:]).all()),
            f"{prefix}cut_start must grow from 0 to the number of entries, {n_entries}",
        )
        require(len(coefficients) == n_entries, f"{prefix}cut_coefficient must have {n_entries} entries")
        require(bool((coefficients != 0).all()), f"{prefix}cut_coefficient: an entry is 0")
        in_range(f"{prefix}cut_member", members, size)
        places = np.sort(np.repeat(np.arange(n_cuts), np.diff(start)) * size + members)
        require(bool((places[:-1] != places[1:]).all()), f"{prefix}cut_member: a cut has a super-point twice")
        multipliers = self._archive.load(f"{prefix}cut_multiplier", "<f8", (n_cuts,))
        require(bool((multipliers >= 0).all()), f"{prefix}cut_multiplier: a multiplier is negative")
        return start, members, coefficients, multipliers

    def _check_names(self, others: set[str], other_bytes: int, file: str) -> None:
        """Require that the archive has nothing but what the proof names, and that it cannot be larger than that."""
        steps = [step for entry in self.proof for step in entry]
        names = others | {f"e{step.entry}s{step.number}_{name}" for step in steps for name in ARRAYS[step.kind]}
        require(not self._archive.has_doubles(), f"{file}: an array is there twice")
        extra = sorted(self._archive.names() - names)
        require(not extra, f"{file}: nothing uses the array {extra[0] if extra else ''}")
        n, size = self.n, min(self.n, _MOST_SUPER_POINTS)
        relaxation = 8 * n + 21 * _most_cuts(size) + 2 * size * (size + 1)
        largest = {"merge": 8 * n * (self.k + 1), "relaxation": relaxation}
        largest["regions"] = 8 * n
        largest["size_blocks"] = self.k * (relaxation + 20 * size * size + 8 * size + 8)
        limit = other_bytes + sum(largest.get(step.kind, 0) for step in steps) + 4096 * len(names)
        require(self._archive.total_bytes() <= limit, f"{file}: this is far larger than it has to be")


class PartProof(Proof):
    """The proof of a part or region, in a file of its own.

    The file has ``members``, ``shares`` if weights are divided, and the arrays of the steps.

    Parameters
    ----------
    whole
        The number of all points.
    content
        The part's entries, as in ``certificate.json``.
    """

    def __init__(self, path: Path, whole: int, k: int, content: object) -> None:
        self.k = k
        self.proof = entries_of(content)
        kinds = {step.kind for entry in self.proof for step in entry}
        of_the_whole = kinds & {"parts", "regions", "identical"}
        require(not of_the_whole, f"{path.name}: a part or region has no parts, regions or identical points")
        of_sizes = kinds & {"branch_sizes", "size_blocks"}
        require(not of_sizes, f"{path.name}: a part of a cluster has none of the prescribed sizes")
        self._archive = Archive(path)
        try:
            members: IntArray = self._archive.load("members", "<i8", (None,), most=whole)
            in_range("members", members, whole)
            require(bool((members[:-1] < members[1:]).all()) and len(members) > 0, "members must grow, and be some")
            self.members, self.n = members, len(members)
            has_shares = "shares" in self._archive.names()
            self.shares: FloatArray | None = self._archive.load("shares", "<f8", (self.n,)) if has_shares else None
            require(self.shares is None or bool((self.shares > 0).all()), "shares must be positive")
            self._check_names({"members"} | ({"shares"} if has_shares else set()), 16 * self.n, path.name)
        except BaseException:
            self._archive.close()
            raise


class Certificate(Proof):
    """The contents of a folder's ``certificate.json`` and ``certificate.npz``, checked for form.

    Proofs of parts are in files beside these, see :meth:`part`.

    Raises
    ------
    InputError
        If the files are missing or cannot be read.
    MalformedCertificateError
        If what they hold is not a certificate of format version 2; the message names the entry.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        content = read_json(folder / "certificate.json")
        require(content.get("format") == "certimeans certificate", "certificate.json: this is not a certificate")
        version = content.get("format_version")
        require(type(version) is int and version == 2, f"certificate.json: format version {version!r} is not known")
        self.geometry: Literal["points", "gram"] = content.get("geometry", "points")
        require(content.get("geometry") in ("points", "gram"), "certificate.json: geometry must be 'points' or 'gram'")
        self.is_gram = self.geometry == "gram"
        self.standardize: bool = content.get("standardize", False)
        require(isinstance(content.get("standardize"), bool), "certificate.json: standardize must be true or false")
        require(not (self.is_gram and self.standardize), "certificate.json: a Gram matrix has no features to scale")
        self.n = _integer(content, "n", 1)
        require(not self.is_gram or content.get("d", ...) is None, "certificate.json: d must be null for a Gram matrix")
        self.d = 0 if self.is_gram else _integer(content, "d", 1)
        self.k = _integer(content, "k", 1)
        require(self.k <= self.n, f"certificate.json: k is {self.k}, but there are only {self.n} points")
        self._read_sizes = read_sizes(content.get("cluster_sizes"), self.k)
        has_clustering = content.get("objective", ...) is not None
        self.objective = number(content, "objective", "certificate.json") if has_clustering else None
        claims_nothing = self.is_gram and content.get("lower_bound", ...) is None
        self.lower_bound = -math.inf if claims_nothing else number(content, "lower_bound", "certificate.json")
        self.proof = entries_of(content.get("proof"))
        self._archive = Archive(folder / "certificate.npz")
        try:
            self._load_instance(has_clustering=has_clustering)
            right = content.get("fingerprint") == self.fingerprint
            require(right, f"certificate.json: the fingerprint should be {self.fingerprint}")
        except BaseException:
            self._archive.close()
            raise

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the instance."""
        digest = hashlib.sha256(f"certimeans instance 2\n{self.geometry}\n{int(self.standardize)}\n".encode())
        digest.update(np.array([self.n, self.d, self.k], dtype="<i8").tobytes())
        for values in (self.values, self.weights):
            digest.update(np.ascontiguousarray(values + 0.0, dtype="<f8").tobytes())  # -0.0 + 0.0 is 0.0
        for pairs in (self.must_link, self.cannot_link):
            digest.update(np.array([len(pairs)], dtype="<i8").tobytes())
            digest.update(np.ascontiguousarray(pairs, dtype="<i8").tobytes())
        if self.sizes is not None:
            digest.update(b"sizes\n")
            for numbers in self.sizes.lists():
                digest.update(np.array([-1 if numbers is None else len(numbers)], dtype="<i8").tobytes())
                digest.update(np.array([] if numbers is None else numbers, dtype="<f8").tobytes())
        return digest.hexdigest()

    def part(self, step: Step, number: int) -> PartProof:
        """Open the proof of a part."""
        content = step.content["parts"][number]
        return PartProof(part_path(self.folder, step, number), self.n, self.k, content)

    def regions(self, step: Step) -> tuple[IntArray, int]:
        """Return the region of each point, and how many there are."""
        name = f"e{step.entry}s{step.number}_regions"
        regions: IntArray = self._archive.load(name, "<i8", (self.n,))
        in_range(name, regions, self.n)
        count = int(regions.max()) + 1
        require(bool((np.bincount(regions) > 0).all()), f"{name}: some number below {count} has no point")
        require(count > 1, f"{name}: there must be two regions at least")
        return regions, count

    def _load_instance(self, *, has_clustering: bool) -> None:
        n = self.n
        names = {self.geometry, "weights", "must_link", "cannot_link"} | ({"labels"} if has_clustering else set())
        largest = 8 * n * (n if self.is_gram else self.d) + 16 * n + 16 * n * n
        if self._read_sizes is not None:
            relaxations = [step for entry in self.proof for step in entry if step.kind == "relaxation"]
            names |= {f"e{step.entry}s{step.number}_size_multiplier" for step in relaxations}
            names |= {"capacity"} if self._read_sizes[1] else set()
            largest += 8 * n + 16 * n * len(relaxations)
        self._check_names(names, largest, "certificate.npz")
        load = self._archive.load
        self.values: FloatArray = load(self.geometry, "<f8", (self.n, self.n if self.is_gram else self.d))
        if self.is_gram:
            require(bool((self.values == self.values.T).all()), "gram must be symmetric")
        self.weights: FloatArray = load("weights", "<f8", (self.n,))
        require(bool((self.weights > 0).all()), "weights must be positive")
        self.must_link = self._pairs("must_link")
        self.cannot_link = self._pairs("cannot_link")
        self.sizes: Stated | None = None
        if self._read_sizes is not None:
            stated, has_capacity = self._read_sizes
            if has_capacity:
                capacity: FloatArray = load("capacity", "<f8", (self.n,)) + 0.0
                require(bool((capacity >= 0).all()), "capacity must not be negative")
                stated = stated._replace(capacity=capacity)
            self.sizes = stated
            self.limits = Limits(stated, self.n, self.k)
            self.has_size_rows = not self.limits.follow(self.weights)
        self.labels: IntArray | None = None
        if has_clustering:
            self.labels = load("labels", "<i8", (self.n,))
            in_range("labels", self.labels, self.k)

    def _pairs(self, name: str) -> IntArray:
        """Return the pairs; there may be n^2 / 2, but only as long as all are different and in order."""
        _, blocks = self._archive.stream(name, "<i8", (None, 2), most=self.n * (self.n - 1) // 2)
        found: list[IntArray] = []
        last = np.array([-1])
        for _, pairs in blocks:
            in_range(name, pairs, self.n)
            require(bool((pairs[:, 0] < pairs[:, 1]).all()), f"{name}: the smaller number comes first in each pair")
            keys = np.concatenate([last, pairs[:, 0] * self.n + pairs[:, 1]])
            require(bool((keys[:-1] < keys[1:]).all()), f"{name} must be sorted, each pair once")
            last = keys[-1:]
            found.append(pairs)
        return np.concatenate([np.empty((0, 2), dtype=np.int64), *found])


def _anchors(step: Step, size: int) -> tuple[int, ...]:
    """Return the super-points with decided sizes that a relaxation relies on."""
    anchors = step.content.get("anchors", [])
    good = isinstance(anchors, list) and all(type(a) is int and 0 <= a < size for a in anchors)
    require(good and len(set(anchors)) == len(anchors), f"{step.where}: anchors must be different super-points")
    return tuple(anchors)


def _most_cuts(size: int) -> int:
    """Return how many cuts a relaxation may have, and entries of cuts."""
    return 1000 * (size + 1000)


def part_path(folder: Path, step: Step, number: int) -> Path:
    """Return the file of a part or region."""
    return folder / "certificate.parts" / f"e{step.entry}s{step.number}p{number}.npz"


def number(content: dict[str, Any], key: str, where: str) -> float:
    """Return a finite number of a JSON object."""
    value = content.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedCertificateError(f"{where}: {key} must be a number; got {_shown(value)}")
    if not abs(value) < 1.79e308:  # exact also for huge integers
        raise MalformedCertificateError(f"{where}: {key} is too large")
    return float(value)


def entries_of(proof: object) -> list[list[Step]]:
    """Return the entries of a proof: lists of objects with a kind; what a kind asks for is checked with it."""
    if not isinstance(proof, list) or not proof:
        raise MalformedCertificateError("certificate.json: proof must be a list with at least one entry")
    entries: list[list[Step]] = []
    for e, steps in enumerate(proof):
        if not isinstance(steps, list):
            raise MalformedCertificateError(f"certificate.json: entry {e} of the proof is not a list")
        entries.append([])
        for s, step in enumerate(steps):
            if not isinstance(step, dict) or not isinstance(step.get("kind"), str):
                raise MalformedCertificateError(f"certificate.json: entry {e}, step {s} is not an object with a kind")
            require(step["kind"] in ARRAYS, f"entry {e}, step {s}: kind {_shown(step['kind'])} is not known")
            entries[-1].append(Step(e, s, step["kind"], step))
    return entries


def _integer(content: dict[str, Any], key: str, least: int) -> int:
    value = content.get(key)
    if type(value) is not int or not least <= value < 2**31:
        raise MalformedCertificateError(
            f"certificate.json: {key} must be an integer, at least {least}; got {_shown(value)}"
        )
    return value


def in_range(name: str, numbers: IntArray, end: int) -> None:
    """Require that all entries of an array are numbers from 0 to below ``end``."""
    require(bool(((numbers >= 0) & (numbers < end)).all()), f"{name}: an entry is not one of 0..{end - 1}")


def _shown(value: object) -> str:
    """Quote something that may be absurd."""
    text = "a huge integer" if isinstance(value, int) and abs(value) > 2**64 else repr(value)
    return re.sub(r"[^ -~]", "?", text[:60])
