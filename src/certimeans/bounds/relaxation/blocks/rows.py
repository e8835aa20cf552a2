"""All inequalities of the blocks as rows of the solver, in its scaled variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import BoolArray, FloatArray, IntArray
from certimeans.bounds.relaxation.blocks.model import BlockCuts, Links, SizeBlocks, without_lifting
from certimeans.bounds.relaxation.cuts.pool import Coefficients, Cuts, Members
from certimeans.compilation import compiled_without_allocation


@dataclass(frozen=True, eq=False)
class Scales:
    """How the solver's variables are measured; they stand in the upper triangle of one matrix for each block.

    Attributes
    ----------
    pairs
        The solver's variable of i and j is X^g_ij times this.
    own
        Its variable on the diagonal is x^g_i times this.
    """

    pairs: FloatArray
    own: FloatArray


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Rows of unit norm: sum_g x^g_i <= 1 for all i, >= 1 for all i, then the cuts of each block, then the links.

    Attributes
    ----------
    start, position, coefficient, right_sides
        Row c has ``coefficient[q]`` at the flat index ``position[q]`` for q in ``start[c]:start[c + 1]``.
    norms
        What each row was divided by, in terms of x and X.
    parts
        Where sums, the cuts of each block, and links begin; and their number.
    """

    start: IntArray
    position: NDArray[np.int32]
    coefficient: FloatArray
    norms: FloatArray
    right_sides: FloatArray
    parts: tuple[int, ...]

    @classmethod
    def build(cls, blocks: SizeBlocks, scales: Scales, cuts: BlockCuts) -> BlockRows:
        """State everything in the solver's variables."""
        parts = [_rows_of_sums(blocks, scales)]
        parts += [_rows_of_cuts(blocks, scales, g, own) for g, own in enumerate(cuts.cuts)]
        parts.append(_rows_of_links(blocks, scales, cuts.links))
        starts, before = [np.zeros(1, dtype=np.int64)], 0
        for start, *_ in parts:
            starts.append(start[1:] + before)
            before += int(start[-1])
        start, position, coefficient, sides = (
            np.concatenate(starts),
            *(np.concatenate([part[field] for part in parts]) for field in (1, 2, 3)),
        )
        lengths = np.diff(start)
        row = np.repeat(np.arange(len(lengths)), lengths)
        norms = np.sqrt(np.bincount(row, coefficient**2, minlength=len(lengths)))
        norms[~(norms > 0)] = 1.0
        ends = (0, *np.cumsum([len(part[0]) - 1 for part in parts]).tolist())
        return cls(start, position.astype(np.int32), coefficient / norms[row], norms, sides / norms, ends)


_Part = tuple[IntArray, IntArray, FloatArray, FloatArray]


def _rows_of_sums(blocks: SizeBlocks, scales: Scales) -> _Part:
    """State that every cluster has exactly one of the sizes."""
    count, size = blocks.n_blocks, blocks.size
    position = (np.arange(count) * size * size + np.arange(size)[:, None] * (size + 1)).ravel()
    coefficient = (1.0 / scales.own.T).ravel()
    start = np.arange(2 * size + 1, dtype=np.int64) * count
    sides = np.concatenate([np.ones(size), -np.ones(size)])
    return start, np.tile(position, 2), np.concatenate([coefficient, -coefficient]), sides


def _rows_of_cuts(blocks: SizeBlocks, scales: Scales, g: int, cuts: Cuts) -> _Part:
    supports = (cuts.members >= 0).sum(axis=1)
    capacity = int((supports * (supports + 1) // 2).sum())
    start = np.zeros(len(cuts) + 1, dtype=np.int64)
    position, coefficient = np.empty(capacity, dtype=np.int64), np.empty(capacity)
    plain, lifted = without_lifting(cuts, blocks.size)
    filled = _fill_rows(
        plain.members,
        plain.coefficients,
        lifted,
        scales.pairs[g],
        scales.own[g],
        blocks.closed[g],
        start,
        position,
        coefficient,
    )
    size, sides = blocks.size, blocks.counts[g] * (lifted**2 - lifted).astype(np.float64)
    return start, position[:filled] + g * size * size, coefficient[:filled], sides


def _rows_of_links(blocks: SizeBlocks, scales: Scales, links: Links) -> _Part:
    size, count = blocks.size, blocks.n_blocks
    g, i, j = links.places.astype(np.int64).T
    flat = i * size + j
    others = np.arange(count)
    open_pairs = ~blocks.closed[:, i, j].T
    signs = np.where(others == g[:, None], -1.0, 1.0)
    position = np.column_stack([(g * size + i) * size + i, (g * size + j) * size + j, others * size**2 + flat[:, None]])
    own = scales.own
    coefficient = np.column_stack([1.0 / own[g, i], 1.0 / own[g, j], signs / scales.pairs[:, i, j].T])
    used = np.column_stack([np.ones((len(g), 2), dtype=np.bool_), open_pairs])
    start = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
    return start, position[used], coefficient[used], np.ones(len(g))


@compiled_without_allocation
def _fill_rows(  # noqa: PLR0913  # compiled code takes its state apart
    members: Members,
    coefficients: Coefficients,
    lifted: IntArray,
    pairs: FloatArray,
    own: FloatArray,
    closed: BoolArray,
    start: IntArray,
    position: IntArray,
    coefficient: FloatArray,
) -> int:
    """Fill in the last three arrays, and return their length.

    A row is sum_i (b_i - b_i^2 - 2 b_0 b_i) x_i - 2 sum_{i < j} b_i b_j X_ij, with ``lifted`` the b_0.
    """
    count, width = members.shape
    size = len(own)
    filled = 0
    for c in range(count):
        for a in range(width):
            i = members[c, a]
            if i < 0:
                break
            entry = float(coefficients[c, a])
            own_entry = entry - entry * entry - 2.0 * lifted[c] * entry
            if own_entry != 0.0:
                position[filled] = i * size + i
                coefficient[filled] = own_entry / own[i]
                filled += 1
            for b in range(a + 1, width):
                j = members[c, b]
                if j < 0:
                    break
                if not closed[i, j]:
                    position[filled] = i * size + j
                    coefficient[filled] = -2.0 * entry * coefficients[c, b] / pairs[i, j]
                    filled += 1
        start[c + 1] = filled
    return filled
