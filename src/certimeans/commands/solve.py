"""``certimeans solve``: from files to a proven clustering."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans.commands import ExitCode
from certimeans.commands.problem import StatedProblem, add_matrix_options, add_problem_options, read_problem
from certimeans.commands.streams import print_output
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
    add("data", metavar="DATA", type=Path, nargs="?", help="points: CSV, white-space text or .npy, known by content")
    add_matrix_options(parser)
    add_problem_options(parser)
    add("--gap", metavar="G", type=float, default=1e-4, help="proven relative gap at which to stop (default 1e-4)")
    add("--time-limit", metavar="S", type=float, help="seconds after which to stop with what was found")
    add("--max-nodes", metavar="N", type=int, help="search nodes after which to stop")
    add("--jobs", metavar="N", type=int, default=1, help="number of processes, -1 for all cores (default 1)")
    add("--seed", metavar="N", type=int, default=0, help="random seed (default 0)")
    add("--dask", metavar="ADDRESS", help="evaluate nodes on the Dask cluster whose scheduler is there")
    add("--out", metavar="DIR", type=Path, help="write labels, report, events and a certificate that can be verified")
    add("--overwrite", action="store_true", help="replace another result that is in the folder of --out")
    add("--resume", metavar="DIR", type=Path, help="save the search in DIR, and go on with what was saved there before")
    add(
        "--part-size",
        metavar="N",
        type=_part_size,
        default="auto",
        help="super-points per part for large problems; auto (the default) decides, none never splits",
    )
    add("--json", action="store_true", help="print one JSON object on standard output, and nothing else there")
    add("--quiet", action="store_true", help="no progress on standard error")
    parser.set_defaults(command=run)


def _part_size(text: str) -> int | str | None:
    return {"auto": "auto", "none": None}[text] if text in {"auto", "none"} else int(text)


def run(options: argparse.Namespace) -> ExitCode:
    """Read, solve, print, write."""
    from certimeans.report.directory import prepare_directory  # noqa: PLC0415
    from certimeans.report.progress import choose_display  # noqa: PLC0415
    from certimeans.search.executors import connect  # noqa: PLC0415
    from certimeans.search.limits import Limits  # noqa: PLC0415
    from certimeans.solver import solve_instance  # noqa: PLC0415
    from certimeans.warmup import prepare  # noqa: PLC0415

    problem = read_problem(options.data, options)
    limits = Limits(options.gap, options.time_limit, options.max_nodes)
    if options.out is not None:
        prepare_directory(options.out, overwrite=options.overwrite)
    prepare(problem.instance, _say_nothing if options.quiet else _say)
    try:
        with (
            nullcontext() if options.dask is None else connect(options.dask) as client,
            choose_display(sys.stderr, quiet=options.quiet) as display,
        ):
            display.start(problem.instance, problem.notes)
            result = solve_instance(
                problem.instance,
                limits,
                n_jobs=options.jobs,
                seed=options.seed,
                callback=display.progress,
                executor=client,
                checkpoint=options.resume,
                part_size=options.part_size,
            )
    except InfeasibleError as error:
        explanation = error.conflict.describe(lambda i: problem.name_of(i, one_based=options.one_based))
        sys.stderr.write(f"certimeans: {explanation}\n")
        if options.json:
            print_output(json.dumps({"status": "infeasible", "conflict": error.conflict.links}) + "\n")
        return ExitCode.INFEASIBLE
    is_printed = print_output((result.to_json() if options.json else result.summary()) + "\n")
    if options.out is not None:
        is_printed &= _write(result, problem, options)
    elif not is_printed:
        _rescue(result, problem, options)
    return _exit_code(result) if is_printed else ExitCode.NOT_WRITTEN


def _write(result: SolveResult, problem: StatedProblem, options: argparse.Namespace) -> bool:
    """Write the results directory; if that fails, save what can be saved and say where. Return whether all is well."""
    from certimeans.report.directory import write_directory  # noqa: PLC0415

    command = shlex.join(["certimeans", *sys.argv[1:]])
    try:
        write_directory(result, options.out, row_names=problem.row_names, command=command)
    except (InputError, OSError) as error:
        sys.stderr.write(f"certimeans: {error}\n")
        _rescue(result, problem, options)
        return False
    except KeyboardInterrupt:  # a second one ends all
        write_directory(result, options.out, row_names=problem.row_names, report=False)
        sys.stderr.write(f"interrupted: all but the report is in {options.out}\n")
        raise
    if not options.quiet:
        sys.stderr.write(f"results are in {options.out}; 'certimeans verify {options.out}' re-proves them\n")
    return True


def _rescue(result: SolveResult, problem: StatedProblem, options: argparse.Namespace) -> None:
    """Write to a temporary folder instead; if there is no room either, print the labels."""
    from certimeans.report.directory import write_directory  # noqa: PLC0415

    try:
        folder = tempfile.mkdtemp(prefix="certimeans-")
        write_directory(result, folder, row_names=problem.row_names, report=False)
    except (InputError, OSError) as error:
        sys.stderr.write(f"certimeans: no other folder can be written either ({error})\n")
        if result.labels is not None and not options.json:  # the JSON object has them
            names = problem.row_names or range(len(result.labels))
            lines = (f"{name},{label}\n" for name, label in zip(names, result.labels, strict=True))
            print_output(f"{'point' if problem.row_names is None else 'name'},cluster\n{''.join(lines)}")
        return
    sys.stderr.write(f"certimeans: labels, result and certificate are in {folder} instead\n")


def _say(note: str) -> None:
    sys.stderr.write(f"note: {note}\n")
    sys.stderr.flush()


def _say_nothing(_: str) -> None:
    pass


def _exit_code(result: SolveResult) -> ExitCode:
    if result.status == "optimal":
        return ExitCode.OK
    if result.status == "interrupted" and not result.is_complete:
        return ExitCode.INTERRUPTED
    return ExitCode.NO_SOLUTION if result.labels is None else ExitCode.STOPPED_AT_LIMIT
