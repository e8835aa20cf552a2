"""Random constraint sets from class labels, as in the paper's section "Instances generation"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from certimeans._typing import IntArray
from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints, PartialLabels
from certimeans.problem.sizes import StatedSizes


def generate_constraints(
    labels: Iterable[Any], n_must_link: int, n_cannot_link: int, seed: int = 0, *, sizes: bool = False
) -> Constraints:
    """Draw must-links between points of one class and cannot-links between points of different classes.

    The paper draws pairs at random, makes each a must-link or a cannot-link according to the classes, and stops when
    it has the wanted number of both. Each kind is then a uniform sample, without repetition, of all pairs of that kind;
    we draw that sample directly, which also works when the wanted pairs are rare.

    Parameters
    ----------
    labels
        Class of each point; ``None``, NaN and -1 mean unknown, and such points get no constraint.
    n_must_link, n_cannot_link
        How many pairs of each kind.
    seed
        The same seed gives the same constraints.
    sizes
        Whether to state the sizes of the classes as the exact sizes of the clusters, too.

    Raises
    ------
    InputError
        If the labels allow fewer pairs than asked for, or if sizes are asked for and a class is unknown.
    """
    codes = PartialLabels.encode(labels).codes
    if sizes and codes.min(initial=0) < 0:
        raise InputError(
            f"label {int(np.argmax(codes < 0))}, counted from 0, is unknown, but sizes need the class of every point; "
            "in a file, an empty line is a point whose class is unknown: remove it if there is no such point"
        )
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    sorted_codes = codes[order]
    position = np.arange(len(order))
    class_end = np.searchsorted(sorted_codes, sorted_codes, side="right")
    random = np.random.default_rng(seed)
    # In class order, the partners of a point for a must-link are the rest of its class, and for a cannot-link all
    # later classes: both are intervals, so a pair's rank determines the pair.
    must_link = _draw(position + 1, class_end, n_must_link, "must-links", random)
    cannot_link = _draw(class_end, np.full(len(order), len(order)), n_cannot_link, "cannot-links", random)
    stated = StatedSizes(sizes=tuple(np.bincount(codes).tolist())) if sizes else None
    return Constraints(order[must_link], order[cannot_link], cluster_sizes=stated)


def _draw(first: IntArray, last: IntArray, count: int, kind: str, random: np.random.Generator) -> IntArray:
    """Sample distinct pairs (i, j) with first[i] <= j < last[i]."""
    if count < 0:
        raise InputError(f"the number of {kind} must not be negative; got {count}")
    upto = np.cumsum(last - first)
    available = int(upto[-1]) if len(upto) else 0
    if count > available:
        raise InputError(f"{count} {kind} asked for, but the labels allow only {available}")
    if count == 0:
        return np.empty((0, 2), dtype=np.int64)
    rank = random.choice(available, size=count, replace=False)
    i = np.searchsorted(upto, rank, side="right")
    j = last[i] - (upto[i] - rank)
    return np.column_stack([i, j])
