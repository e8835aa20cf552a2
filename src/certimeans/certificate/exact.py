"""Sums of products of floats without any rounding, and rounding in a known direction.

A float is an integer times a power of two. Sums over many points are made fast by splitting every number into *limbs*,
integers of few bits: products and sums of limbs stay below 2^53, where floats are exact, so that numpy's own sums and
products of floats can be used. What is left, a few numbers for each group of points, is put together in Python's
integers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray

Integers = NDArray[Any]  # of Python integers: numpy calls them objects
_BLOCK = 2**16


def lowest_bit(values: FloatArray) -> int:
    """Return the largest e for which all values are integers times 2^e."""
    mantissas, exponents = np.frexp(values[values != 0])
    integers = np.ldexp(mantissas, 53).astype(np.int64)
    _, lowest = np.frexp((integers & -integers).astype(np.float64))
    return int((exponents + lowest).min(initial=2000)) - 54 if integers.size else 0


def limbs(values: FloatArray, bits: int, lowest: int) -> Iterator[tuple[FloatArray, int]]:
    """Split values, integers times 2^lowest, into integers below 2^bits: pairs of these and the exponent they count in.

    Nothing is rounded: the part of a float above a power of two, and what it leaves, are floats.
    """
    _, exponents = np.frexp(np.abs(values).max(initial=0.0))
    rest = values
    for limb in reversed(range(max(1, math.ceil((int(exponents) - lowest) / bits)))):
        exponent = lowest + limb * bits
        part = np.trunc(np.ldexp(rest, -exponent))
        rest = rest - np.ldexp(part, exponent)
        yield part, exponent - lowest


def as_integers(values: FloatArray) -> tuple[Integers, int]:
    """Return integers m and an exponent e with values = m 2^e."""
    lowest = lowest_bit(values)
    total = np.zeros(values.shape, dtype=object)
    for part, exponent in limbs(values, 53, lowest):
        total += part.astype(np.int64).astype(object) << exponent
    return total, lowest


def group_sums(values: FloatArray, weights: FloatArray, groups: IntArray, size: int) -> tuple[Integers, int]:
    """Return sum w_i x_i over each of the groups 0..size-1, as integers and the exponent in which they count."""
    bits = (53 - len(values).bit_length()) // 2
    w_lowest, x_lowest = lowest_bit(weights), lowest_bit(values)
    total = np.zeros(size, dtype=object)
    parts = list(limbs(weights, bits, w_lowest))
    for x, x_exponent in limbs(values, bits, x_lowest):
        for w, w_exponent in parts:
            sums = np.bincount(groups, w * x, minlength=size)
            total += sums.astype(np.int64).astype(object) << (w_exponent + x_exponent)
    return total, w_lowest + x_lowest


def sum_of_squares(values: FloatArray, weights: FloatArray) -> tuple[int, int]:
    """Return sum w_i x_i^2 as an integer and the exponent in which it counts."""
    bits = (53 - _BLOCK.bit_length()) // 3
    w_lowest, x_lowest = lowest_bit(weights), lowest_bit(values)
    total = 0
    for first in range(0, len(values), _BLOCK):
        here = slice(first, first + _BLOCK)
        split = list(limbs(values[here], bits, x_lowest))
        parts = np.array([part for part, _ in split])
        exponents = [exponent for _, exponent in split]
        for w, w_exponent in limbs(weights[here], bits, w_lowest):
            products = ((parts * w) @ parts.T).astype(np.int64).tolist()
            for row, a in zip(products, exponents, strict=True):
                total += sum(product << (a + b + w_exponent) for product, b in zip(row, exponents, strict=True))
    return total, w_lowest + 2 * x_lowest


def quadratic_form(matrix: FloatArray, weights: FloatArray) -> Fraction:
    """Return w' K w."""
    bits = (53 - len(matrix).bit_length()) // 2
    k_lowest, w_lowest = lowest_bit(matrix), lowest_bit(weights)
    rows = np.zeros(len(matrix), dtype=object)
    parts = list(limbs(weights, bits, w_lowest))
    for entries, k_exponent in limbs(matrix, bits, k_lowest):
        for w, w_exponent in parts:
            rows += (entries @ w).astype(np.int64).astype(object) << (k_exponent + w_exponent)
    integers, exponent = as_integers(weights)
    return int((rows * integers).sum()) * power(k_lowest + w_lowest + exponent)


def sum_of_quotients(numerators: Integers, denominators: Integers) -> tuple[Integers, int]:
    """Return sum_j a_ij / b_j for every row i, as numerators and their common denominator; pairs first, to be fast."""
    while numerators.shape[-1] > 1:
        if numerators.shape[-1] % 2:
            numerators = np.append(numerators, np.zeros((*numerators.shape[:-1], 1), dtype=object), axis=-1)
            denominators = np.append(denominators, np.array([1], dtype=object))
        even, odd = denominators[::2], denominators[1::2]
        numerators = numerators[..., ::2] * odd + numerators[..., 1::2] * even
        denominators = even * odd
    if numerators.shape[-1] == 0:
        return np.zeros(numerators.shape[:-1], dtype=object), 1
    return numerators[..., 0], int(denominators[0])


def power(exponent: int) -> Fraction:
    """Return 2^exponent."""
    return Fraction(2) ** exponent


def root(value: Fraction) -> float:
    """Return the square root with a relative error of at most 2^-52; infinity if it is too large."""
    half = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    try:
        return math.ldexp(math.sqrt(value / power(2 * half)), half)
    except OverflowError:
        return math.inf


def rounded_down(value: Fraction) -> float:
    """Return the largest float that is not above ``value``; also among the subnormal ones, which are not precise."""
    try:
        nearest = value.numerator / value.denominator  # Python rounds this correctly
    except OverflowError:
        return sys.float_info.max if value > 0 else -math.inf
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def rounded_up(value: Fraction) -> float:
    """Return the smallest float that is not below ``value``; infinity if there is none."""
    return 0.0 - rounded_down(-value)  # not -0.0
