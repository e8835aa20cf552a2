"""Compiled searches for violated cuts. All work on Z, the relaxation's matrix in the clustering's own scaling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.cuts.pool import Coefficients, Members
from certimeans.compilation import compiled_fast_without_allocation, compiled_inside
from certimeans.randomness import RandomState, random_below, random_unit

_TAKEN = 1e300  # more than any sum of shares; not infinity, which the fast mode does not know


def violated_triangles(
    matrix: FloatArray, rows: IntArray, threshold: float, limit: int, max_companions: int, random: RandomState
) -> tuple[Members, FloatArray]:
    """Find the triangles Z_ij + Z_ih - Z_ii - Z_jh > threshold with the largest violations.

    Only j and h with Z_ij and Z_ih above the given threshold are looked at: otherwise a pair cut is violated too; and
    if there are more than ``max_companions``, a random sample of these. Returns at least ``limit`` triangles, if so
    many were found, as rows (i, j, h); visiting ``rows`` in random order finds strong ones early.
    """
    size, capacity = len(matrix), 4 * limit + 16
    triangles, violation = np.empty((capacity, 3), dtype=np.int32), np.empty(capacity)
    companions, shares = np.empty(size, dtype=np.int64), np.empty(size)
    count = _collect_triangles(
        matrix, rows, threshold, limit, max_companions, random, companions, shares, triangles, violation
    )
    return triangles[:count], violation[:count]


@compiled_fast_without_allocation
def _collect_triangles(  # noqa: PLR0913  # compiled code takes its state apart
    matrix: FloatArray,
    rows: IntArray,
    threshold: float,
    limit: int,
    max_companions: int,
    random: RandomState,
    companions: IntArray,
    shares: FloatArray,
    triangles: Members,
    violation: FloatArray,
) -> int:
    """Fill the last two arrays and return how many triangles there are; the two before are room to work in.

    Companions are sorted by decreasing Z_ij, so that the search can stop as soon as Z_ij + Z_ih cannot exceed Z_ii any
    more. When the buffer is full, the weaker part of it is dropped and the threshold rises to what is left.
    """
    size = len(matrix)
    count = 0
    negligible = threshold
    for r in range(len(rows)):
        i = rows[r]
        own = matrix[i, i]
        largest = 0.0
        for j in range(size):
            if j != i and matrix[i, j] > largest:
                largest = matrix[i, j]
        # With a smaller share, not even the largest one makes a violated triangle.
        least = own + threshold - largest
        near = _companions_above(matrix, i, max(negligible, least), companions)
        near = _sample(companions, near, max_companions, random)
        for p in range(near):
            shares[p] = matrix[i, companions[p]]
        _sort_by_share(companions, shares, near)
        for p in range(near):
            if 2 * shares[p] <= own + threshold:
                break
            for q in range(p + 1, near):
                if shares[p] + shares[q] <= own + threshold:
                    break
                excess = shares[p] + shares[q] - own - matrix[companions[p], companions[q]]
                if excess > threshold:
                    triangles[count, 0] = i
                    triangles[count, 1] = companions[p]
                    triangles[count, 2] = companions[q]
                    violation[count] = excess
                    count += 1
                    if count == len(violation):
                        threshold = _threshold_for(violation, threshold, limit)
                        count = _drop_below(triangles, violation, threshold)
    return count


@compiled_inside
def _companions_above(matrix: FloatArray, centre: int, threshold: float, companions: IntArray) -> int:
    """Collect the super-points that share more than ``threshold`` with the centre; return how many there are."""
    near = 0
    for j in range(len(matrix)):
        if j != centre and matrix[centre, j] > threshold:
            companions[near] = j
            near += 1
    return near


@compiled_inside
def _sample(companions: IntArray, near: int, most: int, random: RandomState) -> int:
    """Move a random sample to the front, in the same order; return its size (Knuth's selection sampling)."""
    if near <= most:
        return near
    kept = 0
    for p in range(near):
        if random_unit(random) * (near - p) < most - kept:
            companions[kept] = companions[p]
            kept += 1
    return kept


@compiled_inside
def _sort_by_share(companions: IntArray, shares: FloatArray, count: int) -> None:
    """Sort both arrays by decreasing share; Shell's method compiles in a tenth of the time of numba's own sort."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for p in range(gap, count):
            companion, share = companions[p], shares[p]
            q = p
            while q >= gap and shares[q - gap] < share:
                companions[q], shares[q] = companions[q - gap], shares[q - gap]
                q -= gap
            companions[q], shares[q] = companion, share
        gap //= 3


@compiled_inside
def _threshold_for(values: FloatArray, low: float, keep: int) -> float:
    """Find a threshold above ``low`` that at least ``keep``, and few more, of the values exceed, by bisection."""
    high = low
    for t in range(len(values)):
        high = max(high, values[t])
    for _ in range(30):
        middle = 0.5 * (low + high)
        above = 0
        for t in range(len(values)):
            if values[t] > middle:
                above += 1
        if above >= keep:
            low = middle
        else:
            high = middle
    return low


@compiled_inside
def _drop_below(triangles: Members, violation: FloatArray, threshold: float) -> int:
    kept = 0
    for t in range(len(violation)):
        if violation[t] > threshold:
            for member in range(3):  # assigning whole rows would cost seconds of compile time
                triangles[kept, member] = triangles[t, member]
            violation[kept] = violation[t]
            kept += 1
    half = len(violation) // 2
    return min(half, kept)  # equal values: make room all the same


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
    capacity, most = len(centres) * starts_each, min(len(matrix), max_companions)
    members = np.full((capacity, max_support), -1, dtype=np.int32)
    coefficients = np.zeros((capacity, max_support), dtype=np.int8)
    violation = np.empty(capacity)
    count = _collect_stars(
        matrix,
        centres,
        threshold,
        negligible,
        starts_each,
        max_companions,
        random,
        np.empty(len(matrix), dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.zeros(most, dtype=np.bool_),
        np.empty(most),
        np.empty((most, most)),
        members,
        coefficients,
        violation,
    )
    return members[:count], coefficients[:count], violation[:count]


@compiled_fast_without_allocation
def _collect_stars(  # noqa: PLR0913  # compiled code takes its state apart
    matrix: FloatArray,
    centres: IntArray,
    threshold: float,
    negligible: float,
    starts_each: int,
    max_companions: int,
    random: RandomState,
    companions: IntArray,
    order: IntArray,
    chosen: NDArray[np.bool_],
    slope: FloatArray,
    local: FloatArray,
    members: Members,
    coefficients: Coefficients,
    violation: FloatArray,
) -> int:
    """Fill the last three arrays and return how many stars there are; the five before are room to work in."""
    max_support = members.shape[1]
    count = 0
    for r in range(len(centres)):
        centre = centres[r]
        near = _companions_above(matrix, centre, negligible * matrix[centre, centre], companions)
        near = _sample(companions, near, max_companions, random)
        for p in range(near):
            order[p] = p
            for q in range(near):
                local[p, q] = matrix[companions[p], companions[q]]
        for start in range(min(near, starts_each)):
            # A partial shuffle draws the starts without repetition.
            other = start + random_below(random, near - start)
            order[start], order[other] = order[other], order[start]
            support, value = _grow_star(
                matrix, local, companions, near, centre, order[start], max_support, chosen, slope
            )
            if value < -threshold and support >= 3:
                _write_star(members, coefficients, count, companions, near, centre, chosen)
                violation[count] = -value
                count += 1
    return count


@compiled_inside
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


@compiled_inside
def _write_star(
    members: Members,
    coefficients: Coefficients,
    star: int,
    companions: IntArray,
    near: int,
    centre: int,
    chosen: NDArray[np.bool_],
) -> None:
    """Write the members of a star in increasing order into its row."""
    place = 0
    is_written = False
    for p in range(near):
        if not is_written and companions[p] > centre:
            members[star, place], coefficients[star, place] = centre, -1
            place += 1
            is_written = True
        if chosen[p]:
            members[star, place], coefficients[star, place] = companions[p], 1
            place += 1
    if not is_written:
        members[star, place], coefficients[star, place] = centre, -1


def spread_sets(matrix: FloatArray, set_size: int) -> tuple[Members, FloatArray]:
    """Grow, from each super-point, a set that shares as little as possible; return sets and sums of Z_ij inside."""
    size = len(matrix)
    sets, inside = np.empty((size, set_size), dtype=np.int32), np.zeros(size)
    _grow_sets(matrix, sets, inside, np.empty(size))
    return sets, inside


@compiled_fast_without_allocation
def _grow_sets(matrix: FloatArray, sets: Members, inside: FloatArray, shared: FloatArray) -> None:
    """Fill in sets and sums; ``shared`` is room to work in."""
    size, set_size = sets.shape
    for first in range(size):
        for j in range(size):
            shared[j] = 0.0
        newest = first
        for place in range(set_size):
            sets[first, place] = newest
            inside[first] += shared[newest]
            for j in range(size):
                shared[j] += matrix[newest, j]
            for earlier in range(place + 1):
                shared[sets[first, earlier]] = _TAKEN
            newest = 0
            for j in range(1, size):
                if shared[j] < shared[newest]:
                    newest = j
