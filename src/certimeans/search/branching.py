"""What to decide on: whether two super-points are together, or which size the cluster of one has."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray
from certimeans.presolve.contract import SuperPoints
from certimeans.search.node import AnyDecision, Decision, SizeDecision

_LEAST_DEVIATION = 0.002
"""From what share on a size that the relaxation sees counts as none of those prescribed."""

_LEAST_UNDECIDED = 0.02
"""The same for how much a super-point is in clusters of several sizes."""


def branches(matrix: FloatArray, points: SuperPoints, sizes: FloatArray | None = None) -> tuple[AnyDecision, ...]:
    """Choose decisions that between them cover every clustering; none if everything is decided."""
    anchor = branching_anchor(matrix, points) if sizes is None else undecided_anchor(matrix, points, sizes)
    if anchor is not None:
        assert points.limits is not None  # noqa: S101  # else there are no sizes
        point = int(points.first_points[anchor])
        return tuple(SizeDecision(point, place) for place in range(len(points.limits.choices)))
    pair = branching_pair(matrix, points)
    if pair is None:
        return ()
    i, j = points.first_points[list(pair)].tolist()
    return Decision(i, j, together=True), Decision(i, j, together=False)


def branching_anchor(matrix: FloatArray, points: SuperPoints) -> int | None:
    """Choose a super-point whose cluster has none of the prescribed sizes in Y; ``None`` if sizes are no matter.

    Where amounts are proportional to weights, A_i / Y_ii is the size of i's cluster. We take the super-point where it
    is farthest from all sizes, times sum_j Y_ij^2 / Y_ii, which is 1 if its row is that of a clustering and less if its
    own place is in doubt. Once sizes are decided for k - 1 clusters, the last one's is known.
    """
    limits = points.limits
    if limits is None or not limits.follows_weights or len(limits.choices) < 2:
        return None
    decided = [i for i, _ in limits.decided]
    if len(decided) >= points.n_clusters - 1:
        return None
    amounts = np.array([int(amount) / limits.total for amount in limits.amounts])
    choices = np.array([size / limits.total for size in limits.choices])
    own = np.maximum(np.diag(matrix), np.finfo(float).tiny)
    fits = amounts <= choices[-1]
    deviation = np.abs(np.log(own / amounts * choices[:, None])).min(axis=0)
    score = np.where(fits & (deviation > _LEAST_DEVIATION), deviation * (matrix * matrix).sum(axis=1) / own, -np.inf)
    score[decided] = -np.inf
    best = int(np.argmax(score))
    return best if np.isfinite(score[best]) else None


def undecided_anchor(matrix: FloatArray, points: SuperPoints, sizes: FloatArray) -> int | None:
    """Choose a super-point of which the relaxation does not know the size of its cluster; ``None`` if it knows all.

    We take the one where 1 - sum_g (x^g_i)^2, times sum_j Y_ij^2 / Y_ii as in :func:`branching_anchor`, is largest.
    Where the search has decided, iterates that have not converged may say something else: nothing is decided twice.
    """
    assert points.limits is not None  # noqa: S101  # else there are no sizes
    shares = np.clip(sizes, 0.0, None)
    shares = shares / np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
    undecided = 1.0 - (shares**2).sum(axis=0)
    undecided[[i for i, _ in points.limits.decided]] = 0.0
    own = np.maximum(np.diag(matrix), np.finfo(float).tiny)
    score = undecided * (matrix * matrix).sum(axis=1) / own
    best = int(np.argmax(score))
    return best if undecided[best] > _LEAST_UNDECIDED else None


def branching_pair(matrix: FloatArray, points: SuperPoints) -> tuple[int, int] | None:
    """Choose the pair that is least decided in the relaxation's matrix Y; ``None`` if every pair is decided.

    In a clustering, Z_ij = 0 or the rows of i and j are equal. The paper takes the pair that maximises the smaller of
    Z_ij and |Z_i - Z_j|^2; we divide both by the larger of Z_ii and Z_jj, so that points of large and of small clusters
    compare, and multiply by sqrt(w_i w_j), since heavy super-points decide more.
    """
    roots = np.sqrt(points.weights)
    with np.errstate(over="ignore", invalid="ignore"):  # weights may differ by hundreds of powers of ten
        shared = matrix / np.outer(roots, roots)
        largest = np.maximum(np.maximum.outer(np.diag(shared), np.diag(shared)), np.finfo(float).tiny)
        products = (shared * points.weights) @ shared
        squares = np.diag(products)
        distance = squares[:, None] + squares[None, :] - 2 * products
        score = np.minimum(shared, distance) / largest * np.outer(roots, roots)
    allowed = np.triu(np.ones_like(score, dtype=np.bool_), k=1)
    first, second = points.graph.edges.T
    allowed[first, second] = False
    if not allowed.any():
        return None
    # A score that is no number says nothing, but the pair may still be branched on.
    score = np.where(allowed, np.nan_to_num(score, nan=-1e300, posinf=1e300, neginf=-1e300), -np.inf)
    i, j = np.unravel_index(int(np.argmax(score)), score.shape)
    return int(i), int(j)
