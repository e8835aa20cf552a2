from __future__ import annotations

import math
from typing import Any

from certimeans.bench.progress import describe
from certimeans.bench.published import Published, contradiction
from certimeans.bench.rows import Row, published_columns
from certimeans.bench.summary import mismatches, report, summary_lines
from certimeans.bench.tables import aggregate_table, detailed_tables, success_rate

PAPER = Published(size=5, cost=100.0, root_gap_percent=0.1, nodes=3, seconds=80.0)


def row(seed: int = 0, *, published: Published | None = None, **changes: Any) -> Row:
    """Make a row of a solved instance, or of another as ``changes`` say."""
    values: dict[str, Any] = {
        "dataset": "toy", "n": 10, "d": 2, "k": 2, "ml": 5, "cl": 0, "seed": seed, "size": 5, "status": "optimal",
        "objective": 100.0, "lower_bound": 99.995, "gap": 5e-5, "root_gap": 5e-5, "nodes": 1, "cuts": 7, "rounds": 2,
        "root_time": 0.5, "time": 1.0, "peak_memory": 200.0,
    } | changes  # fmt: skip
    values |= published_columns(published, values["objective"], values["lower_bound"], values["time"])
    return Row(**values)


def cells(table: str) -> list[list[str]]:
    """Split a Markdown table."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]


def test_averages_are_those_computed_by_hand() -> None:
    """Sizes 5 and 8, root gaps 25 % and 50 %, nodes 1 and 4, times 1 and 3; one of two unsolved with gap 1/64."""
    rows = [
        row(0, root_gap=0.25, published=PAPER),
        row(1, size=8, root_gap=0.5, nodes=4, time=3.0, status="time_limit", gap=1 / 64, published=PAPER),
    ]
    header, _, line = cells(aggregate_table(rows))
    found = dict(zip(header, line, strict=True))
    assert found["size"] == "6.5"
    assert found["root gap"] == "37.500 %"
    assert found["nodes"] == "2.5"
    assert found["time (s)"] == "2.00"
    assert found["success rate (gap)"] == "50 % (1.563 %)"
    assert (found["constraints"], found["published time (s)"], found["published success"]) == ("5", "80.0", "100 %")


def test_groups_are_by_data_set_and_number_of_constraints() -> None:
    """Rows are sorted by points, name and constraints; without published results there are no such columns."""
    rows = [row(n=20, dataset="big"), row(ml=9), row(), row(seed=1), row(ml=3, cl=4), row(ml=4, cl=4)]
    table = cells(aggregate_table(rows))
    assert [line[:3] for line in table[2:]] == [
        ["toy", "5", "10"],
        ["toy", "3 + 4", "10"],
        ["toy", "4", "10"],
        ["toy", "9", "10"],
        ["big", "5", "20"],
    ]
    assert "published time (s)" not in table[0]


def test_the_summary_counts_and_names() -> None:
    """Speed-ups 80 and 20 have the geometric mean 40; better, worse and foreign values are named."""
    unsolved = Published(size=5, cost=100.0, root_gap_percent=0.1, nodes=200, seconds=80.0, final_gap_percent=0.1)
    rows = [
        row(0, published=PAPER),
        row(1, time=4.0, nodes=3, published=PAPER),
        row(2, objective=90.0, lower_bound=89.99, time=2.0, published=unsolved),
        row(3, objective=100.01, time=2.0, published=PAPER),
        row(4, objective=120.0, lower_bound=119.75, time=2.0, published=PAPER),
        row(5, status="error", time=math.nan, message="no memory", gap=math.inf),
    ]
    text = "\n".join(summary_lines(rows))
    assert "6 instances, 5 solved, 4 of them at the root" in text
    assert "time: 11.0 s in all, 2.00 s median, 4.00 s at most" in text
    assert "not solved: toy 5 0 5 (error: no memory)" in text
    assert "geometric mean 40, least 20.0 (toy 5 0 1)" in text
    assert "better value than published: 1: toy 5 0 2 (90, published 100)" in text
    assert "worse value than published: 1: toy 5 0 3" in text
    assert "published as not solved, solved here: 1: toy 5 0 2" in text
    assert "does not belong to the instance, proven: 1: toy 1" in text
    whole = report(rows, "Title", "command", "machine")
    assert "| toy 5 0 4 | 119.75 | 120 | 100 | published 100 is below the proven bound 119.75 |" in whole


def test_no_table_claims_more_than_was_proven() -> None:
    """Gaps and costs are rounded up, bounds down; the message of an unsolved instance is told besides its gap."""
    bound, cost = 120.1234567891, 120.5432198761
    rows = [
        row(0, status="interrupted", message="workers died", gap=0.00010001, root_gap=0.00020001, ml=3),
        row(1, objective=cost, lower_bound=bound, published=PAPER),
    ]
    assert "toy 3 0 0 (interrupted, gap 0.0101 %: workers died)" in "\n".join(summary_lines(rows))
    assert "gap 0.0101 %" in describe(rows[0])
    assert cells(detailed_tables(rows))[2][7:11] == ["0.0201 %", "0.50", "1", "0.0101 %"]
    assert "| 0.021 % |" in aggregate_table(rows[:1])
    assert success_rate(rows[:1]) == "0 % (0.011 %)"
    mismatch = mismatches(rows)[1]
    assert "| 120.123456 | 120.54322 | 100 | published 100 is below the proven bound 120.12345 |" in mismatch
    assert contradiction(PAPER, 90.123456781, 80.0).endswith("costs 90.123457")


def test_every_instance_has_a_line() -> None:
    """Failed instances keep the table rectangular."""
    rows = [row(0, published=PAPER), row(1, status="error", time=math.nan)]
    table = cells(detailed_tables(rows))
    assert {len(line) for line in table} == {18}
    assert table[2][4:8] == ["100", "2", "7", "0.0051 %"]
    assert table[2][-5:] == ["100", "3", "80", "equal", "80"]
    assert table[3][3] == "error"
