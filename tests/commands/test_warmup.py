"""The command that compiles everything."""

import io
import sys

import pytest

from certimeans import warmup
from certimeans.cli import main


def test_a_closed_output_is_one_message(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback, and an exit code that is not that of a folder where nothing can be kept."""
    monkeypatch.setattr(warmup, "prepare", lambda tell: tell is None)
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed)
    assert main(["warmup"]) == 5
    assert "standard output cannot be written" in capsys.readouterr().err
