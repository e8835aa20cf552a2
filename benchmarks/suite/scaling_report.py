"""The text of the scaling study: tables, and slopes in words; all figures come from the rows."""

from __future__ import annotations

from typing import Any

from benchmarks.record import markdown_table
from benchmarks.suite.large import percent
from benchmarks.suite.scaling_fit import (
    EARLY,
    LEAST_POINTS,
    WORST_FACTOR,
    Curve,
    Rows,
    fit_power_law,
    gap_curves,
    gap_point,
    row_of,
    time_curves,
)
from benchmarks.suite.scaling_instances import Plan, Series, Study
from benchmarks.suite.scaling_machines import describe_machines
from certimeans.printing import percent_up
from certimeans.status import SolveStatus

_INTRODUCTION = """\
Blobs (Gaussian clusters around centres drawn from a cube of side 10) with n = {n:,}, d = {d}, k = {k}, sigma =
{sigma:g} and no links, one thing varied at a time. Each is solved twice with `certimeans solve --jobs {jobs}`,
and each certificate verified: how long until a gap of {gap} is proven, within {limit:g} s; and which gap is
proven in {seconds:g} s, where {closed} counts as closed and ends the run. *time* is the solver's own, without
the start of the program and its files; *wall* has these, too.

A slope is told where a line on logarithmic axes fits: at {least} points or more at the large end, none of them
farther from it than by a factor of {worst:g}. Runs that ended at their limit, or because the gap was closed,
are no part of it."""


def report(plan: Plan, rows: Rows, pictures: str) -> str:
    """Write everything that is known; the pictures are in a folder that is named from here."""
    base, (to_gap, in_time) = plan.base, plan.targets
    introduction = _INTRODUCTION.format(
        n=base.n,
        d=base.d,
        k=base.k,
        sigma=base.sigma,
        jobs=" or ".join(sorted({str(row["jobs"]) for row in rows.values() if "jobs" in row})),
        gap=percent(to_gap.gap),
        limit=to_gap.seconds,
        seconds=in_time.seconds,
        closed=percent(in_time.gap),
        least=LEAST_POINTS,
        worst=WORST_FACTOR,
    )
    studies = (_describe(plan, study, rows, pictures) for study in plan.studies)
    return "\n\n".join(filter(None, [introduction, *studies, describe_machines(plan, rows), _origin(rows)]))


def _origin(rows: Rows) -> str:
    """List what the rows were measured with: they may be of several days and versions."""
    known = sorted({(row["date"].split()[0], row["environment"]) for row in rows.values()})
    return "Measured:\n\n" + "\n".join(f"- {date}, {environment}" for date, environment in known)


def _describe(plan: Plan, study: Study, rows: Rows, pictures: str) -> str:
    if not any(row_of(rows, setting, target) for setting in study for target in plan.targets):
        return ""
    header = [
        study.axis, "kind", f"time to {percent(plan.to_gap.gap)}", "wall", "parts", f"gap after {EARLY:g} s",
        f"gap after {plan.in_time.seconds:g} s", "parts", "memory GB", "verified",
    ]  # fmt: skip
    lines = [_line(plan, series, x, rows) for series in study.series for x in series.settings]
    shown = [place for place in range(len(header)) if any(line[place] for line in lines)]
    table = markdown_table([header[place] for place in shown], [[line[place] for place in shown] for line in lines])
    told = [(f"time to {percent(plan.to_gap.gap)}", curve) for curve in time_curves(plan, study, rows)]
    told += [("gap", curve) for curve in gap_curves(plan, study, rows)]
    sentences = "\n".join(f"- {slope_in_words(study, curve, what)}" for what, curve in told)
    picture = f"![{study.title}]({pictures}/scaling_{study.name}.png)"
    return f"## {study.title}\n\n{picture}\n\n{table}\n\n{sentences}"


def _line(plan: Plan, series: Series, x: float, rows: Rows) -> list[str]:
    timed, limited = (row_of(rows, series.settings[x], target) for target in plan.targets)
    early = gap_point(x, limited, EARLY)
    known = [row for row in (timed, limited) if "gap" in row]
    return [
        f"{x:,g}" if x < 1000 else f"{x:,.0f}",
        series.label,
        _time(timed),
        f"{timed['wall']:.1f} s" if timed else "",
        _parts(timed),
        percent_up(early.y) if early is not None and plan.in_time.seconds > EARLY else "",
        _gap(limited),
        _parts(limited),
        f"{max(row['gigabytes'] for row in known):.2f}" if known else "",
        ("yes" if all(row["verified"] for row in known) else "NO") if known else "",
    ]


def _time(row: dict[str, Any]) -> str:
    if row.get("gap") is None:
        return _failure(row)
    if row["gap"] <= row["target_gap"]:
        return f"{row['time']:.1f} s"
    is_late = row["status"] == SolveStatus.TIME_LIMIT
    ended = f"not in {row['target_seconds']:g} s" if is_late else f"nothing left to do after {row['time']:.0f} s"
    return f"{ended}: {percent_up(row['gap'])}"


def _gap(row: dict[str, Any]) -> str:
    if row.get("gap") is None:
        return _failure(row)
    is_closed = row["gap"] <= row["target_gap"]
    return percent_up(row["gap"]) + (f" (closed in {row['time']:.1f} s)" if is_closed else "")


def _failure(row: dict[str, Any]) -> str:
    return f"failed, exit code {row['exit_code']}" if row else ""


def _parts(row: dict[str, Any]) -> str:
    parts = row.get("parts")
    return "" if parts is None else f"{parts:,}"


def slope_in_words(study: Study, curve: Curve, what: str) -> str:
    """Say how a measure grows along a curve, if a power law fits, and how many runs are left out."""
    left_out = sum(not point.is_exact for point in curve.points)
    ended = f" ({left_out} of {len(curve.points)} runs ended before and are left out)" if left_out else ""
    name = f"*{what}, {curve.label}*" if curve.label else f"*{what}*"
    law = fit_power_law(curve.points)
    if law is None:
        return f"{name}: no power law fits{ended}."
    how = f"slope {law.slope:.2f} ± {law.error:.2f}, {law.count} points from {law.first:,g} on{ended}"
    how += f"; between the last two, {law.last:.2f}"
    if law.is_flat:
        return f"{name}: hardly changes with more {study.many}; {how}."
    times, grown = ("Ten times", 10) if study.name == "n" else ("Twice", 2)
    return f"{name}: {how}. {times} as many {study.many}: {grown**law.slope:.2g} times as much."
