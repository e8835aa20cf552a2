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


def prepare(instance: Instance | None = None, tell: Callable[[str], None] | None = None) -> bool:
    """Compile what a solve needs, unless that was done before on this machine; it takes up to a minute once.

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


def _parts_for(instance: Instance) -> dict[str, Callable[[], object]]:
    has_pairs = len(instance.must_link) or len(instance.cannot_link)
    return {"linked": _solve_linked} if has_pairs else {"free": _solve_free}


def _solve_free() -> None:
    """Solve points without structure: bounds, cuts, branching and rounding all run."""
    _solve()


def _solve_linked() -> None:
    """Solve the same with constraints, among them a clique of cannot-links whose colouring takes a search."""
    _solve(must_link=[(0, 1), (2, 3)], cannot_link=[(4, 5), (5, 6), (0, 7)])


def _solve(**constraints: Any) -> None:
    from certimeans.problem.instance import Instance  # noqa: PLC0415
    from certimeans.search.limits import Limits  # noqa: PLC0415
    from certimeans.solver import solve_instance  # noqa: PLC0415
    from certimeans.status import SolveStatus  # noqa: PLC0415

    points = np.random.default_rng(0).normal(size=(40, 3))
    result = solve_instance(Instance.create(points, 4, **constraints), Limits(gap=1e-6, seconds=None, nodes=4))
    if result.status is SolveStatus.INTERRUPTED:  # by Ctrl-C, which the solve we prepare for must not miss
        raise KeyboardInterrupt


def _run_baselines() -> None:
    """Run the methods of others, which no solve needs."""


ALL_PARTS: dict[str, Callable[[], object]] = {
    "free": _solve_free,
    "linked": _solve_linked,
    "baselines": _run_baselines,
}
