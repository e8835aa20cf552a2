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
from certimeans.bounds.parts.splitting import Split, loss_with_shares, make_part, rounded_shares
from certimeans.deadline import Deadline
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.reduce import Presolved

_STEP = 6.0  # of the first moves; halved whenever the sum falls
_LEAST_STEP = 0.5
_LARGEST_MOVE = 3.0  # of the logarithm of a share at a time
_LEAST_SHARE = 1e-3  # of an equal one: every part keeps something
_PASSES = 40
_SEARCHES = 4  # with fewer, shares follow clusterings that are not the best


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
    step = _STEP
    costs, slopes = np.empty(len(parts)), np.empty_like(shares)  # with the present shares
    best_costs, best_slopes = np.full(len(parts), np.inf), np.empty_like(shares)  # with the best ones

    def look_at(p: int, turn: int) -> None:
        if deadline.passed():
            return
        own[p] = _search(parts[p], places[p], shares[p], own[p], [seed, turn, p], deadline)
        costs[p], slopes[p] = _look_at(parts[p], places[p], shares[p], own[p])
        # A clustering that was not thought of before may be cheaper with the best shares, too: these were overrated.
        cost, slope = _look_at(parts[p], places[p], best[p], own[p])
        if cost < best_costs[p]:
            best_costs[p], best_slopes[p] = cost, slope

    for turn in range(_PASSES):
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(look_at, range(len(parts)), [turn] * len(parts)))
        if deadline.passed():
            break
        if turn > 0 and costs.sum() > best_costs.sum():
            best, best_costs, best_slopes = shares, costs.copy(), slopes.copy()
        elif turn > 0:
            step /= 2
            if step < _LEAST_STEP:
                break
        shares = _moved(best, best_slopes, weights, step)
    tuned = replace(split, shares=best)
    return replace(tuned, loss=loss_with_shares(presolved, tuned, labels))


def _moved(shares: FloatArray, distances: FloatArray, weights: FloatArray, step: float) -> FloatArray:
    """Move weight to the parts in which points are farther from their centres than usual."""
    usual = np.average(distances, axis=0, weights=shares)
    excess = distances / np.maximum(usual, np.finfo(float).tiny) - 1
    moved = shares * np.exp(np.clip(step * excess, -_LARGEST_MOVE, _LARGEST_MOVE))
    fractions = np.maximum(moved / moved.sum(axis=0), _LEAST_SHARE / len(shares))
    return rounded_shares(fractions / fractions.sum(axis=0), weights)


def _search(
    part: Part, places: IntArray, shares: FloatArray, own: IntArray, seed: list[int], deadline: Deadline
) -> IntArray:
    """Look for a part's own clustering with some shares, starting from another one."""
    points = _with_shares(part, places, shares).super_points
    start = own if len(np.unique(own)) == part.n_clusters else None
    settings = SearchSettings(n_searches=_SEARCHES, islands=1, most_dense_searches=1)
    found = search_clustering(points, start=start, seed=seed, deadline=deadline, settings=settings)
    return own if found is None else found


def _look_at(part: Part, places: IntArray, shares: FloatArray, own: IntArray) -> tuple[float, FloatArray]:
    """Return the cost of a clustering of a part with some shares, and its slopes."""
    part = _with_shares(part, places, shares)
    of_point = own[part.group_of]
    positions = part.points if part.deviations is None else part.points / part.deviations
    slopes = np.zeros(len(places))
    for cluster in np.unique(of_point[places]):
        inside, here = of_point == cluster, of_point[places] == cluster
        offsets = positions[places[here]] - np.average(positions[inside], axis=0, weights=part.weights[inside])
        slopes[here] = (offsets * offsets).sum(axis=1)
    return cost_of(part.super_points, own), slopes


def _with_shares(part: Part, places: IntArray, shares: FloatArray) -> Part:
    weights = part.weights.copy()
    weights[places] = shares
    return replace(part, weights=weights)
