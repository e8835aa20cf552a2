import sys
from pathlib import Path

import pytest

from benchmarks import record


def test_a_table_says_how_it_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Command, date, commit and machine; folders by what they are for, and words with spaces in quotes."""
    (tmp_path / "rows.csv").touch()
    arguments = [str(tmp_path), "--packages", str(tmp_path), "--names", "iris 0 50 1", str(tmp_path / "rows.csv")]
    monkeypatch.setattr(sys, "argv", ["script.py", *arguments])
    record.write_result("table", "Title", "body", tmp_path)
    head = (tmp_path / "table.md").read_text(encoding="utf-8").splitlines()
    assert head[0] == "# Title"
    assert head[2].endswith(" DATA --packages PACKAGES --names 'iris 0 50 1' rows.csv`")
    assert "certimeans " in head[4]
    assert " cores." in head[4]


def test_a_merged_table_names_every_run() -> None:
    """One line if all rows were measured with the same, otherwise one for each."""
    assert record.environments([("2026-11-17", "A"), ("2026-11-18", "A")]) == "2026-11-17 and 2026-11-18, A."
    said = record.environments([("2026-11-17", "A"), ("2026-11-18", "B"), ("", "")])
    assert said.splitlines()[2:] == [
        "- 2026-11-17, A.",
        "- 2026-11-18, B.",
        "- an unknown day, not recorded with which version.",
    ]
