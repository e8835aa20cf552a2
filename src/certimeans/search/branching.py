"""Which two super-points to decide on."""

from __future__ import annotations

import numpy as np

from certimeans._typing import FloatArray
from certimeans.bounds.relaxation.model import Relaxation


def branching_pair(matrix: FloatArray, relaxation: Relaxation) -> tuple[int, int]:
    """Choose the pair that is least decided in the relaxation's matrix Y.

    In a clustering, Z_ij = 0 or the rows of i and j are equal. The paper takes the pair that maximises the smaller of
    Z_ij and |Z_i - Z_j|^2; we divide both by the larger of Z_ii and Z_jj, so that points of large and of small clusters
    compare, and multiply by sqrt(w_i w_j), since heavy super-points decide more.
    """
    roots = relaxation.root_weights
    shared = matrix / np.outer(roots, roots)
    weights = roots * roots
    largest = np.maximum(np.maximum.outer(np.diag(shared), np.diag(shared)), np.finfo(float).tiny)
    products = (shared * weights) @ shared
    squares = np.diag(products)
    distance = squares[:, None] + squares[None, :] - 2 * products
    score = np.minimum(shared, distance) / largest * np.outer(roots, roots)
    allowed = np.triu(~relaxation.forbidden, k=1)
    score = np.where(allowed & np.isfinite(score), score, -np.inf)
    i, j = np.unravel_index(int(np.argmax(score)), score.shape)
    return int(i), int(j)
