"""Certificates of small instances, written straight from docs/certificate.md without any of the solver.

The tree is branched until as many groups as clusters are left, or none fit. With k groups the only clustering is the
one with each in its own cluster, Y = I, and the bound is 1 + trace G: exact for any cuts with entries 0 and 1 and any
slack off the diagonal, which contribute nothing to the trace. So random ones can be thrown in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.oracles.brute_force import exact_cost, optimum
from tests.oracles.colouring import count_colourings
from tests.oracles.instances import SmallInstance

Pair = tuple[int, int]
Group = frozenset[int]


class Draft(NamedTuple):
    """What the two files will hold; both dictionaries may be changed."""

    content: dict[str, Any]
    arrays: dict[str, Any]

    def write(self, folder: Path) -> Path:
        """Write the two files, and return the folder."""
        (folder / "certificate.json").write_text(json.dumps(self.content), encoding="utf-8")
        np.savez(folder / "certificate.npz", **self.arrays)
        return folder


def fingerprint(content: dict[str, Any], arrays: dict[str, Any]) -> str:
    """SHA-256 as the format says."""
    parts = [b"certimeans instance 1\n"]
    parts += [int(content[key]).to_bytes(8, "little", signed=True) for key in ("n", "d", "k")]
    parts += [np.where(arrays[key] == 0, 0.0, arrays[key]).astype("<f8").tobytes() for key in ("points", "weights")]
    for key in ("must_link", "cannot_link"):
        parts += [len(arrays[key]).to_bytes(8, "little", signed=True), arrays[key].astype("<i8").tobytes()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def empty_certificate(small: SmallInstance, labels: Sequence[int] | None = None) -> Draft:
    """State the instance and a clustering, with a root that proves nothing."""
    arrays: dict[str, Any] = {
        "points": np.array(small.points, dtype=np.float64),
        "weights": np.ones(len(small.points)) if small.weights is None else np.array(small.weights),
        "must_link": _sorted_pairs(small.must_link),
        "cannot_link": _sorted_pairs(small.cannot_link),
    }
    if labels is not None:
        arrays["labels"] = np.array(labels, dtype=np.int64)
    n, d = arrays["points"].shape
    content = {
        "format": "certimeans certificate",
        "format_version": 1,
        "software": "tests",
        "n": n,
        "d": d,
        "k": small.k,
        "objective": None if labels is None else float(exact_cost(small.points, labels, small.weights)),
        "lower_bound": 0.0,
        "nodes": [{"parent": None, "decision": None, "infeasible": False, "proof": False}],
    }
    content["fingerprint"] = fingerprint(content, arrays)
    return Draft(content, arrays)


def add_proof(
    draft: Draft,
    node: int,
    groups: Sequence[int],
    cuts: Sequence[tuple[float, dict[int, int]]] = (),
    slack: np.ndarray | None = None,
) -> None:
    """Give a node multipliers: cuts are pairs of multiplier and b; of ``slack`` the upper triangle counts."""
    size = max(groups) + 1
    upper = np.zeros((size, size)) if slack is None else slack
    entries = [entry for _, b in cuts for entry in b.items()]
    draft.content["nodes"][node]["proof"] = True
    draft.arrays.update(
        {
            f"node{node}_groups": np.array(groups, dtype=np.int64),
            f"node{node}_cut_start": np.cumsum([0, *(len(b) for _, b in cuts)], dtype=np.int64),
            f"node{node}_cut_member": np.array([member for member, _ in entries], dtype=np.int32),
            f"node{node}_cut_coefficient": np.array([coefficient for _, coefficient in entries], dtype=np.int8),
            f"node{node}_cut_multiplier": np.array([multiplier for multiplier, _ in cuts], dtype=np.float64),
            f"node{node}_slack": upper[np.triu_indices(size)].astype(np.float32),
        }
    )


def bound_by_definition(small: SmallInstance, cuts: Sequence[tuple[float, dict[int, int]]], slack: np.ndarray) -> float:
    """Evaluate the format's formula in plain floating point, each point its own super-point."""
    points, n = np.array(small.points), len(small.points)
    weights = np.ones(n) if small.weights is None else np.array(small.weights)
    centred = points - weights @ points / weights.sum()
    scatter = float(weights @ (centred**2).sum(axis=1))
    if scatter == 0:
        return 0.0
    roots, u = np.sqrt(weights), np.sqrt(weights / weights.sum())
    vectors = weights[:, None] * centred
    g = -vectors @ vectors.T / np.outer(roots, roots) / scatter
    allowed = np.ones((n, n))
    for i, j in small.cannot_link:
        allowed[i, j] = allowed[j, i] = 0.0
    constant, heaviest = 1.0, weights.sum() - np.sort(weights)[: small.k - 1].sum()
    for multiplier, b in cuts:
        dense = np.zeros(n)
        dense[list(b)] = list(b.values())
        g -= multiplier * allowed * (np.outer(dense, dense) - np.diag(dense)) / np.outer(roots, roots)
        if min(b.values()) > 0 and sum(b.values()) > small.k:
            constant += multiplier * 2 / heaviest
    g -= np.triu(slack) + np.triu(slack, 1).T
    complement = np.linalg.svd(u[None, :])[2][1:]
    lowest = np.linalg.eigvalsh(complement @ g @ complement.T)[: small.k - 1] if small.k > 1 else np.zeros(1)
    return scatter * float(constant + u @ g @ u + lowest.sum())


def optimality_certificate(small: SmallInstance, seed: int = 0) -> Draft:
    """Prove the optimum of a small instance, or that it is infeasible, by branching down to single clusterings."""
    best = optimum(small.points, small.k, small.must_link, small.cannot_link, small.weights)
    draft = empty_certificate(small, best.labels)
    if best.cost is not None:
        draft.content["lower_bound"] = (1 - 1e-12) * draft.content["objective"]
        scatter = float(exact_cost(small.points, [0] * len(small.points), small.weights))
        draft.content["lower_bound"] = max(0.0, draft.content["lower_bound"] - 1e-12 * scatter)
    groups = [frozenset([i]) for i in range(len(small.points))]
    for i, j in small.must_link:
        groups = _united(groups, i, j)
    _Branching(draft, small.k, np.random.default_rng(seed)).extend(0, groups, list(small.cannot_link))
    return draft


class _Branching:
    def __init__(self, draft: Draft, k: int, random: np.random.Generator) -> None:
        self.draft, self.k, self.random = draft, k, random

    def extend(self, node: int, groups: list[Group], apart: list[Pair]) -> None:
        groups = self.infer(node, groups, apart)
        edges = [(a, b) for a, b in combinations(range(len(groups)), 2) if _linked(groups[a], groups[b], apart)]
        broken = any(i in group and j in group for group in groups for i, j in apart)
        if broken or len(groups) < self.k or count_colourings(len(groups), edges, self.k) == 0:
            self.draft.content["nodes"][node]["infeasible"] = True
            return
        if len(groups) == self.k:
            self.prove(node, groups)
            return
        a, b = next((a, b) for a, b in combinations(groups, 2) if not _linked(a, b, apart))
        i, j = min(a), min(b)
        self.extend(self.child(node, i, j, together=True), _united(groups, i, j), apart)
        self.extend(self.child(node, i, j, together=False), groups, [*apart, (i, j)])

    def child(self, node: int, i: int, j: int, *, together: bool) -> int:
        nodes = self.draft.content["nodes"]
        nodes.append({"parent": node, "decision": [i, j, together], "infeasible": False, "proof": False})
        return len(nodes) - 1

    def infer(self, node: int, groups: list[Group], apart: list[Pair]) -> list[Group]:
        """Unite what a clique of k - 1 groups leaves no choice for, and write down why; only at every other node.

        Where it is left out, a child will turn out infeasible, so that certificates have such leaves too.
        """
        if node % 2:
            return groups
        rows: list[list[int]] = []
        while (row := self.step(groups, apart)) is not None:
            rows.append(row)
            groups = _united(groups, row[0], row[1])
        if rows:
            self.draft.arrays[f"node{node}_merges"] = np.array(rows, dtype=np.int64)
        return groups

    def step(self, groups: list[Group], apart: list[Pair]) -> list[int] | None:
        for a, b in combinations(groups, 2):
            common = [c for c in groups if _linked(a, c, apart) and _linked(b, c, apart)]
            for clique in combinations(common, self.k - 1):
                if all(_linked(c, d, apart) for c, d in combinations(clique, 2)):
                    return [min(a), min(b), *(min(c) for c in clique)]
        return None

    def prove(self, node: int, groups: list[Group]) -> None:
        numbers = [next(g for g, group in enumerate(groups) if i in group) for i in range(self.draft.content["n"])]
        subsets = [self.random.permutation(self.k)[: self.random.integers(1, self.k + 1)] for _ in range(3)]
        cuts = [(float(self.random.random()), {int(member): 1 for member in subset}) for subset in subsets]
        slack = self.random.random((self.k, self.k))
        np.fill_diagonal(slack, 0.0)
        add_proof(self.draft, node, numbers, cuts, slack)


def _united(groups: list[Group], i: int, j: int) -> list[Group]:
    joined = frozenset().union(*(group for group in groups if i in group or j in group))
    return [group for group in groups if i not in group and j not in group] + [joined]


def _linked(a: Group, b: Group, apart: Sequence[Pair]) -> bool:
    return any((i in a and j in b) or (i in b and j in a) for i, j in apart)


def _sorted_pairs(pairs: Sequence[Pair]) -> np.ndarray:
    unique = sorted({(min(pair), max(pair)) for pair in pairs})
    return np.array(unique, dtype=np.int64).reshape(-1, 2)
