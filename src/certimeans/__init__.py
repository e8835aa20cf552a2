"""Provably optimal k-means clustering under must-link and cannot-link constraints."""

from typing import TYPE_CHECKING, Any

from certimeans._version import __version__
from certimeans.errors import CertificateError, CertimeansError, InfeasibleError, InputError, InternalError

if TYPE_CHECKING:
    from certimeans.result import SolveResult, SolveStatus
    from certimeans.solver import solve

__all__ = [
    "CertificateError",
    "CertimeansError",
    "InfeasibleError",
    "InputError",
    "InternalError",
    "SolveResult",
    "SolveStatus",
    "__version__",
    "solve",
]


def __getattr__(name: str) -> Any:
    """Import the solver when it is first used: it brings compiled code along."""
    if name == "solve":
        from certimeans.solver import solve  # noqa: PLC0415

        return solve
    if name in {"SolveResult", "SolveStatus"}:
        from certimeans import result  # noqa: PLC0415

        return getattr(result, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
