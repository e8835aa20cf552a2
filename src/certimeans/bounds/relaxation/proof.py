"""What proves a node's bound: multipliers in the precision in which certificates store them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certimeans._typing import FloatArray
from certimeans.bounds.relaxation.cuts.pool import Cuts
from certimeans.bounds.relaxation.cuts.rows import CutRows
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.bounds.relaxation.safe_bound import SafeBound, safe_lower_bound


@dataclass(frozen=True, eq=False)
class Proof:
    """Multipliers of one relaxation; see :mod:`certimeans.bounds.relaxation.safe_bound` for what they prove.

    Attributes
    ----------
    cuts
        The cuts that have a multiplier, with it.
    slack
        The upper triangle of V, row by row, diagonal included.
    """

    cuts: Cuts
    slack: NDArray[np.float32]

    @classmethod
    def pack(cls, cuts: Cuts, bound: SafeBound, size: int) -> Proof:
        """Keep what a bound was proven from; nothing at all was, if there is no bound."""
        if not np.isfinite(bound.safe_lower_bound):
            return cls(Cuts.none(), np.zeros(size * (size + 1) // 2, dtype=np.float32))
        return cls(cuts.with_multipliers(bound.multipliers).purged(), bound.slack[np.triu_indices(size)])

    def dual(self, relaxation: Relaxation) -> FloatArray:
        """Return sum mu_c B_c - V, whose upper triangle counts."""
        rows = CutRows.build(self.cuts, relaxation)
        total, _, _ = rows.weighted_sum(self.cuts.multipliers * rows.norms)
        total[np.triu_indices(relaxation.size)] -= self.slack
        return total

    def bound(self, relaxation: Relaxation) -> SafeBound:
        """Prove the bound again."""
        rows = CutRows.build(self.cuts, relaxation)
        return safe_lower_bound(relaxation, rows, self.cuts.multipliers * rows.norms, self.dual(relaxation))
