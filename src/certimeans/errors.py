"""The errors that users meet.

All derive from :class:`CertimeansError`, so one ``except`` catches what the package raises on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certimeans.presolve.conflict import Conflict
    from certimeans.result import SolveResult


class CertimeansError(Exception):
    """Base class of everything that certimeans raises on purpose."""


class InputError(CertimeansError, ValueError):
    """The input is not a clustering problem; the message names what is wrong and where."""


class ArgumentError(InputError):
    """An argument has a value that it cannot have.

    Attributes
    ----------
    argument
        Its name in Python; the command line has an option for it.
    problem
        What is wrong, to be read after the name.
    """

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"{argument} {problem}")
        self.argument = argument
        self.problem = problem

    def __reduce__(self) -> tuple[type[ArgumentError], tuple[str, str]]:
        """Cross process borders in both parts."""
        return type(self), (self.argument, self.problem)


class InfeasibleError(CertimeansError, ValueError):
    """No clustering satisfies the constraints.

    Attributes
    ----------
    conflict
        Pairs of the user's own that contradict each other, as few as could be found.
    """

    def __init__(self, conflict: Conflict) -> None:
        super().__init__(conflict.describe())
        self.conflict = conflict

    def __reduce__(self) -> tuple[type[InfeasibleError], tuple[Conflict]]:
        """Cross process borders with the conflict, not only with its message."""
        return type(self), (self.conflict,)


class NoClusteringError(CertimeansError, RuntimeError):
    """The solver was stopped before it found any clustering; the estimator raises this, ``solve`` returns its result.

    Attributes
    ----------
    result
        What was proven until then: a lower bound, and why the solver stopped.
    """

    def __init__(self, result: SolveResult) -> None:
        super().__init__(
            f"no clustering was found before the solver stopped ({result.status} after {result.seconds:.3g} s); "
            "allow more time, or pass a clustering that keeps every constraint as initial_labels"
        )
        self.result = result

    def __reduce__(self) -> tuple[type[NoClusteringError], tuple[SolveResult]]:
        """Cross process borders with the result, not only with the message."""
        return type(self), (self.result,)


class CertificateError(CertimeansError):
    """A certificate does not prove what it claims; the message says where it fails."""


class MalformedCertificateError(CertificateError):
    """What can be read is not a well-formed certificate; the message names the entry."""


class InternalError(CertimeansError, RuntimeError):
    """A self-check failed: a bug in certimeans, reported rather than returned as a result."""
