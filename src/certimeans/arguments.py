"""What callers may pass, and what the solver makes of it: shared by ``solve``, the estimator and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from certimeans.errors import InputError
from certimeans.problem.constraints import Constraints, PartialLabels
from certimeans.problem.instance import Instance, as_points


def create_instance(
    points: Any,
    n_clusters: Any,
    constraints: Constraints,
    *,
    gram: Any = None,
    squared_distances: Any = None,
    standardize: bool = False,
    weights: Any = None,
    feature_names: Sequence[str] | None = None,
) -> Instance:
    """Build the instance from points, from their inner products, or from their squared distances.

    Raises
    ------
    InputError
        If none or several of the three are given, or an argument is not usable.
    """
    ways = {"points": points, "gram": gram, "squared_distances": squared_distances}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        said = "nothing" if not given else " and ".join(given)
        raise InputError(f"give the data once, as points, as gram or as squared_distances; got {said}")
    if n_clusters is None:
        raise InputError("say how many clusters you want with n_clusters")
    if standardize and points is None:
        raise InputError(f"standardize needs points; this problem is given as {given[0]}")
    names = None if feature_names is None else tuple(feature_names)
    if "gram" not in signature(Instance.create).parameters:
        return _create_from_points(points, n_clusters, constraints, standardize, weights, names)
    return Instance.create(
        points,
        n_clusters,
        gram=gram,
        squared_distances=squared_distances,
        must_link=constraints.must_link,
        cannot_link=constraints.cannot_link,
        diameter=constraints.diameter,
        split=constraints.split,
        partial_labels=None if constraints.partial_labels is None else _class_names(constraints.partial_labels),
        weights=weights,
        standardize=standardize,
        feature_names=names,
    )


def _class_names(labels: PartialLabels) -> list[str | None]:
    """Return the class of each point as the user named it; ``None`` where it is unknown."""
    return [labels.names[code] if code >= 0 else None for code in labels.codes]


def _create_from_points(
    points: Any, n_clusters: int, constraints: Constraints, standardize: bool, weights: Any, names: Any
) -> Instance:
    """Build an instance where ``Instance.create`` knows points only; to be removed when it knows more."""
    from certimeans.problem.scaling import standardized  # noqa: PLC0415

    if points is None:
        raise InputError("a Gram matrix and squared distances cannot be used yet")
    return Instance(standardized(as_points(points)) if standardize else points, n_clusters, constraints, weights, names)


def as_n_jobs(n_jobs: object) -> int:
    """Return a number of processes: ``None`` for 1 or what a ``joblib.parallel_config`` says, -1 for all cores."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise InputError(f"n_jobs must be None or an integer other than 0 (-1 for all cores); got {n_jobs!r}")
    return int(effective_n_jobs(n_jobs))


def as_seed(random_state: object) -> int:
    """Return an integer as it is; draw a seed from a NumPy generator, or for ``None`` from NumPy's global one."""
    most = np.iinfo(np.int32).max
    if random_state is None:
        return int(np.random.randint(most))  # noqa: NPY002  # scikit-learn's convention: np.random.seed makes it repeat
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(most))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(most))
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise InputError(
            f"random_state must be a non-negative integer, a NumPy generator or None; got {random_state!r}"
        )
    return int(random_state)
