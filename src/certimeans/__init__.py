"""Provably optimal k-means clustering under must-link and cannot-link constraints."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from certimeans._version import __version__
from certimeans.errors import (
    CertificateError,
    CertimeansError,
    InfeasibleError,
    InputError,
    InternalError,
    MalformedCertificateError,
    NoClusteringError,
)

if TYPE_CHECKING:
    from certimeans.ambiguity import AmbiguousPair, AmbiguousPairs
    from certimeans.analysis.saved import load_result
    from certimeans.certificate.check import verify
    from certimeans.estimator import CertifiedKMeans
    from certimeans.prices import ConstraintPrice, ConstraintPrices
    from certimeans.problem.clustering import Clustering
    from certimeans.problem.constraints import Constraints
    from certimeans.problem.generate import generate_constraints
    from certimeans.problem.instance import Instance
    from certimeans.problem.io.files import (
        PointsFile,
        read_constraints,
        read_labels,
        read_points,
        write_constraints,
        write_labels,
        write_points,
    )
    from certimeans.ranges import RangeResult, solve_range
    from certimeans.result import SolveResult
    from certimeans.result import SolveResult as Result
    from certimeans.search.limits import Limits, Progress
    from certimeans.settings import SolverSettings
    from certimeans.solver import solve, solve_instance
    from certimeans.status import SolveStatus

__all__ = [
    "AmbiguousPair",
    "AmbiguousPairs",
    "CertificateError",
    "CertifiedKMeans",
    "CertimeansError",
    "Clustering",
    "ConstraintPrice",
    "ConstraintPrices",
    "Constraints",
    "InfeasibleError",
    "InputError",
    "Instance",
    "InternalError",
    "Limits",
    "MalformedCertificateError",
    "NoClusteringError",
    "PointsFile",
    "Progress",
    "RangeResult",
    "Result",
    "SolveResult",
    "SolveStatus",
    "SolverSettings",
    "__version__",
    "generate_constraints",
    "load_result",
    "read_constraints",
    "read_labels",
    "read_points",
    "solve",
    "solve_instance",
    "solve_range",
    "verify",
    "write_constraints",
    "write_labels",
    "write_points",
]

# Imported when first used: they bring compiled code, scipy and scikit-learn along.
_MODULES = {
    "ambiguity": ("AmbiguousPair", "AmbiguousPairs"),
    "prices": ("ConstraintPrice", "ConstraintPrices"),
    "analysis.saved": ("load_result",),
    "certificate.check": ("verify",),
    "estimator": ("CertifiedKMeans",),
    "problem.clustering": ("Clustering",),
    "problem.constraints": ("Constraints",),
    "problem.generate": ("generate_constraints",),
    "problem.instance": ("Instance",),
    "problem.io.files": (
        "PointsFile",
        "read_constraints",
        "read_labels",
        "read_points",
        "write_constraints",
        "write_labels",
        "write_points",
    ),
    "ranges": ("RangeResult", "solve_range"),
    "result": ("Result", "SolveResult"),
    "search.limits": ("Limits", "Progress"),
    "settings": ("SolverSettings",),
    "solver": ("solve", "solve_instance"),
    "status": ("SolveStatus",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first used."""
    if name == "baselines":
        return import_module(f"{__name__}.baselines")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, also those that were not used yet."""
    return sorted({*globals(), *__all__})
