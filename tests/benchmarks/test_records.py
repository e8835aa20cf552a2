"""Which records of reliability count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.reliability.records import Record, append, drop_others, of_sources, read
from benchmarks.reliability.table import write_table

OLD = Record("by_parts", 0, 9, 10, [], 1.0, "old", "2026-01-01")
WRONG = replace(OLD, first=10, last=19, wrong=["seed 12: too high"])
OTHER_CHECK = replace(OLD, check="tampering")
NEW = replace(OLD, commit="new")


def test_a_run_drops_what_other_sources_did(tmp_path: Path) -> None:
    """Only of the checks that it repeats, and not what went wrong: that says what was found."""
    path = tmp_path / "records.jsonl"
    for record in (OLD, WRONG, OTHER_CHECK, NEW):
        append(path, record)
    assert drop_others(path, {"by_parts"}, "new") == [OLD]
    assert read(path) == [WRONG, OTHER_CHECK, NEW]
    assert drop_others(tmp_path / "nothing.jsonl", {"by_parts"}, "new") == []


def test_the_table_counts_the_sources_in_use_alone(tmp_path: Path) -> None:
    """What went wrong with others is listed below it, and is no failure of these."""
    everything = [WRONG, NEW]
    assert of_sources(everything, "new") == [NEW]
    assert of_sources(everything, None) == everything
    target = tmp_path / "table.md"
    write_table(of_sources(everything, "new"), everything, target, [("by_parts", "the same by parts", 20)])
    text = target.read_text(encoding="utf-8")
    assert "| the same by parts | 10 | 0 | 50 % |" in text
    assert "- by_parts, commit old: seed 12: too high" in text
