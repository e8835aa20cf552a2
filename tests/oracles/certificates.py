"""Certificates of small instances, written straight from docs/certificate.md without any of the solver.

The proof branches until as many groups as clusters are left, or none fit. With k groups the only clustering is the one
with each in its own cluster, Y = I, and the bound is T0 / U + trace G: exact for any cuts with entries 0 and 1 and any
slack off the diagonal, which contribute nothing to the trace. So random ones can be thrown in.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.oracles.brute_force import feasible_partitions
from tests.oracles.colouring import count_colourings
from tests.oracles.instances import SmallInstance

Pair = tuple[int, int]
Group = frozenset[int]
Cut = tuple[float, dict[int, int]]


class Draft(NamedTuple):
    """What the two files will hold; both dictionaries may be changed."""

    content: dict[str, Any]
    arrays: dict[str, Any]

    def write(self, folder: Path) -> Path:
        """Write the two files, and return the folder."""
        (folder / "certificate.json").write_text(json.dumps(self.content), encoding="utf-8")
        np.savez(folder / "certificate.npz", **self.arrays)
        return folder

    def add(self, entry: int, kind: str, arrays: dict[str, Any] | None = None, **fields: Any) -> None:
        """Append a step to an entry of the proof."""
        steps = self.content["proof"][entry]
        for name, values in (arrays or {}).items():
            self.arrays[f"e{entry}s{len(steps)}_{name}"] = values
        steps.append({"kind": kind, **fields})


class Task(NamedTuple):
    """A small instance and how costs are measured: by its points, scaled or not, or by a Gram matrix."""

    small: SmallInstance
    standardize: bool = False
    gram: list[list[float]] | None = None

    @property
    def weights(self) -> list[Fraction]:
        """The weights, exactly."""
        n = len(self.small.points)
        return [Fraction(w) for w in (self.small.weights or [1.0] * n)]

    def inner_products(self) -> list[list[Fraction]]:
        """Return the exact Gram matrix that gives the costs."""
        if self.gram is not None:
            return [[Fraction(entry) for entry in row] for row in self.gram]
        columns = [[Fraction(x) for x in column] for column in zip(*self.small.points, strict=True)]
        n = len(self.small.points)
        variances: list[Any] = [sum(x * x for x in column) / n - (sum(column) / n) ** 2 for column in columns]
        factors: list[Fraction] = [
            (1 / v if v else Fraction(0)) if self.standardize else Fraction(1) for v in variances
        ]
        return [
            [sum((f * c[i] * c[j] for f, c in zip(factors, columns, strict=True)), Fraction(0)) for j in range(n)]
            for i in range(n)
        ]

    def cost(self, labels: Sequence[int]) -> Fraction:
        """Return the cost by the definition for Gram matrices, without rounding."""
        return _cost(self.inner_products(), self.weights, labels)

    def optimum(self) -> tuple[Fraction, tuple[int, ...]] | None:
        """Return the least cost and a clustering that has it, by enumeration; ``None`` if there is none."""
        gram, weights, small = self.inner_products(), self.weights, self.small
        choices = feasible_partitions(len(small.points), small.k, small.must_link, small.cannot_link)
        return min(((_cost(gram, weights, labels), labels) for labels in choices), default=None)


def _cost(gram: list[list[Fraction]], weights: list[Fraction], labels: Sequence[int]) -> Fraction:
    total = sum((w * gram[i][i] for i, w in enumerate(weights)), Fraction(0))
    for label in set(labels):
        members = [i for i, other in enumerate(labels) if other == label]
        pairs = sum((weights[i] * weights[j] * gram[i][j] for i in members for j in members), Fraction(0))
        total -= pairs / sum(weights[i] for i in members)
    return total


def next_float_up(value: Fraction) -> float:
    """Return the smallest float that is not below."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def fingerprint(content: dict[str, Any], arrays: dict[str, Any]) -> str:
    """SHA-256 as the format says."""
    values = arrays["gram" if content["geometry"] == "gram" else "points"]
    parts = [b"certimeans instance 2\n", content["geometry"].encode() + b"\n"]
    parts += [b"1\n" if content["standardize"] else b"0\n"]
    parts += [int(content[key] or 0).to_bytes(8, "little", signed=True) for key in ("n", "d", "k")]
    parts += [np.where(array == 0, 0.0, array).astype("<f8").tobytes() for array in (values, arrays["weights"])]
    for key in ("must_link", "cannot_link"):
        parts += [len(arrays[key]).to_bytes(8, "little", signed=True), arrays[key].astype("<i8").tobytes()]
    sizes = content.get("cluster_sizes")
    if sizes is not None:
        lists = [None if sizes[key] is None else [sizes[key]] for key in ("size_min", "size_max")]
        lists += [sizes["sizes"], arrays.get("capacity")]
        parts += [b"sizes\n"]
        for numbers in lists:
            parts += [(-1 if numbers is None else len(numbers)).to_bytes(8, "little", signed=True)]
            parts += [np.array([] if numbers is None else numbers, dtype="<f8").tobytes()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def empty_certificate(task: Task | SmallInstance, labels: Sequence[int] | None = None) -> Draft:
    """State the instance and a clustering, with a proof that proves nothing."""
    task = task if isinstance(task, Task) else Task(task)
    small = task.small
    is_gram = task.gram is not None
    arrays: dict[str, Any] = {
        "gram" if is_gram else "points": np.array(task.gram if is_gram else small.points, dtype=np.float64),
        "weights": np.array([float(w) for w in task.weights]),
        "must_link": _sorted_pairs(small.must_link),
        "cannot_link": _sorted_pairs(small.cannot_link),
    }
    if labels is not None:
        arrays["labels"] = np.array(labels, dtype=np.int64)
    content = {
        "format": "certimeans certificate",
        "format_version": 2,
        "software": "tests",
        "geometry": "gram" if is_gram else "points",
        "standardize": task.standardize,
        "n": len(small.points),
        "d": None if is_gram else len(small.points[0]),
        "k": small.k,
        "objective": None if labels is None else next_float_up(task.cost(labels)),
        "lower_bound": -1.7e308 if is_gram else 0.0,
        "proof": [[]],
    }
    content["fingerprint"] = fingerprint(content, arrays)
    return Draft(content, arrays)


def add_relaxation(
    draft: Draft,
    entry: int,
    groups: Sequence[int],
    cuts: Sequence[Cut] = (),
    slack: np.ndarray | None = None,
    *,
    unit: float = 1.0,
    weight_unit: float = 1.0,
) -> None:
    """Append multipliers: cuts are pairs of multiplier and b; of ``slack`` the upper triangle counts."""
    size = max(groups) + 1
    upper = np.zeros((size, size)) if slack is None else slack
    entries = [entry for _, b in cuts for entry in b.items()]
    arrays = {
        "groups": np.array(groups, dtype=np.int64),
        "cut_start": np.cumsum([0, *(len(b) for _, b in cuts)], dtype=np.int64),
        "cut_member": np.array([member for member, _ in entries], dtype=np.int32),
        "cut_coefficient": np.array([coefficient for _, coefficient in entries], dtype=np.int8),
        "cut_multiplier": np.array([multiplier for multiplier, _ in cuts], dtype=np.float64),
        "slack": upper[np.triu_indices(size)].astype(np.float32),
    }
    draft.add(entry, "relaxation", arrays, unit=unit, weight_unit=weight_unit)


def scatter(task: Task) -> Fraction:
    """Return T0, the cost of all points in one cluster."""
    return task.cost([0] * len(task.small.points))


def bound_by_definition(
    task: Task,
    groups: Sequence[int],
    cuts: Sequence[Cut] = (),
    slack: np.ndarray | None = None,
    unit: float = 1.0,
    weight_unit: float = 1.0,
) -> float:
    """Evaluate the format's formula for the bound of a relaxation in plain floating point."""
    small, s, n = task.small, max(groups) + 1, len(groups)
    t0 = scatter(task)
    if t0 == 0 and task.gram is None:
        return 0.0
    w = np.array([float(x) for x in task.weights])
    gram = np.array([[float(entry) for entry in row] for row in task.inner_products()])
    means = gram @ w / w.sum()
    centred = gram - means[:, None] - means + w @ means / w.sum()
    member = np.zeros((s, n))
    member[list(groups), range(n)] = w
    sums = member @ centred @ member.T
    weights = member.sum(axis=1)
    roots, u = np.sqrt(weights), np.sqrt(weights / weights.sum())
    g = -sums / np.outer(roots, roots) / unit
    allowed = np.ones((s, s))
    for i, j in small.cannot_link:
        if groups[i] != groups[j]:
            allowed[groups[i], groups[j]] = allowed[groups[j], groups[i]] = 0.0
    heaviest = weights.sum() - np.sort(weights)[: small.k - 1].sum()
    constant = 0.0
    for multiplier, b in cuts:
        dense = np.zeros(s)
        dense[list(b)] = list(b.values())
        g -= multiplier * allowed * (np.outer(dense, dense) - np.diag(dense)) / np.outer(roots, roots) * weight_unit
        if min(b.values()) > 0 and sum(b.values()) > small.k:
            constant += multiplier * 2 / heaviest * weight_unit
    if slack is not None:
        g -= np.triu(slack) + np.triu(slack, 1).T
    complement = np.linalg.svd(u[None, :])[2][1:]
    lowest = np.linalg.eigvalsh(complement @ g @ complement.T)[: small.k - 1] if small.k > 1 else np.zeros(1)
    return float(t0) + unit * float(constant + u @ g @ u + lowest.sum())


def optimality_certificate(task: Task | SmallInstance, seed: int = 0) -> Draft:
    """Prove the optimum of a small instance, or that it is infeasible, by branching down to single clusterings."""
    task = task if isinstance(task, Task) else Task(task)
    small = task.small
    best = task.optimum()
    draft = empty_certificate(task, None if best is None else best[1])
    t0 = float(scatter(task))
    if best is not None:
        sizes = [abs(task.inner_products()[i][i]) * w for i, w in enumerate(task.weights)]
        size = max(abs(t0), 0.0 if task.gram is None else float(sum(sizes)))
        claim = draft.content["objective"] - 1e-12 * abs(draft.content["objective"]) - 1e-12 * size - 1e-322
        draft.content["lower_bound"] = claim if task.gram is not None else max(0.0, claim)
    draft.add(0, "covariance")
    groups = [frozenset([i]) for i in range(len(small.points))]
    for i, j in small.must_link:
        groups = _united(groups, i, j)
    units = (abs(t0) or 1.0, float(sum(task.weights)) / len(small.points))
    Branching(draft, small.k, np.random.default_rng(seed), units).extend(0, groups, list(small.cannot_link))
    return draft


class Branching:
    """Writes a proof that branches down to single clusterings, from any groups."""

    def __init__(self, draft: Draft, k: int, random: np.random.Generator, units: tuple[float, float]) -> None:
        self.draft, self.k, self.random, self.units = draft, k, random, units

    def extend(self, entry: int, groups: list[Group], apart: list[Pair]) -> None:
        """Prove the optimum of an entry's groups and links."""
        groups = self.infer(entry, groups, apart)
        edges = [(a, b) for a, b in combinations(range(len(groups)), 2) if _linked(groups[a], groups[b], apart)]
        broken = any(i in group and j in group for group in groups for i, j in apart)
        if broken or len(groups) < self.k or count_colourings(len(groups), edges, self.k) == 0:
            self.draft.add(entry, "infeasible")
            return
        if len(groups) == self.k:
            self.prove(entry, groups)
            return
        a, b = next((a, b) for a, b in combinations(groups, 2) if not _linked(a, b, apart))
        i, j = min(a), min(b)
        proof = self.draft.content["proof"]
        together, separate = len(proof), len(proof) + 1
        proof += [[], []]
        self.draft.add(entry, "branch", pair=[i, j], together=together, apart=separate)
        self.extend(together, _united(groups, i, j), apart)
        self.extend(separate, groups, [*apart, (i, j)])

    def infer(self, entry: int, groups: list[Group], apart: list[Pair]) -> list[Group]:
        """Unite what a clique of k - 1 groups leaves no choice for, and write down why; only at every other entry.

        Where it is left out, a child will turn out infeasible, so that certificates have such leaves too.
        """
        if entry % 2:
            return groups
        rows: list[list[int]] = []
        while (row := self.step(groups, apart)) is not None:
            rows.append(row)
            groups = _united(groups, row[0], row[1])
        if rows:
            self.draft.add(entry, "merge", {"rows": np.array(rows, dtype=np.int64)})
        return groups

    def step(self, groups: list[Group], apart: list[Pair]) -> list[int] | None:
        """Find two groups that a clique of k - 1 groups forces together."""
        for a, b in combinations(groups, 2):
            common = [c for c in groups if _linked(a, c, apart) and _linked(b, c, apart)]
            for clique in combinations(common, self.k - 1):
                if all(_linked(c, d, apart) for c, d in combinations(clique, 2)):
                    return [min(a), min(b), *(min(c) for c in clique)]
        return None

    def prove(self, entry: int, groups: list[Group]) -> None:
        """Bound the only clustering that k groups leave, with cuts and slack that change nothing."""
        numbers = [next(g for g, group in enumerate(groups) if i in group) for i in range(self.draft.content["n"])]
        subsets = [self.random.permutation(self.k)[: self.random.integers(1, self.k + 1)] for _ in range(3)]
        cuts = [(float(self.random.random()), {int(member): 1 for member in subset}) for subset in subsets]
        slack = self.random.random((self.k, self.k))
        np.fill_diagonal(slack, 0.0)
        add_relaxation(self.draft, entry, numbers, cuts, slack, unit=self.units[0], weight_unit=self.units[1])


def _united(groups: list[Group], i: int, j: int) -> list[Group]:
    joined = frozenset().union(*(group for group in groups if i in group or j in group))
    return [group for group in groups if i not in group and j not in group] + [joined]


def _linked(a: Group, b: Group, apart: Sequence[Pair]) -> bool:
    return any((i in a and j in b) or (i in b and j in a) for i, j in apart)


def _sorted_pairs(pairs: Sequence[Pair]) -> np.ndarray:
    unique = sorted({(min(pair), max(pair)) for pair in pairs})
    return np.array(unique, dtype=np.int64).reshape(-1, 2)
