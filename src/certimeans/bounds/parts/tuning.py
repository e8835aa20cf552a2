"""The shares of shared points, tuned: parts in which a point is far from its centre get more of it.

The optimum of a part is a concave function of its weights: a minimum over clusterings and centres of functions that are
linear in them, with the squared distances of the points to their centres as slopes. So the sum of the parts' optima,
over all ways to divide the weights of the shared points, is maximised by moving weight to parts in which a point is
farther away. No bound is needed for that, only clusterings of the parts, which a local search finds in milliseconds.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.parts.problem import Part, cost_of
from certimeans.bounds.parts.splitting import Split, make_part, rounded_shares
from certimeans.deadline import Deadline
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.reduce import Presolved

_STEP = 6.0  # of the first moves; halved whenever the sum falls
_LEAST_STEP = 0.5
_LARGEST_MOVE = 3.0  # of the logarithm of a share at a time
_LEAST_SHARE = 1e-3  # of an equal one: every part keeps something
_PASSES = 20


def tune_shares(
    presolved: Presolved,
    split: Split,
    labels: IntArray,
    *,
    seed: int = 0,
    deadline: Deadline | None = None,
    n_threads: int = 1,
) -> Split:
    """Divide the weights of the shared points so that parts have dearer clusterings of their own.

    Parameters
    ----------
    labels
        The clustering of the super-points that the split follows.
    deadline
        The best shares until then are returned: any are valid.
    n_threads
        How many parts are searched at a time.
    """
    if len(split.shared) == 0:
        return split
    deadline = deadline or Deadline()
    parts = [make_part(presolved, split, labels, (p,)) for p in range(split.n_parts)]
    places = [np.searchsorted(part.members, split.shared) for part in parts]
    weights = presolved.instance.weights[split.shared]
    own = [part.labels for part in parts]
    shares = best = split.shares
    most, step = -np.inf, _STEP
    costs, distances = np.empty(len(parts)), np.empty_like(shares)

    def look_at(p: int, turn: int) -> None:
        if not deadline.passed():
            costs[p], own[p], distances[p] = _look_at(parts[p], places[p], shares[p], own[p], [seed, turn, p], deadline)

    for turn in range(_PASSES):
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(look_at, range(len(parts)), [turn] * len(parts)))
        if deadline.passed():
            break
        if costs.sum() > most:
            most, best, slopes = float(costs.sum()), shares, distances.copy()
        else:
            step /= 2
            if step < _LEAST_STEP:
                break
        shares = _moved(best, slopes, weights, step)
    return replace(split, shares=best)


def _moved(shares: FloatArray, distances: FloatArray, weights: FloatArray, step: float) -> FloatArray:
    """Move weight to the parts in which points are farther from their centres than usual."""
    usual = np.average(distances, axis=0, weights=shares)
    excess = distances / np.maximum(usual, np.finfo(float).tiny) - 1
    moved = shares * np.exp(np.clip(step * excess, -_LARGEST_MOVE, _LARGEST_MOVE))
    fractions = np.maximum(moved / moved.sum(axis=0), _LEAST_SHARE / len(shares))
    return rounded_shares(fractions / fractions.sum(axis=0), weights)


def _look_at(
    part: Part, places: IntArray, shares: FloatArray, own: IntArray, seed: list[int], deadline: Deadline
) -> tuple[float, IntArray, FloatArray]:
    """Return the cost of a part's own clustering with some shares, that clustering, and the slopes."""
    weights = part.weights.copy()
    weights[places] = shares
    points = replace(part, weights=weights).super_points
    start = own if len(np.unique(own)) == part.n_clusters else None
    settings = SearchSettings(n_searches=2, islands=1, most_dense_searches=1)
    found = search_clustering(points, start=start, seed=seed, deadline=deadline, settings=settings)
    own = own if found is None else found
    of_point = own[part.group_of]
    positions = part.points if part.deviations is None else part.points / part.deviations
    slopes = np.zeros(len(places))
    for cluster in np.unique(of_point[places]):
        inside, here = of_point == cluster, of_point[places] == cluster
        offsets = positions[places[here]] - np.average(positions[inside], axis=0, weights=weights[inside])
        slopes[here] = (offsets * offsets).sum(axis=1)
    return cost_of(points, own), own, slopes
