"""The paper's table of heuristics: ``python -m benchmarks.suite.heuristics DATA [--datasets NAME ...] [--starts N]``.

How often each heuristic finds the best clustering of all of them, how often the proven optimum, how often none, and
how long it takes. As in the paper, the competitors get 100 k-means++ starts and the best one counts; IPC-k-means runs
once, on the relaxation with which the root node ends; so does our memetic search, at its default budget. The optima are
those that ``certimeans bench`` proved and recorded in ``paper.csv``. Writes ``heuristics.md`` to the results folder and
a plot of the excess over the optimum to the documentation.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks.record import PICTURES, RESULTS, markdown_table, write_result
from benchmarks.suite.instances import Case, checked_clustering, load_cases
from certimeans._typing import IntArray
from certimeans.baselines import blpkm, cop_kmeans, post_processing
from certimeans.bench.plots import STYLE
from certimeans.bench.rows import ResultsFile
from certimeans.bench.runner import warm_up
from certimeans.bounds.relaxation.cutting_planes import bound_by_cutting_planes
from certimeans.bounds.relaxation.model import Relaxation
from certimeans.heuristics.rounding import round_relaxation
from certimeans.heuristics.upper_bound import search_clustering
from certimeans.presolve.contract import SuperPoints
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance

Baseline: TypeAlias = Callable[[Instance, int], Clustering | None]

OURS, IPC = "memetic search", "IPC-k-means"
BASELINES: dict[str, Baseline] = {"BLPKM++": blpkm, "PP": post_processing, "COP-k-means": cop_kmeans}
OF_THE_PAPER = (IPC, *BASELINES)
METHODS = (OURS, *OF_THE_PAPER)
COLOURS = dict(zip(METHODS, ("#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00"), strict=True))
GAP = 1e-4  # at which the root node is closed
SAME = 1e-6  # relative difference of costs that are taken for equal


@dataclass(frozen=True)
class Answer:
    """What a method found on one instance, infinite cost if nothing, and its time for all starts together."""

    cost: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Row:
    """The answers of all methods on one instance, and its proven optimum."""

    case: Case
    optimum: float
    answers: dict[str, Answer]

    def is_best(self, method: str, among: Sequence[str] = METHODS) -> bool:
        """Whether none of some methods found a cheaper clustering."""
        return self.answers[method].cost <= min(self.answers[name].cost for name in among) * (1 + SAME)

    def excess(self, method: str) -> float:
        """Return the relative excess over the optimum; infinite after a failure."""
        return self.answers[method].cost / self.optimum - 1


def proven_optima() -> dict[str, float]:
    """Read the values that ``certimeans bench`` proved."""
    return {row.name: row.objective for row in ResultsFile(RESULTS / "paper.csv").read() if row.is_solved}


def measure(case: Case, optimum: float, n_starts: int) -> Row:
    """Run every method on one instance."""
    answers = {
        OURS: _timed(partial(_search, case.instance)),
        IPC: _timed(partial(_round_root, case.instance, optimum)),
    }
    for name, baseline in BASELINES.items():
        answers[name] = _timed(partial(_best_of, baseline, case.instance, n_starts))
    return Row(case, optimum, answers)


def _timed(run: Callable[[], Clustering | None]) -> Answer:
    began = time.perf_counter()
    found = run()
    return Answer(np.inf if found is None else found.cost, time.perf_counter() - began)


def _best_of(baseline: Baseline, instance: Instance, n_starts: int) -> Clustering | None:
    found = [clustering for start in range(n_starts) if (clustering := baseline(instance, start)) is not None]
    return min(found, key=lambda clustering: clustering.cost, default=None)


def _search(instance: Instance) -> Clustering | None:
    presolved = presolve(instance)
    groups = presolved.super_points
    return _checked(instance, groups, search_clustering(groups, colouring=presolved.colouring))


def _round_root(instance: Instance, optimum: float) -> Clustering | None:
    """Round the relaxation with which the root node ends: closed at the optimum, or stalled."""
    groups = presolve(instance).super_points
    outcome = bound_by_cutting_planes(
        Relaxation.from_super_points(groups), instance.scaled.scale.target(optimum * (1 - GAP))
    )
    return _checked(instance, groups, round_relaxation(groups, outcome.matrix))


def _checked(instance: Instance, groups: SuperPoints, labels: IntArray | None) -> Clustering | None:
    return None if labels is None else checked_clustering(instance, groups, labels)


def report(rows: list[Row], n_starts: int) -> str:
    """Write the table in the paper's shape, then the times."""
    groups = [(name, [row for row in rows if row.case.dataset == name]) for name in _datasets(rows)]
    groups.append(("all", rows))
    header = ["data set"]
    for method in METHODS:
        header += [f"{method} best", "opt", "fail"]
    rates = [[name, *(cell for method in METHODS for cell in _rates(group, method))] for name, group in groups]
    times = [
        [name, *(f"{fmean(row.answers[method].seconds for row in group):.3f}" for method in METHODS)]
        for name, group in groups
    ]
    best_of_paper = ", ".join(
        f"{method} on {_percent([row.is_best(method, OF_THE_PAPER) for row in rows])}" for method in OF_THE_PAPER
    )
    return f"""\
{len(rows)} instances, {n_starts} k-means++ starts of BLPKM++, PP and COP-k-means, one run of {IPC} and of the {OURS}.
*best*: none of the five found a cheaper clustering; *opt*: the proven optimum, to {SAME:g}; *fail*: no clustering.

{markdown_table(header, rates)}

Among the paper's four methods, without the {OURS}, the best is found by {best_of_paper}.

Mean seconds per instance, one thread: all {n_starts} starts together; {IPC} with the relaxation that it rounds, which
is the root node of the exact method.

{markdown_table(["data set", *METHODS], times)}"""


def _rates(rows: list[Row], method: str) -> list[str]:
    return [
        _percent([row.is_best(method) for row in rows]),
        _percent([row.excess(method) <= SAME for row in rows]),
        _percent([np.isinf(row.answers[method].cost) for row in rows]),
    ]


def _percent(outcomes: list[bool]) -> str:
    return f"{100 * fmean(outcomes):.1f} %"


def _datasets(rows: list[Row]) -> list[str]:
    return sorted({row.case.dataset for row in rows}, key=str.lower)


def draw(rows: list[Row], path: Path) -> None:
    """Draw box plots of the excess over the optimum by data set, as in the paper; failures are left out."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 3.4))
        panel = figure.subplots()
        names = _datasets(rows)
        for shift, method in enumerate(METHODS):
            values = [[row.excess(method) for row in rows if row.case.dataset == name] for name in names]
            boxes = panel.boxplot(
                [[max(0.0, 100 * value) for value in group if np.isfinite(value)] for group in values],
                positions=np.arange(len(names)) + 0.16 * (shift - 2),
                widths=0.13,
                patch_artist=True,
                manage_ticks=False,
                flierprops={"markersize": 2.5, "markeredgecolor": COLOURS[method]},
                medianprops={"color": "black"},
            )
            for box in boxes["boxes"]:
                box.set(facecolor=COLOURS[method], edgecolor=COLOURS[method])
            panel.plot([], [], "s", color=COLOURS[method], label=method)
        panel.set_yscale("symlog", linthresh=1e-3, linscale=0.4)
        panel.set_ylim(bottom=0)
        panel.set_ylabel("excess over the optimum (%)")
        panel.set_xticks(range(len(names)), names, rotation=20)
        figure.legend(loc="outside upper center", ncols=len(METHODS))
        figure.savefig(path)


def _write_csv(rows: list[Row], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["instance", "optimum", *METHODS, *(f"{method} seconds" for method in METHODS)])
        for row in rows:
            costs = [f"{row.answers[method].cost:.9g}" for method in METHODS]
            seconds = [f"{row.answers[method].seconds:.3f}" for method in METHODS]
            writer.writerow([row.case.name, f"{row.optimum:.9g}", *costs, *seconds])


def main() -> None:
    """Parse the command line, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="datasets/ and constraints/, as for certimeans bench")
    parser.add_argument("--datasets", nargs="+", help="only these data sets")
    parser.add_argument("--starts", type=int, default=100, help="starts of each competitor (the paper: 100)")
    options = parser.parse_args()
    optima = proven_optima()
    cases = list(load_cases(options.folder, options.datasets))
    unproven = [case.name for case in cases if case.name not in optima]
    rows: list[Row] = []
    with threadpool_limits(1):
        warm_up()
        for case in cases:
            if case.name in unproven:
                continue
            if not rows:
                measure(case, optima[case.name], 1)  # compiles what the solver does not use
            rows.append(measure(case, optima[case.name], options.starts))
            excess = (f"{name} {100 * rows[-1].excess(name):.4f}%" for name in METHODS)
            print(case.name, *excess, flush=True)
    body = report(rows, options.starts)
    body += f"\n\nLeft out, since no optimum is proven in `paper.csv`: {', '.join(unproven)}." if unproven else ""
    write_result("heuristics", "Heuristics, as in the paper's table", body)
    _write_csv(rows, RESULTS / "heuristics.csv")
    draw(rows, PICTURES / "heuristic_gaps.png")


if __name__ == "__main__":
    main()
