"""Certificates, re-checked during a benchmark."""

from __future__ import annotations

import shutil
from pathlib import Path

from certimeans.certificate.check import verify_directory
from certimeans.certificate.write import write_certificate
from certimeans.errors import CertimeansError
from certimeans.result import SolveResult


def save_and_verify(result: SolveResult, folder: Path) -> str:
    """Write a certificate, re-prove it from the files, and delete them unless they failed; say how it went."""
    folder.mkdir(parents=True, exist_ok=True)
    write_certificate(folder, result.instance, result.search_tree, result.labels, result.objective, result.lower_bound)
    try:
        verify_directory(folder, result.instance)
    except CertimeansError as error:
        return f"NO: {error}"
    shutil.rmtree(folder)
    return "yes"
