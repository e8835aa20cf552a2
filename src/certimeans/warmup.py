"""Tiny problems that call every compiled function, so that compilation is over before a clock starts.

Each part compiles what some instances need. Two processes share the parts, by how long they take. When a compiled
function is new, or called with new types, extend a part here: ``tests/compilation/test_warmup.py`` names the functions
that no part calls.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from certimeans.compilation.preparation import Preparation

if TYPE_CHECKING:
    from certimeans.presolve.contract import SuperPoints
    from certimeans.problem.instance import Instance

_SMALL_TABLE = 1_000  # entries: costs of smaller tables are exact without compiled code
_MANY_POINTS = 10_000  # from here on a search may begin with samples


def prepare(instance: Instance | None = None, tell: Callable[[str], object] | None = None) -> bool:
    """Compile what a solve needs, unless that was done before on this machine; it takes ten seconds or more.

    Parameters
    ----------
    instance
        What is to be solved; without it, everything in the package is compiled.
    tell
        How to say that it takes a while; without it, as a warning of the logger ``certimeans``.

    Returns
    -------
    bool
        Whether anything was compiled.
    """
    return _PREPARATION.run(ALL_PARTS if instance is None else _parts_for(instance), tell)


def prepare_for_parts() -> None:
    """Compile what bounding the parts of any problem needs."""
    _PREPARATION.run({name: ALL_PARTS[name] for name in ("bound", "linked search", "search", "parts")}, None)


def is_preparing() -> bool:
    """Whether a tiny problem is being solved only to compile; Ctrl-C then acts as usual and ends all at once."""
    return _PREPARATION.is_running


def run_parts(names: Sequence[str]) -> None:
    """Compile parts in this process, as the helper of another one."""
    _PREPARATION.run_here({name: ALL_PARTS[name] for name in names})


def _start_helper(names: Sequence[str]) -> subprocess.Popen[bytes] | None:
    """Start a process that compiles parts on another core, if there is one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores < 2 or not sys.executable or getattr(sys, "frozen", False):
        return None
    sources = str(Path(__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {sources!r}); from certimeans.warmup import run_parts; run_parts({names!r})"
    nowhere = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-c", code], stdin=nowhere, stdout=nowhere, stderr=nowhere)  # noqa: S603


_SECONDS = {
    "sizes": 20.0, "linked search": 10.0, "baselines": 6.0, "search": 5.0, "bound": 4.0, "many points": 4.0,
    "colouring": 3.0, "costs": 1.5, "parts": 1.5,
}  # fmt: skip
"""About how long parts take, where it is more than a second."""
_PREPARATION = Preparation(_start_helper, _SECONDS)


def _parts_for(instance: Instance) -> dict[str, Callable[[], object]]:
    has_links = len(instance.cannot_link) > 0
    names = ["bound", "linked search", "search", "colouring", "linked rounding"] if has_links else ["bound", "search"]
    names += ["gram costs"] if instance.geometry == "gram" else []
    names += ["costs"] if instance.geometry == "points" and instance.table.size > _SMALL_TABLE else []
    names += ["parts"] if instance.n_points > _SMALL_TABLE else []
    names += ["many points"] if instance.n_points > _MANY_POINTS else []
    names += ["sizes"] if instance.limits is not None else []
    return {name: ALL_PARTS[name] for name in names}


def _points(cannot_link: Sequence[tuple[int, int]] = ()) -> SuperPoints:
    """Return super-points without structure."""
    from certimeans.presolve.reduce import presolve  # noqa: PLC0415
    from certimeans.problem.instance import Instance  # noqa: PLC0415

    points = np.random.default_rng(0).normal(size=(40, 3))
    return presolve(Instance.create(points, 4, cannot_link=cannot_link)).super_points


def _bound_parts() -> None:
    """Split points, with cannot-links that bind."""
    from certimeans.bounds.parts.splitting import split_into_parts  # noqa: PLC0415
    from certimeans.presolve.reduce import presolve  # noqa: PLC0415
    from certimeans.problem.instance import Instance  # noqa: PLC0415

    points = np.random.default_rng(0).normal(size=(60, 2))
    presolved = presolve(Instance.create(points, 2, cannot_link=[(i, i + 1) for i in range(0, 60, 2)]))
    split_into_parts(presolved, np.arange(60) % 2, 3)


def _bound() -> None:
    """Bound from below, with cuts of all kinds, and decide whether nodes with cannot-links have clusterings."""
    from certimeans.bounds.protocol import Question  # noqa: PLC0415
    from certimeans.bounds.relaxation.bounder import RelaxationBounder  # noqa: PLC0415
    from certimeans.bounds.relaxation.cutting_planes import CuttingPlaneSettings  # noqa: PLC0415
    from certimeans.presolve.colouring import find_colouring  # noqa: PLC0415

    find_colouring(_points([(0, 1), (1, 2)]).graph, 2)
    RelaxationBounder(CuttingPlaneSettings(max_rounds=3)).bound(Question(_points(), target=lambda: np.inf))


def _search() -> None:
    """Search for a clustering without cannot-links, also from a start, and round a matrix."""
    from certimeans.heuristics.rounding import round_relaxation  # noqa: PLC0415
    from certimeans.heuristics.upper_bound import SearchSettings, search_clustering  # noqa: PLC0415

    points = _points()
    for start in (None, np.zeros(points.size, dtype=np.int64)):
        search_clustering(points, start=start, settings=SearchSettings(n_searches=30))
    round_relaxation(points, np.eye(points.size))


def _round_linked() -> None:
    """Assign as only cannot-links demand."""
    from certimeans.heuristics.assignment import Assigner  # noqa: PLC0415
    from certimeans.heuristics.rounding import round_relaxation  # noqa: PLC0415
    from certimeans.presolve.graph import Graph  # noqa: PLC0415

    points = _points([(4, 5), (5, 6), (0, 7)])
    round_relaxation(points, np.eye(points.size))
    Assigner(Graph(3, np.array([[0, 1], [0, 2], [1, 2]])), 3).assign(np.eye(3))


def _colour() -> None:
    """Colour graphs that take a search."""
    from certimeans.presolve.colouring import find_colouring  # noqa: PLC0415
    from certimeans.presolve.graph import Graph  # noqa: PLC0415
    from certimeans.presolve.tabu import TabuState  # noqa: PLC0415

    square = Graph(4, np.array([[0, 1], [0, 3], [1, 2], [2, 3]]))  # two neighbours each, two colours
    find_colouring(square, 2)
    TabuState(4, 2, seed=0).advance(*square.adjacency, 10)  # seldom needed: only after the exact search's first round


def _limit_sizes() -> None:
    """Solve with limits on sizes: by coordinates and by a Gram matrix, with links, and where starts must be mended."""
    from certimeans.bounds.relaxation.blocks.shifted import violated_shifted_cuts  # noqa: PLC0415
    from certimeans.heuristics.upper_bound import SearchSettings, search_clustering  # noqa: PLC0415
    from certimeans.presolve.reduce import presolve  # noqa: PLC0415
    from certimeans.problem.instance import Instance  # noqa: PLC0415
    from certimeans.search.limits import Limits  # noqa: PLC0415
    from certimeans.solver import solve_instance  # noqa: PLC0415

    random = np.random.default_rng(0)
    few = Limits(gap=1e-6, seconds=None, nodes=2)
    links: dict[str, Any] = {
        "must_link": [(0, 1), (1, 2), (3, 4)],
        "cannot_link": [(0, 5), (5, 6), (6, 7), (3, 8), (9, 10), (0, 10)],
    }
    for dimension in (3, 12):
        points = random.normal(size=(30, dimension))
        solve_instance(Instance.create(points, 3, sizes=[6, 10, 14], **links), few)
    capacity = random.integers(1, 9, size=30).astype(float)
    solve_instance(Instance.create(points, 3, size_min=30, size_max=60, capacity=capacity, **links), few)
    tied = presolve(Instance.create(points, 3, size_min=9, size_max=11, **links)).super_points
    violated_shifted_cuts(0.5 * np.eye(4), 1, 0.01, 4, 0)  # easy problems have no use for these
    never_paid = SearchSettings(n_searches=2, price_rises=0, tabu_steps=20)
    search_clustering(tied, start=np.zeros(tied.size, dtype=np.int64), settings=never_paid)


def _search_linked() -> None:
    """Search where assigning one super-point after the other runs into dead ends, so that starts must be mended."""
    from certimeans.heuristics.upper_bound import SearchSettings, search_clustering  # noqa: PLC0415
    from certimeans.presolve.contract import SuperPoints  # noqa: PLC0415
    from certimeans.presolve.graph import Graph  # noqa: PLC0415

    size, k = 40, 4
    random = np.random.default_rng(0)
    edges = np.array([(i, j) for j in range(size) for i in range(j) if i % k != j % k and random.random() < 0.15])
    vectors = random.normal(size=(size, 2))
    points = SuperPoints(np.ones(size), vectors, Graph(size, edges), k, np.arange(size))
    colouring = np.arange(size) % k
    everything = SearchSettings(n_searches=60, population=3, share_of_mixed_labels=1.0, islands=1)
    search_clustering(points, settings=everything)
    never_mended = SearchSettings(n_searches=30, price_rises=0, tabu_steps=1, islands=1)
    search_clustering(points, colouring=colouring, start=np.zeros(size, dtype=np.int64), settings=never_mended)


def _search_many_points() -> None:
    """Search by samples, with and without links."""
    from certimeans.heuristics.upper_bound import SearchSettings, search_clustering  # noqa: PLC0415
    from certimeans.presolve.contract import SuperPoints  # noqa: PLC0415
    from certimeans.presolve.graph import Graph  # noqa: PLC0415

    size = 60
    vectors = np.random.default_rng(0).normal(size=(size, 2))
    settings = SearchSettings(n_searches=5, largest_without_sample=20, sample_size=20, sample_searches=5)
    for edges in (np.empty((0, 2), dtype=np.int64), np.array([[0, 1], [1, 2]])):
        points = SuperPoints(np.ones(size), vectors, Graph(size, edges), 3, np.arange(size))
        search_clustering(points, settings=settings)


def _prove_costs() -> None:
    """Enclose costs of tables that are too large for exact integers."""
    from certimeans.problem.instance import Instance  # noqa: PLC0415

    points = np.random.default_rng(0).normal(size=(2000, 3))
    Instance.create(points, 1).cost(np.zeros(2000, dtype=np.int64))


def _prove_gram_costs() -> None:
    """Enclose costs of Gram matrices."""
    from certimeans.problem.instance import Instance  # noqa: PLC0415

    Instance.create(gram=np.eye(3), n_clusters=1).cost(np.zeros(3, dtype=np.int64))


def _run_baselines() -> None:
    """Run the methods of others, which no solve needs."""
    from certimeans.baselines import cop_kmeans, rbba  # noqa: PLC0415
    from certimeans.problem.instance import Instance  # noqa: PLC0415

    instance = Instance.create([[0.0], [1.0], [2.0], [5.0], [6.0]], 2, must_link=[(0, 1)], cannot_link=[(2, 3)])
    cop_kmeans(instance)
    rbba(instance)


ALL_PARTS: dict[str, Callable[[], object]] = {
    "bound": _bound,
    "linked search": _search_linked,
    "search": _search,
    "colouring": _colour,
    "linked rounding": _round_linked,
    "costs": _prove_costs,
    "gram costs": _prove_gram_costs,
    "parts": _bound_parts,
    "many points": _search_many_points,
    "sizes": _limit_sizes,
    "baselines": _run_baselines,
}
