"""What a child problem takes over from its parent: iterates, cuts and multipliers, so that its bound starts no lower.

A child keeps the parent's super-points and forbids more pairs, or merges some of them, or both. Let E have, for each
new super-point g, the column with sqrt(w_i / w_g) at its members i. Then E'E = I and E maps the child's u to the
parent's, so the child's objective is E'CE, and with E'LE and the same multipliers of the (merged) cuts its matrix G is
E'GE: the parent's compressed to a subspace that contains u. Its lowest eigenvalues on the complement of u are no lower
than the parent's. And E >= 0, so what was non-negative stays so. Forbidding a pair only frees an entry of G. The limit
on sizes of a super-point i, as :class:`~.sizes.SizeRows` states it, becomes w_i / w_g times that of g.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.bounds.relaxation.admm import Iterate
from certimeans.bounds.relaxation.model import Relaxation

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def inherit(iterate: Iterate, parent_weights: FloatArray, child: Relaxation, group_of: IntArray) -> Iterate:
    """Carry a parent's iterate to a child, whose super-point ``group_of[i]`` contains the parent's i."""
    # Cuts without multipliers prove nothing, and are found again if they matter.
    primal, dual, cuts, sizes = iterate.primal, iterate.dual, iterate.cuts.purged(), iterate.size_multipliers
    size = len(parent_weights)
    if child.size < size:
        from scipy.sparse import csr_array  # noqa: PLC0415  # slow to import, and not always needed

        shares = np.sqrt(parent_weights) / child.root_weights[group_of]
        expansion = csr_array((shares, (np.arange(size), group_of)), shape=(size, child.size))
        primal, dual = (_compress(matrix, expansion) for matrix in (primal, dual))
        cuts = cuts.merged(group_of)
        if sizes is not None:
            sizes = np.asarray(expansion.T @ (shares[:, None] * sizes))
    return Iterate(np.where(child.forbidden, 0.0, primal), dual, cuts, iterate.penalty, iterate.threshold, sizes)


def _compress(upper: FloatArray, expansion: csr_array) -> FloatArray:
    """Return E'ME for a symmetric M of which only the upper triangle counts."""
    full = np.triu(upper) + np.triu(upper, 1).T
    return np.asarray(expansion.T @ (expansion.T @ full).T)
