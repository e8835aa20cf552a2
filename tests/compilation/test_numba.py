"""What is relied on in numba, and what becomes of compiled functions."""

from __future__ import annotations

import runpy
from types import SimpleNamespace
from typing import Any, cast

import numba
import numpy as np
import pytest

from certimeans._typing import FloatArray
from certimeans.compilation import compiled, compiled_inside, compiled_without_allocation, internals, storage
from certimeans.heuristics.chains import swap_chains
from certimeans.heuristics.ejections import grow_trees
from certimeans.heuristics.moves import move_freely, sweep_freely
from tests.compilation.processes import run_python


@compiled
def _double(x: int) -> int:
    return 2 * x


@compiled
def _calls_with_constants(n: int) -> int:
    target = -1
    for i in range(n):
        if i == 2:
            target = i
    return _double(0) + _double(-1) + _double(target)


# Private parts of numba: these tests fail when a newer numba changes what certimeans.compilation.internals relies on.


def test_a_function_called_with_constants_is_compiled_once() -> None:
    """Not once for the number 0, once for -1 and once for any integer, as numba does by itself."""
    assert _calls_with_constants(5) == 2
    cast("Any", _calls_with_constants).recompile()  # else stored code may have been loaded
    assert len(cast("Any", _double).signatures) == 1


def test_hot_functions_must_not_create_arrays() -> None:
    """The compiler itself refuses them: numba's private option still switches its run-time off."""

    @compiled_without_allocation
    def allocate(n: int) -> FloatArray:
        return np.zeros(n)

    assert internals.NO_ALLOCATION == {"_nrt": False}
    with pytest.raises(numba.core.errors.NumbaError):
        allocate(3)


@compiled_inside
def _triple(x: int) -> int:
    return 3 * x


@compiled_without_allocation
def _six_times(x: int) -> int:
    return 2 * _triple(x)


def test_what_sweeps_call_for_every_point_is_compiled_into_them() -> None:
    """A call copies tuples of arrays: the search took a sixth longer while one of these was called."""
    for function in (move_freely, sweep_freely, grow_trees, swap_chains):
        assert cast("Any", function).targetoptions["inline"] == "always"


def test_what_is_for_compiled_code_cannot_be_called_from_python() -> None:
    """It has no entry for Python: without our refusal the process would end, also after compiled code has called it."""
    for _ in range(2):
        with pytest.raises(TypeError, match="_triple is for compiled code only"):
            _triple(2)
        assert _six_times(2) == 12


def test_numba_asks_our_store() -> None:
    """What a function compiles goes to the store that stands in for numba's own."""
    asked = []

    class Store:
        cache_path = None

        def load_overload(self, *_: Any) -> None:
            asked.append("load")

        def save_overload(self, *_: Any) -> None:
            asked.append("save")

    dispatcher = numba.njit(lambda x: x)
    internals.keep_machine_code(dispatcher, Store())
    assert dispatcher(1) == 1
    assert asked == ["load", "save"]


def test_a_numba_without_its_private_parts_compiles_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The import works, and functions stay as numba made them."""
    monkeypatch.delattr("numba.core.cpu.CPUTargetOptions")
    monkeypatch.delattr("numba.core.caching.FunctionCache")
    parts = runpy.run_path(internals.__file__)
    assert parts["NO_ALLOCATION"] == {}
    assert internals.can_keep_machine_code()
    assert not parts["can_keep_machine_code"]()
    for name, argument in (
        ("ignore_literals", ()),
        ("keep_machine_code", (object(),)),
        ("refuse_calls_from_python", ()),
    ):
        dispatcher = SimpleNamespace()
        parts[name](dispatcher, *argument)
        assert vars(dispatcher) == {}


def test_compilation_switched_off_leaves_plain_functions() -> None:
    """NUMBA_DISABLE_JIT is for debuggers; there is nothing to prepare then."""
    code = """
        from certimeans.compilation import compiled, inlined
        from certimeans.compilation.preparation import Preparation
        print(compiled(inlined(lambda x: 2 * x))(3), Preparation().run({"part": lambda: print("run")}))
    """
    assert run_python(code, NUMBA_DISABLE_JIT="1").stdout.split() == ["6", "False"]


def test_code_for_any_processor_is_found_on_every_machine() -> None:
    """Images that run on several kinds of processors are built with numba's setting for what these have in common."""
    code = "from certimeans.compilation.internals import describe_machine; print(describe_machine())"
    assert run_python(code, NUMBA_CPU_NAME="generic").stdout.strip().endswith("|generic|")
    assert not run_python(code).stdout.strip().endswith("|generic|")


def test_a_numba_that_keeps_nothing_for_us_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then every process compiles before its clock starts, as where there is no folder."""
    monkeypatch.setattr(storage, "can_keep_machine_code", lambda: False)
    folder = storage.folder.__wrapped__()
    assert folder.path is None
    assert "numba" in folder.remark
