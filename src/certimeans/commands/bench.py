"""``certimeans bench``: solve a suite of instances, and write tables and plots."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans.commands import ExitCode
from certimeans.commands.streams import print_output
from certimeans.errors import InputError

if TYPE_CHECKING:
    from certimeans.bench.rows import Row
    from certimeans.commands import Commands


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "bench",
        help="solve a suite of instances, write tables and plots",
        description=(
            "Solve every instance of a suite and write results.csv, tables.md, plots and environment.json. What "
            "results.csv already has for the same settings is not solved again, so a run that was stopped goes on."
        ),
        epilog="example: certimeans bench small --out bench-results --time-limit 60",
    )
    add = parser.add_argument
    add(
        "suite",
        metavar="SUITE",
        help=(
            "a folder (datasets/NAME.txt, constraints/NAME/ml_A_cl_B_S.txt, optionally published.csv), a suite file "
            "(TOML), or 'small', which ships with the package"
        ),
    )
    add("--out", metavar="DIR", type=Path, default=Path("bench-results"), help="results (default bench-results)")
    add("--datasets", metavar="NAME", nargs="+", help="only these data sets")
    add("--jobs", metavar="N", type=int, default=1, help="processes for each solve (default 1)")
    add("--parallel", metavar="N", type=int, default=1, help="instances solved side by side (default 1)")
    add("--time-limit", metavar="S", type=float, help="seconds for each instance (default: none)")
    add("--gap", metavar="G", type=float, default=1e-4, help="proven relative gap at which to stop (default 1e-4)")
    add("--seed", metavar="N", type=int, default=0, help="random seed of the solver (default 0)")
    add("--verify", action="store_true", help="write each certificate and re-prove it from its files")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> ExitCode:
    """Solve, write, say what came out."""
    from certimeans.bench.environment import write_environment  # noqa: PLC0415
    from certimeans.bench.progress import BenchProgress  # noqa: PLC0415
    from certimeans.bench.rows import Settings  # noqa: PLC0415
    from certimeans.bench.runner import Run, save_and_verify  # noqa: PLC0415
    from certimeans.bench.suite import find_cases  # noqa: PLC0415
    from certimeans.search.limits import Limits  # noqa: PLC0415

    settings = Settings(options.gap, options.time_limit, options.jobs, options.parallel, options.seed)
    Limits(settings.gap, settings.time_limit)  # a bad limit is one message now, not one for each instance
    verifier = save_and_verify if options.verify else None
    cases = find_cases(options.suite, options.datasets)
    bench = Run(cases, settings, options.out, verifier)
    done = bench.done()
    options.out.mkdir(parents=True, exist_ok=True)
    write_environment(options.out / "environment.json", settings, _shown(options.suite), options.datasets)
    with BenchProgress(sys.stderr, len(cases), len(done)) as progress:
        if done:
            progress.say(f"{len(done)} of {len(cases)} instances are in {bench.file.path} already and not solved again")
        if len(done) < len(cases):
            progress.say("warming up: the first run on a machine compiles for some ten seconds")
        is_complete = bench.execute(progress.advance)
    rows = bench.rows()
    is_printed = _write_report(rows, options)
    if not is_complete:
        sys.stderr.write(f"interrupted with {len(rows)} of {len(cases)} done; the same command goes on from here\n")
        return ExitCode.INTERRUPTED
    return _exit_code(rows) if is_printed else ExitCode.NOT_WRITTEN


def _write_report(rows: Sequence[Row], options: argparse.Namespace) -> bool:
    """Write tables and plots, and print the summary; False if it cannot be printed."""
    from certimeans.bench.environment import one_line  # noqa: PLC0415
    from certimeans.bench.plots import draw_plots  # noqa: PLC0415
    from certimeans.bench.rows import Settings  # noqa: PLC0415
    from certimeans.bench.summary import report, summary_lines  # noqa: PLC0415
    from certimeans.problem.io.atomic import write_atomically  # noqa: PLC0415

    if not rows:
        return True
    settings = Settings(options.gap, options.time_limit, options.jobs, options.parallel, options.seed)
    name = _shown(options.suite)
    text = report(rows, f"Benchmark {name}", _command(options, name), one_line(settings))
    write_atomically(options.out / "tables.md", text.encode())
    try:
        draw_plots(rows, options.out)
    except InputError as error:
        sys.stderr.write(f"certimeans: {error}\n")  # tables need no plots
    return print_output("\n".join(summary_lines(rows)) + f"\ntables and plots: {options.out}\n")


def _shown(suite: str) -> str:
    """Name a suite without the path of its folder, which says nothing to readers of a table."""
    return Path(suite).resolve().stem if Path(suite).exists() else suite


def _command(options: argparse.Namespace, name: str) -> str:
    parts = ["certimeans bench", name]
    parts += ["--datasets", *options.datasets] if options.datasets else []
    for option, default in (("jobs", 1), ("parallel", 1), ("time_limit", None), ("gap", 1e-4), ("seed", 0)):
        value = getattr(options, option)
        parts += [f"--{option.replace('_', '-')} {value:g}"] if value != default else []
    parts += ["--verify"] if options.verify else []
    return " ".join(parts)


def _exit_code(rows: Sequence[Row]) -> ExitCode:
    if any(row.status == "error" or row.verified.startswith("NO") for row in rows):
        return ExitCode.INTERNAL_ERROR
    return ExitCode.OK if all(row.status in {"optimal", "infeasible"} for row in rows) else ExitCode.STOPPED_AT_LIMIT
