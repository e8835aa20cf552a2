"""Certificates, re-checked during a benchmark: the place where the checker is plugged in."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from certimeans.errors import CertimeansError, InputError
from certimeans.result import SolveResult

Verifier = Callable[[SolveResult, Path], str]
"""Writes a result's certificate to a folder and re-proves it from there; returns ``yes``, or why it failed."""


def certificate_verifier() -> Verifier:
    """Return the verifier of this version.

    Raises
    ------
    InputError
        If this version writes no certificates.
    """
    if not hasattr(SolveResult, "save"):
        raise InputError("--verify: this version of certimeans writes no certificates")
    return save_and_verify


def save_and_verify(result: SolveResult, folder: Path) -> str:
    """Save a result, re-prove its certificate from the files, and delete them unless they failed."""
    saved: Any = result
    saved.save(folder)
    check = importlib.import_module("certimeans.certificate.check")
    try:
        check.verify_directory(folder, result.instance)
    except CertimeansError as error:
        return f"NO: {error}"
    shutil.rmtree(folder)
    return "yes"
