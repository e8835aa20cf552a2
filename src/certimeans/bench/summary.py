"""What a benchmark came to, in a few lines and one table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import geometric_mean, median

from certimeans.bench.published import Verdict
from certimeans.bench.rows import Row
from certimeans.bench.tables import aggregate_tables, detailed_tables, in_order, markdown_table
from certimeans.printing import fixed_percent_up, text_down, text_up


def report(rows: Sequence[Row], title: str, command: str, environment: str) -> str:
    """Write ``tables.md``: summary, tables by data set and kind of constraints, and every instance."""
    parts = [
        f"# {title}",
        f"`{command}`",
        environment,
        "## Summary",
        "\n".join(f"- {line}" for line in summary_lines(rows)),
        dataset_table(rows),
        aggregate_tables(rows),
        *mismatches(rows),
        "## Every instance",
        detailed_tables(rows),
    ]
    return "\n\n".join(parts) + "\n"


def summary_lines(rows: Sequence[Row]) -> list[str]:
    """Say how many were solved, how fast, and how the values compare with published ones."""
    solved = [row for row in rows if row.is_solved]
    seconds = [row.time for row in rows if math.isfinite(row.time)]
    lines = [
        f"{len(rows)} instances, {len(solved)} solved, {sum(row.nodes == 1 for row in solved)} of them at the root",
        f"time: {sum(seconds):.1f} s in all, {median(seconds):.2f} s median, {max(seconds):.2f} s at most"
        if seconds
        else "time: none",
    ]
    unsolved = [f"{row.name} ({row.status}{_details(row)})" for row in in_order(rows) if not row.is_solved]
    if unsolved:
        lines.append(f"not solved: {'; '.join(unsolved)}")
    checked = [row for row in rows if row.verified]
    if checked:
        failed = [f"{row.name}: {row.verified}" for row in checked if row.verified != "yes"]
        lines.append(f"certificates: {len(checked) - len(failed)} of {len(checked)} verified" + _listed(failed))
        slower = [row.name for row in checked if row.verify_time > row.time]
        total = sum(row.verify_time for row in checked)
        lines.append(f"time to verify: {total:.1f} s in all; longer than to solve: {len(slower)}" + _listed(slower))
    return lines + (_against_published(rows) if any(row.published is not None for row in rows) else [])


def _against_published(rows: Sequence[Row]) -> list[str]:
    lines = []
    ups = {row.name: row.speed_up for row in rows if row.speed_up > 0}
    if ups:
        slowest = min(ups, key=lambda name: ups[name])
        published = sum(row.published_time for row in rows if row.name in ups)
        mean = geometric_mean(ups.values())
        lines += [
            f"speed-up (published time / ours): geometric mean {mean:.0f}, least {ups[slowest]:.1f} ({slowest})",
            f"published time of these {len(ups)} instances: {published:.0f} s in all",
        ]
    for verdict in (Verdict.BETTER, Verdict.WORSE):
        group = [row for row in in_order(rows) if row.verdict == verdict]
        names = [f"{row.name} ({text_up(row.objective)}, published {row.published_f:.6g})" for row in group]
        lines.append(f"{verdict} value than published: {len(group)}" + _listed(names))
    closed = [row for row in rows if row.is_solved and row.published is not None and not row.published.is_solved]
    if closed:
        lines.append(f"published as not solved, solved here: {len(closed)}" + _listed([row.name for row in closed]))
    others = [row.dataset for row in in_order(rows) if row.why_not_comparable]
    if others:
        counts = [f"{name} {others.count(name)}" for name in dict.fromkeys(others)]
        lines.append(f"published value does not belong to the instance, proven: {len(others)}" + _listed(counts))
    return lines


def dataset_table(rows: Sequence[Row]) -> str:
    """Summarise by data set."""
    has_published = any(row.published is not None for row in rows)
    header = [
        "data set", "instances", "solved", "at the root", "most nodes", "median s", "worst s", "total s", "most MB",
    ]  # fmt: skip
    if has_published:
        header += ["speed-up, geometric mean", "least speed-up", "better", "worse", "no comparison"]
    lines = []
    for name in [*dict.fromkeys(row.dataset for row in in_order(rows)), "all"]:
        group = [row for row in rows if name in {row.dataset, "all"}]
        seconds = [row.time for row in group if math.isfinite(row.time)] or [math.nan]
        line: list[object] = [
            name,
            len(group),
            sum(row.is_solved for row in group),
            sum(row.is_solved and row.nodes == 1 for row in group),
            max(row.nodes for row in group),
            f"{median(seconds):.2f}",
            f"{max(seconds):.2f}",
            f"{sum(seconds):.1f}",
            f"{max((row.peak_memory for row in group if math.isfinite(row.peak_memory)), default=math.nan):.0f}",
        ]
        if has_published:
            ups = [row.speed_up for row in group if row.speed_up > 0]
            line += [f"{geometric_mean(ups):.0f}", f"{min(ups):.1f}"] if ups else ["", ""]
            line += [
                sum(row.verdict == verdict for row in group)
                for verdict in (Verdict.BETTER, Verdict.WORSE, Verdict.NOT_COMPARABLE)
            ]
        lines.append(line)
    return markdown_table(header, lines)


def mismatches(rows: Sequence[Row]) -> list[str]:
    """List published values that cannot be the optimum of the instance, with the proof; nothing if there are none."""
    lines = [
        (
            row.name,
            text_down(row.lower_bound, 9),
            text_up(row.objective, 9),
            f"{row.published_f:.6g}",
            row.why_not_comparable,
        )
        for row in in_order(rows)
        if row.why_not_comparable
    ]
    header = ("instance", "proven lower bound", "our clustering", "published f", "therefore")
    return ["## Published values that belong to other instances", markdown_table(header, lines)] if lines else []


def _details(row: Row) -> str:
    gap = f", gap {fixed_percent_up(row.gap)} %" if math.isfinite(row.gap) else ""
    return gap + (f": {row.message}" if row.message else "")


def _listed(names: Sequence[str]) -> str:
    return f": {'; '.join(names)}" if names else ""
