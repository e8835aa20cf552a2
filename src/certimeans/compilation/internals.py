"""All that relies on private parts of numba; where a part is missing, functions compile in numba's plain way.

``tests/compilation/test_numba.py`` notices when a newer numba changes one of them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numba
from numba.core import config

try:
    from numba.core.cpu import CPUTargetOptions
except ImportError:
    CPUTargetOptions = None
try:
    from numba.core.caching import CompileResultCacheImpl, FunctionCache
except ImportError:
    CompileResultCacheImpl = FunctionCache = None
try:
    from numba.core.runtime import rtsys
except ImportError:
    rtsys = None

# Without numba's run-time (`_nrt`) references to arrays are not counted. Counting is most of the time of a short
# function that takes tuples of arrays: the local search is four times as fast without. Such functions must not create
# arrays, and the compiler refuses those that do.
NO_ALLOCATION: dict[str, Any] = {"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}


def ignore_literals(dispatcher: Any) -> None:
    """Compile a function for integers, not also for the number 0.

    Where compiled code calls f(0), f(-1) and f(n), numba compiles f three times: for the type "the number 0" and so on,
    and while it infers types also for constants that a variable only begins with. Once is enough, for integers.
    """
    plain = getattr(dispatcher, "get_call_template", None)
    unliteral = getattr(numba.types, "unliteral", None)
    if plain is None or unliteral is None:
        return

    def get_call_template(arguments: Any, named: Any) -> Any:
        return plain([unliteral(a) for a in arguments], {name: unliteral(a) for name, a in named.items()})

    dispatcher.get_call_template = get_call_template


def refuse_calls_from_python(dispatcher: Any) -> None:
    """Let only compiled code call a function that has no entry for Python: such a call would end the process."""
    if not hasattr(dispatcher, "_insert"):
        return
    dispatcher._insert = lambda *_: None  # what Python's calls look for

    def refuse(*_: Any, **__: Any) -> Any:
        raise TypeError(f"{dispatcher.py_func.__qualname__} is for compiled code only")

    dispatcher._compile_for_args = refuse


def keep_machine_code(dispatcher: Any, store: Any) -> None:
    """Let a function keep its machine code in our store, not where numba would.

    numba's own choice (``cache=True``) fails where it can write neither beside the sources nor in the home folder, and
    cannot read a folder that it cannot write.
    """
    if hasattr(dispatcher, "_cache"):
        dispatcher._cache = store


def can_keep_machine_code() -> bool:
    """Whether this numba lets us choose where it keeps machine code; this touches no file."""
    function = numba.njit(lambda: 0)
    try:
        numba_cache(function.py_func, Path("nowhere"), "")
    except Exception:  # noqa: BLE001  # whatever the private parts that changed
        return False
    return hasattr(function, "_cache")


def numba_cache(function: Any, folder: Path, stamp: str, *, is_ours: bool = True) -> Any:
    """Return numba's own cache of a function's machine code, in a folder of our choice.

    Parameters
    ----------
    stamp
        What the sources are; machine code with another stamp is not used.
    is_ours
        Whether it is one of this package's functions, of which the tests know what they need.
    """

    class Place:
        """What numba calls a locator."""

        _py_file = function.__code__.co_filename  # named in numba's warnings

        @classmethod
        def from_function(cls, *_: Any) -> Place:
            return cls()

        def ensure_cache_path(self) -> None:
            folder.mkdir(parents=True, exist_ok=True)

        def get_cache_path(self) -> str:
            return str(folder)

        def get_source_stamp(self) -> str:
            return stamp

        def get_disambiguator(self) -> str:
            return str(function.__code__.co_firstlineno)

    implementation = type("Implementation", (CompileResultCacheImpl,), {"_locator_classes": [Place]})
    own = {"_impl_class": implementation} | ({"load_overload": _load_only} if is_ours and _can_load_only() else {})
    return type("Cache", (FunctionCache,), own)(function)


def _load_only(cache: Any, signature: Any, target_context: Any) -> Any:
    """Load machine code as numba does, but without all that only its compiler needs: that takes a fifth of a second.

    Machine code calls functions of numba's run-time, so these must be known before it is linked. When something is to
    be compiled after all, the compiler itself loads what it needs.
    """
    rtsys.initialize(target_context)
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(signature, target_context)


def _can_load_only() -> bool:
    private = ("_load_overload", "_guard_against_spurious_io_errors")
    return hasattr(rtsys, "initialize") and all(hasattr(FunctionCache, name) for name in private)


def is_compiling() -> bool:
    """Whether numba compiles at all; NUMBA_DISABLE_JIT switches it off."""
    return not config.DISABLE_JIT


def describe_machine() -> str:
    """Return all that machine code depends on besides its source: numba's version, Python's, and the processor."""
    from llvmlite import binding  # noqa: PLC0415

    name = binding.get_host_cpu_name() if config.CPU_NAME is None else config.CPU_NAME
    features = binding.get_host_cpu_features().flatten() if config.CPU_FEATURES is None else config.CPU_FEATURES
    return "|".join((numba.__version__, str(sys.implementation.cache_tag), sys.platform, name, features))
