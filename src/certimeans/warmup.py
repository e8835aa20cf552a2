"""Tiny problems that call every compiled function, so that compilation is over before a clock starts.

When a compiled function is new, or called with new types, extend a part here: ``tests/test_compilation.py`` names the
functions that no part calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from certimeans.compilation.preparation import Preparation

if TYPE_CHECKING:
    from certimeans.problem.instance import Instance

_PREPARATION = Preparation()


def prepare(instance: Instance | None = None, tell: Callable[[str], object] | None = None) -> bool:
    """Compile what a solve needs, unless that was done before on this machine; it takes up to a minute.

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


def is_preparing() -> bool:
    """Whether a tiny problem is being solved only to compile; Ctrl-C then acts as ever and ends all at once."""
    return _PREPARATION.is_running


def _parts_for(instance: Instance) -> dict[str, Callable[[], object]]:
    has_pairs = len(instance.must_link) > 0 or len(instance.cannot_link) > 0
    return {
        "solve": _solve,
        "costs": _prove_costs,
        **({"constraints": _meet_constraints} if has_pairs else {}),
        **({"sizes": _limit_sizes} if instance.limits is not None else {}),
    }


def _solve(**constraints: Any) -> None:
    """Solve points without structure: bounds, cuts, branching and rounding all run."""
    from certimeans.problem.instance import Instance  # noqa: PLC0415
    from certimeans.search.limits import Limits  # noqa: PLC0415
    from certimeans.solver import solve_instance  # noqa: PLC0415

    points = np.random.default_rng(0).normal(size=(40, 3))
    solve_instance(Instance.create(points, 4, **constraints), Limits(gap=1e-6, seconds=None, nodes=4))


def _meet_constraints() -> None:
    """Solve the same with constraints; assign and colour as only some constraints demand."""
    from certimeans.heuristics.assignment import Assigner  # noqa: PLC0415
    from certimeans.presolve.colouring import find_colouring  # noqa: PLC0415
    from certimeans.presolve.graph import Graph  # noqa: PLC0415
    from certimeans.presolve.tabu import TabuState  # noqa: PLC0415

    _solve(must_link=[(0, 1), (2, 3)], cannot_link=[(4, 5), (5, 6), (0, 7)])
    _search_dense_graph()
    triangle = Graph(3, np.array([[0, 1], [0, 2], [1, 2]]))
    Assigner(triangle, 3).assign(np.eye(3))
    square = Graph(4, np.array([[0, 1], [0, 3], [1, 2], [2, 3]]))  # two neighbours each, two colours: takes a search
    find_colouring(square, 2)
    TabuState(4, 2, seed=0).advance(*square.adjacency, 10)  # seldom needed: only after the exact search's first round


def _limit_sizes() -> None:
    """Solve with limits on sizes: by coordinates and by a Gram matrix, with links, and where starts must be mended."""
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


def _search_dense_graph() -> None:
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


def _prove_costs() -> None:
    """Enclose costs of tables that are too large for exact integers, and of Gram matrices."""
    from certimeans.problem.instance import Instance  # noqa: PLC0415

    points = np.random.default_rng(0).normal(size=(2000, 3))
    Instance.create(points, 1).cost(np.zeros(2000, dtype=np.int64))
    Instance.create(gram=np.eye(3), n_clusters=1).cost(np.zeros(3, dtype=np.int64))


def _run_baselines() -> None:
    """Run the methods of others, which no solve needs."""
    from certimeans.baselines import cop_kmeans, rbba  # noqa: PLC0415
    from certimeans.problem.instance import Instance  # noqa: PLC0415

    instance = Instance.create([[0.0], [1.0], [2.0], [5.0], [6.0]], 2, must_link=[(0, 1)], cannot_link=[(2, 3)])
    cop_kmeans(instance)
    rbba(instance)


ALL_PARTS: dict[str, Callable[[], object]] = {
    "solve": _solve,
    "costs": _prove_costs,
    "constraints": _meet_constraints,
    "sizes": _limit_sizes,
    "baselines": _run_baselines,
}
