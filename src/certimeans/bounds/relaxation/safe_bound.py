r"""From any multipliers to a rigorous lower bound.

**Theorem.** Let B_c, with right-hand sides r_c, be cuts: <B_c, Y> <= r_c for the matrix Y of every clustering. For ANY
mu >= 0 and ANY symmetric G with G_ij <= (C + sum_c mu_c B_c)_ij wherever i and j can link, every clustering has ::

    cost  =  scatter + <C, Y>  >=  scatter + <G, Y> - mu'r,                                                       (1)

because Y_ij >= 0, with equality on cannot-links, where G is free. Moreover Y = u u' + R with R u = 0, 0 <= R <= I and
trace R = k - 1. So <G, Y> = u'Gu + <G, R>, and the last term is at least the sum of the k - 1 lowest eigenvalues of G
on the orthogonal complement of u, which :mod:`certimeans.bounds.eigenvalues` bounds rigorously.

**Limits on sizes** (:mod:`~certimeans.bounds.relaxation.sizes`) are further inequalities <B, Y> <= r with multipliers,
or, if amounts are proportional to weights, upper limits of entries: V may then have any sign, and what <V, Y> is at
least is added to (1). With decided sizes they are both.

**Rounding.** Nothing above needs accuracy of mu or G; the floats are taken as they are. What must not be trusted to
floating point is treated so:

- G = C + sum mu_c B_c - V, less an error bound for that sum, where V is what the solver would like, rounded to single
  precision (as certificates store it) and then clipped to V_ij >= 0 where pairs can link; so the condition of (1)
  holds exactly.
- G is compressed to the complement of the float of u, which is orthogonal to u up to the latter's error.
- What remains, a handful of sums, is covered by subtracting a small multiple of the roundoff times their terms.
- Underflow: the largest weight is near 1 in working units and no other is below 2^-1000 times that, so coefficients of
  cuts are finite before they are scaled to rows of norm 1. Products of a multiplier with a coefficient that underflow
  are off by at most 2^-1075 each; the absolute term ``UNDERFLOW`` in every entry of G, and in the constant, covers
  10^50 of them.

If anything is not finite, or the eigenvalues cannot be bounded, the bound is minus infinity.

The allowance for rounding is taken several times, so that a checker with an analysis of its own, which may be coarser,
can still confirm the bound from the same multipliers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray
from certimeans.bounds.eigenvalues import LARGEST, lowest_eigenvalue_sum
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.problem.rounding import ROOM_FOR_CHECKERS, UNIT_ROUNDOFF, rounding_factor

UNDERFLOW = 1e-270  # above all that can underflow on the way to one number
_ROWS = 64  # of a large matrix are worked on at a time: they stay in the cache


class SafeBound(NamedTuple):
    """A proven bound and what proves it.

    Attributes
    ----------
    unsafe_lower_bound
        The bound before the allowance for rounding: for information only.
    multipliers
        Of the cuts, as their inequalities are written in :mod:`~certimeans.bounds.relaxation.cuts.pool`; none negative.
    slack
        V, of which the upper triangle counts.
    size_multipliers
        Of the inequalities of :class:`~certimeans.bounds.relaxation.sizes.SizeRows`, if there are any; none negative.
    """

    safe_lower_bound: float
    unsafe_lower_bound: float
    multipliers: FloatArray
    slack: NDArray[np.float32]
    size_multipliers: FloatArray | None = None


ALL_BITS = 23
"""Bits of the mantissa of a number in single precision."""

NO_BOUND = SafeBound(-np.inf, -np.inf, np.empty(0), np.empty((0, 0), dtype=np.float32))


def safe_lower_bound(
    relaxation: Relaxation,
    rows: CutRows,
    multipliers: FloatArray,
    dual: FloatArray,
    size_multipliers: FloatArray | None = None,
    slack_bits: int = ALL_BITS,
    *,
    may_estimate: bool = False,
) -> SafeBound:
    """Prove a lower bound on the cost of every clustering.

    Parameters
    ----------
    relaxation
        The problem; in units of its scatter.
    rows
        The cuts.
    multipliers
        One number for each row; negative ones count as zero.
    dual
        The solver's wish for G - C; only its upper triangle is read. Any matrix is allowed.
    size_multipliers
        Two numbers for each super-point if limits on sizes are rows; negative ones count as zero.
    slack_bits
        Bits of V's mantissas that are used: with fewer of them certificates are smaller, and bounds hardly weaker.
    may_estimate
        Whether a larger allowance for rounding is worth the time; see
        :func:`~certimeans.bounds.eigenvalues.lowest_eigenvalue_sum`.
    """
    if not (np.isfinite(multipliers).all() and np.isfinite(dual).all()):
        return NO_BOUND
    if relaxation.size_rows is not None:
        given = np.zeros((relaxation.size, 2)) if size_multipliers is None else size_multipliers
        if not np.isfinite(given).all():
            return NO_BOUND
        size_multipliers = np.maximum(given, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        of_cuts = np.maximum(multipliers, 0.0) / rows.norms
        multipliers = of_cuts * rows.norms
        matrix, slack = _admissible_matrix(relaxation, rows, multipliers, dual, size_multipliers, slack_bits)
        right_side = multipliers * rows.right_sides
        constant = relaxation.scatter - float(right_side.sum())
        sizes = abs(relaxation.scatter) + float(np.abs(right_side).sum())
        constant_error = rounding_factor(len(multipliers) + 16) * sizes + UNDERFLOW
        if relaxation.size_rows is not None and size_multipliers is not None:
            of_limits, magnitude = relaxation.size_rows.right_side(size_multipliers)
            constant -= of_limits
            constant_error += rounding_factor(16) * (magnitude + abs(constant)) + UNDERFLOW
        if relaxation.box is not None:
            least, least_error = relaxation.box.least(slack, relaxation.forbidden)
            constant += least
            constant_error += least_error + 4 * UNIT_ROUNDOFF * (abs(constant) + abs(least))
    if not (np.abs(matrix).max() < LARGEST and abs(constant) < LARGEST):
        return NO_BOUND
    spectral, spectral_error = _spectral_minimum(matrix, relaxation, may_estimate=may_estimate)
    unsafe = constant + spectral
    # Each error term was itself computed with rounding; the factor covers that amply.
    error = constant_error + spectral_error + relaxation.objective_error + 4 * UNIT_ROUNDOFF * abs(unsafe)
    return SafeBound(unsafe - ROOM_FOR_CHECKERS * error, unsafe, of_cuts, slack, size_multipliers)


def keep_bits(slack: NDArray[np.float32], bits: int) -> None:
    """Set all but so many bits of the mantissas to 0, in place."""
    if bits < ALL_BITS:
        slack.view(np.uint32)[...] &= np.uint32((0xFFFFFFFF << (ALL_BITS - bits)) & 0xFFFFFFFF)


def _admissible_matrix(
    relaxation: Relaxation,
    rows: CutRows,
    multipliers: FloatArray,
    dual: FloatArray,
    size_multipliers: FloatArray | None,
    slack_bits: int,
) -> tuple[FloatArray, NDArray[np.float32]]:
    """Build G as in (1), near the wish ``C + dual`` but provably below C + sum mu_c B_c - V where pairs can link."""
    total, total_of_sizes, terms = rows.weighted_sum(multipliers)
    if relaxation.size_rows is not None and size_multipliers is not None:
        of_limits, absolute = relaxation.size_rows.weighted_sum(size_multipliers)
        total += of_limits
        total_of_sizes += absolute
    error = 2 * (rounding_factor(terms + 16) + 2 * relaxation.weight_error)
    matrix, slack = total, np.zeros(total.shape, dtype=np.float32)
    for first in range(0, len(total), _ROWS):
        upper = np.s_[first : first + _ROWS, first:]
        objective, summed = relaxation.objective[upper], total[upper]
        taken = np.triu(summed - dual[upper]).astype(np.float32)
        keep_bits(taken, slack_bits)
        if relaxation.box is None:
            np.maximum(taken, 0.0, out=taken, where=~relaxation.forbidden[upper])
        limit = objective + summed
        limit -= error * total_of_sizes[upper]
        limit -= 4 * UNIT_ROUNDOFF * (np.abs(objective) + np.abs(summed))
        limit -= taken
        limit -= 4 * UNIT_ROUNDOFF * np.abs(limit) + UNDERFLOW
        slack[upper] = taken
        _write_symmetric(limit, first, matrix)
    return matrix, slack


def _write_symmetric(upper: FloatArray, first: int, matrix: FloatArray) -> None:
    """Write rows of an upper triangle, the first of which is number ``first``, and the columns that mirror them."""
    rows, last = len(upper), first + len(upper)
    square = np.triu(upper[:, :rows])
    matrix[first:last, first:last] = square + np.triu(square, 1).T
    matrix[first:last, last:] = upper[:, rows:]
    matrix[last:, first:last] = upper[:, rows:].T


def _spectral_minimum(matrix: FloatArray, relaxation: Relaxation, *, may_estimate: bool) -> tuple[float, float]:
    """Return u'Gu plus the sum of the k - 1 lowest eigenvalues of G on u's complement, and a bound on its error."""
    size, k, direction = relaxation.size, relaxation.n_clusters, relaxation.direction
    direction_error = 4 * UNIT_ROUNDOFF + relaxation.weight_error
    image = matrix @ direction
    value = float(direction @ image)
    norm = float(np.linalg.norm(matrix))
    value_error = (2 * direction_error + rounding_factor(2 * size + 4)) * norm
    if k == 1:
        return value, value_error
    # K = (I - uu') G (I - uu'), with the direction u itself moved out of the way to the top of the spectrum.
    half = image - 0.5 * (value + norm) * direction
    compressed = matrix - np.outer(direction, half) - np.outer(half, direction)
    forming_error = 4 * UNIT_ROUNDOFF * norm + (8 * UNIT_ROUNDOFF + 2 * direction_error) * float(np.linalg.norm(half))
    spectral, error = lowest_eigenvalue_sum(compressed, k - 1, forming_error, may_estimate=may_estimate)
    return value + spectral, value_error + error
