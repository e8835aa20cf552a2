"""BLPKM-CC: k-means whose assignment step is solved exactly under the constraints."""

from __future__ import annotations

from certimeans.baselines.common import as_clustering, must_link_groups, seed_centres
from certimeans.deadline import Deadline
from certimeans.heuristics.lloyd import constrained_lloyd
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance


def blpkm(instance: Instance, seed: int = 0, deadline: Deadline | None = None) -> Clustering | None:
    """Run BLPKM-CC once (Baumann, 2020): alternate exact constrained assignment and centroids.

    Differences from the original: centres start from k-means++ as in the comparison of Piccialli et al. (the original
    draws points uniformly); the binary linear programme of the assignment is solved by dynamic programming where the
    cannot-link graph is narrow and by HiGHS elsewhere, instead of Gurobi, to the same optimum; and no cluster may be
    empty, which the original leaves open.

    Parameters
    ----------
    instance
        The problem.
    seed
        Of the starting centres.

    Returns
    -------
    Clustering or None
        ``None`` if no feasible assignment exists or was found in time.
    """
    groups = must_link_groups(instance)
    if groups is None:
        return None
    labels = constrained_lloyd(groups, seed_centres(instance, seed), deadline=deadline)
    return as_clustering(instance, groups, labels)
