"""What a fitted estimator says about points, new ones too: their nearest centres."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from certimeans._typing import FloatArray, IntArray
from certimeans.errors import InputError
from certimeans.problem.nearest import KernelCentres, scaled_distances
from certimeans.problem.validation import as_points, as_weights


def _has_points(estimator: NearestCentres) -> bool:
    """Whether there are coordinates: scikit-learn then offers what needs them, and else does not."""
    return estimator.kernel != "precomputed"


class NearestCentres(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]  # scikit-learn is untyped
    """The half of :class:`~certimeans.CertifiedKMeans` that needs no solver: ``predict``, ``transform`` and ``score``.

    Attributes
    ----------
    kernel
        ``"linear"``: there are points, and ``cluster_centers_``. ``"precomputed"``: there is only a kernel matrix.
    """

    kernel: str
    cluster_centers_: FloatArray
    _kernel_centres_: KernelCentres

    def predict(self, X: Any) -> IntArray:  # noqa: N803
        """Find the nearest centre of each point.

        Constraints are about the points that were fitted, not about new ones. Under constraints, a fitted point may
        therefore be predicted to belong elsewhere than ``labels_`` says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points; with a precomputed kernel, their kernel with the fitted points, one column for each of those.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of the nearest centre; the first of several equally near ones.
        """
        check_is_fitted(self)
        if self._is_precomputed():
            return self._kernel_centres_.nearest(self._validated(X, reset=False))
        distances, _ = self._scaled_distances(X)
        nearest: IntArray = distances.argmin(axis=1)
        return nearest

    def transform(self, X: Any) -> FloatArray:  # noqa: N803
        """Compute the distance of each point to each centre.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Euclidean distances, not squared.
        """
        distances, exponent = self._scaled_distances(X)
        return np.ldexp(distances, exponent)

    @available_if(_has_points)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def score(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803, ARG002
        """Compute minus the cost of giving each point to its nearest centre, constraints aside; more is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each point, zero or more.

        Returns
        -------
        score : float
            Minus the weighted sum of squared distances.
        """
        distances, exponent = self._scaled_distances(X)
        weights = as_weights(sample_weight, len(distances), name="sample_weight", zero_allowed=True)
        return -float(np.ldexp(weights @ distances.min(axis=1) ** 2, 2 * exponent))

    @available_if(_has_points)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns of :meth:`transform`: the class in lower case and the number of the cluster.

        Parameters
        ----------
        input_features : Ignored
            Present by convention.

        Returns
        -------
        names : ndarray of shape (n_clusters,)
            ``certifiedkmeans0``, ``certifiedkmeans1``, ...
        """
        check_is_fitted(self)
        return super().get_feature_names_out(input_features)

    @property
    def _n_features_out(self) -> int:
        """Number of columns of :meth:`transform`, for ``get_feature_names_out``."""
        return len(self.cluster_centers_)

    def __getattr__(self, name: str) -> Any:
        if name == "cluster_centers_" and "labels_" in vars(self):
            raise AttributeError("there is no cluster_centers_ with kernel='precomputed': centres need points")
        if name in {"transform", "score", "get_feature_names_out"} and vars(self).get("kernel") == "precomputed":
            raise AttributeError(f"{name} needs points; with kernel='precomputed' there is only predict")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _is_precomputed(self) -> bool:
        if self.kernel not in {"linear", "precomputed"}:
            raise InputError(
                f"kernel must be 'linear' or 'precomputed'; got {self.kernel!r}. For another kernel pass the matrix, "
                "e.g. sklearn.metrics.pairwise.rbf_kernel(X), with kernel='precomputed'"
            )
        return bool(self.kernel == "precomputed")

    def _validated(self, X: Any, *, reset: bool) -> FloatArray:  # noqa: N803
        """Check X as scikit-learn does, and say which entry is bad if it is one."""
        try:
            points: FloatArray = validate_data(self, X, reset=reset, dtype=np.float64, order="C")
        except ValueError as error:
            try:
                as_points(X)
            except InputError as precise:
                raise InputError(f"{error}\n{precise}") from None
            raise InputError(str(error)) from None
        if reset and self._is_precomputed() and points.shape[0] != points.shape[1]:
            raise InputError(f"with kernel='precomputed' X must be a square matrix; got shape {points.shape}")
        return points

    def _scaled_distances(self, X: Any) -> tuple[FloatArray, int]:  # noqa: N803
        check_is_fitted(self)
        return scaled_distances(self._validated(X, reset=False), self.cluster_centers_)


# Not as a decorator: scikit-learn wraps transform for set_output when the class is made, and would hide the condition.
NearestCentres.transform = available_if(_has_points)(NearestCentres.transform)  # type: ignore[method-assign]
