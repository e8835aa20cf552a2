"""Two versions on the same instances: ``python -m benchmarks.suite.compare FIRST.csv NOW.csv [--names FIRST NOW]``.

The files are ``results.csv`` of ``certimeans bench``, or ``paper_other.csv`` and ``paper.csv`` that
``benchmarks.suite.paper`` makes of them. Commit and machine are read from ``environment.json`` beside a file, or from
the ``.json`` of its own name. Writes ``compare.md`` to the results folder and the picture ``compare.png``: seconds then
against now, and how many are solved within a time.

What both prove must not contradict: if a lower bound of one is above a clustering of the other, the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.record import PICTURES, markdown_table, write_result
from certimeans.bench.plots import OURS, STYLE, THEIRS
from certimeans.bench.rows import ResultsFile, Row
from certimeans.bench.tables import in_order
from certimeans.errors import InputError

CLOSE = 0.1
"""Times that differ by less than this share are called alike: two runs of one version differ as much."""
ROUNDING = 1e-9
# Twelve that can be told apart, also by their markers.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "*", "p", "h")


@dataclass(frozen=True)
class Pair:
    """One instance, solved by both versions."""

    then: Row
    now: Row

    @property
    def ratio(self) -> float:
        """The time then over the time now."""
        return self.then.time / self.now.time

    @property
    def is_same_instance(self) -> bool:
        """Whether both solved the same, as far as rows tell; versions make fingerprints in ways of their own."""
        then, now = self.then, self.now
        is_alike = (then.n, then.d, then.k) == (now.n, now.d, now.k)
        return is_alike and (then.version != now.version or then.fingerprint == now.fingerprint)

    @property
    def contradicts(self) -> bool:
        """Whether one proves that the other's clustering cannot exist."""
        return any(
            a.lower_bound > b.objective * (1 + ROUNDING) for a, b in ((self.then, self.now), (self.now, self.then))
        )


@dataclass(frozen=True)
class Version:
    """What is known of one file: a short name, and a sentence on how it was made."""

    name: str
    made: str


def read_pairs(then: Path, now: Path) -> tuple[list[Pair], int]:
    """Return the instances that both files have, and how many only one of them has.

    Raises
    ------
    InputError
        If a file has no rows, or if there is no instance in both.
    """
    first, second = _rows(then), _rows(now)
    pairs = [Pair(first[row.key], row) for row in in_order(second.values()) if row.key in first]
    different = [pair.now.name for pair in pairs if not pair.is_same_instance]
    if different:
        raise InputError(f"{then} and {now} have other data or constraints for {', '.join(different[:3])}")
    if not pairs:
        raise InputError(f"{then} and {now} have no solved instance in common")
    return pairs, len(first.keys() ^ second.keys())


def _rows(path: Path) -> dict[tuple[str, int, int, int], Row]:
    if not path.exists():
        raise InputError(f"there is no file {path}")
    return {row.key: row for row in ResultsFile(path).read() if math.isfinite(row.time)}


def describe(path: Path, name: str | None) -> Version:
    """Read commit, machine and settings of a file's last run, as far as they are known."""
    for beside in (path.with_suffix(".json"), path.with_name("environment.json")):
        if beside.exists():
            run: dict[str, Any] = json.loads(beside.read_text(encoding="utf-8"))["runs"][-1]
            made = f"{run['date'].split('T')[0]}, certimeans {run['certimeans']} (commit {run['commit']})"
            settings = " ".join(f"{key}={'none' if value is None else value}" for key, value in run["settings"].items())
            called = f"{name} ({run['commit']})" if name else str(run["commit"])
            return Version(called, f"{made}; {run['processor']}, {run['cores']} cores; {settings}")
    return Version(name or path.stem, "not recorded when and on which machine")


def table(pairs: Sequence[Pair]) -> str:
    """Compare by data set, and all together."""
    header = (
        "data set", "instances", "solved then", "now", "at the root then", "now", "total s then", "now",
        "median s then", "now", "worst s then", "now", "then / now", "faster", "slower",
    )  # fmt: skip
    names = list(dict.fromkeys(pair.now.dataset for pair in pairs))
    groups = [(name, [pair for pair in pairs if pair.now.dataset == name]) for name in names]
    return markdown_table(header, [_line(name, group) for name, group in [*groups, ("all", list(pairs))]])


def _line(name: str, pairs: Sequence[Pair]) -> list[object]:
    sides = [[pair.then for pair in pairs], [pair.now for pair in pairs]]
    line: list[object] = [name, len(pairs)]
    line += [sum(row.is_solved for row in side) for side in sides]
    line += [sum(row.is_solved and row.nodes == 1 for row in side) for side in sides]
    line += [f"{sum(row.time for row in side):.1f}" for side in sides]
    line += [f"{median(row.time for row in side):.2f}" for side in sides]
    line += [f"{max(row.time for row in side):.2f}" for side in sides]
    line.append(f"{geometric_mean(pair.ratio for pair in pairs):.2f}")
    return [*line, sum(pair.ratio > 1 + CLOSE for pair in pairs), sum(pair.ratio < 1 / (1 + CLOSE) for pair in pairs)]


def extremes(pairs: Sequence[Pair], count: int = 5) -> str:
    """Name the instances that gained and lost most."""
    ordered = sorted(pairs, key=lambda pair: pair.ratio)
    gained = [pair for pair in ordered[::-1] if pair.ratio > 1 + CLOSE][:count]
    lost = [pair for pair in ordered if pair.ratio < 1 / (1 + CLOSE)][:count]
    return "\n".join(f"- {what}: {_listed(group)}" for what, group in (("gained most", gained), ("lost most", lost)))


def _listed(pairs: Sequence[Pair]) -> str:
    if not pairs:
        return "none"
    return "; ".join(f"{pair.now.name} ({pair.then.time:.2f} s, now {pair.now.time:.2f} s)" for pair in pairs)


def body(pairs: Sequence[Pair], alone: int, versions: tuple[Version, Version]) -> str:
    """Write all below the title."""
    made = [
        f"*{when}*: {version.name}; {version.made}." for when, version in zip(("then", "now"), versions, strict=True)
    ]
    legend = (
        f"{len(pairs)} instances in both, {alone} in one only. *then / now*: geometric mean of the ratio of times; an "
        f"instance that is not solved counts with the time after which it was stopped. *faster*, *slower*: now, by "
        f"more than {100 * CLOSE:.0f} %. One run of each version."
    )
    return "\n\n".join([*made, legend, table(pairs), extremes(pairs), agreement(pairs)])


def agreement(pairs: Sequence[Pair]) -> str:
    """Say whether the two versions prove the same."""
    wrong = [pair.now.name for pair in pairs if pair.contradicts]
    if wrong:
        return f"**Contradictions**, a lower bound above the other's clustering: {', '.join(wrong)}."
    return "The values agree: no lower bound of one is above a clustering of the other."


def draw(pairs: Sequence[Pair], names: tuple[str, str], path: Path) -> None:
    """Draw seconds then against now by data set, and the share solved within a time."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 4.6))
        left, right = figure.subplots(1, 2)
        _draw_scatter(left, pairs, names)
        _draw_solved(right, pairs, names)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)


def _draw_scatter(panel: Axes, pairs: Sequence[Pair], names: tuple[str, str]) -> None:
    times = [row.time for pair in pairs for row in (pair.then, pair.now)]
    ends = np.array([min(times) / 1.4, max(times) * 1.4])
    for factor, style in ((1.0, "-"), (2.0, "--"), (10.0, ":")):
        for side in {factor, 1 / factor}:
            panel.plot(ends, ends / side, color="#888888", linewidth=0.8, linestyle=style, zorder=1)
        if factor > 1 and ends[1] / factor > ends[0]:
            panel.annotate(
                f"{factor:g} times faster",
                (ends[1], ends[1] / factor),
                (0, -7),
                textcoords="offset points",
                fontsize=7,
                color="#555555",
                ha="right",
                va="top",
                rotation=45,
                rotation_mode="anchor",
            )
    for number, dataset in enumerate(dict.fromkeys(pair.now.dataset for pair in pairs)):
        group = [pair for pair in pairs if pair.now.dataset == dataset]
        colour = _COLOURS[number % len(_COLOURS)]
        panel.scatter(
            [pair.then.time for pair in group],
            [pair.now.time for pair in group],
            s=20,
            alpha=0.85,
            linewidths=0.8,
            marker=_MARKERS[number % len(_MARKERS)],
            facecolors=[colour if pair.then.is_solved and pair.now.is_solved else "white" for pair in group],
            edgecolors=colour,
            zorder=2,
        )
        panel.scatter([], [], s=20, marker=_MARKERS[number % len(_MARKERS)], color=colour, label=dataset)
    panel.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    panel.set_xlabel(f"seconds, {names[0]}")
    panel.set_ylabel(f"seconds, {names[1]}")
    _plain(panel, "both")
    panel.set_title("Below the line: faster now; hollow: not solved by both", loc="left", fontsize=9)


def _draw_solved(panel: Axes, pairs: Sequence[Pair], names: tuple[str, str]) -> None:
    sides = [[pair.then for pair in pairs], [pair.now for pair in pairs]]
    times = [np.sort([row.time for row in side if row.is_solved]) for side in sides]
    end = 1.5 * max((float(side.max()) for side in times if side.size), default=1.0)
    for name, side, colour, style in zip(names, times, (THEIRS, OURS), ((0, (4, 1.5)), "-"), strict=True):
        # To the end, so that what is never solved is seen.
        moments = np.concatenate([side, [end]])
        counts = np.minimum(np.arange(1, side.size + 2), side.size)
        panel.step(moments, counts, where="post", color=colour, linestyle=style, linewidth=1.8, label=name)
    panel.axhline(len(pairs), color="#888888", linewidth=0.8)
    panel.set(xscale="log", ylim=(0, 1.04 * len(pairs)))
    _plain(panel, "x")
    panel.set_xlabel("seconds")
    panel.set_title(f"Solved within a time, of {len(pairs)} instances", loc="left", fontsize=9)
    panel.legend(loc="lower right")


def _plain(panel: Axes, which: str) -> None:
    """Write 0.1 and 10 rather than powers."""
    for axis in [panel.xaxis, panel.yaxis] if which == "both" else [panel.xaxis]:
        axis.set_major_formatter(lambda value, _: f"{value:,g}")


def main() -> None:
    """Compare and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path, metavar="FIRST.csv")
    parser.add_argument("now", type=Path, metavar="NOW.csv")
    parser.add_argument("--names", nargs=2, metavar=("FIRST", "NOW"), help="what to call them (default: their commits)")
    options = parser.parse_args()
    names = options.names or (None, None)
    try:
        pairs, alone = read_pairs(options.first, options.now)
    except InputError as error:
        raise SystemExit(f"compare: {error}") from None
    versions = describe(options.first, names[0]), describe(options.now, names[1])
    write_result("compare", "Two versions on the same instances", body(pairs, alone, versions))
    draw(pairs, (versions[0].name, versions[1].name), PICTURES / "compare.png")
    sys.exit(any(pair.contradicts for pair in pairs))


if __name__ == "__main__":
    main()
