r"""From any multipliers of the blocks to a rigorous lower bound.

**Theorem.** For ANY rho^g in R^s, mu >= 0 (of cuts <B_c, Y^g> <= r_c), lambda >= 0 (of links), V^g symmetric, let ::

    G^g  =  C + R^g + sum_c mu_c B_c + L^g - V^g,

where R^g_ij = (rho_i a_j + a_i rho_j) / 2, less pi_g rho_i / a_i on the diagonal, is the sum of the equations (1) of
:mod:`.model`, each times its multiplier, and L^g the matrix of the links: with T^g_ij the multiplier of the link of
block g on i and j, it has pi_g (sum_h T^h_ij - 2 T^g_ij) / (2 a_i a_j) beside the diagonal and pi_g sum_j T^g_ij /
a_i^2 on it. Every clustering has ::

    cost  >=  scatter + sum_g <G^g, Y^g> + sum_g <V^g, Y^g> - sum of lambda - sum_c mu_c r_c,

where r_c = m_g (b_0^2 - b_0) / pi_g if the point 0 of block g takes part (then B_c has -2 b_0 b_i / a_i^2 more on the
diagonal) and 0 otherwise, <G^g, Y^g> is at least the sum of the m_g lowest eigenvalues of G^g, and ::

    sum_g <V^g, Y^g>  >=  sum_i min over open g of V^g_ii a_i^2 / pi_g  +  sum_{i != j} min(V^g_ij, 0) a_i a_j / pi_g,

closed entries left out, because i is in a cluster of exactly one size. Lowering an entry of G^g only lowers the right
side, since Y^g >= 0.

**Rounding** is treated as in :mod:`certimeans.bounds.relaxation.safe_bound`: entries of G^g are lowered by bounds on
the errors of the sums that they are; V is what is stored; everything else is a handful of sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.eigenvalues import LARGEST, lowest_eigenvalue_sum
from certimeans.bounds.relaxation.blocks.model import BlockCuts, Links, SizeBlocks, without_lifting
from certimeans.bounds.relaxation.blocks.sharing import Map
from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.safe_bound import ALL_BITS, UNDERFLOW, keep_bits
from certimeans.problem.rounding import ROOM_FOR_CHECKERS, UNIT_ROUNDOFF, rounding_factor


class BlockBound(NamedTuple):
    """A proven bound and what proves it.

    Attributes
    ----------
    unsafe_lower_bound
        The bound before the allowance for rounding: for information only.
    cuts
        With the multipliers mu and lambda.
    row_multipliers
        rho: a row for each block.
    slack
        V: for each block a matrix of which the upper triangle counts.
    """

    safe_lower_bound: float
    unsafe_lower_bound: float
    cuts: BlockCuts
    row_multipliers: FloatArray
    slack: NDArray[np.float32]


def no_bound(blocks: SizeBlocks) -> BlockBound:
    """Return what is proven by nothing."""
    nothing = np.empty((blocks.n_blocks, 0, 0), dtype=np.float32)
    return BlockBound(-np.inf, -np.inf, BlockCuts.none(blocks.n_blocks), np.empty((blocks.n_blocks, 0)), nothing)


def block_bound(
    blocks: SizeBlocks,
    cuts: BlockCuts,
    row_multipliers: FloatArray,
    wish: Callable[[int, FloatArray], FloatArray],
    slack_bits: int = ALL_BITS,
    share: Map = map,
    *,
    may_estimate: bool = False,
) -> BlockBound:
    """Prove a lower bound on the cost of every clustering.

    Parameters
    ----------
    cuts
        With multipliers; negative ones count as zero.
    row_multipliers
        rho; any numbers.
    wish
        From a block and its sum_c mu_c B_c + L to the wish for its V, before it is rounded; only upper triangles are
        read. Any matrices are allowed.
    slack_bits
        Bits of V's mantissas that are used.
    share
        Calls a function for each block, in several threads if there are.
    may_estimate
        Whether a larger allowance for rounding is worth the time.
    """
    given = [cut.multipliers for cut in cuts.cuts]
    if not all(np.isfinite(values).all() for values in (*given, cuts.links.multipliers, row_multipliers)):
        return no_bound(blocks)
    cuts = BlockCuts(
        tuple(cut.with_multipliers(np.maximum(cut.multipliers, 0.0)) for cut in cuts.cuts),
        Links(cuts.links.places, np.maximum(cuts.links.multipliers, 0.0)),
    )
    table = cuts.links.table(blocks.n_blocks, blocks.size)
    total = table.sum(axis=0)
    slack = np.zeros((blocks.n_blocks, blocks.size, blocks.size), dtype=np.float32)

    def of_block(g: int) -> tuple[float, float]:
        """Round V of a block; return the sum of the lowest eigenvalues of its G, and a bound on the error of that."""
        with np.errstate(over="ignore", invalid="ignore"):
            summed, error = sums_of_block(blocks, g, cuts, (table[g], total))
            slack[g] = np.triu(wish(g, summed))
            keep_bits(slack[g], slack_bits)
            matrix = _lowered_matrix(blocks, g, row_multipliers[g], summed, error, slack[g])
            is_tame = bool(np.abs(matrix).max() < LARGEST)  # not so if it is not a number
        if not is_tame:
            return -np.inf, 0.0
        return lowest_eigenvalue_sum(matrix, blocks.counts[g], 0.0, may_estimate=may_estimate)

    values = list(share(of_block, range(blocks.n_blocks)))
    with np.errstate(over="ignore", invalid="ignore"):
        of_slack, error = _least_of_slack(blocks, slack)
        of_links = math.fsum(cuts.links.multipliers) + _constant_of_lifting(blocks, cuts)
        constant = blocks.scatter - of_links + of_slack
        error += 8 * UNIT_ROUNDOFF * (abs(blocks.scatter) + of_links + abs(of_slack)) + UNDERFLOW
        for value, value_error in values:
            constant += value
            error += value_error + 4 * UNIT_ROUNDOFF * (abs(constant) + abs(value))
    if not abs(constant) < LARGEST:
        return no_bound(blocks)
    error += blocks.relaxation.objective_error
    return BlockBound(constant - ROOM_FOR_CHECKERS * error, constant, cuts, row_multipliers, slack)


def _least_of_slack(blocks: SizeBlocks, slack: NDArray[np.float32]) -> tuple[float, float]:
    """Return what sum_g <V^g, Y^g> is at least, and a bound on the error of that number."""
    shares = blocks.roots**2
    own = slack.diagonal(axis1=1, axis2=2).astype(np.float64) * shares / blocks.sizes[:, None]
    own = np.where(blocks.is_open, own, np.inf).min(axis=0)
    own = np.where(np.isfinite(own), own, 0.0)  # without an open size there is no clustering, and anything is true
    value, magnitude = math.fsum(own), math.fsum(np.abs(own))
    below = np.minimum(np.triu(slack, 1), 0.0) * np.where(blocks.closed, 0.0, blocks.most)
    rest = 2.0 * float(below.sum())
    return value + rest, rounding_factor(3 * blocks.size + 64) * (magnitude + abs(rest)) + UNDERFLOW


def sums_of_block(
    blocks: SizeBlocks, g: int, cuts: BlockCuts, links: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return sum_c mu_c B_c + L^g, and a bound on the error of each entry.

    Parameters
    ----------
    links
        The multipliers of links of this block as a matrix, and those of all blocks together.
    """
    plain, lifted = without_lifting(cuts.cuts[g], blocks.size)
    rows = CutRows.build(plain, blocks.block(g))
    total, magnitude, terms = rows.weighted_sum(plain.multipliers * rows.norms)
    error = 2 * rounding_factor(terms + 48) * magnitude
    of_lifting, error_of_lifting = _diagonal_of_lifting(blocks, plain, lifted)
    factor = 0.5 * blocks.sizes[g] / np.outer(blocks.roots, blocks.roots)
    of_links, magnitude = factor * (links[1] - 2.0 * links[0]), factor * (links[1] + 2.0 * links[0])
    diagonal = np.diag_indices(blocks.size)
    of_links[diagonal] = magnitude[diagonal] = blocks.sizes[g] * links[0].sum(axis=1) / blocks.roots**2
    total[diagonal] += of_lifting
    error[diagonal] += error_of_lifting
    # Sums of multipliers of links: of all blocks in an entry, of a whole row on the diagonal.
    error += rounding_factor(blocks.size + blocks.n_blocks + len(cuts.links) // blocks.size + 48) * magnitude
    error += 8 * UNIT_ROUNDOFF * (np.abs(total) + magnitude)
    return total + of_links, error


def _diagonal_of_lifting(blocks: SizeBlocks, plain: Cuts, lifted: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return what cuts with the point 0 have on the diagonal beside the rest, and a bound on the error of that."""
    used = plain.members >= 0
    values = (-2.0 * plain.multipliers * lifted)[:, None] * plain.coefficients
    places = plain.members[used]
    shares = blocks.roots**2
    total = np.bincount(places, values[used], blocks.size) / shares
    magnitude = np.bincount(places, np.abs(values[used]), blocks.size) / shares
    return total, rounding_factor(len(plain) + 48) * magnitude


def _constant_of_lifting(blocks: SizeBlocks, cuts: BlockCuts) -> float:
    """Return the sum of mu_c m_g (b_0^2 - b_0) / pi_g, with an error of a few roundings: no term is negative."""
    terms = []
    for part, count, share in zip(cuts.cuts, blocks.counts, blocks.sizes, strict=True):
        lifted = without_lifting(part, blocks.size)[1]
        terms.append(math.fsum(part.multipliers * (lifted**2 - lifted)) * count / float(share))
    return math.fsum(terms)


def _lowered_matrix(
    blocks: SizeBlocks,
    g: int,
    rows: FloatArray,
    summed: FloatArray,
    error: FloatArray,
    slack: NDArray[np.float32],
) -> FloatArray:
    """Return G^g, less a bound on the error of each entry."""
    roots, objective = blocks.roots, blocks.relaxation.objective
    outer = np.outer(rows, roots)
    of_rows = 0.5 * (outer + outer.T)
    magnitude = 0.5 * (np.abs(outer) + np.abs(outer.T))
    diagonal = np.diag_indices(blocks.size)
    from_rows = blocks.sizes[g] * rows / roots
    of_rows[diagonal] -= from_rows
    magnitude[diagonal] += np.abs(from_rows)
    matrix = objective + summed + of_rows
    error = error + rounding_factor(48) * magnitude
    error += 8 * UNIT_ROUNDOFF * (np.abs(objective) + np.abs(summed) + np.abs(of_rows))
    matrix -= slack
    matrix -= np.triu(slack, 1).T
    matrix -= error + 4 * UNIT_ROUNDOFF * np.abs(matrix) + UNDERFLOW
    lowered: FloatArray = np.minimum(matrix, matrix.T)
    return lowered
