"""``CertifiedKMeans``: the solver as a scikit-learn estimator."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from certimeans.arguments import LinkBy, as_positions, as_source, with_notes
from certimeans.centres import NearestCentres
from certimeans.errors import InputError, NoClusteringError
from certimeans.presolve.weightless import WithoutWeightless, leave_out_weightless
from certimeans.problem.constraints import Constraints, PairsLike
from certimeans.problem.nearest import KernelCentres, numbers_by_smallest_point
from certimeans.problem.validation import as_n_clusters, as_weights
from certimeans.report.progress import logged
from certimeans.report.words import shortfall
from certimeans.result import SolveResult, SolveStatus
from certimeans.search.limits import Limits
from certimeans.solver import solve_reduced


class CertifiedKMeans(NearestCentres, ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """K-means clustering that is proven optimal, under must-link and cannot-link constraints.

    The number of clusters and how hard to try are parameters; what is known about the points, such as constraints, are
    arguments of :meth:`fit`, because it belongs to the data.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters; none of them is empty.
    gap : float, default=1e-4
        Proven relative gap, (cost - lower bound) / cost, at which a clustering counts as optimal.
    time_limit : float, default=None
        Seconds after which to stop with the best clustering and bound so far; ``None`` for no limit.
    max_nodes : int, default=None
        Search nodes after which to stop likewise; ``None`` for no limit.
    n_jobs : int, default=1
        Number of processes. ``None`` means 1 unless in a ``joblib.parallel_config`` context, -1 means all cores.
    random_state : int, RandomState instance or None, default=0
        Seed of the heuristics. It may decide which of several optimal clusterings is returned, never what is proven.
    size_min, size_max : int or float, default=None
        Every cluster has at least, and at most, that many points, or that much capacity, see :meth:`fit`.
    part_size : int, "auto" or None, default="auto"
        Large problems are bounded by parts: super-points per part, decided by the solver, or never.
    verbose : int, default=0
        1 writes the log of the command line to standard error.
    kernel : {"linear", "precomputed"}, default="linear"
        ``"linear"``: X holds points. ``"precomputed"``: X is the kernel (Gram) matrix of the points, for other kernels;
        there are no coordinates then, so no ``cluster_centers_``, no ``transform`` and no ``score``.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point. Clusters are numbered by their smallest point, compared feature by feature, so the
        numbers do not depend on the order of the points; with a precomputed kernel, by first appearance.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Weighted mean of each cluster; not with a precomputed kernel.
    inertia_ : float
        Cost: weighted sum of squared distances of the points to the centre of their cluster.
    lower_bound_ : float
        Proven: every clustering that keeps the constraints costs at least this.
    gap_ : float
        Proven relative gap, (inertia_ - lower_bound_) / inertia_.
    status_ : str
        ``"optimal"``: the gap asked for is proven. ``"time_limit"``, ``"node_limit"`` or ``"interrupted"``: the search
        was stopped; ``labels_`` are the best found and keep every constraint, ``gap_`` says how good they are at least.
    n_nodes_ : int
        Number of search nodes.
    result_ : SolveResult
        All that the solver returned, about the points of positive weight; its labels are numbered by first appearance.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X was a DataFrame whose column names are strings.

    See Also
    --------
    certimeans.solve : The same without scikit-learn, with callbacks, checkpoints and Dask clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from certimeans import CertifiedKMeans
    >>> X = np.array([[0.0, 0.1], [0.2, 0.0], [4.0, 4.1], [4.2, 4.0], [9.0, 0.0]])
    >>> model = CertifiedKMeans(n_clusters=2).fit(X, must_link=[(0, 1)], cannot_link=[(1, 2), (2, 4)])
    >>> model.labels_
    array([0, 0, 1, 1, 0])
    >>> model.status_
    'optimal'
    >>> bool(model.gap_ <= 1e-4 and model.lower_bound_ <= model.inertia_)
    True
    >>> model.predict([[4.0, 4.0]])
    array([1])
    """

    def __init__(  # noqa: PLR0913  # parameters, as scikit-learn wants them
        self,
        n_clusters: int = 8,
        *,
        gap: float = 1e-4,
        time_limit: float | None = None,
        max_nodes: int | None = None,
        n_jobs: int | None = 1,
        random_state: int | np.random.RandomState | None = 0,
        size_min: float | None = None,
        size_max: float | None = None,
        part_size: int | Literal["auto"] | None = "auto",
        verbose: int = 0,
        kernel: Literal["linear", "precomputed"] = "linear",
    ) -> None:
        self.n_clusters = n_clusters
        self.gap = gap
        self.time_limit = time_limit
        self.max_nodes = max_nodes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.size_min = size_min
        self.size_max = size_max
        self.part_size = part_size
        self.verbose = verbose
        self.kernel = kernel

    def fit(  # noqa: PLR0913  # each may be requested on its own by metadata routing
        self,
        X: Any,  # noqa: N803
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        must_link: PairsLike | None = None,
        cannot_link: PairsLike | None = None,
        initial_labels: ArrayLike | None = None,
        diameter: float | None = None,
        split: float | None = None,
        partial_labels: Iterable[Any] | None = None,
        sizes: Iterable[float] | None = None,
        capacity: ArrayLike | None = None,
        link_by: LinkBy = "auto",
    ) -> Self:
        """Find a clustering of least cost that keeps every constraint, and prove it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points, without missing values; with a precomputed kernel, the kernel matrix.
        y : Ignored
            Present by convention. Known classes go to ``partial_labels``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each point. A point of weight zero has no influence: the problem is solved without it, and it
            then gets the cluster of the nearest centre. It must not be part of a constraint of any kind.
        must_link, cannot_link : pairs of shape (n_pairs, 2), default=None
            Pairs of points that share a cluster, and that do not: numbered by their row in X, from 0, or labels of a
            DataFrame's index; see ``link_by``.
        initial_labels : array-like of shape (n_samples,), default=None
            A clustering to start from; it counts only if it keeps every constraint.
        diameter : float, default=None
            Two points farther apart than this cannot link.
        split : float, default=None
            Two points closer than this must link.
        partial_labels : array-like of shape (n_samples,), default=None
            Known classes: the same class must link, different classes cannot; ``None``, NaN and -1 mean unknown.
        sizes : list of n_clusters numbers, default=None
            The exact sizes of the clusters, in any order.
        capacity : array-like of shape (n_samples,), default=None
            One number for each point: ``size_min``, ``size_max`` and ``sizes`` then apply to its sum over a cluster.
        link_by : {"auto", "label", "position"}, default="auto"
            What pairs hold: labels of a DataFrame's index, or numbers of rows from 0. ``"auto"``: labels if X is a
            DataFrame whose index is not 0, 1, 2, ..., else positions; integers that may be both are refused.

        Returns
        -------
        self
            The fitted estimator. A fit that fails leaves it unfitted.

        Raises
        ------
        InfeasibleError
            If no clustering satisfies the constraints; it names pairs that contradict each other.
        NoClusteringError
            If the search was stopped before any clustering was found.
        InputError
            If an argument or a parameter is not usable; it is a ``ValueError`` and names the offender.

        Warns
        -----
        ConvergenceWarning
            If the search was stopped before the gap asked for was proven.
        """
        self._forget()
        _warn_of_ignored_classes(y, partial_labels)
        _, source, _ = as_source(X)
        points = self._validated(X, reset=True)
        n_clusters = as_n_clusters(self.n_clusters, sys.maxsize)
        weights = as_weights(sample_weight, len(points), name="sample_weight", zero_allowed=True)
        n_kept = int(np.count_nonzero(weights))
        if n_kept < n_clusters:
            raise InputError(
                f"n_samples={n_kept}{'' if n_kept == len(points) else ' with a positive weight'} "
                f"should be at least n_clusters={n_clusters}"
            )
        names = getattr(self, "feature_names_in_", None)
        reduction = leave_out_weightless(
            points,
            n_clusters,
            Constraints.create(
                as_positions(must_link, source, "must_link", link_by),
                as_positions(cannot_link, source, "cannot_link", link_by),
                diameter=diameter,
                split=split,
                partial_labels=partial_labels,
                size_min=self.size_min,
                size_max=self.size_max,
                sizes=sizes,
                capacity=capacity,
            ),
            weights,
            geometry="gram" if self._is_precomputed() else "points",
            feature_names=None if names is None else tuple(names),
        )
        result = self._solve(reduction, initial_labels)
        self._remember(replace(result, source=with_notes(source, result.instance)), reduction)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        # scikit-learn would take n_features_in_, which is there before the solver has run, for a sign of success.
        return hasattr(self, "labels_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"  # cross-validation then cuts rows and columns
        return tags

    def _forget(self) -> None:
        """Drop all that an earlier fit learnt, so that a fit that fails leaves no mixture of two."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _solve(self, reduction: WithoutWeightless, initial_labels: ArrayLike | None) -> SolveResult:
        limits = Limits(self.gap, self.time_limit, self.max_nodes)
        with logged(None, reduction.instance, self.verbose) as told:
            result = solve_reduced(
                reduction,
                limits,
                n_jobs=self.n_jobs,
                seed=self.random_state,
                initial_labels=initial_labels,
                callback=told,
                part_size=self.part_size,
            )
        if result.clustering is None:
            raise NoClusteringError(result)
        if result.status is not SolveStatus.OPTIMAL:
            warnings.warn(shortfall(result, limits), ConvergenceWarning, stacklevel=3)
        return result

    def _remember(self, result: SolveResult, reduction: WithoutWeightless) -> None:
        """Set the fitted attributes."""
        clustering, labels = result.clustering, result.labels
        assert clustering is not None  # noqa: S101  # _solve refuses such a result
        assert labels is not None  # noqa: S101  # the same
        if clustering.centres is None:
            self.labels_ = labels
            shares = np.zeros((len(labels), clustering.n_clusters))
            centres = KernelCentres.of(result.instance.table, result.instance.weights, clustering.labels)
            shares[reduction.kept] = centres.shares
            self._kernel_centres_ = KernelCentres(shares, centres.squares)
        else:
            number = numbers_by_smallest_point(result.instance.points, clustering.labels)
            self.cluster_centers_ = clustering.centres[np.argsort(number)]
            self.labels_ = number[labels]
        self.inertia_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.gap_ = result.gap
        self.status_ = str(result.status)
        self.n_nodes_ = result.nodes
        self.result_ = result


def _warn_of_ignored_classes(y: Any, partial_labels: object) -> None:
    """Say where known classes go, if ``y`` looks like them: -1 is scikit-learn's mark of an unknown class."""
    if y is None or partial_labels is not None:
        return
    values = np.asarray(y)
    if values.dtype.kind in "if" and (values == -1).any():
        warnings.warn(
            "y is ignored, but holds -1 as labels that are partly unknown do; if they are known classes, pass them as "
            "fit(X, partial_labels=y)",
            UserWarning,
            stacklevel=3,
        )
