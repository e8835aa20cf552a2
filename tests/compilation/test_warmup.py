"""The warm-up calls everything that a solve will need, and nothing else is compiled."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import numpy as np
import pytest

import certimeans
from certimeans.heuristics.moves import sweep_freely
from certimeans.warmup import ALL_PARTS
from tests.compilation.processes import run_python

_DISPATCHER: Any = type(sweep_freely)


@pytest.mark.parametrize(("links", "nodes"), [("", 1), ("cannot_link=[(0, 1), (1, 2), (3, 9)]", 9)])
def test_a_solve_needs_no_more_than_the_parts_for_it(links: str, nodes: int) -> None:
    """Without links, the search for clusterings in children, which have some, compiles when a child needs it."""
    code = f"""
        import sys, numpy as np, certimeans
        from certimeans import warmup
        def functions():
            modules = [module for name, module in sys.modules.items() if name.startswith("certimeans.")]
            found = {{id(f): f for m in modules for f in vars(m).values() if hasattr(f, "signatures")}}.values()
            return {{f.py_func.__name__ for f in found if f.signatures}}
        points = np.random.default_rng(3).normal(size=(30, 3))
        warmup._PREPARATION.run_here(warmup._parts_for(certimeans.Instance.create(points, 4, {links})))
        before = functions()
        certimeans.solve(points, 4, gap=1e-9, max_nodes={nodes}, {links})
        print(sorted(functions() - before))
    """
    assert run_python(code).stdout.strip() == "[]"


def test_the_warm_up_calls_every_compiled_function() -> None:
    """So that nothing is left to compile once a clock runs; extend certimeans/warmup.py for new functions."""
    for part in ALL_PARTS.values():
        part()
    functions = _compiled_functions()
    # Machine code that was loaded, not compiled, holds the functions that it calls: these were never asked for.
    waiting = [function for function in functions.values() if function.signatures]
    reached = {id(function) for function in waiting}
    while waiting:
        plain = waiting.pop().py_func
        for name in plain.__code__.co_names:
            inner = plain.__globals__.get(name)
            if hasattr(inner, "py_func") and id(inner) not in reached:
                reached.add(id(inner))
                waiting.append(inner)
    called = {name for name, function in functions.items() if id(function) in reached}
    assert sorted(functions.keys() - called) == [], "not called"


def test_machine_code_is_loaded_without_the_compiler() -> None:
    """What numba's compiler needs takes a fifth of a second to load; the code of all functions runs without."""
    code = """
        import sys
        from certimeans.warmup import ALL_PARTS, run_parts
        run_parts(list(ALL_PARTS))
        print("numba.np.arraymath" in sys.modules)
    """
    run_python(code)  # compiles what is not kept yet
    assert run_python(code).stdout.split() == ["False"]


def test_solves_compile_nothing_that_the_warm_up_did_not() -> None:
    """Whatever the kind of problem: weights, dense constraints, more features than points, several processes."""
    for part in ALL_PARTS.values():
        part()
    random = np.random.default_rng(1)
    points = random.normal(size=(24, 3))
    pairs = [(i, j) for i in range(24) for j in range(i) if random.random() < 0.25]
    before = {name: len(function.signatures) for name, function in _compiled_functions().items()}
    certimeans.solve(np.asfortranarray(points), 3, sample_weight=random.uniform(1, 2, 24))
    certimeans.solve(random.normal(size=(24, 60)), 3, initial_labels=np.arange(24) % 3)
    certimeans.solve(points, 8, cannot_link=pairs, max_nodes=4)
    certimeans.solve(points[:, :1], 2, must_link=[(0, 1)], cannot_link=[(1, 2), (2, 3)], n_jobs=2)
    assert {name: len(function.signatures) for name, function in _compiled_functions().items()} == before


def test_importing_the_package_is_quick() -> None:
    """It brings neither numba nor the solver along."""
    code = """
        import sys, time
        began = time.perf_counter()
        import certimeans
        print(time.perf_counter() - began, "numba" in sys.modules)
    """
    runs = [run_python(code).stdout.split() for _ in range(3)]
    assert min(float(seconds) for seconds, _ in runs) < 0.1
    assert {numba for _, numba in runs} == {"False"}


def _compiled_functions() -> dict[str, Any]:
    """Find those with machine code of their own; what is inlined has none."""
    functions = {}
    for module in pkgutil.walk_packages(certimeans.__path__, "certimeans."):
        if not module.name.endswith("__main__"):
            values: list[Any] = list(vars(importlib.import_module(module.name)).values())
            for value in values:
                if isinstance(value, _DISPATCHER) and value.targetoptions.get("inline") != "always":
                    functions[f"{value.py_func.__module__}.{value.py_func.__name__}"] = value
    return {name: function for name, function in functions.items() if name.startswith("certimeans.")}
