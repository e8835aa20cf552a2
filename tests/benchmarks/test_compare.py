import json
from dataclasses import replace
from pathlib import Path

import pytest

from certimeans import InputError
from certimeans.bench.rows import ResultsFile, Row

pytest.importorskip("matplotlib")
from benchmarks.suite import compare

ROW = Row("iris", 150, 4, 3, 50, 0, 0, 100, "optimal", 84.0, 83.995, 6e-5, 6e-5, 1, 0, 5, 0.1, 0.2, 100.0)


def write(path: Path, *rows: Row) -> Path:
    ResultsFile(path).write(rows)
    return path


def test_times_are_compared_by_data_set(tmp_path: Path) -> None:
    """Twice as fast on one instance and four times on another is 2.83 times in the geometric mean."""
    wine = replace(ROW, dataset="wine", n=178)
    then = write(tmp_path / "then.csv", replace(ROW, time=0.4), replace(wine, time=0.8, nodes=7), replace(ROW, seed=1))
    pairs, alone = compare.read_pairs(then, write(tmp_path / "now.csv", wine, ROW))
    assert alone == 1
    lines = compare.table(pairs).splitlines()[2:]
    assert lines[0] == "| iris | 1 | 1 | 1 | 1 | 1 | 0.4 | 0.2 | 0.40 | 0.20 | 0.40 | 0.20 | 2.00 | 1 | 0 |"
    assert lines[2] == "| all | 2 | 2 | 2 | 1 | 2 | 1.2 | 0.4 | 0.60 | 0.20 | 0.80 | 0.20 | 2.83 | 2 | 0 |"
    assert "wine 50 0 0 (0.80 s, now 0.20 s); iris" in compare.extremes(pairs)
    assert "lost most: none" in compare.extremes(pairs)
    assert "agree" in compare.agreement(pairs)


def test_contradicting_proofs_are_seen(tmp_path: Path) -> None:
    """A lower bound above the other version's clustering means that one of them is wrong."""
    now = write(tmp_path / "now.csv", ROW)
    pairs, _ = compare.read_pairs(write(tmp_path / "then.csv", replace(ROW, lower_bound=84.001)), now)
    assert "Contradictions" in compare.agreement(pairs)
    assert "iris 50 0 0" in compare.agreement(pairs)


def test_other_data_are_not_compared(tmp_path: Path) -> None:
    """Neither files with other points or constraints, nor files without a common instance, nor missing ones."""
    now = write(tmp_path / "now.csv", ROW)
    with pytest.raises(InputError, match="other data or constraints for iris 50 0 0"):
        compare.read_pairs(write(tmp_path / "a.csv", replace(ROW, fingerprint="x")), now)
    with pytest.raises(InputError, match="other data or constraints for iris 50 0 0"):
        compare.read_pairs(write(tmp_path / "a.csv", replace(ROW, version="0.1", fingerprint="x", n=149)), now)
    other_version = write(tmp_path / "a.csv", replace(ROW, version="0.1", fingerprint="x"))
    assert len(compare.read_pairs(other_version, now)[0]) == 1  # fingerprints of other versions say nothing
    with pytest.raises(InputError, match="no solved instance in common"):
        compare.read_pairs(write(tmp_path / "b.csv", replace(ROW, seed=2)), now)
    with pytest.raises(InputError, match="there is no file"):
        compare.read_pairs(tmp_path / "c.csv", now)


def test_commit_and_machine_are_read_from_beside_the_file(tmp_path: Path) -> None:
    """The last run counts; without a record the table says that it does not know."""
    run = {"date": "2026-11-18T01:02:03", "certimeans": "0.1.0", "commit": "abc", "processor": "P", "cores": 2}
    runs = {"runs": [{**run, "commit": "old", "settings": {}}, {**run, "settings": {"jobs": 2}}]}
    assert "not recorded" in compare.describe(tmp_path / "then.csv", None).made
    (tmp_path / "then.json").write_text(json.dumps(runs), encoding="utf-8")
    version = compare.describe(tmp_path / "then.csv", "first version")
    assert version.name == "first version (abc)"
    assert version.made == "2026-11-18, certimeans 0.1.0 (commit abc); P, 2 cores; jobs=2"


def test_the_picture_is_drawn_also_if_one_version_solves_nothing(tmp_path: Path) -> None:
    """What is not solved is drawn, too."""
    then = write(tmp_path / "then.csv", replace(ROW, status="time_limit", time=5.0))
    pairs, _ = compare.read_pairs(then, write(tmp_path / "now.csv", ROW))
    compare.draw(pairs, ("then", "now"), tmp_path / "compare.png")
    assert (tmp_path / "compare.png").stat().st_size > 10_000
