"""Provably optimal k-means clustering under must-link and cannot-link constraints."""

from typing import TYPE_CHECKING, Any

from certimeans._version import __version__
from certimeans.errors import (
    CertificateError,
    CertimeansError,
    InfeasibleError,
    InputError,
    InternalError,
    NoClusteringError,
)

if TYPE_CHECKING:
    from certimeans.estimator import CertifiedKMeans
    from certimeans.result import SolveResult, SolveStatus
    from certimeans.solver import solve

__all__ = [
    "CertificateError",
    "CertifiedKMeans",
    "CertimeansError",
    "InfeasibleError",
    "InputError",
    "InternalError",
    "NoClusteringError",
    "SolveResult",
    "SolveStatus",
    "__version__",
    "solve",
]


def __getattr__(name: str) -> Any:
    """Import the solver and the estimator when they are first used: they bring compiled code and scikit-learn along."""
    if name == "CertifiedKMeans":
        from certimeans.estimator import CertifiedKMeans  # noqa: PLC0415

        return CertifiedKMeans
    if name == "solve":
        from certimeans.solver import solve  # noqa: PLC0415

        return solve
    if name in {"SolveResult", "SolveStatus"}:
        from certimeans import result  # noqa: PLC0415

        return getattr(result, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
