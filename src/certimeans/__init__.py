"""Provably optimal k-means clustering under must-link and cannot-link constraints."""

from certimeans._version import __version__
from certimeans.errors import CertimeansError, InfeasibleError, InputError, InternalError

__all__ = ["CertimeansError", "InfeasibleError", "InputError", "InternalError", "__version__"]
