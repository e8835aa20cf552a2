"""Between costs in the user's units and costs in units of the total scatter, in which all bounds are computed.

The relaxation sees points that were centred and scaled, each coordinate with a rounding error. The square root of a
clustering's cost is a seminorm of the points, so it changes by at most the norm of these errors, whatever the
clustering: a bound for the rounded points, less that norm, is a bound for the user's own.
"""

from __future__ import annotations

import math

from certimeans.bounds.relaxation.model import UNIT_ROUNDOFF
from certimeans.problem.instance import Instance


class CostUnits:
    """Converts bounds of one instance."""

    def __init__(self, instance: Instance) -> None:
        self.scatter = instance.total_scatter
        self._error = 0.0
        if self.scatter > 0:
            # Coordinates are between -1 and 1 when the mean is subtracted, so they move by a roundoff of that and of
            # what is left; the scatter of the scaled points is at least that of one coordinate pair.
            points, weights = instance.scaled.points, instance.weights
            scaled_scatter = float(weights @ (points**2).sum(axis=1))
            rounding = math.sqrt(float(weights.sum()) * instance.n_features) + 2 * math.sqrt(scaled_scatter)
            self._error = 2 * UNIT_ROUNDOFF * rounding / math.sqrt(scaled_scatter)

    def to_user(self, bound: float) -> float:
        """Turn a proven bound in units of the scatter into one in the user's units."""
        if bound <= 0 or self.scatter == 0:
            return 0.0  # no cost is negative
        if math.isinf(bound):
            return math.inf
        return max(0.0, math.sqrt(bound) - self._error) ** 2 * self.scatter * (1 - 8 * UNIT_ROUNDOFF)

    def target(self, cost: float) -> float:
        """Return what a bound in units of the scatter must reach to prove ``cost`` in the user's units."""
        if math.isinf(cost) or self.scatter == 0:
            return math.inf
        return (math.sqrt(cost / self.scatter) + 2 * self._error) ** 2 * (1 + 32 * UNIT_ROUNDOFF)
