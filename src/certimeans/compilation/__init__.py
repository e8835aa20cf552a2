"""Compiled loops: how they are compiled, where their machine code is kept, and what the first run does.

``decorators`` compile functions alike; ``internals`` holds all that relies on private parts of numba; ``sources``
tells one state of the sources from another; ``folders`` chooses where machine code is kept; ``storage`` keeps it
there; ``preparation`` compiles before a clock starts.
"""

from certimeans.compilation.decorators import (
    compiled,
    compiled_fast,
    compiled_fast_without_allocation,
    compiled_inside,
    compiled_without_allocation,
    inlined,
)

__all__ = [
    "compiled",
    "compiled_fast",
    "compiled_fast_without_allocation",
    "compiled_inside",
    "compiled_without_allocation",
    "inlined",
]
