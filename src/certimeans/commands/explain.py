"""``certimeans explain``: what each constraint costs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from certimeans.commands import ExitCode
from certimeans.commands.counter import Counter
from certimeans.commands.streams import print_output
from certimeans.errors import InputError
from certimeans.printing import harmless

if TYPE_CHECKING:
    from certimeans.commands import Commands


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "explain",
        help="say what each constraint costs",
        description=(
            "For a result that 'solve --out DIR' wrote: what each constraint costs, which is the optimum with it less "
            "the optimum without it, as a proven interval; which constraints bind, which change nothing, and which are "
            "implied by others. Writes prices.csv and prices.json into DIR and a chart into its report. The "
            "certificate is verified first. Exit code 0: done; 1: the certificate does not prove its claim; 2: files "
            "that cannot be read; 5: what was found cannot be printed or written; 6: files that are not a certificate; "
            "130: interrupted."
        ),
        epilog="example: certimeans explain out --jobs 2",
    )
    add = parser.add_argument
    add("folder", metavar="DIR", type=Path, help="a folder that 'certimeans solve --out' wrote")
    add("--gap", metavar="G", type=float, help="relative gap to which optima are enclosed (default: the result's)")
    add(
        "--time-limit",
        metavar="S",
        type=float,
        help="seconds for all constraints (default: for each, as long as the result took, at least ten)",
    )
    add("--jobs", metavar="N", type=int, default=1, help="constraints at the same time, -1 for all cores (default 1)")
    add("--json", action="store_true", help="print one JSON object on standard output, and nothing else there")
    add("--quiet", action="store_true", help="no progress on standard error")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> ExitCode:
    """Load, price, print, write."""
    from certimeans.analysis.saved import load_result  # noqa: PLC0415
    from certimeans.prices import price_constraints  # noqa: PLC0415
    from certimeans.report.directory import add_prices  # noqa: PLC0415
    from certimeans.warmup import prepare  # noqa: PLC0415

    result = load_result(options.folder)
    prepare(result.instance)
    with Counter(sys.stderr, "prices", quiet=options.quiet) as counter:
        prices = price_constraints(
            result, gap=options.gap, time_limit=options.time_limit, n_jobs=options.jobs, tell=counter.show
        )
    text = json.dumps(prices.to_dict(), allow_nan=False) if options.json else prices.summary()
    is_printed = print_output(text + "\n")
    try:
        add_prices(prices, options.folder)
    except InputError as error:
        sys.stderr.write(f"certimeans: {harmless(str(error))}\n")
        return ExitCode.NOT_WRITTEN
    if not options.quiet:
        sys.stderr.write(f"prices are in {options.folder / 'prices.csv'}, and in the report\n")
    if not prices.is_complete:
        return ExitCode.INTERRUPTED
    return ExitCode.OK if is_printed else ExitCode.NOT_WRITTEN
