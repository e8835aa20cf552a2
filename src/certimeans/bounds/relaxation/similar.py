"""What a bound leaves to a similar problem: the same points with some links more and some fewer.

Groups of points may be merged there that are apart here, and the other way round, so neither problem is a child of the
other, and nothing is inherited exactly, see :mod:`.inherit`. But multipliers need not fit to prove a bound, only to
prove a good one, and most groups are the same in both. For the groups g here and h there let T have the entries
w(g and h) / sqrt(w_g w_h): first every g is cut into its intersections with all h, which share its entries, and these
are merged to the groups h. A cut takes each g as the heaviest h that has some of it.
"""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.admm import Iterate
from certimeans.bounds.relaxation.bounder import WarmStart
from certimeans.presolve.contract import SuperPoints


def carry_over(start: WarmStart, points: SuperPoints, weights: FloatArray) -> WarmStart:
    """Return a start for other super-points of the same points, whose weights are given."""
    from scipy.sparse import csr_array  # noqa: PLC0415  # slow to import, and not always needed

    old, new, everyone = start.group_of, points.group_of, np.arange(len(weights))
    here, there = np.sqrt(np.bincount(old, weights)), np.sqrt(np.bincount(new, weights))
    roots = np.sqrt(weights)
    cutting = csr_array((roots / here[old], (everyone, old)), shape=(len(weights), len(here)))
    merging = csr_array((roots / there[new], (new, everyone)), shape=(len(there), len(weights)))
    transfer = merging @ cutting
    iterate, sizes = start.iterate, start.iterate.size_multipliers
    primal, dual = (
        np.asarray(transfer @ (transfer @ (np.triu(matrix) + np.triu(matrix, 1).T)).T)
        for matrix in (iterate.primal, iterate.dual)
    )
    largest_last = np.argsort(there[new], kind="stable")
    place: IntArray = np.empty(len(here), dtype=np.int64)
    place[old[largest_last]] = new[largest_last]
    cuts = iterate.cuts.merged(place)
    if sizes is not None:
        sizes = None if points.limits is None else np.asarray(transfer @ (here[:, None] * sizes)) / there[:, None]
    carried = Iterate(primal, dual, cuts, iterate.penalty, iterate.threshold, sizes)
    return WarmStart(points.group_of, points.weights, carried)
