"""Where a bound that rises ever more slowly is going: the basis of the decision to branch.

With cuts added round by round, what is missing between the bound and its limit falls about as 1 / t with the work t,
the rate that theory promises for alternating direction methods. Then each doubling of the work gains half of what the
one before it gained, and all doublings to come gain as much together as the last one did. Where the approach is
geometric, that is too optimistic at first, and soon is not: half of the work gains next to nothing when the bound has
arrived.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certimeans._typing import FloatArray


def forecast_gain(work: Sequence[float] | FloatArray, bounds: Sequence[float] | FloatArray) -> float:
    """Return what a bound would still gain if it approached its limit as 1 / t: as much as in the last half of t.

    Parameters
    ----------
    work
        The work done when each bound was known; increasing from 0.
    bounds
        The bounds, which never fall.

    Returns
    -------
    float
        At least 0; infinite if nothing was proven when half of the work was done.
    """
    halfway = float(np.interp(work[-1] / 2, work, bounds))
    return float(bounds[-1]) - halfway if np.isfinite(halfway) else np.inf
