"""``certimeans solve``: from files to a proven clustering."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certimeans.commands import ExitCode
from certimeans.commands.problem import StatedProblem, add_problem_options, read_problem
from certimeans.commands.streams import print_output
from certimeans.errors import InfeasibleError, InputError
from certimeans.printing import harmless

if TYPE_CHECKING:
    from collections.abc import Mapping

    from certimeans._typing import IntArray
    from certimeans.commands import Commands
    from certimeans.problem.instance import Instance
    from certimeans.result import SolveResult
    from certimeans.search.limits import Limits


_SECONDS_FOR_REPORT, _SHARE_FOR_REPORT = 3.0, 0.05
_SECONDS_PER_POINT_WRITTEN, _SECONDS_PER_CELL = 1.5e-6, 7e-7  # a cell of table.csv
_MOST_AROUND = 0.3  # of a time limit: for reading and writing


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "solve",
        help="find an optimal clustering and prove it",
        description="Find a clustering of least cost that keeps every constraint, and prove that it is optimal.",
        epilog="example: certimeans solve points.csv -k 3 --constraints pairs.txt --jobs 2 --time-limit 60",
    )
    add = parser.add_argument
    add("data", metavar="DATA", type=Path, nargs="?", help="points: CSV, white-space text, .npy, Excel or Parquet")
    add_problem_options(parser, ranges=True)
    add = parser.add_argument_group("when to stop").add_argument
    add("--gap", metavar="G", type=float, default=1e-4, help="proven relative gap at which to stop (default 1e-4)")
    add(
        "--time-limit",
        metavar="S",
        type=float,
        help="seconds after which to stop, reading and writing included (with a range of -k: for each, without these)",
    )
    add("--max-nodes", metavar="N", type=int, help="search nodes after which to stop (by parts there is only one)")
    add = parser.add_argument_group("how to search").add_argument
    add("--jobs", metavar="N", type=int, default=1, help="number of processes, -1 for all cores (default 1)")
    add("--dask", metavar="ADDRESS", help="evaluate nodes on the Dask cluster whose scheduler is there")
    add("--resume", metavar="DIR", type=Path, help="save the search in DIR, and go on with what was saved there before")
    add("--seed", metavar="N", type=int, default=0, help="random seed (default 0)")
    add(
        "--part-size",
        metavar="N",
        type=_part_size,
        default="auto",
        help="super-points per part for large problems; auto (the default) decides, none never splits",
    )
    add("--settings", metavar="FILE", type=Path, help="how the solver works, for experiments: a TOML file")
    add = parser.add_argument_group("output").add_argument
    add("--out", metavar="DIR", type=Path, help="write labels, report, events and a certificate that can be verified")
    add("--overwrite", action="store_true", help="replace another result that is in the folder of --out")
    add("--json", action="store_true", help="print one JSON object on standard output, and nothing else there")
    add("--quiet", action="store_true", help="no progress on standard error")
    parser.set_defaults(command=run)


def _part_size(text: str) -> int | str | None:
    if text in {"auto", "none"}:
        return None if text == "none" else text
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a positive integer, auto or none; got {text!r}") from None


def run(options: argparse.Namespace) -> ExitCode:
    """Read, solve, print, write."""
    from certimeans.search.limits import Limits  # noqa: PLC0415
    from certimeans.search.outside import find_plugins  # noqa: PLC0415
    from certimeans.settings import SolverSettings  # noqa: PLC0415
    from certimeans.warmup import prepare  # noqa: PLC0415

    began = time.monotonic()
    options.settings = SolverSettings.load(options.settings)  # a mistake there is told before anything else is done
    if options.settings is not None:
        find_plugins(options.settings)
    problem = read_problem(options.data, options)
    is_range = len(problem.cluster_counts) > 1
    limits = Limits(options.gap, options.time_limit, options.max_nodes)
    if limits.seconds is not None and not is_range:
        around = _seconds_around(limits.seconds, problem.instance, time.monotonic() - began, options)
        limits = replace(limits, seconds=limits.seconds - around)
    if is_range and options.resume is not None:
        raise InputError("--resume goes on with one search; with a range of -k there are several")
    if options.out is not None and is_range:
        from certimeans.report.choices import prepare_choices  # noqa: PLC0415

        prepare_choices(options.out, problem.cluster_counts, overwrite=options.overwrite)
    elif options.out is not None:
        from certimeans.report.directory import prepare_directory  # noqa: PLC0415

        prepare_directory(options.out, overwrite=options.overwrite)
    prepare(problem.instance, _say_nothing if options.quiet else _say)
    try:
        if is_range:
            return _run_range(problem, limits, options)
        result = _solve(problem, problem.instance, limits, options)
    except InfeasibleError as error:
        explanation = error.conflict.describe(problem.source.name_of)
        sys.stderr.write(f"certimeans: {harmless(explanation)}\n")
        if options.json:
            print_output(json.dumps(_about_conflict(error, problem)) + "\n")
        return ExitCode.INFEASIBLE
    is_printed = print_output((result.to_json() if options.json else _summary(result, options)) + "\n")
    if options.out is not None:
        is_printed &= _write(result, options)
    elif not is_printed:
        _rescue(result, options)
    return _exit_code(result) if is_printed else ExitCode.NOT_WRITTEN


def _seconds_around(limit: float, instance: Instance, reading: float, options: argparse.Namespace) -> float:
    """Return what reading took and writing will take, about: it is part of the time limit, for the greater part."""
    from certimeans.problem.sources import is_mapped  # noqa: PLC0415

    if options.out is None:
        return min(reading, _MOST_AROUND * limit)
    table = 0.0 if is_mapped(instance.table) else _SECONDS_PER_CELL * instance.table.size
    writing = _SECONDS_PER_POINT_WRITTEN * instance.n_points + table
    return min(reading + writing, _MOST_AROUND * limit) + min(_SECONDS_FOR_REPORT, _SHARE_FOR_REPORT * limit)


def _solve(
    problem: StatedProblem,
    instance: Instance,
    limits: Limits,
    options: argparse.Namespace,
    start: IntArray | None = None,
    *,
    notes: bool = True,
) -> SolveResult:
    """Solve with a display of progress."""
    from certimeans.report.progress import choose_display  # noqa: PLC0415
    from certimeans.search.executors import connect  # noqa: PLC0415
    from certimeans.solver import solve_instance  # noqa: PLC0415

    with (
        nullcontext() if options.dask is None else connect(options.dask) as client,
        choose_display(sys.stderr, quiet=options.quiet) as display,
    ):
        display.start(instance, problem.source.notes if notes else ())
        result = solve_instance(
            instance,
            limits,
            n_jobs=options.jobs,
            seed=options.seed,
            initial_labels=start,
            callback=display.progress,
            executor=client,
            checkpoint=options.resume,
            part_size=options.part_size,
            settings=options.settings,
        )
    return replace(result, source=problem.source)


def _run_range(problem: StatedProblem, limits: Limits, options: argparse.Namespace) -> ExitCode:
    """Solve for several numbers of clusters, print the table, write the page."""
    from certimeans.ranges import solve_each  # noqa: PLC0415
    from certimeans.report.choices import write_choices  # noqa: PLC0415

    def solve_one(k: int, start: IntArray | None) -> SolveResult:
        instance = replace(problem.instance, n_clusters=k)
        return _solve(problem, instance, limits, options, start, notes=k == problem.cluster_counts[0])

    results = solve_each(problem.cluster_counts, solve_one)
    is_printed = print_output((results.to_json() if options.json else results.summary()) + "\n")
    for k, error in results.infeasible.items():
        sys.stderr.write(f"certimeans: k = {k}: {harmless(error.conflict.describe(problem.source.name_of))}\n")
    if options.out is not None:
        try:
            write_choices(results, options.out, command=_command())
        except (InputError, OSError) as error:
            sys.stderr.write(f"certimeans: {harmless(str(error))}\n")
            _rescue_all(results, options)
            return ExitCode.NOT_WRITTEN
        if not options.quiet:
            first = options.out / f"k{next(iter(results))}"
            sys.stderr.write(
                f"results are in {options.out}: open index.html there, or verify one, as 'certimeans verify {first}'\n"
            )
    elif not is_printed:
        _rescue_all(results, options)
    if not is_printed:
        return ExitCode.NOT_WRITTEN
    return max((_exit_code(result) for result in results.values()), default=ExitCode.INFEASIBLE)


def _about_conflict(error: InfeasibleError, problem: StatedProblem) -> dict[str, Any]:
    """Say a contradiction as plain data, in the numbers of the rows."""
    rows = problem.source.row_of_point
    links = [(kind, int(rows[i]), int(rows[j])) for kind, i, j in error.conflict.links]
    remedies = error.conflict.remedies
    given_up = None if remedies is None else [(kind, int(rows[i]), int(rows[j])) for kind, i, j in remedies]
    return {"status": "infeasible", "message": str(error).splitlines()[0], "conflict": links, "remedies": given_up}


def _command() -> str:
    return shlex.join(["certimeans", *sys.argv[1:]])


def _summary(result: SolveResult, options: argparse.Namespace) -> str:
    """Return the summary, without the problem if the log has just shown it on the same screen."""
    text = result.summary()
    is_repeated = not options.quiet and sys.stdout.isatty() and sys.stderr.isatty()
    return text.partition("\n")[2] if is_repeated and text.startswith("Instance(") else text


def _write(result: SolveResult, options: argparse.Namespace) -> bool:
    """Write the results directory; if that fails, save what can be saved and say where. Return whether all is well."""
    from certimeans.report.directory import write_directory  # noqa: PLC0415

    try:
        write_directory(result, options.out, command=_command())
    except (InputError, OSError) as error:
        sys.stderr.write(f"certimeans: {harmless(str(error))}\n")
        _rescue(result, options)
        return False
    except KeyboardInterrupt:  # a second one ends all
        write_directory(result, options.out, report=False)
        sys.stderr.write(f"interrupted: all but the report is in {options.out}\n")
        raise
    if not options.quiet:
        sys.stderr.write(f"results are in {options.out}; 'certimeans verify {options.out}' re-proves them\n")
    return True


def _rescue(result: SolveResult, options: argparse.Namespace) -> None:
    """Write to a temporary folder instead; if there is no room either, print the labels."""
    from certimeans.report.directory import write_directory  # noqa: PLC0415

    try:
        folder = tempfile.mkdtemp(prefix="certimeans-")
        write_directory(result, folder, report=False)
    except (InputError, OSError) as error:
        sys.stderr.write(f"certimeans: no other folder can be written either ({error})\n")
        labels = result.row_labels()
        if labels is not None and not options.json:  # the JSON object has them
            names = None if result.source is None else result.source.names
            lines = (
                f"{name},{'' if label is None else label}\n"
                for name, label in zip(names or range(len(labels)), labels, strict=True)
            )
            print_output(f"{'point' if names is None else 'name'},cluster\n{''.join(lines)}")
        return
    sys.stderr.write(f"certimeans: labels, result and certificate are in {folder} instead\n")


def _rescue_all(results: Mapping[int, SolveResult], options: argparse.Namespace) -> None:
    for k, result in results.items():
        sys.stderr.write(f"k = {k}:\n")
        _rescue(result, options)


def _say(note: str) -> None:
    sys.stderr.write(f"note: {harmless(note)}\n")
    sys.stderr.flush()


def _say_nothing(_: str) -> None:
    pass


def _exit_code(result: SolveResult) -> ExitCode:
    if result.status == "optimal":
        return ExitCode.OK
    if result.status == "interrupted" and not result.is_complete:
        return ExitCode.INTERRUPTED
    return ExitCode.NO_SOLUTION if result.labels is None else ExitCode.STOPPED_AT_LIMIT
