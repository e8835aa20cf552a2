"""Compiled searches for violated cuts. All work on Z, the relaxation's matrix in the clustering's own scaling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.cuts.pool import Coefficients, Members
from certimeans.compilation import compiled_fast
from certimeans.randomness import RandomState, random_below


@compiled_fast
def violated_triangles(
    matrix: FloatArray, rows: IntArray, threshold: float, limit: int, max_companions: int, random: RandomState
) -> tuple[Members, FloatArray]:
    """Find the triangles Z_ij + Z_ih - Z_ii - Z_jh > threshold with the largest violations.

    Only j and h with Z_ij and Z_ih above the given threshold are looked at: otherwise a pair cut is violated too; and
    if there are more than ``max_companions``, a random sample of these. Returns at least ``limit`` triangles, if so
    many were found, as rows (i, j, h). Companions are sorted by decreasing Z_ij, so that the search can stop as soon as
    Z_ij + Z_ih cannot exceed Z_ii any more. When the buffer is full, the weaker part of it is dropped and the threshold
    rises to what is left; visiting ``rows`` in random order makes it rise early.
    """
    size = matrix.shape[0]
    capacity = 4 * limit + 16
    triangles = np.empty((capacity, 3), dtype=np.int32)
    violation = np.empty(capacity, dtype=np.float64)
    companions = np.empty(size, dtype=np.int64)
    shares = np.empty(size, dtype=np.float64)
    count = 0
    negligible = threshold
    for i in rows:
        largest = 0.0
        for j in range(size):
            if j != i:
                largest = max(largest, matrix[i, j])
        # With a smaller share, not even the largest one makes a violated triangle.
        near = _companions_above(matrix, i, max(negligible, matrix[i, i] + threshold - largest), companions)
        near = _sample(companions, near, max_companions, random)
        for p in range(near):
            shares[p] = -matrix[i, companions[p]]
        order = np.argsort(shares[:near])
        for p in range(near):
            j = companions[order[p]]
            first = matrix[i, j]
            if 2 * first <= matrix[i, i] + threshold:
                break
            for q in range(p + 1, near):
                h = companions[order[q]]
                second = matrix[i, h]
                if first + second <= matrix[i, i] + threshold:
                    break
                excess = first + second - matrix[i, i] - matrix[j, h]
                if excess > threshold:
                    triangles[count, 0] = i
                    triangles[count, 1] = j
                    triangles[count, 2] = h
                    violation[count] = excess
                    count += 1
                    if count == capacity:
                        threshold = _threshold_for(violation, threshold, limit)
                        count = _drop_below(triangles, violation, threshold)
    return triangles[:count], violation[:count]


@compiled_fast
def _companions_above(matrix: FloatArray, centre: int, threshold: float, companions: IntArray) -> int:
    """Collect the super-points that share more than ``threshold`` with the centre; return how many there are."""
    near = 0
    for j in range(matrix.shape[0]):
        if j != centre and matrix[centre, j] > threshold:
            companions[near] = j
            near += 1
    return near


@compiled_fast
def _sample(companions: IntArray, near: int, most: int, random: RandomState) -> int:
    """Move a random sample to the front, in increasing order; return its size."""
    if near <= most:
        return near
    for place in range(most):
        other = place + random_below(random, near - place)
        companions[place], companions[other] = companions[other], companions[place]
    companions[:most].sort()
    return most


@compiled_fast
def _threshold_for(values: FloatArray, low: float, keep: int) -> float:
    """Find a threshold above ``low`` that at least ``keep``, and few more, of the values exceed, by bisection."""
    high = values.max()
    for _ in range(30):
        middle = 0.5 * (low + high)
        above = 0
        for value in values:
            above += value > middle
        if above >= keep:
            low = middle
        else:
            high = middle
    return low


@compiled_fast
def _drop_below(triangles: Members, violation: FloatArray, threshold: float) -> int:
    kept = 0
    for t in range(len(violation)):
        if violation[t] > threshold:
            for member in range(3):  # assigning whole rows would cost seconds of compile time
                triangles[kept, member] = triangles[t, member]
            violation[kept] = violation[t]
            kept += 1
    return min(kept, len(violation) // 2)  # equal values: make room all the same


@compiled_fast
def violated_stars(
    matrix: FloatArray,
    centres: IntArray,
    threshold: float,
    negligible: float,
    starts_each: int,
    max_support: int,
    max_companions: int,
    random: RandomState,
) -> tuple[Members, Coefficients, FloatArray]:
    """Find violated cuts with one -1 (the centre) and at least two +1 by local search.

    For each centre, ``starts_each`` random companions start a search each: flip the entry, among the centre's
    companions, that lowers b'Zb - b'diag(Z) most, until no flip lowers it. If there are more than ``max_companions``,
    a random sample of them is used. Cuts may be found more than once.
    """
    size = matrix.shape[0]
    capacity = len(centres) * starts_each
    most = min(size, max_companions)
    members = np.full((capacity, max_support), -1, dtype=np.int32)
    coefficients = np.zeros((capacity, max_support), dtype=np.int8)
    violation = np.empty(capacity, dtype=np.float64)
    companions = np.empty(size, dtype=np.int64)
    order = np.empty(most, dtype=np.int64)
    chosen = np.zeros(most, dtype=np.bool_)
    slope = np.empty(most, dtype=np.float64)
    local = np.empty((most, most), dtype=np.float64)
    count = 0
    for centre in centres:
        near = _companions_above(matrix, centre, negligible * matrix[centre, centre], companions)
        near = _sample(companions, near, max_companions, random)
        for p in range(near):
            order[p] = p
            for q in range(near):
                local[p, q] = matrix[companions[p], companions[q]]
        for start in range(min(starts_each, near)):
            # A partial shuffle draws the starts without repetition.
            other = start + random_below(random, near - start)
            order[start], order[other] = order[other], order[start]
            support, value = _grow_star(
                matrix, local, companions, near, centre, order[start], max_support, chosen, slope
            )
            if value < -threshold and support >= 3:
                _write_star(members[count], coefficients[count], companions, near, centre, chosen)
                violation[count] = -value
                count += 1
    return members[:count], coefficients[:count], violation[:count]


@compiled_fast
def _grow_star(  # noqa: PLR0913  # work arrays are passed in, not allocated anew
    matrix: FloatArray,
    local: FloatArray,
    companions: IntArray,
    near: int,
    centre: int,
    first: int,
    max_support: int,
    chosen: NDArray[np.bool_],
    slope: FloatArray,
) -> tuple[int, float]:
    """Search from b = e_first - e_centre; return support and value of the best b, whose +1 entries are ``chosen``."""
    for p in range(near):
        chosen[p] = False
        slope[p] = local[first, p] - matrix[centre, companions[p]]  # half the change when p is added
    chosen[first] = True
    support = 2
    value = 2 * matrix[centre, centre] - 2 * matrix[centre, companions[first]]
    for _ in range(3 * max_support):
        best_change, best = -1e-9 * matrix[centre, centre], -1
        for p in range(near):
            if chosen[p]:
                change = -2 * (slope[p] - local[p, p])
            elif support < max_support:
                change = 2 * slope[p]
            else:
                continue
            if change < best_change:
                best_change, best = change, p
        if best < 0:
            break
        value += best_change
        sign = -1.0 if chosen[best] else 1.0
        support += int(sign)
        chosen[best] = not chosen[best]
        for p in range(near):
            slope[p] += sign * local[best, p]
    return support, value


@compiled_fast
def _write_star(
    members: Members,
    coefficients: Coefficients,
    companions: IntArray,
    near: int,
    centre: int,
    chosen: NDArray[np.bool_],
) -> None:
    """Write the members of a star in increasing order."""
    place = 0
    written = False
    for p in range(near):
        if not written and companions[p] > centre:
            members[place], coefficients[place] = centre, -1
            place += 1
            written = True
        if chosen[p]:
            members[place], coefficients[place] = companions[p], 1
            place += 1
    if not written:
        members[place], coefficients[place] = centre, -1


@compiled_fast
def spread_sets(matrix: FloatArray, set_size: int) -> tuple[Members, FloatArray]:
    """Grow, from each super-point, a set that shares as little as possible; return sets and sums of Z_ij inside."""
    size = matrix.shape[0]
    sets = np.empty((size, set_size), dtype=np.int32)
    inside = np.zeros(size, dtype=np.float64)
    shared = np.empty(size, dtype=np.float64)
    for first in range(size):
        newest = first
        shared[:] = 0.0
        for place in range(set_size):
            sets[first, place] = newest
            inside[first] += shared[newest]
            for j in range(size):
                shared[j] += matrix[newest, j]
            for earlier in range(place + 1):
                shared[sets[first, earlier]] = np.inf
            newest = int(np.argmin(shared))
    return sets, inside
