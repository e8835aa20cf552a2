"""Certificates, re-checked during a benchmark."""

from __future__ import annotations

import shutil
from pathlib import Path

from certimeans.certificate.check import verify
from certimeans.errors import CertimeansError
from certimeans.result import SolveResult


def save_and_verify(result: SolveResult, folder: Path) -> str:
    """Write a certificate, re-prove it from the files, and delete them unless they failed; say how it went."""
    result.save(folder, report=False)
    try:
        verify(folder, instance=result.instance)
    except CertimeansError as error:
        return f"NO: {error}"
    shutil.rmtree(folder)
    return "yes"
