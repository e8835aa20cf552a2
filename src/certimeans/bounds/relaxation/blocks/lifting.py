"""The constants of lifted blocks; :mod:`.solver` says what these are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certimeans._typing import FloatArray
from certimeans.bounds.relaxation.blocks.model import SizeBlocks

LIFT = 0.3  # c: of 0.1, 0.3 and 1 the best


@dataclass(frozen=True, eq=False)
class Lifting:
    """The constants of the lifted blocks: P_00, P_0i / x_i, P_ii / x_i and P_ij / Y_ij = f^2; the unit vectors q."""

    corner: FloatArray
    column: FloatArray
    own: FloatArray
    square: FloatArray
    directions: FloatArray

    @classmethod
    def of(cls, blocks: SizeBlocks) -> Lifting:
        """Lift blocks."""
        counts, sizes, roots = np.array(blocks.counts, dtype=np.float64), blocks.sizes, blocks.roots
        square = 1.0 / (1.0 + counts * LIFT**2)
        directions = np.column_stack([np.sqrt(sizes) / LIFT, np.broadcast_to(-roots, (len(sizes), len(roots)))])
        return cls(
            square * counts * LIFT**2,
            np.outer(square * LIFT / np.sqrt(sizes), roots),
            np.outer(square / sizes, roots**2),
            square,
            directions / np.linalg.norm(directions, axis=1)[:, None],
        )
