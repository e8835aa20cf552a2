"""The command line: parse, call, print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans._version import __version__
from certimeans.errors import CertimeansError, InfeasibleError, InputError

if TYPE_CHECKING:
    from certimeans.result import SolveResult


class ExitCode(IntEnum):
    """What the process tells the shell."""

    OK = 0
    STOPPED_AT_LIMIT = 1
    BAD_INPUT = 2
    INFEASIBLE = 3
    NO_SOLUTION = 4
    INTERNAL_ERROR = 5
    INTERRUPTED = 130


Command = Callable[[argparse.Namespace], ExitCode]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors become one clear message and an exit code, never a traceback."""
    options = build_parser().parse_args(arguments)
    command: Command = options.command
    try:
        return command(options)
    except InputError as error:
        return _fail(error, ExitCode.BAD_INPUT)
    except InfeasibleError as error:
        return _fail(error, ExitCode.INFEASIBLE)
    except CertimeansError as error:
        return _fail(error, ExitCode.INTERNAL_ERROR)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def build_parser() -> argparse.ArgumentParser:
    """Describe all commands and their options."""
    parser = argparse.ArgumentParser(
        prog="certimeans",
        description="Provably optimal k-means clustering under must-link and cannot-link constraints.",
    )
    parser.add_argument("--version", action="version", version=f"certimeans {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_solve(commands)
    _add_generate(commands)
    _add_demo(commands)
    return parser


def _add_solve(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    parser.set_defaults(command=_solve)


def _add_generate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "generate",
        help="draw random constraints from class labels",
        description=(
            "Draw random must-links between points of one class and cannot-links between points of different "
            "classes, as in the paper's experiments."
        ),
        epilog="example: certimeans generate classes.txt --must-link 50 --cannot-link 50 --seed 1 -o constraints.txt",
    )
    parser.add_argument("labels", metavar="LABELS", type=Path, help="class of each point, one a line")
    parser.add_argument("--must-link", metavar="A", type=int, default=0, help="number of must-links (default 0)")
    parser.add_argument("--cannot-link", metavar="B", type=int, default=0, help="number of cannot-links (default 0)")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="random seed (default 0)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        required=True,
        help="file to write; .json and .csv choose those formats, anything else lines 'ML i j' and 'CL i j'",
    )
    parser.set_defaults(command=_generate)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("demo", help="work through a bundled example", epilog="example: certimeans demo")
    parser.set_defaults(command=_demo)


# The commands import what they need when they run, so that `certimeans --help` answers at once.


def _solve(options: argparse.Namespace) -> ExitCode:
    from certimeans.problem.constraints import Constraints  # noqa: PLC0415
    from certimeans.problem.files import read_constraints, read_labels, read_points  # noqa: PLC0415
    from certimeans.problem.instance import Instance  # noqa: PLC0415
    from certimeans.report.progress import ProgressLog  # noqa: PLC0415
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
    log = ProgressLog(sys.stderr, quiet=options.quiet)
    log.start(instance, points.notes)
    first = 1 if options.one_based else 0
    try:
        result = solve_instance(
            instance,
            Limits(options.gap, options.time_limit, options.max_nodes),
            n_jobs=options.jobs,
            seed=options.seed,
            callback=log.progress,
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


def _generate(options: argparse.Namespace) -> ExitCode:
    from certimeans.problem.files import read_labels, write_constraints  # noqa: PLC0415
    from certimeans.problem.generate import generate_constraints  # noqa: PLC0415

    constraints = generate_constraints(
        read_labels(options.labels), options.must_link, options.cannot_link, options.seed
    )
    write_constraints(options.output, constraints)
    return ExitCode.OK


def _demo(_: argparse.Namespace) -> ExitCode:
    from certimeans.demo import run  # noqa: PLC0415

    run()
    return ExitCode.OK


def _fail(error: Exception, code: ExitCode) -> ExitCode:
    sys.stderr.write(f"certimeans: {error}\n")
    return code
