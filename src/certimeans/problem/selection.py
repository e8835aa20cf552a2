"""Some points of an instance as a problem of their own, in which features count as in the whole."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from certimeans._typing import IntArray
from certimeans.problem.constraints import Constraints
from certimeans.problem.instance import SMALLEST_SCATTER, Instance


@dataclass(frozen=True, eq=False)
class Selection(Instance):
    """An instance whose features are divided by the deviations of a larger one, if they are at all.

    Attributes
    ----------
    whole_variances
        For each feature two numbers that enclose its variance in the larger instance; ``None`` without standardising.
    """

    whole_variances: tuple[tuple[Fraction, Fraction], ...] | None = None

    @classmethod
    def of(cls, whole: Instance, members: IntArray, n_clusters: int, constraints: Constraints) -> Selection:
        """Take some points of an instance; the constraints are about these, numbered from 0."""
        variances = whole.variances
        return cls(
            np.ascontiguousarray(np.asarray(whole.points[members])),
            n_clusters,
            constraints,
            whole.weights[members],
            whole.feature_names,
            standardize=whole.standardize,
            whole_variances=None if variances is None else tuple(variances),
        )

    @cached_property
    def variances(self) -> list[tuple[Fraction, Fraction]] | None:
        """Those of the larger instance."""
        return None if self.whole_variances is None else list(self.whole_variances)

    @property
    def is_in_range(self) -> bool:
        """Whether costs have enough digits for a proof."""
        return self.total_scatter == 0 or self.total_scatter >= SMALLEST_SCATTER

    def _check_range_of_costs(self) -> None:
        """Refuse nothing: the larger instance was not refused; see :attr:`is_in_range`."""
