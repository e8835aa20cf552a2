"""Tables in the shape of the paper's, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import groupby
from statistics import fmean

from certimeans.bench.rows import Row
from certimeans.printing import fixed_percent_up
from certimeans.problem.rounding import rounded_up

KINDS = {
    "ML only": "Must-links only",
    "CL only": "Cannot-links only",
    "both": "Must-links and cannot-links",
    "none": "No constraints",
}


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format rows as a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Sort as the paper does: by size of the data set, its name, number of constraints, and seed."""
    return sorted(rows, key=lambda row: (row.n, row.dataset.lower(), row.ml + row.cl, row.ml, row.seed))


def aggregate_tables(rows: Sequence[Row]) -> str:
    """Average over the seeds: a table for each kind of constraints, as in the paper's section on results."""
    parts = []
    for kind, title in KINDS.items():
        group = [row for row in rows if row.kind == kind]
        if group:
            parts.append(f"## {title}\n\n{aggregate_table(group)}")
    return "\n\n".join(parts)


def aggregate_table(rows: Sequence[Row]) -> str:
    """Average over the seeds of each data set and number of constraints."""
    has_published = any(row.published is not None for row in rows)
    header = [
        "data set", "constraints", "n", "k", "size", "root gap", "nodes", "time (s)", "success rate (gap)",
    ]  # fmt: skip
    header += ["published time (s)", "published success"] if has_published else []
    lines = []
    for _, members in groupby(in_order(rows), key=lambda row: (row.n, row.dataset, row.ml, row.cl)):
        group = list(members)
        first = group[0]
        line: list[object] = [
            first.dataset,
            number_of_constraints(first.ml, first.cl),
            first.n,
            first.k,
            _mean(group, lambda row: row.size, ".1f"),
            _mean_gap([row.root_gap for row in group]),
            _mean(group, lambda row: row.nodes, ".1f"),
            _mean(group, lambda row: row.time, ".2f"),
            success_rate(group),
        ]
        if has_published:
            line += [_mean(group, lambda row: row.published_time, ".1f"), _published_success(group)]
        lines.append(line)
    return markdown_table(header, lines)


def number_of_constraints(must_links: int, cannot_links: int) -> str:
    """Say how many constraints; where there are as many of each kind the paper gives that number."""
    if must_links and cannot_links:
        return str(must_links) if must_links == cannot_links else f"{must_links} + {cannot_links}"
    return str(must_links or cannot_links)


def success_rate(rows: Sequence[Row]) -> str:
    """Return the share of solved instances, and in brackets the average gap of the others."""
    unsolved = [row for row in rows if not row.is_solved]
    rate = f"{100 * (1 - len(unsolved) / len(rows)):.0f} %"
    gap = _mean_gap([row.gap for row in unsolved])
    return f"{rate} ({gap})" if gap else rate


def _published_success(rows: Sequence[Row]) -> str:
    published = [row.published for row in rows if row.published is not None]
    return f"{100 * sum(result.is_solved for result in published) / len(published):.0f} %" if published else ""


def _mean(rows: Sequence[Row], value: Callable[[Row], float], form: str) -> str:
    values = [number for row in rows if math.isfinite(number := value(row))]
    return f"{fmean(values):{form}}" if values else ""


def _mean_gap(gaps: Sequence[float]) -> str:
    """Average gaps, rounded up as each of them is."""
    known = [Fraction(gap) for gap in gaps if math.isfinite(gap)]
    return f"{fixed_percent_up(rounded_up(sum(known, Fraction()) / len(known)), 3)} %" if known else ""


def detailed_tables(rows: Sequence[Row]) -> str:
    """List every instance, a table for each data set, as in the paper's appendix."""
    parts = []
    for (name, k), members in groupby(in_order(rows), key=lambda row: (row.dataset, row.k)):
        parts.append(f"### {name}, k = {k}\n\n{_detailed_table(list(members))}")
    return "\n\n".join(parts)


def _detailed_table(rows: Sequence[Row]) -> str:
    has_published = any(row.published is not None for row in rows)
    has_verified = any(row.verified for row in rows)
    header = [
        "ml", "cl", "seed", "size", "f", "rounds", "cuts", "gap0", "time0 (s)", "nodes", "gap", "time (s)", "MB",
    ]  # fmt: skip
    header += ["published f", "published nodes", "published time (s)", "value", "speed-up"] if has_published else []
    header += ["verified"] if has_verified else []
    lines = []
    for row in rows:
        line: list[object] = [row.ml, row.cl, row.seed]
        if math.isnan(row.time):
            line += [row.status, *[""] * (len(header) - 4)]
        else:
            line += [row.size, f"{row.objective:.6g}", row.rounds, row.cuts, _percent(row.root_gap)]
            line += [f"{row.root_time:.2f}", row.nodes, _percent(row.gap), f"{row.time:.2f}", f"{row.peak_memory:.0f}"]
            line += _published_cells(row) if has_published else []
            line += [row.verified] if has_verified else []
        lines.append(line)
    return markdown_table(header, lines)


def _published_cells(row: Row) -> list[object]:
    if row.published is None:
        return [""] * 5
    cost = f"{row.published_f:.6g}" + ("" if row.published.is_solved else " (not solved)")
    return [cost, f"{row.published_nodes:.0f}", f"{row.published_time:g}", row.verdict, f"{row.speed_up:.0f}"]


def _percent(gap: float) -> str:
    return f"{fixed_percent_up(gap)} %" if math.isfinite(gap) else ""
