"""Packages from the Python package index against ours: cost, broken constraints, failures and time.

Usage: ``python -m benchmarks.suite.packages SUITE [--datasets NAME ...] [--starts N]``. SUITE is what
``certimeans bench`` takes. Each package gets a virtual environment of its own, kept in a cache folder; where its newest
version does not run with the newest numpy, older ones are tried, and what cannot be made to run is reported as such.

k-means-constrained bounds the sizes of clusters instead of linking points. It gets each data set without links and with
balanced sizes: all clusters have the same number of points, or two sizes that differ by one. So do we.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.record import markdown_table, write_result
from benchmarks.suite.instances import Case, checked_clustering
from certimeans.bench.runner import warm_up
from certimeans.bench.suite import find_cases
from certimeans.heuristics.upper_bound import search_clustering
from certimeans.presolve.reduce import presolve
from certimeans.problem.clustering import Clustering
from certimeans.problem.instance import Instance
from certimeans.result import SolveStatus
from certimeans.search.limits import Limits
from certimeans.solver import solve_instance
from certimeans.warmup import prepare as compile_for

DRIVER = Path(__file__).with_name("package_driver.py")
PINS = (  # tried in this order until the method runs; not every package says that it needs numpy
    ("numpy",),
    ("numpy<2", "scipy<1.13", "scikit-learn<1.5"),
    ("numpy<1.24", "scipy<1.11", "scikit-learn<1.3"),
    ("numpy<1.24", "scipy<1.11", "scikit-learn<1.2", "metric-learn<0.7"),
)


@dataclass(frozen=True)
class Peer:
    """A method of a package: its title, the package's name on the index, and the driver's name for it."""

    title: str
    package: str
    method: str


PEERS = (
    Peer("htcopkmeans: COP-k-means", "htcopkmeans", "htcopkmeans"),
    Peer("active-semi-supervised-clustering: COP-k-means", "active-semi-supervised-clustering", "active_cop"),
    Peer("active-semi-supervised-clustering: PCK-means", "active-semi-supervised-clustering", "active_pck"),
    Peer("active-semi-supervised-clustering: MPCK-means", "active-semi-supervised-clustering", "active_mpck"),
    Peer("k-means-constrained, balanced sizes", "k-means-constrained", "sizes"),
)
PCCC = """\
PCCC (Baumann and Hochbaum) is not compared. The package index does not have it (looked up in November 2026: `pccc`
there checks commit messages, and `pyPCCC` has nothing to do with clustering); its authors publish scripts that need
Gurobi. Without a licence of one's own gurobipy 13.0.3 assigns 600 points to 3 clusters, and refuses 700 points ("Model
too large for size-limited license"), so that only small instances could be compared."""


@dataclass(frozen=True, eq=False)
class Solved:
    """An instance with our own results: the optimum, if it is proven, and what our search alone finds."""

    name: str
    instance: Instance
    cost: float
    solve_seconds: float
    search_cost: float
    search_seconds: float
    size_min: int = 0
    size_max: int = 0
    is_proven: bool = True


@dataclass(frozen=True)
class Attempt:
    """One run of a method: cost if it gave k clusters, and the share of constraints (without any, of sizes) broken."""

    name: str
    cost: float | None
    broken: float
    seconds: float
    error: str = ""


def prepare(cases: Sequence[Case], time_limit: float) -> tuple[list[Solved], list[Solved]]:
    """Solve all instances, and each data set without links and with balanced sizes."""
    linked = [_solve(case.name, case.instance, time_limit) for case in cases]
    data = {case.dataset: case.instance for case in cases}
    return linked, [_solve_balanced(name, instance, time_limit) for name, instance in data.items()]


def _solve_balanced(name: str, instance: Instance, time_limit: float) -> Solved:
    """Solve with the same points, without links, and with sizes that differ by at most one."""
    least, more = divmod(instance.n_points, instance.n_clusters)
    most = least + (more > 0)
    balanced = Instance.create(instance.points, instance.n_clusters, size_min=least, size_max=most)
    return _solve(name, balanced, time_limit, (least, most))


def _solve(name: str, instance: Instance, time_limit: float, sizes: tuple[int, int] = (0, 0)) -> Solved:
    compile_for(instance)
    result = solve_instance(instance, Limits(seconds=time_limit))
    began = time.perf_counter()
    presolved = presolve(instance)
    labels = search_clustering(presolved.super_points, colouring=presolved.colouring)
    seconds = time.perf_counter() - began
    assert labels is not None  # noqa: S101  # these instances are feasible
    assert result.clustering is not None  # noqa: S101
    found = checked_clustering(instance, presolved.super_points, labels)
    is_proven = result.status is SolveStatus.OPTIMAL
    return Solved(name, instance, result.objective, result.seconds, found.cost, seconds, *sizes, is_proven)


def write_tasks(problems: Sequence[Solved], n_starts: int, folder: Path) -> None:
    """Write the problems as plain files for the driver."""
    tasks: list[dict[str, Any]] = []
    for number, problem in enumerate(problems):
        np.save(folder / f"{number}.npy", problem.instance.points, allow_pickle=False)
        task = {
            "name": problem.name,
            "points": f"{number}.npy",
            "k": problem.instance.n_clusters,
            "must_link": problem.instance.must_link.tolist(),
            "cannot_link": problem.instance.cannot_link.tolist(),
            "size_min": problem.size_min,
            "size_max": problem.size_max,
        }
        tasks += [{**task, "seed": seed} for seed in range(n_starts)]
    (folder / "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")


def environment_for(peer: Peer, cache: Path) -> tuple[Path | None, str]:
    """Return a Python that runs the method, and the versions in use; ``None`` and the reason if there is none."""
    reason = ""
    for number, pins in enumerate(PINS):
        folder = cache / f"{peer.package}-{number}"
        python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        if not (folder / "installed").exists():
            venv.create(folder, with_pip=True, clear=True)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            done = _run([*pip, peer.package, *pins], timeout=900)
            if done.returncode != 0:
                reason = f"not installed: {_last_line(done.stderr)}"
                continue
            (folder / "installed").touch()
        reason = smoke_test(peer, python)
        if not reason:
            return python, _versions(peer, python)
    return None, reason


def smoke_test(peer: Peer, python: Path) -> str:
    """Run the method on six points; return what went wrong, or an empty text."""
    points = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [9.0, 9.0], [9.0, 8.0], [8.0, 9.0]]
    instance = Instance.create(points, 2, must_link=[(0, 1), (3, 4)], cannot_link=[(0, 3)])
    problem = Solved("smoke", instance, 1.0, 0.0, 1.0, 0.0, 1, 5)
    with tempfile.TemporaryDirectory() as name:
        write_tasks([problem], 5, Path(name))
        done = _run([str(python), str(DRIVER), peer.method, name], timeout=300)
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if any(result["labels"] is not None for result in results):
        return ""
    return f"does not run: {results[-1]['error'] if results else _last_line(done.stderr)}"


def run_peer(peer: Peer, python: Path, problems: Sequence[Solved], n_starts: int, limit: float) -> list[Attempt]:
    """Run a method on all problems; runs after the time limit are missing."""
    with tempfile.TemporaryDirectory() as name:
        write_tasks(problems, n_starts, Path(name))
        done = _run([str(python), str(DRIVER), peer.method, name], timeout=limit)
    by_name = {problem.name: problem for problem in problems}
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{") and line.endswith("}")]
    return [judge(by_name[result["name"]], result) for result in results]


def judge(problem: Solved, result: dict[str, Any]) -> Attempt:
    """Evaluate labels on the raw data."""
    labels, instance = result["labels"], problem.instance
    if labels is None or len(set(labels)) != instance.n_clusters or min(labels) < 0:
        error = result["error"] or ("no clustering" if labels is None else f"{len(set(labels))} clusters")
        return Attempt(problem.name, None, 0.0, result["seconds"], error)
    found = Clustering.from_labels(instance, labels)
    n_links = len(instance.must_link) + len(instance.cannot_link)
    if n_links:
        broken = len(found.violations(instance, limit=n_links + 1)) / n_links
    else:
        broken = float(((found.sizes < problem.size_min) | (found.sizes > problem.size_max)).mean())
    return Attempt(problem.name, found.cost, broken, result["seconds"])


def line(title: str, problems: Sequence[Solved], attempts: Sequence[Attempt], versions: str) -> tuple[str, ...]:
    """Summarise a method in one line of the table."""
    optimum = {problem.name: problem.cost for problem in problems}
    feasible = [attempt for attempt in attempts if attempt.cost is not None and attempt.broken == 0]
    best: dict[str, float] = {}
    for attempt in feasible:
        assert attempt.cost is not None  # noqa: S101  # by the choice above
        best[attempt.name] = min(best.get(attempt.name, np.inf), attempt.cost)
    excess = [best[name] / optimum[name] - 1 for name in best]
    answered = [attempt for attempt in attempts if attempt.cost is not None]
    n_problems = len({attempt.name for attempt in attempts})
    return (
        title,
        f"{n_problems} x {len(attempts) / max(1, n_problems):.3g}",
        _percent(1 - len(answered) / len(attempts)),
        _percent(fmean(attempt.broken for attempt in answered)) if answered else "",
        _percent(len(feasible) / len(attempts)),
        _percent(len(best) / n_problems),
        _percent(sum(value < 1e-4 for value in excess) / n_problems),
        f"{100 * fmean(excess):.2f} %" if excess else "",
        f"{fmean(attempt.seconds for attempt in attempts):.4f}",
        versions,
    )


def our_lines(problems: Sequence[Solved], kind: str) -> list[tuple[str, ...]]:
    """Summarise our search alone, and the whole solver, in the same way."""
    search = [Attempt(p.name, p.search_cost, 0.0, p.search_seconds) for p in problems]
    solve = [Attempt(p.name, p.cost, 0.0, p.solve_seconds) for p in problems]
    return [
        line(f"certimeans, search only{kind}", problems, search, ""),
        line(f"certimeans, with proof{kind}", problems, solve, ""),
    ]


def by_data_set(problems: Sequence[Solved], attempts: Sequence[Attempt]) -> str:
    """Compare costs under limits on sizes, ours and those of the best of the other package's starts."""
    header = ("data set", "k", "sizes", "optimum", "search only", "s", "k-means-constrained, best start", "s a start")
    lines = []
    for problem in problems:
        own = [attempt for attempt in attempts if attempt.name == problem.name]
        costs = [attempt.cost for attempt in own if attempt.cost is not None and attempt.broken == 0]
        lines.append(
            (
                problem.name,
                problem.instance.n_clusters,
                " or ".join(map(str, sorted({problem.size_min, problem.size_max}))),
                f"{problem.cost:.9g}" + ("" if problem.is_proven else " (not proven)"),
                _excess(problem.search_cost, problem.cost),
                f"{problem.search_seconds:.4f}",
                _excess(min(costs), problem.cost) if costs else "none keeps the sizes",
                f"{fmean(attempt.seconds for attempt in own):.4f}" if own else "",
            )
        )
    return markdown_table(header, lines)


def _excess(cost: float, optimum: float) -> str:
    return f"{100 * (cost / optimum - 1):+.4f} %"


def _unproven(problems: Sequence[Solved], time_limit: float) -> str:
    """Say for which instances the best known cost stands for the optimum."""
    names = [problem.name for problem in problems if not problem.is_proven]
    if not names:
        return "All optima are proven."
    return f"Not proven within {time_limit:g} s, our best cost stands for the optimum: {', '.join(names)}."


HEADER = (
    "method", "instances x starts", "failed", "constraints broken", "feasible", "instances with a feasible one",
    "optimum found", "mean excess of the best", "s a start", "versions",
)  # fmt: skip


def main() -> None:
    """Prepare, run every method in its environment, and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", help="as for certimeans bench: a folder, a suite file, or 'small'")
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--starts", type=int, default=10, help="runs of each method on each instance")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds for each of our solves")
    parser.add_argument("--package-limit", type=float, default=900.0, help="seconds for each method in all")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "certimeans-packages")
    options = parser.parse_args()
    warm_up()
    linked, balanced = prepare(find_cases(options.suite, options.datasets), options.time_limit)
    lines: list[tuple[str, ...]] = our_lines(linked, "")
    notes: list[str] = []
    by_size, has_run = "", False
    for peer in PEERS:
        has_sizes = peer.method == "sizes"
        lines += our_lines(balanced, ", balanced sizes") if has_sizes else []
        problems = balanced if has_sizes else linked
        python, versions = environment_for(peer, options.cache)
        if python is None:
            lines.append((peer.title, versions, *[""] * (len(HEADER) - 2)))
            continue
        attempts = run_peer(peer, python, problems, options.starts, options.package_limit)
        print(peer.title, versions, len(attempts), "runs", flush=True)
        if not attempts:
            lines.append((peer.title, f"no run within {options.package_limit:g} s", *[""] * (len(HEADER) - 2)))
            continue
        has_run = True
        lines.append(line(peer.title, problems, attempts, versions))
        by_size = by_data_set(balanced, attempts) if has_sizes else by_size
        errors = sorted({attempt.error for attempt in attempts if attempt.error})
        notes += [f"- {peer.title}: {'; '.join(errors[:4])}"] if errors else []
    body = (
        f"{len(linked)} instances; *failed*: no clustering into k clusters; *feasible*: a clustering that keeps every "
        f"constraint; *optimum found*: by the best of the starts, to 1e-4; *excess*: of the best feasible clustering "
        f"over the optimum. Methods with fewer instances were stopped after {options.package_limit:g} s. "
        f"{_unproven([*linked, *balanced], options.time_limit)}"
        f"\n\n{markdown_table(HEADER, lines)}"
    )
    body += "\n\nWhy runs failed:\n\n" + "\n".join(notes) if notes else ""
    body += f"\n\nBalanced sizes by data set:\n\n{by_size}" if by_size else ""
    body += f"\n\n{PCCC}"
    if not has_run:
        sys.exit("no method of another package could be run: nothing is written")
    write_result("packages", "Packages from the Python package index", body)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _run(command: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str]:
    """Run a command; after the timeout, return what it printed until then."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        printed = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        return subprocess.CompletedProcess(command, 1, printed, f"stopped after {timeout:g} s")


def _versions(peer: Peer, python: Path) -> str:
    program = "from importlib.metadata import version; import sys; print(*(f'{n} {version(n)}' for n in sys.argv[1:]))"
    done = _run([str(python), "-c", program, peer.package, "numpy"], timeout=60)
    return done.stdout.strip().replace(f"{peer.package} ", "").replace(" numpy", ", numpy")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no message"


if __name__ == "__main__":
    main()
