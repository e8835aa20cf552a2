"""Which two super-points to decide on."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray
from certimeans.presolve.contract import SuperPoints


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
