"""Compiled search for violated cuts of a block in which its point 0 takes part: (4) of :mod:`.model`."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.cuts.pool import MAX_SUPPORT, Coefficients, Cuts, Members
from certimeans.compilation import compiled_fast_without_allocation, compiled_inside
from certimeans.randomness import RandomState, random_below, random_state

_SHIFTS = (0, 1, 2, 3)  # -b_0
_STEPS = 40  # not for tuning: a search ends by itself after a dozen
_DOUBTFUL = 0.02  # not for tuning: no entry is worth much where x is nearer to 0 or 1


def violated_shifted_cuts(shared: FloatArray, count: int, threshold: float, limit: int, seed: int) -> Cuts:
    """Find the most violated cuts with entries -1 and 1, by local search from random pairs; ``limit`` at most.

    Parameters
    ----------
    shared
        X, with x on the diagonal.
    count
        How many clusters the block has.
    """
    size = len(shared)
    own = shared.diagonal()
    doubtful = np.flatnonzero((own > _DOUBTFUL) & (own < 1.0 - _DOUBTFUL))
    found = Cuts.none()
    if len(doubtful) < 2:
        return found
    local = np.ascontiguousarray(shared[np.ix_(doubtful, doubtful)])
    violations = []
    for shift in _SHIFTS:
        members = np.full((limit, MAX_SUPPORT), -1, dtype=np.int32)
        coefficients = np.zeros((limit, MAX_SUPPORT), dtype=np.int8)
        violation = np.empty(limit)
        many = _search(
            local,
            count,
            shift,
            threshold,
            random_state((seed, shift)),
            np.empty(len(local), dtype=np.int64),
            np.empty(len(local)),
            members,
            coefficients,
            violation,
        )
        places = np.where(members[:many] >= 0, doubtful[members[:many]], -1)
        if shift:
            places[:, -1], coefficients[:many, -1] = size, -shift
        found = found.followed_by(Cuts.new(places, coefficients[:many]))
        violations.append(violation[:many])
    excess = np.concatenate(violations)
    _, once = np.unique(found.keys(), return_index=True)
    best = once[np.argsort(-excess[once], kind="stable")[:limit]]
    return found.select(np.sort(best))


@compiled_fast_without_allocation
def _search(  # noqa: PLR0913  # compiled code takes its state apart
    shared: FloatArray,
    count: int,
    shift: int,
    threshold: float,
    random: RandomState,
    entries: IntArray,
    slope: FloatArray,
    members: Members,
    coefficients: Coefficients,
    violation: FloatArray,
) -> int:
    """Fill the last three arrays and return how many cuts there are; the two before are room to work in."""
    size = len(shared)
    most = members.shape[1] - 1  # the last place is that of the point 0
    found = 0
    for _ in range(len(violation)):
        first, second = random_below(random, size), random_below(random, size)
        if first == second:
            continue
        value = count * shift * (shift + 1) + _improve(shared, shift, first, second, most, entries, slope)
        if value < -threshold:
            place = 0
            for p in range(size):
                if entries[p] != 0:
                    members[found, place], coefficients[found, place] = p, entries[p]
                    place += 1
            violation[found] = -value
            found += 1
    return found


@compiled_inside
def _improve(
    shared: FloatArray, shift: int, first: int, second: int, most: int, entries: IntArray, slope: FloatArray
) -> float:
    """Change one entry of b after the other, from two that are 1, while that lowers (4); return it but for a constant.

    Fill in the last two arrays with b and Xb; at most ``most`` entries are not 0.
    """
    size = len(shared)
    for p in range(size):
        entries[p] = 0
        slope[p] = 0.0
    value, support = 0.0, 0
    for step in range(_STEPS):
        best_change, best, best_move = -1e-9, -1, 1
        if step < 2:  # the two to begin with
            best = first if step == 0 else second
            best_change = 2 * slope[best] - 2 * shift * shared[best, best]
        else:
            for p in range(size):
                if entries[p] == 0 and support >= most:
                    continue
                half = slope[p] - shift * shared[p, p]
                up, down = 2 * half, 2 * (shared[p, p] - half)
                if entries[p] < 1 and up < best_change:
                    best_change, best, best_move = up, p, 1
                if entries[p] > -1 and down < best_change:
                    best_change, best, best_move = down, p, -1
        if best < 0:
            break
        support += int(entries[best] == 0)
        entries[best] += best_move
        support -= int(entries[best] == 0)
        value += best_change
        for p in range(size):
            slope[p] += best_move * shared[best, p]
    return value
