"""``certimeans solve``: from files to a proven clustering."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans.commands import ExitCode
from certimeans.errors import InfeasibleError, InputError

if TYPE_CHECKING:
    from certimeans.commands import Commands
    from certimeans.result import SolveResult


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "solve",
        help="find an optimal clustering and prove it",
        description="Find a clustering of least cost that keeps every constraint, and prove that it is optimal.",
        epilog="example: certimeans solve points.csv -k 3 --constraints pairs.txt --jobs 2 --time-limit 60",
    )
    add = parser.add_argument
    add("data", metavar="DATA", type=Path, help="points: CSV, white-space text or .npy, recognised by content")
    add("-k", metavar="K", type=int, help="number of clusters (default: as the first line of DATA says, if it does)")
    add("--constraints", metavar="FILE", type=Path, action="append", default=[], help="constraints; may be repeated")
    add("--partial-labels", metavar="FILE", type=Path, help="known classes, one a line; ?, NA or -1 if unknown")
    add("--one-based", action="store_true", help="constraint files number the points from 1")
    add("--columns", metavar="NAMES", help="features to use: names or 0-based numbers, separated by commas")
    add("--gap", metavar="G", type=float, default=1e-4, help="proven relative gap at which to stop (default 1e-4)")
    add("--time-limit", metavar="S", type=float, help="seconds after which to stop with what was found")
    add("--max-nodes", metavar="N", type=int, help="search nodes after which to stop")
    add("--jobs", metavar="N", type=int, default=1, help="number of processes (default 1)")
    add("--seed", metavar="N", type=int, default=0, help="random seed (default 0)")
    add("--dask", metavar="ADDRESS", help="evaluate nodes on the Dask cluster whose scheduler is there")
    add("--resume", metavar="DIR", type=Path, help="save the search in DIR, and go on with what was saved there before")
    add("--json", action="store_true", help="print one JSON object on standard output, and nothing else there")
    add("--quiet", action="store_true", help="no progress on standard error")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> ExitCode:
    """Read, solve, print."""
    from certimeans.problem.constraints import Constraints  # noqa: PLC0415
    from certimeans.problem.files import read_constraints, read_labels, read_points  # noqa: PLC0415
    from certimeans.problem.instance import Instance  # noqa: PLC0415
    from certimeans.report.first_run import FIRST_RUN_NOTE, is_first_run  # noqa: PLC0415
    from certimeans.report.live import choose_display  # noqa: PLC0415
    from certimeans.search.executors import connect  # noqa: PLC0415
    from certimeans.search.limits import Limits  # noqa: PLC0415
    from certimeans.solver import solve_instance  # noqa: PLC0415

    points = read_points(options.data, columns=options.columns.split(",") if options.columns else None)
    n_clusters = options.k if options.k is not None else points.n_clusters
    if n_clusters is None:
        raise InputError("say how many clusters you want with -k")
    constraints = Constraints()
    for path in options.constraints:
        constraints |= read_constraints(path, n_points=len(points.values), one_based=options.one_based)
    if options.partial_labels is not None:
        constraints |= Constraints.create(partial_labels=read_labels(options.partial_labels))
    instance = Instance(points.values, n_clusters, constraints, feature_names=points.feature_names)
    notes = [*points.notes, *([FIRST_RUN_NOTE] if is_first_run() else [])]
    first = 1 if options.one_based else 0
    try:
        with choose_display(sys.stderr, quiet=options.quiet) as display:
            display.start(instance, notes)
            result = solve_instance(
                instance,
                Limits(options.gap, options.time_limit, options.max_nodes),
                n_jobs=options.jobs,
                seed=options.seed,
                callback=display.progress,
                executor=None if options.dask is None else connect(options.dask).get_executor(pure=False),
                checkpoint=options.resume,
            )
    except InfeasibleError as error:
        sys.stderr.write(f"certimeans: {error.conflict.describe(lambda i: str(i + first))}\n")
        return ExitCode.INFEASIBLE
    sys.stdout.write((result.to_json() if options.json else result.summary()) + "\n")
    return _exit_code(result)


def _exit_code(result: SolveResult) -> ExitCode:
    if result.status == "optimal":
        return ExitCode.OK
    if result.status == "interrupted" and not result.message:
        return ExitCode.INTERRUPTED
    return ExitCode.NO_SOLUTION if result.labels is None else ExitCode.STOPPED_AT_LIMIT
