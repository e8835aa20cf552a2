"""Certificates of all kinds to be falsified: of instances so small that any claim about them can be enumerated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.reliability.answers import GAP, WITHOUT_CUTS
from benchmarks.reliability.parts import SETTINGS
from certimeans.errors import InfeasibleError, InputError
from certimeans.problem.instance import Instance
from certimeans.search.limits import Limits
from certimeans.search.settings import NodeSettings
from certimeans.solver import solve_instance
from tests.oracles.certificates import Task, optimality_certificate
from tests.oracles.far import far_instance
from tests.oracles.instances import random_instance
from tests.oracles.sizes import limited_instance


class Asked(NamedTuple):
    """What the solver is asked."""

    instance: Instance
    settings: NodeSettings | None = None
    part_size: int | None = None


def _whole(random: np.random.Generator) -> Asked:
    small = random_instance(int(random.integers(2**31)), max_points=9, weighted=bool(random.integers(2)))
    return Asked(small.build(), WITHOUT_CUTS if random.random() < 0.7 else None)


def _standardized(random: np.random.Generator) -> Asked:
    small = random_instance(int(random.integers(2**31)), max_points=8, weighted=bool(random.integers(2)))
    scaled = np.array(small.points) * 10.0 ** random.integers(-3, 4, size=len(small.points[0]))
    links: dict[str, Any] = {"must_link": small.must_link, "cannot_link": small.cannot_link}
    return Asked(Instance.create(scaled, small.k, weights=small.weights, standardize=True, **links), WITHOUT_CUTS)


def _gram(random: np.random.Generator) -> Asked:
    small = random_instance(int(random.integers(2**31)), max_points=7, weighted=bool(random.integers(2)))
    n = len(small.points)
    matrix = random.normal(size=(n, n))
    matrix = matrix + matrix.T if random.random() < 0.5 else matrix @ matrix.T
    links: dict[str, Any] = {"must_link": small.must_link, "cannot_link": small.cannot_link}
    return Asked(Instance.create(gram=matrix, n_clusters=small.k, weights=small.weights, **links))


def _limits(random: np.random.Generator) -> Asked:
    return Asked(limited_instance(int(random.integers(2**31)), max_points=8).build(), WITHOUT_CUTS)


def _sizes(random: np.random.Generator) -> Asked:
    """Prescribed sizes, by blocks, or with branches on sizes where there is no memory for these."""
    n, k = int(random.integers(6, 9)), int(random.integers(2, 4))
    sizes = np.bincount(np.append(random.integers(0, k, size=n - k), np.arange(k)), minlength=k)
    pair = [tuple(int(i) for i in random.choice(n, 2, replace=False))]
    instance = Instance.create(random.random((n, 2)), k, sizes=sizes.tolist(), cannot_link=pair)
    memory = 10_000.0 if random.random() < 0.4 else None
    return Asked(instance, replace(WITHOUT_CUTS if memory else NodeSettings(), memory_limit=memory))


def _parts(random: np.random.Generator) -> Asked:
    """Parts of four or five points, with weights, far points that are shared, and links within and between parts."""
    n, k = int(random.integers(8, 11)), int(random.integers(2, 4))
    points = random.normal(size=(n, 2)) + 4 * (np.arange(n) % k)[:, None]
    points[0] *= random.choice([1.0, 5.0])
    pairs = [tuple(int(i) for i in random.choice(n, 2, replace=False)) for _ in range(4)]
    links: dict[str, Any] = {"must_link": pairs[: random.integers(2)], "cannot_link": pairs[1 : 1 + random.integers(4)]}
    weights = random.choice([0.5, 1.0, 3.25], size=n) if random.random() < 0.5 else None
    return Asked(Instance.create(points, k, weights=weights, **links), SETTINGS, int(random.integers(k + 1, 6)))


def _identical(random: np.random.Generator) -> Asked:
    """Few places, several points each, and cannot-links from which something follows."""
    n, k = int(random.integers(7, 10)), int(random.integers(2, 4))
    points = random.integers(0, 3, size=(n, 2)).astype(float)
    links = [(0, 1), (1, 2), (0, 2)][: 1 if k == 2 else 3] + [(0, 3), (1, 3)][: k - 1]
    links = [pair for pair in links if random.random() < 0.8]
    return Asked(Instance.create(points, k, cannot_link=links or None), WITHOUT_CUTS)


def _regions(random: np.random.Generator) -> Asked:
    """Points in regions far from each other."""
    far = far_instance(int(random.integers(2**31)), extreme=random.random() < 0.2)
    return Asked(far.build(), WITHOUT_CUTS if random.random() < 0.5 else None)


def _larger(random: np.random.Generator) -> Asked:
    """Too large for enumeration: thirty points with links, a tree, limits on sizes or parts."""
    hidden = random.integers(0, 3, size=30)
    pairs = random.integers(0, 30, size=(20, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    limits: dict[str, Any] = {"size_min": 8} if random.random() < 0.3 else {}
    points = random.random((30, 3))
    instance = Instance.create(points, 3, must_link=pairs[same], cannot_link=pairs[~same], **limits)
    return Asked(instance, None, 10 if random.random() < 0.4 else None)


KINDS: dict[str, Callable[[np.random.Generator], Asked]] = {
    "whole": _whole,
    "standardised": _standardized,
    "by parts": _parts,
    "Gram matrix": _gram,
    "limits on sizes": _limits,
    "prescribed sizes": _sizes,
    "identical points": _identical,
    "thirty points": _larger,
    "in regions": _regions,
}
# What the proof must have one of, so that there is something to mutate.
_NEEDED = {
    "by parts": {"parts"},
    "identical points": {"identical", "merge"},
    "prescribed sizes": {"size_blocks", "branch_sizes"},
    "thirty points": {"parts", "relaxation"},
    "in regions": {"regions"},
}
WRITTEN_BY_HAND = "without the solver"
ALL_KINDS = (*KINDS, WRITTEN_BY_HAND)


def kind_of(seed: int) -> str:
    """Say which kind of certificate belongs to a seed."""
    return ALL_KINDS[seed % len(ALL_KINDS)]


def write_genuine(seed: int, folder: Path) -> Instance | None:
    """Write a certificate, and return the instance as the user has it, if the solver was asked."""
    random = np.random.default_rng([seed, 12])
    kind = kind_of(seed)
    if kind == WRITTEN_BY_HAND:
        _write_by_hand(random, folder)
        return None
    while True:
        try:
            asked = KINDS[kind](random)
            if asked.instance.n_clusters in {1, asked.instance.n_points}:
                continue
            result = solve_instance(
                asked.instance, Limits(GAP, 20.0), settings=asked.settings, part_size=asked.part_size
            )
        except (InfeasibleError, InputError):
            continue
        steps = {step.kind for steps in result.search_tree.proof() for step in steps}
        if steps & _NEEDED.get(kind, {"relaxation"}):
            result.save(folder, report=False, overwrite=True)
            return asked.instance


def _write_by_hand(random: np.random.Generator, folder: Path) -> None:
    """Write a proof that branches down to single clusterings, some of them infeasible."""
    for _ in range(20):
        small = random_instance(int(random.integers(2**31)), max_points=6, weighted=bool(random.integers(2)))
        matrix = random.normal(size=(len(small.points),) * 2)
        gram = (matrix + matrix.T).tolist() if random.random() < 0.2 else None
        task = Task(small, standardize=gram is None and random.random() < 0.5, gram=gram)
        draft = optimality_certificate(task, seed=int(random.integers(2**31)))
        kinds = {step["kind"] for entry in draft.content["proof"] for step in entry}
        if {"infeasible", "relaxation"} <= kinds:
            break
    draft.write(folder)
