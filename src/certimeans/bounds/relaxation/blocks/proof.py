"""Between the multipliers of the blocks and the step that stores them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from certimeans._typing import FloatArray
from certimeans.bounds.relaxation.blocks.model import BlockCuts, Links, SizeBlocks, has_blocks
from certimeans.bounds.relaxation.blocks.safe_bound import BlockBound, block_bound
from certimeans.bounds.relaxation.proof import arrays_of_cuts, cuts_of_arrays
from certimeans.presolve.contract import SuperPoints
from certimeans.proof.steps import BlockStep


def pack(points: SuperPoints, bound: BlockBound) -> BlockStep:
    """Keep what a bound was proven from, in the precision in which certificates store it."""
    cuts = bound.cuts.purged()
    counts = [len(part) for part in cuts.cuts]
    joined = cuts.cuts[0]
    for part in cuts.cuts[1:]:
        joined = joined.followed_by(part)
    first, second = np.triu_indices(points.size)
    return BlockStep(
        group_of=points.group_of,
        block_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        **arrays_of_cuts(joined),
        links=cuts.links.places,
        link_multiplier=cuts.links.multipliers,
        row_multiplier=bound.row_multipliers,
        slack=np.ascontiguousarray(bound.slack[:, first, second]),
        unit=points.scale.unit,
    )


def cuts_of_blocks(step: BlockStep, blocks: SizeBlocks) -> BlockCuts:
    """Return the cuts and links of a step, after checking that they are such.

    Raises
    ------
    ValueError
        If the step is none that this package writes for these blocks.
    """
    size, count = blocks.size, blocks.n_blocks
    joined = cuts_of_arrays(step, size + 1)  # with the point 0
    start, links = step.block_start, step.links
    is_well_formed = (
        start.shape == (count + 1,)
        and start[0] == 0
        and start[-1] == len(joined)
        and bool((start[:-1] <= start[1:]).all())
        and links.shape == (len(step.link_multiplier), 3)
        and bool((step.link_multiplier >= 0).all())
        and step.row_multiplier.shape == (count, size)
        and step.slack.shape == (count, size * (size + 1) // 2)
    )
    if not is_well_formed:
        raise ValueError("multipliers that do not belong to these sizes")
    g, i, j = links.T
    in_range = (g >= 0) & (g < count) & (i >= 0) & (i < j) & (j < size)
    if not (in_range.all() and all(blocks.counts[block] == 1 for block in np.unique(g))):
        raise ValueError("links that do not belong to these sizes")
    if len(np.unique(links, axis=0)) < len(links):
        raise ValueError("a link is there twice")
    parts = [joined.select(np.arange(a, b)) for a, b in pairwise(start.tolist())]
    return BlockCuts(tuple(parts), Links(links, step.link_multiplier))


def unpack(step: BlockStep, points: SuperPoints) -> tuple[SizeBlocks, BlockCuts, FloatArray]:
    """Return the blocks of super-points, and the cuts and V of a step about them.

    Raises
    ------
    ValueError
        If the step is none that this package writes for these super-points.
    """
    if not has_blocks(points):
        raise ValueError("blocks where no unequal sizes are prescribed")
    blocks = SizeBlocks.from_super_points(points)
    cuts = cuts_of_blocks(step, blocks)
    slack: FloatArray = np.zeros((blocks.n_blocks, blocks.size, blocks.size))
    first, second = np.triu_indices(blocks.size)
    slack[:, first, second] = step.slack
    return blocks, cuts, slack


def prove_blocks_again(step: BlockStep, points: SuperPoints) -> BlockBound:
    """Prove the bound of a step on its super-points; whatever the step holds, the bound is true.

    Raises
    ------
    ValueError
        If a certificate with this step would not be well-formed.
    """
    blocks, cuts, slack = unpack(step, points)
    return block_bound(blocks, cuts, step.row_multiplier, lambda g, _: slack[g])
