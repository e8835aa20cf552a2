"""What the constraints changed: the clustering against plain k-means."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from certimeans._typing import BoolArray, IntArray
from certimeans.deadline import Deadline
from certimeans.heuristics.upper_bound import SearchSettings, search_clustering
from certimeans.presolve.contract import contract
from certimeans.problem.clustering import Clustering
from certimeans.problem.constraints import Constraints
from certimeans.result import SolveResult

_SECONDS = 3.0
_SETTINGS = SearchSettings(n_searches=100)


@dataclass(frozen=True, eq=False)
class PlainComparison:
    """A good clustering without constraints, and how the constrained one differs from it.

    Attributes
    ----------
    cost
        Cost of the best unconstrained clustering found; nothing is proven about it.
    changed
        The points that it puts elsewhere, after its clusters were matched with ours.
    broken_must_links, broken_cannot_links
        The pairs that it breaks.
    breaks_sizes
        Whether its clusters have other sizes than those asked for.
    """

    cost: float
    changed: BoolArray
    broken_must_links: IntArray
    broken_cannot_links: IntArray
    breaks_sizes: bool = False


def compare_with_plain(result: SolveResult) -> PlainComparison | None:
    """Search without constraints, from the constrained clustering among others, for up to three seconds.

    Returns
    -------
    comparison
        ``None`` if there is nothing to say.
    """
    instance, clustering = result.instance, result.clustering
    is_free = len(instance.must_link) + len(instance.cannot_link) == 0 and instance.limits is None
    if clustering is None or is_free:
        return None
    labels = clustering.labels
    free = replace(instance, constraints=Constraints())
    found = search_clustering(
        contract(free, np.arange(free.n_points)),
        start=labels,
        seed=result.seed,
        deadline=Deadline(_SECONDS),
        settings=_SETTINGS,
    )
    if found is None:
        return None
    plain = Clustering.from_labels(free, found)
    if plain.cost >= result.objective * (1 - 1e-9):  # the constraints cost nothing: ours is as good
        plain = Clustering.from_labels(free, labels)
    return PlainComparison(
        plain.cost,
        match_clusters(plain.labels, labels, instance.n_clusters) != labels,
        instance.must_link[~_joined(plain.labels, instance.must_link)],
        instance.cannot_link[_joined(plain.labels, instance.cannot_link)],
        instance.limits is not None
        and not instance.limits.allow(instance.limits.totals(plain.labels, plain.n_clusters)),
    )


def match_clusters(labels: IntArray, reference: IntArray, n_clusters: int) -> IntArray:
    """Renumber ``labels`` so that as many points as possible have the number that they have in ``reference``."""
    common = np.zeros((n_clusters, n_clusters))
    np.add.at(common, (labels, reference), 1.0)
    rows, columns = linear_sum_assignment(common, maximize=True)
    number = np.empty(n_clusters, dtype=np.int64)
    number[rows] = columns
    renumbered: IntArray = number[labels]
    return renumbered


def _joined(labels: IntArray, pairs: IntArray) -> BoolArray:
    joined: BoolArray = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return joined
