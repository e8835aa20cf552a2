"""What the tests of readers and writers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.problem.io import FileWriter


@pytest.fixture
def file(tmp_path: Path) -> FileWriter:
    """Return a function that writes text or bytes to a file and returns its path."""

    def write(content: str | bytes, name: str = "data.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
