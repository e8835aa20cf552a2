from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let preparations leave their marks in a folder of the test."""
    (tmp_path / "state").mkdir()
    monkeypatch.setattr(
        "certimeans.compilation.preparation.folder", lambda: SimpleNamespace(path=tmp_path, is_writable=True, remark="")
    )
    monkeypatch.setattr("certimeans.compilation.preparation.state_folder", lambda: tmp_path / "state")
    return tmp_path
