from pathlib import Path

import pytest

pytest.importorskip("resource")  # not on Windows
from benchmarks.suite import frontier


def row(name: str, group: str = "", seconds: str = "1.00", status: str = "optimal") -> dict[str, str]:
    values = {"instance": name, "group": group, "seconds": seconds, "status": status, "to reach s": "3"}
    return {column: values.get(column, "") for column in frontier.COLUMNS}


def test_every_goal_has_a_name_of_its_own_and_those_without_data_can_be_built() -> None:
    """Names choose instances on the command line; sizes are as they say."""
    goals = frontier.goals()
    assert len({goal.name for goal in goals}) == len(goals)
    known = {goal.name: goal for goal in goals}
    assert known["plane k=15 draw 3"].build(None).points.shape == (300, 2)
    assert known["wine standardised k=4"].build(None).n_clusters == 4
    assert known["blobs 2000 separated"].jobs == 2


def test_rows_of_other_runs_are_kept(tmp_path: Path) -> None:
    """What was measured earlier stays in the table until it is measured again."""
    path = tmp_path / "frontier.csv"
    assert frontier.read_rows(path) == {}
    frontier.write_csv(path, [row("a"), row("b", seconds="2.00")])
    rows = frontier.read_rows(path)
    assert list(rows) == ["a", "b"]
    assert rows["b"]["seconds"] == "2.00"


def test_groups_are_judged_by_their_median() -> None:
    """One of three that is not closed does not matter, two of three do."""
    times = [row("x1", "x", "1.00"), row("x2", "x", "2.00"), row("x3", "x", "9.00", "time_limit")]
    assert "| x | 3 | 2.00 | 3 | yes |" in frontier.body(times)
    worse = [row("x1", "x", "1.00"), *(row(f"x{i}", "x", "9.00", "time_limit") for i in (2, 3))]
    assert "| x | 3 | not closed | 3 | no |" in frontier.body(worse)


def test_a_process_that_failed_is_a_row_that_did_not_reach_its_goal() -> None:
    """It counts in its group, and the table is written all the same."""
    known = {goal.name: goal for goal in frontier.goals()}
    failed = dict.fromkeys(frontier.COLUMNS, "")
    failed |= {key: str(value) for key, value in known["iris k=3"].asked().items()} | {"status": "failed"}
    text = frontier.body([row("iris k=2"), failed])
    assert "| failed |" in text
    assert "| no |" in text
    assert "All of iris" not in text
