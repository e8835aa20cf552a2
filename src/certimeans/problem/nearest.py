"""Which centre is nearest: for points with coordinates, and for those of which only inner products are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certimeans._typing import FloatArray, IntArray
from certimeans.problem.clustering import by_first_appearance


def scaled_distances(points: FloatArray, centres: FloatArray) -> tuple[FloatArray, int]:
    """Return distances divided by 2**exponent, and the exponent: their squares neither overflow nor vanish."""
    from scipy.spatial.distance import cdist  # noqa: PLC0415  # slow to import, and not always needed

    exponent = int(np.frexp(max(np.abs(points).max(initial=0.0), np.abs(centres).max(initial=0.0)))[1])
    return cdist(np.ldexp(points, -exponent), np.ldexp(centres, -exponent)), exponent


def numbers_by_smallest_point(points: FloatArray, labels: IntArray) -> IntArray:
    """Return the new number of each cluster: by its smallest point, compared feature by feature.

    Numbers by first appearance would change with the order of the points, and with them what ``predict`` and
    ``transform`` return. Comparing points rather than centres keeps rounding errors out.
    """
    order = np.lexsort(points.T[::-1])
    number = np.empty(labels.max() + 1, dtype=np.int64)
    number[labels[order]] = by_first_appearance(labels[order])
    return number


@dataclass(frozen=True, eq=False)
class KernelCentres:
    """Centres of clusters in the space of a kernel, as weighted means of fitted points.

    The squared distance of x to centre c is k(x, x) - 2 sum_j s_jc k(x, j) + sum_ij s_ic s_jc k(i, j), where s_jc is
    the share of point j in the weight of its cluster c, and 0 in others. The first term is the same for all centres.

    Attributes
    ----------
    shares
        s, one row per fitted point and one column per cluster.
    squares
        The last term, for each cluster.
    """

    shares: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, gram: FloatArray, weights: FloatArray, labels: IntArray) -> KernelCentres:
        """Compute the centres of a clustering from the inner products of its points."""
        shares = np.zeros((len(labels), labels.max() + 1))
        shares[np.arange(len(labels)), labels] = weights / np.bincount(labels, weights)[labels]
        return cls(shares, ((gram @ shares) * shares).sum(axis=0))

    def nearest(self, products: FloatArray) -> IntArray:
        """Return the nearest centre of new points, given their inner products with the fitted points, row by row."""
        found: IntArray = (self.squares - 2.0 * products @ self.shares).argmin(axis=1)
        return found
