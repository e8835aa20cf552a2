"""Random numbers inside compiled loops: one 64-bit word of state that the caller owns.

NumPy's and numba's global generators stay untouched, every stream is reproducible from its seed, and two threads with
two states never meet. The generator is xorshift64* (Vigna, 2016), ample for randomised search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray
from certimeans.compilation import compiled_inside, compiled_without_allocation

RandomState: TypeAlias = NDArray[np.uint64]
"""One number, changed by every draw."""

_MULTIPLIER = np.uint64(2685821657736338717)
_SHIFT_RIGHT, _SHIFT_LEFT, _SHIFT_BACK, _UNUSED_BITS = np.uint64(12), np.uint64(25), np.uint64(27), np.uint64(11)
_UNIT = 1.0 / 9007199254740992.0  # 2**-53


def random_state(seed: int | Sequence[int]) -> RandomState:
    """Start a stream; equal seeds, a number or several (a run's seed and a node's number), give equal streams."""
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    return state | np.uint64(1)  # the generator's only fixed point is 0


@compiled_without_allocation
def random_unit(state: RandomState) -> float:
    """Draw a number from [0, 1)."""
    x = state[0]
    x ^= x >> _SHIFT_RIGHT
    x ^= x << _SHIFT_LEFT
    x ^= x >> _SHIFT_BACK
    state[0] = x
    return float((x * _MULTIPLIER) >> _UNUSED_BITS) * _UNIT


@compiled_without_allocation
def random_below(state: RandomState, bound: int) -> int:
    """Draw one of 0, 1, ..., bound - 1."""
    return int(random_unit(state) * bound)


@compiled_inside
def random_index(state: RandomState, shares: FloatArray) -> int:
    """Draw an index with probability proportional to its non-negative share; any index if all shares are 0."""
    total = 0.0
    for share in shares:
        total += share
    if total <= 0.0:
        return random_below(state, len(shares))
    left = random_unit(state) * total
    chosen = 0
    for index in range(len(shares)):
        if shares[index] > 0.0:
            chosen = index
            left -= shares[index]
            if left < 0.0:
                break
    return chosen


@compiled_inside
def shuffle(state: RandomState, values: IntArray) -> None:
    """Permute an array in place."""
    for last in range(len(values) - 1, 0, -1):
        other = random_below(state, last + 1)
        values[last], values[other] = values[other], values[last]
