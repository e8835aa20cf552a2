"""Points of weight zero: they cost nothing wherever they go, so the problem is the one without them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints, LinkKind, PartialLabels
from certimeans.problem.expand import expand


class Weighted(NamedTuple):
    """What remains without the points of weight zero.

    Attributes
    ----------
    kept
        The numbers of the points that remain, in order.
    constraints
        The constraints, with points numbered by their place in ``kept``.
    """

    kept: IntArray
    constraints: Constraints


def drop_weightless(points: FloatArray, weights: FloatArray, constraints: Constraints) -> Weighted:
    """Leave out the points of weight zero.

    Raises
    ------
    InputError
        If a constraint of any kind mentions such a point. It would have to be kept although the point does not
        count, and may say something about points that do (two must-links to it join their other ends).
    """
    constraints.check_range(len(points))
    kept = np.flatnonzero(weights > 0)
    if len(kept) == len(points):
        return Weighted(kept, constraints)
    for kind, pairs in zip(get_args(LinkKind), expand(constraints, points), strict=True):
        mentions = np.argwhere(weights[pairs] == 0)
        if mentions.size:
            i, j = pairs[mentions[0, 0]].tolist()
            reason = constraints.reason(kind, i, j)
            raise InputError(
                f"sample_weight[{(i, j)[mentions[0, 1]]}] is 0, but a constraint mentions that point: {kind} ({i}, {j})"
                f"{'' if reason == kind else f', {reason}'}; give it a positive weight, or drop the constraint"
            )
    position = np.cumsum(weights > 0) - 1
    labels = constraints.partial_labels
    return Weighted(
        kept,
        replace(
            constraints,
            must_link=position[constraints.must_link],
            cannot_link=position[constraints.cannot_link],
            partial_labels=None if labels is None else PartialLabels(labels.codes[kept], labels.names),
        ),
    )


def as_weights_or_zero(weights: ArrayLike | None, n_points: int) -> FloatArray:
    """Check weights, one finite number a point, zero or more and not all zero; ``None`` stands for 1 each."""
    if weights is None:
        return np.ones(n_points)
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("sample_weight must hold numbers, one for each point") from None
    if array.shape != (n_points,):
        raise InputError(f"sample_weight has shape {array.shape}; give one number for each of the {n_points} points")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise InputError(f"sample_weight[{bad[0]}] is {array[bad[0]]}: every weight must be finite, zero or more")
    if not array.any():
        raise InputError("sample_weight is zero for every point; at least one weight must be positive")
    return array
