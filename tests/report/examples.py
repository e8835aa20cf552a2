"""Results of every sort that pictures and pages have to cope with, made without solving."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import ArrayLike

from certimeans.problem.clustering import Clustering
from certimeans.problem.constraints import Constraints
from certimeans.problem.instance import Instance
from certimeans.result import SolveResult, SolveStatus
from certimeans.search.limits import Progress
from certimeans.search.node import Decision
from certimeans.search.statistics import NodeWork, RunStatistics
from certimeans.search.tree import Tree, TreeNode, TreeStatus

NASTY_NAMES = (
    '<b>&"x"',
    "$a_b$",
    r"\frac{$",
    "Länge größer",
    "new\nline\x00",
    "x" * 200,
    "</svg><script>alert(1)</script>",
)


def make_result(
    points: ArrayLike,
    labels: Sequence[int] | None,
    *,
    k: int | None = None,
    must_link: Any = (),
    cannot_link: Any = (),
    names: tuple[str, ...] | None = None,
    **changes: Any,
) -> SolveResult:
    """Build a result around given labels; the bound is a hundredth below the cost."""
    n_clusters = k if k is not None else len(set(labels or [0]))
    constraints = Constraints.create(must_link, cannot_link)
    instance = Instance(np.asarray(points, dtype=float), n_clusters, constraints, feature_names=names)
    clustering = None if labels is None else Clustering.from_labels(instance, labels)
    cost = math.inf if clustering is None else clustering.cost
    bound = 0.0 if clustering is None else 0.99 * cost
    fields: dict[str, Any] = {
        "status": SolveStatus.TIME_LIMIT,
        "lower_bound": bound,
        "history": (
            Progress(0.1, math.inf, 0.0, 0, 1, 0, 0, "heuristics"),
            Progress(0.5, cost, 0.9 * bound, 1, 2, 0, 10, "root"),
            Progress(0.9, cost, bound, 2, 1, 1, 10, "search"),
        ),
        **changes,
    }
    counted: dict[str, Any] = {
        "root_lower_bound": 0.9 * bound,
        "root_seconds": 0.5,
        "nodes": 3,
        "cuts": 10,
        "seconds": 1.0,
    }
    for name in counted.keys() & fields.keys():
        counted[name] = fields.pop(name)
    return SolveResult(
        instance=instance,
        clustering=clustering,
        statistics=RunStatistics(size=instance.n_points, work=NodeWork(rounds=4), **counted),
        target_gap=1e-4,
        seed=0,
        **fields,
    )


def blobs(n: int, d: int, k: int, **options: Any) -> SolveResult:
    """Build a result with ``n`` points around ``k`` centres in ``d`` dimensions."""
    random = np.random.default_rng([n, d, k])
    labels = np.arange(n) % k
    points = 5 * random.normal(size=(k, d))[labels] + random.normal(size=(n, d))
    return make_result(points, labels.tolist(), **options)


def full_tree(depth: int) -> Tree:
    """Build a complete binary tree whose leaves ended in every possible way."""
    ends = (TreeStatus.PRUNED, TreeStatus.INFEASIBLE, TreeStatus.OPEN, TreeStatus.GIVEN_UP)
    n = 2 ** (depth + 1) - 1
    nodes = []
    for number in range(n):
        is_leaf = 2 * number + 1 >= n
        status = ends[number % 4] if is_leaf else TreeStatus.BRANCHED
        bound = math.inf if status is TreeStatus.INFEASIBLE else 10.0 + number
        parent = (number - 1) // 2
        decision = None if number == 0 else Decision(2 * parent + 1, 2 * parent + 2, number % 2 == 1)
        nodes.append(TreeNode(number, parent if number else -1, decision, status, bound, 5, 0.1))
    return Tree.of(nodes)


def current_settings() -> dict[str, Any]:
    """Return matplotlib's settings, but for the backend, which is chosen when it is looked at."""
    return {name: mpl.rcParams[name] for name in mpl.rcParams if name != "backend"}
