import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.suite import scaling
from benchmarks.suite.large_instances import Folders
from benchmarks.suite.scaling_dask import Costs, dask_name
from benchmarks.suite.scaling_fit import Curve, Point, Rows, fit_power_law, gap_point, time_point
from benchmarks.suite.scaling_instances import full_plan, quick_plan
from benchmarks.suite.scaling_machines import describe_hundred, describe_machines
from benchmarks.suite.scaling_report import report, slope_in_words

COSTS = Costs(search=8.0, split=1.5, end=0.5, parts=200, cold=0.4, warm=0.2, wait=0.05, client=0.004, scheduler=0.002,
              bytes=1e6)  # fmt: skip
FAST = math.inf


def curve(*pairs: tuple[float, float]) -> list[Point]:
    return [Point(x, y) for x, y in pairs]


def row(**values: Any) -> dict[str, Any]:
    return {"target_gap": 0.01, "time": 30.0, "gap": 0.02, "over_time": {}, **values}


def test_a_power_law_is_found_with_its_slope() -> None:
    """Points on y = 3 x^1.5 give that line, and all of them count."""
    law = fit_power_law(curve(*((x, 3 * x**1.5) for x in (1.0, 2.0, 5.0, 10.0, 40.0))))
    assert law is not None
    assert (law.slope, law.factor, law.last) == pytest.approx((1.5, 3.0, 1.5))
    assert (law.first, law.count) == (1.0, 5)
    assert law.error == pytest.approx(0.0, abs=1e-9)
    assert law.at(20.0) == pytest.approx(3 * 20**1.5)


def test_only_the_large_end_has_to_fit() -> None:
    """A curve that is flat first and grows in proportion then has the slope 1 from there on."""
    law = fit_power_law(curve((1, 10.0), (3, 10.0), (10, 10.0), (30, 30.0), (100, 100.0), (300, 300.0)))
    assert law is not None
    assert law.first == 10
    assert law.slope == pytest.approx(1.0)


def test_what_is_no_power_law_is_not_told_as_one() -> None:
    """Neither an exponential, nor three points however straight, nor points at which runs ended early."""
    exponential = curve(*((x, 2.0**x) for x in (2, 3, 5, 10, 20, 30)))
    assert fit_power_law(exponential) is None
    straight = curve((1, 1.0), (2, 2.0), (4, 4.0))
    assert fit_power_law(straight) is None
    assert fit_power_law([*straight, Point(8, 8.0, is_exact=False)]) is None
    assert fit_power_law([*straight, Point(8, 8.0)]) is not None


def test_zero_has_no_place_on_logarithmic_axes() -> None:
    """No constraints at all, x = 0, is left out of the line."""
    law = fit_power_law(curve((0, 5.0), (1, 1.0), (2, 2.0), (4, 4.0), (8, 8.0)))
    assert law is not None
    assert law.count == 4
    assert law.slope == pytest.approx(1.0)


def test_times_of_runs_that_missed_their_gap_are_only_where_they_ended() -> None:
    """The time counts if the gap was reached; a run that failed has none."""
    assert time_point(5, row(gap=0.009, time=7.0)) == Point(5, 7.0)
    assert time_point(5, row(gap=0.011, time=7.0)) == Point(5, 7.0, is_exact=False)
    assert time_point(5, {"exit_code": 2, "target_gap": 0.01}) is None


def test_gaps_are_read_off_at_their_moment() -> None:
    """Within the run as recorded, at its end as it was then; one that was closed before counts as closed."""
    recorded = row(gap=0.02, over_time={"10": 0.3})
    assert gap_point(5, recorded, 10.0) == Point(5, 0.3)
    assert gap_point(5, recorded, 30.0) == Point(5, 0.02)
    assert gap_point(5, row(gap=1e-9, time=4.0), 10.0) == Point(5, 0.01, is_exact=False)
    assert gap_point(5, row(over_time={"10": None}), 10.0) is None  # no clustering yet
    assert gap_point(5, {}, 10.0) is None


def test_slopes_are_told_in_words() -> None:
    """With what is left out, and what the slope means; without a fit, no slope."""
    [points, clusters, *_] = full_plan().studies
    exact = curve(*((10.0**e, 2 * 10.0**e) for e in range(3, 7)))
    told = slope_in_words(points, Curve("", (*exact, Point(1e7, 9.0, is_exact=False))), "time")
    assert told.startswith("*time*: slope 1.00 ± 0.00, 4 points from 1,000 on (1 of 5 runs ended before")
    assert told.endswith("Ten times as many points: 10 times as much.")
    flat = curve(*((k, 3.0) for k in (2, 5, 10, 20)))
    assert "hardly changes with more clusters" in slope_in_words(clusters, Curve("after 30 s", tuple(flat)), "gap")
    assert slope_in_words(clusters, Curve("", ()), "gap") == "*gap*: no power law fits."


def test_workers_share_parts_and_nothing_else() -> None:
    """One worker does all in turn; with two, the parts take half the time, and search, split and end what they took."""
    assert COSTS.seconds(1, FAST) == pytest.approx(10 + 0.45 + 199 * 0.25)
    assert COSTS.seconds(2, FAST) == pytest.approx(10 + 2 * 0.45 + 99 * 0.25)  # 3 cold ones need two rounds
    assert COSTS.times(10).seconds(1, FAST) == pytest.approx(100 + 0.45 + 1999 * 0.25)


def test_the_narrowest_place_limits_any_number_of_workers() -> None:
    """200 parts of 4 ms at the client take 0.8 s, of 10 ms on a slow network 2 s, however many workers there are."""
    assert COSTS.pass_seconds(10**6, FAST) == pytest.approx(0.8)
    assert COSTS.pass_seconds(10**6, 1e8) == pytest.approx(2.0)
    assert COSTS.least_seconds(1e8) == pytest.approx(12.0)
    assert COSTS.most_workers(1e8) == pytest.approx(25.0)
    assert "parts wait for the client's network" in describe_hundred(COSTS).replace("\n", " ")


def test_costs_are_read_off_a_run_with_one_worker() -> None:
    """What workers were not busy with is waiting; processor time and bytes are for each part."""
    measured = {
        "search_seconds": 3.0, "split_seconds": 2.0, "pass_seconds": 6.0, "end_seconds": 1.0, "tasks": 10,
        "cold_parts": 1, "cold_seconds": 1.0, "warm_seconds": 0.5, "client_processor": 0.2, "scheduler_processor": 0.1,
        "task_bytes": 70.0, "result_bytes": 30.0,
    }  # fmt: skip
    costs = Costs.of(measured)
    assert (costs.serial, costs.parts, costs.bytes) == (6.0, 10, 100.0)
    assert (costs.wait, costs.client, costs.scheduler) == pytest.approx((0.05, 0.02, 0.01))


def test_what_is_sent_once_is_no_part_of_a_task() -> None:
    """Ten tasks of 70 bytes with results of 30 are 1 kB in all, whatever the solved part has that workers keep."""
    plan = full_plan()
    measured = {
        "search_seconds": 3.0, "split_seconds": 2.0, "pass_seconds": 6.0, "end_seconds": 1.0, "tasks": 10, "gap": 0.004,
        "cold_parts": 1, "cold_seconds": 1.0, "warm_seconds": 0.5, "client_processor": 0.2, "scheduler_processor": 0.1,
        "task_bytes": 70.0, "result_bytes": 30.0, "template_bytes": 5e6, "wall": 12.0,
    }  # fmt: skip
    rows: Rows = {
        (dask_name(plan, workers), plan.dask_gap, None): measured | {"workers": workers, "wall": 12.0 / workers}
        for workers in (1, 2)
    }
    text = describe_machines(plan, rows).replace("\n", " ")
    assert "that is 1 kB in all. What most parts start from, 5 MB of solved parts, is sent to each worker once" in text
    assert "and the whole 2.00 times" in text


def test_the_basic_setting_is_measured_once() -> None:
    """It belongs to all studies, and each run is asked two questions."""
    plan = full_plan()
    runs = list(scaling.runs_of(plan, ["n", "k", "d", "links"]))
    assert len(set(runs)) == len(runs) == 2 * (7 + 5 + 5 + 5 + 15)
    assert sum(setting == plan.base for setting, _ in runs) == 2
    assert {setting.n for setting, _ in scaling.runs_of(plan, ["k"])} == {plan.base.n}


def test_links_are_as_many_as_the_setting_says() -> None:
    """Half a link of each kind per point, from the labels of the blobs."""
    [*_, links] = quick_plan().studies
    half = next(series for series in links.series if series.label == "half of each").settings[1.0]
    data = half.instance(quick_plan().to_gap).load(Folders())
    assert len(data.constraints.must_link) == len(data.constraints.cannot_link) == half.n // 2


def test_rows_of_an_interrupted_study_are_kept_and_told(tmp_path: Path) -> None:
    """The last row of a run counts; what is missing is left out of the text, and so are studies without rows."""
    plan = quick_plan()
    path = tmp_path / "scaling.jsonl"
    assert scaling.read_rows(path) == {}
    written = row(name=plan.base.name, target_seconds=plan.to_gap.seconds, jobs=2, date="2026-01-01 00:00", wall=9.0,
                  environment="here", gigabytes=0.5, verified=True, parts=3)  # fmt: skip
    path.write_text("".join(json.dumps(written | {"gap": gap, "time": 4.0}) + "\n" for gap in (0.5, 0.008)), "utf-8")
    rows = scaling.read_rows(path)
    assert [found["gap"] for found in rows.values()] == [0.008]
    text = report(plan, rows, "images")
    assert "| 3,000 | 4.0 s | 9.0 s | 3 | 0.50 | yes |" in text
    assert "Several machines" not in text
