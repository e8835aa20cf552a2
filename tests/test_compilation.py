from __future__ import annotations

from typing import Any, cast

from certimeans.compilation import compiled


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


def test_a_function_called_with_constants_is_compiled_once() -> None:
    """Not once for the number 0, once for -1 and once for any integer, as numba does by itself."""
    assert _calls_with_constants(5) == 2
    cast("Any", _calls_with_constants).recompile()  # else stored code may have been loaded
    assert len(cast("Any", _double).signatures) == 1
